"""The connection to the receiver's forward entry, and the shared memory that is held for it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Container
from typing import Any

import zmq

from penstock.hosts import zmq_sockets
from penstock.processing.distributor.receiver.events import Entry
from penstock.processing.distributor.series.series_list import SeriesList
from penstock.processing.sources.stream import Began, ByValue, Ended, Referenced, Stream
from penstock.processing.wire.shared_frames import Hold, SharedMemoryError, StaleMemory, lock
from penstock.stins import shared
from penstock.stins.errors import RemoteError
from penstock.stins.messages import SharedMemory

log = logging.getLogger(__name__)

MOST_EVENTS = 64
"""Messages of the stream that are taken at once."""


class ReceiverStream:
    """What comes from the receiver, for the series of a pipeline.

    Args:
        context: of the sockets.
        poller: of the loop, which is to wait for them.
        series: are told of what comes.
    """

    def __init__(
        self, context: zmq.Context[zmq.Socket[bytes]], poller: zmq.Poller, series: SeriesList
    ) -> None:
        self._context = context
        self._poller = poller
        self._series = series
        self._stream: Stream | None = None
        self._monitor: zmq.Socket[Any] | None = None
        self._is_full = False  # whether nothing is read of the stream until there is room
        self._entry: Entry | None = None
        self._hold: Hold | None = None

    def read(self, found: Container[Any]) -> None:
        """Take what has come.

        Args:
            found: sockets that the poller has found.
        """
        stream = self._stream
        if stream is None or not (stream.socket in found or self._monitor in found or self._is_full):
            return
        may_be_over = self._monitor in found
        for _ in range(MOST_EVENTS):
            if self._series.is_full:
                break
            try:
                event = stream.receive()
            except RemoteError as error:
                log.error("a message of the receiver cannot be used: %s", error)
                continue
            match event:
                case Began(header, metadata):
                    self._take_hold("" if header.shared is None else header.shared.path)
                    self._series.began(header, bytes(metadata))
                case Referenced(references):
                    self._series.referenced(references)
                case ByValue(index, parts):
                    self._series.by_value(index, list(parts))
                case Ended(end):
                    self._series.ended(end)
                case None:
                    if may_be_over:
                        self._observe()
                    break
        if self._series.is_full != self._is_full:  # who does not read is not woken up
            self._is_full = self._series.is_full
            self._poller.register(stream.socket, 0 if self._is_full else zmq.POLLIN)

    def connect(self, entry: Entry) -> None:
        """Connect to the receiver's forward entry, whose memory is held before that."""
        before, self._entry = self._entry, entry
        if self._stream is not None and before is not None and before.endpoint == entry.endpoint:
            self._take_hold(entry.shared)  # the receiver was started again: nobody else may take its place
            return
        self.close()
        if entry.shared:
            try:
                self._hold = lock(entry.shared)
            except StaleMemory as error:
                log.info("frames come by value: %s", error)
            except SharedMemoryError as error:
                self._series.fail(str(error))
                return
        self._stream = Stream(entry.endpoint, self._context)
        self._monitor = self._stream.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self._is_full = False
        self._poller.register(self._stream.socket, zmq.POLLIN)
        self._poller.register(self._monitor, zmq.POLLIN)

    def try_again(self) -> None:
        """Connect if that has failed."""
        if self._stream is None and self._entry is not None:
            self.connect(self._entry)

    def memory(self) -> SharedMemory | None:
        """Return the memory that a new worker is to try to open."""
        path = "" if self._entry is None else self._entry.shared
        if not path:
            return None
        try:
            with open(path, "rb") as file:
                nonce = shared.nonce_in(file.read(shared.PAGE))
        except (OSError, RemoteError):
            return None
        return SharedMemory(path, nonce.hex(), 1, shared.LEAST_SLOT)

    def close(self) -> None:
        """Disconnect, and let go of the memory."""
        if self._stream is not None and self._monitor is not None:
            self._poller.unregister(self._monitor)
            with contextlib.suppress(KeyError):
                self._poller.unregister(self._stream.socket)
            self._stream.socket.disable_monitor()
            self._monitor.close(0)
            self._stream.close()
            self._series.stream_has_ended()
        self._stream = self._monitor = None
        self._let_go()

    def _observe(self) -> None:
        """Notice that the connection has ended, once everything is read that came before: the receiver sends
        no more of the series."""
        assert self._monitor is not None
        while self._monitor.poll(0):
            zmq_sockets.monitor_report(self._monitor)
            self._series.stream_has_ended()

    def _take_hold(self, path: str) -> None:
        """Hold the memory that frames come in: a receiver that was started again has made another one."""
        if not path or (self._hold is not None and self._hold.path == path):
            return
        self._let_go()
        try:
            self._hold = lock(path)
        except StaleMemory as error:
            log.warning("%s", error)
        except SharedMemoryError as error:
            self._series.fail(str(error))

    def _let_go(self) -> None:
        if self._hold is not None:
            self._hold.close()
            self._hold = None
