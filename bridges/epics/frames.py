"""The frames of a forward entry: a thread that takes them from the receiver, and posts them.

ZeroMQ holds eight messages here. What is too much waits in the receiver, which drops and counts it: neither
this thread nor a client of EPICS can hold the file up.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import PurePath

import zmq

from penstock.bridges.epics import ndarray
from penstock.bridges.epics.image_record import ImageRecord
from penstock.bridges.epics.ndarray import Array, Attribute
from penstock.hosts import zmq_sockets
from penstock.stins import codec, shared
from penstock.stins.errors import StinsError
from penstock.stins.messages import Frame, SeriesEnd, Start

log = logging.getLogger(__name__)

POLL = 100
"""ms after which the thread looks whether it shall end, or connect elsewhere."""
MOST_TIMES, MOST_SERIES = 2**20, 8
"""Frames of a series, and series, whose times are kept for the results that come later."""
LATEST = 2**32
"""Seconds since 1970 behind which a time is none."""


class Frames:
    """The frames of one forward entry.

    Args:
        records: that have them.
        keep_times: whether somebody asks for the times of frames.
    """

    def __init__(self, records: Sequence[ImageRecord], *, keep_times: bool) -> None:
        self.series: str | None = None
        self.active = False
        """True until the end of the series has come."""
        self.file = ""
        self.count = 0
        """Frames of the series that have come."""
        self.bad = 0
        """Messages that could not be read."""
        self.endpoint = ""
        """Where it is connected, or will be."""
        self._records = records
        self._keep_times = keep_times
        self._times: OrderedDict[str, OrderedDict[int, float]] = OrderedDict()
        self._known: tuple[Attribute, ...] = ()

    def time_of(self, series: str, index: int) -> float | None:
        """Return when a frame was taken; `None` if it is not known, or not any more."""
        times = self._times.get(series)
        return None if times is None else times.get(index)

    def run(self, ends: threading.Event) -> None:
        """Take frames until `ends` is set."""
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        socket: zmq.Socket[bytes] | None = None
        connected = ""
        try:
            while not ends.is_set():
                if (wanted := self.endpoint) != connected:
                    if socket is not None:
                        socket.close()
                    self._lose()
                    socket = zmq_sockets.consumer(context, wanted) if wanted else None
                    connected = wanted
                if socket is None:
                    ends.wait(POLL / 1000)
                elif socket.poll(POLL):
                    self.take(socket.recv_multipart(copy=False))
        finally:
            if socket is not None:
                socket.close()
            context.term()

    def take(self, parts: Sequence[zmq.Frame]) -> None:
        """Take one message."""
        buffers = [part.buffer for part in parts]
        if shared.is_references(buffers[0]):
            self.bad += 1  # an entry with shared memory, which the look at the receiver has refused
            return
        try:
            message = codec.decode(buffers, [])
        except StinsError as error:
            self.bad += 1
            log.warning("a message cannot be read: %s", error)
            return
        if isinstance(message, Start):
            self._begin(message)
        elif isinstance(message, Frame):
            self._frame(message)
        else:
            self._end(message)

    def _begin(self, start: Start) -> None:
        header = start.header
        self._lose()
        self.series, self.active, self.file = header.series or "", True, header.filename or ""
        self.count = 0
        self._times[self.series] = OrderedDict()
        if len(self._times) > MOST_SERIES:
            self._times.popitem(last=False)
        self._known = (
            Attribute("series", self.series, "Id of the series"),
            Attribute("file", PurePath(self.file).name, "Name of the file"),
        )
        for record in self._records:
            record.begin()

    def _frame(self, frame: Frame) -> None:
        index, when = frame.image.frame, frame.image.timestamp
        if index is None:
            self.bad += 1
            return
        self.count += 1
        when = when if when is not None and 0 <= when < LATEST else time.time()
        if self._keep_times and self.series is not None:
            times = self._times[self.series]
            times[index] = when
            if len(times) > MOST_TIMES:
                times.popitem(last=False)
        made: dict[bool, Array] = {}
        for record in self._records:
            if not record.takes(index):
                continue
            try:
                if record.unpack not in made:
                    made[record.unpack] = ndarray.of_frame(frame, when, self._known, unpack=record.unpack)
            except ValueError as error:
                record.refuse(f"{frame.image.said}: {error}")
                continue
            record.offer(made[record.unpack])

    def _end(self, _: SeriesEnd) -> None:
        self.active = False
        for record in self._records:
            record.end()

    def _lose(self) -> None:
        """End a series whose end will not come."""
        if self.active:
            self.active = False
            for record in self._records:
                record.end()
