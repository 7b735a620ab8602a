"""The forwarder: sends the same STINS messages on, on one port per named consumer.

Every consumer has its own queue in front of its socket, bounded in bytes, and its own message numbers without
gaps, which are assigned at the send. Frames that a consumer loses are counted before that. A slow, stopped or
dead consumer never stalls the writer, unless it is configured to (`when_full: block`).
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import msgspec
import numpy as np
import zmq
from zmq.utils.monitor import recv_monitor_message

from penstock.receiver.config import ForwardConfig
from penstock.receiver.connection.connecting import keep_alive
from penstock.receiver.models import ConsumerStatus
from penstock.stins import metadata as free_metadata
from penstock.stins.addresses import is_ipv6
from penstock.stins.connections import HANDSHAKE_MS, Connections
from penstock.stins.messages import Buffer, Frame, Header, Image, SeriesEnd
from penstock.stins.series import SeriesEncoder, SeriesState
from penstock.stins.texts import plural

log = logging.getLogger(__name__)

IN_SOCKET = 8
"""Messages that ZeroMQ itself holds for a consumer. ZeroMQ counts messages, not bytes, and messages that it
holds can no longer be dropped or counted: so they are few, and our own queue is bounded in bytes."""
MAX_SERIES = 100
"""Most start messages that wait for a consumer: beyond that it gets no further series."""
EVENTS = zmq.EVENT_ACCEPTED | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED
CLOSE_SECONDS = 1.0
"""Seconds in which queued messages can still leave when the receiver ends."""
VANISHED_SECONDS = 3
"""Seconds within which a consumer whose host has vanished is noticed if nothing is on its way to it."""


class CannotBind(Exception):
    """A consumer's address cannot be bound; the sentence names the consumer, the address and the reason."""


class _Queued(msgspec.Struct, frozen=True):
    """A message that waits for a consumer; it is numbered and encoded at the send."""

    head: Header | Image | SeriesEnd
    rest: Sequence[Buffer] = ()
    """Metadata of a start message, blobs of a frame."""
    nbytes: int = 0

    def parts(self, encoder: SeriesEncoder) -> Sequence[Buffer]:
        match self.head:
            case Image():
                return [encoder.image(self.head), *self.rest]
            case Header():
                return [*encoder.start(self.head), *self.rest]
            case SeriesEnd():
                return encoder.end(self.head)


class Consumer:
    """One named consumer: a queue and a bound PUSH socket.

    A consumer that is not connected when a series begins gets none of it, and a consumer that disconnects
    loses the rest of it, even if another connects: half a series without its header would be useless.
    """

    def __init__(self, config: ForwardConfig, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        self.name = config.name
        self.when_full = config.when_full
        self.sent = 0
        """Messages handed to ZeroMQ."""
        self.dropped = 0
        """Frames that were not skipped and were not handed to ZeroMQ."""
        self.skipped = 0
        """Frames left out as configured (`every`)."""
        self._connections = Connections()
        self.waiting_bytes = 0
        """Bytes that wait in front of the socket."""
        self._every = config.every
        self._limit = int(config.queue_mb * 1e6)
        self._queue: deque[_Queued] = deque()
        self._open = False  # whether frames of the running series are accepted
        self._encoder = SeriesEncoder()
        self._socket = context.socket(zmq.PUSH)
        self._socket.set(zmq.SNDHWM, IN_SOCKET)
        # This refuses only peers older than ZMTP 3.0, for one of which libzmq takes an HTTP client.
        self._socket.set(zmq.ZAP_DOMAIN, b"penstock")
        self._socket.set(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
        self._socket.set(zmq.LINGER, int(CLOSE_SECONDS * 1000))
        keep_alive(self._socket, VANISHED_SECONDS)
        self._monitor = self._socket.get_monitor_socket(EVENTS)
        _bind(self._socket, config)
        self.endpoint = self._socket.get_string(zmq.LAST_ENDPOINT)
        if self.when_full == "block":
            log.warning(
                "consumer %s at %s may stall series: its entry says when_full: block, so a full queue "
                "(%g MB) holds back the streamer until it reads",
                self.name, self.endpoint, config.queue_mb,
            )  # fmt: skip

    @property
    def peers(self) -> int:
        """Consumers connected to this port."""
        return len(self._connections.peers)

    @property
    def stalls(self) -> bool:
        """True while the running series has to wait for this consumer."""
        return self.when_full == "block" and self._open and self.waiting_bytes >= self._limit

    @property
    def status(self) -> ConsumerStatus:
        """The consumer's status for the receiver's snapshot."""
        return ConsumerStatus(
            name=self.name, endpoint=self.endpoint, sent=self.sent, dropped=self.dropped,
            skipped=self.skipped, connected=self.peers, waiting_bytes=self.waiting_bytes,
            when_full=self.when_full, stalls=self.stalls,
        )  # fmt: skip

    def begin(self, header: Header, metadata: Buffer) -> None:
        """Announce a series.

        Args:
            header: header of its start message.
            metadata: second part of its start message.
        """
        self.step()
        self._open = False
        if not self.peers:
            return
        nbytes = len(metadata)
        series = sum(isinstance(item.head, Header) for item in self._queue)
        if series >= MAX_SERIES or not self._make_room(nbytes):
            log.warning(
                "consumer %s gets nothing of this series: %.1f MB of %d earlier ones still wait for it; "
                "does it hang?",
                self.name, self.waiting_bytes / 1e6, series,
            )  # fmt: skip
            return
        # A series without a file name is sent as live only: STINS requires the key.
        named = msgspec.structs.replace(header, filename=header.filename or "")
        self._open = True
        self._put(_Queued(named, [metadata], nbytes))

    def frame(self, index: int, frame: Frame) -> None:
        """Queue a frame, or count it as dropped; a frame without a number gets its index as number."""
        if index % self._every:
            self.skipped += 1
            return
        nbytes = sum(map(len, frame.blobs))
        if not self._open or not self._make_room(nbytes):
            self.dropped += 1
            return
        image = frame.image
        if image.frame is None:
            image = msgspec.structs.replace(image, frame=index)
        self._put(_Queued(image, frame.blobs, nbytes))

    def end(self, end: SeriesEnd) -> None:
        """End the series; the end message is queued and never dropped."""
        if self._open:
            self._open = False
            self._put(_Queued(end))

    def step(self) -> None:
        """Send queued messages as far as possible now, and observe connections."""
        self._observe_connections()
        while self._queue and _is_ready(self._socket, zmq.POLLOUT):
            # Meanwhile one consumer may have disconnected and another connected, which must not get the rest
            # of a series.
            self._observe_connections()
            if not self._queue or not self._sent(self._queue[0]):
                return
            self.waiting_bytes -= self._queue.popleft().nbytes

    def close(self) -> None:
        """Close the socket; messages that ZeroMQ holds have a second to leave."""
        self._forget("the receiver ends")
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close()

    def _put(self, item: _Queued) -> None:
        self._queue.append(item)
        self.waiting_bytes += item.nbytes
        self.step()

    def _make_room(self, nbytes: int) -> bool:
        """Return whether so many bytes may be queued; an empty queue takes any single message."""
        if self.waiting_bytes + nbytes <= self._limit:
            return True
        self.step()
        if self.when_full == "drop_oldest":
            while self.waiting_bytes + nbytes > self._limit and self._drop_oldest():
                pass
        # For a blocking consumer, `Forwarder.stalled_by` holds back further messages: this one is kept.
        return self.when_full == "block" or not self._queue or self.waiting_bytes + nbytes <= self._limit

    def _drop_oldest(self) -> bool:
        for place, item in enumerate(self._queue):
            if isinstance(item.head, Image):
                del self._queue[place]
                self.waiting_bytes -= item.nbytes
                self.dropped += 1
                return True
        return False

    def _sent(self, item: _Queued) -> bool:
        """Send now or not at all: a consumer may disconnect between the poll of its socket and the send."""
        state, number = self._encoder.state, self._encoder.msg_number
        parts = item.parts(self._encoder)
        try:
            self._socket.send_multipart(parts, zmq.NOBLOCK, copy=not isinstance(item.head, Image))
        except zmq.Again:
            self._encoder.state, self._encoder.msg_number = state, number
            return False
        self.sent += 1
        return True

    def _observe_connections(self) -> None:
        while _is_ready(self._monitor, zmq.POLLIN):
            event = recv_monitor_message(self._monitor)
            kind, descriptor = event["event"], event["value"]
            if kind == zmq.EVENT_ACCEPTED:
                self._connections.accepted(descriptor)
            elif kind == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self._connections.shaken_hands()
            elif self._connections.gone(descriptor) is not None and not self.peers:
                self._forget("it went away")

    def _forget(self, why: str) -> None:
        """Drop the queued messages and the rest of the series, which nobody will receive."""
        frames = sum(isinstance(item.head, Image) for item in self._queue)
        if self._open or self._queue:
            log.warning(
                "consumer %s: %s, %s that waited for it dropped", self.name, why, plural(frames, "frame")
            )
        self.dropped += frames
        self._queue.clear()
        self.waiting_bytes = 0
        self._open = False
        self._encoder.state = SeriesState.IDLE


class Forwarder:
    """All consumers of one receiver."""

    def __init__(self, configs: tuple[ForwardConfig, ...]) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.consumers = [Consumer(config, self._context) for config in configs]

    def begin(self, header: Header, metadata: Mapping[str, Any], part: Buffer | None = None) -> None:
        """Announce a series to every consumer.

        Args:
            header: header of its start message.
            metadata: metadata as in the file.
            part: metadata as received, to be sent on unchanged; `None` if they were received in another form,
                or the transforms have changed them.
        """
        if self.consumers:
            sent = free_metadata.write(_plain(metadata)) if part is None else part
            for consumer in self.consumers:
                consumer.begin(header, sent)

    def frame(self, index: int, frame: Frame) -> None:
        """Queue a frame for every consumer."""
        for consumer in self.consumers:
            consumer.frame(index, frame)

    def end(self, end: SeriesEnd) -> None:
        """End the series for every consumer."""
        for consumer in self.consumers:
            consumer.end(end)

    def step(self) -> None:
        """Send queued messages as far as possible now."""
        for consumer in self.consumers:
            consumer.step()

    @property
    def stalled_by(self) -> str:
        """The names of the consumers that stall the series now; "" if none does."""
        return ", ".join(consumer.name for consumer in self.consumers if consumer.stalls)

    def status(self) -> list[ConsumerStatus]:
        """Return the status of every consumer."""
        return [consumer.status for consumer in self.consumers]

    def unsent(self) -> list[zmq.Socket[bytes]]:
        """Return the sockets with queued messages, to be polled until they are writable."""
        return [consumer._socket for consumer in self.consumers if consumer._queue and consumer.peers]

    def close(self) -> None:
        """Give queued messages a second to leave, then close every consumer."""
        due = time.monotonic() + CLOSE_SECONDS
        while (sockets := self.unsent()) and (left := due - time.monotonic()) > 0:
            zmq.select([], sockets, [], left)
            self.step()
        for consumer in self.consumers:
            consumer.close()
        self._context.term()


def check(configs: tuple[ForwardConfig, ...]) -> None:
    """Check that the addresses of all consumers can be bound at once, by binding and releasing them.

    Raises:
        CannotBind: one of them cannot.
    """
    with zmq.Context() as context, ExitStack() as sockets:
        for config in configs:
            _bind(sockets.enter_context(context.socket(zmq.PUSH)), config)


def _bind(socket: zmq.Socket[bytes], config: ForwardConfig) -> None:
    socket.set(zmq.IPV6, is_ipv6(config.endpoint))
    try:
        socket.bind(config.endpoint)
    except zmq.ZMQError as error:
        reason = "the port is taken" if error.errno == zmq.EADDRINUSE else error.strerror
        raise CannotBind(
            f"consumer {config.name}: cannot bind {config.endpoint}: {reason}; "
            "choose another forward endpoint"
        ) from error


def _is_ready(socket: zmq.Socket[bytes], event: int) -> bool:
    """Return whether a socket is ready; cheaper than `poll`, since it is called for every frame."""
    return bool(int(socket.get(zmq.EVENTS)) & event)


def _plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that JSON can carry, without masks, flat fields and other objects."""
    return {str(key): value for key, value in metadata.items() if not _has_array(value) and _is_json(value)}


def _is_json(value: Any) -> bool:
    try:
        msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False
    return True


def _has_array(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_array, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_array, value))
    return isinstance(value, (np.ndarray, np.generic, bytes))
