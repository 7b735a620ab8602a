"""One consumer: a queue, bounded in bytes, in front of a bound PUSH socket.

It has message numbers of its own without gaps, which are assigned at the send. Frames that it loses are
counted before that.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Sequence

import msgspec
import zmq

from penstock.hosts import zmq_sockets
from penstock.hosts.zmq_sockets import IN_SOCKET, VANISHED_SECONDS, keep_alive
from penstock.receiver.config import ForwardConfig
from penstock.receiver.forward.queued import Passage, Queued
from penstock.receiver.models import ConsumerStatus
from penstock.stins.addresses import is_ipv6
from penstock.stins.connections import HANDSHAKE_MS, Connections
from penstock.stins.errors import UserError
from penstock.stins.messages import Buffer, Frame, Header, Image, SeriesEnd, kept
from penstock.stins.series import SeriesEncoder, SeriesState
from penstock.stins.texts import plural

log = logging.getLogger(__name__)

CLOSE_SECONDS = 1.0
"""Seconds in which queued messages can still leave when the receiver ends."""


class CannotBind(UserError):
    """A consumer's address cannot be bound; the sentence names the consumer, the address and the reason."""


def push_socket(context: zmq.Context[zmq.Socket[bytes]]) -> zmq.Socket[bytes]:
    """Return a socket with its options, not bound yet: what observes its connections comes first."""
    socket = context.socket(zmq.PUSH)
    socket.set(zmq.SNDHWM, IN_SOCKET)
    # This refuses only peers older than ZMTP 3.0, for one of which libzmq takes an HTTP client.
    socket.set(zmq.ZAP_DOMAIN, b"penstock")
    socket.set(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
    socket.set(zmq.LINGER, int(CLOSE_SECONDS * 1000))
    keep_alive(socket, VANISHED_SECONDS)
    return socket


def bind(socket: zmq.Socket[bytes], config: ForwardConfig) -> None:
    """Bind a socket to a consumer's address.

    Raises:
        CannotBind: that cannot be done.
    """
    socket.set(zmq.IPV6, is_ipv6(config.endpoint))
    try:
        socket.bind(config.endpoint)
    except zmq.ZMQError as error:
        reason = "the port is taken" if error.errno == zmq.EADDRINUSE else error.strerror
        raise CannotBind(
            f"consumer {config.name}: cannot bind {config.endpoint}: {reason}; "
            "choose another forward endpoint"
        ) from error


def is_ready(socket: zmq.Socket[bytes], event: int) -> bool:
    """Return whether a socket is ready; cheaper than `poll`, since it is called for every frame."""
    return bool(int(socket.get(zmq.EVENTS)) & event)


MAX_SERIES = 100
"""Most start messages that wait for a consumer: beyond that it gets no further series."""
EVENTS = zmq.EVENT_ACCEPTED | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED


class Consumer:
    """One named consumer: a queue and a bound PUSH socket.

    A consumer that is not connected when a series begins gets none of it, and a consumer that disconnects
    loses the rest of it, even if another connects: whoever reads a stream may count on one start message per
    series, and on all that follows it. A series that was resumed, since the receiver was killed, is the
    exception: its consumers lost their connection, too, so it begins anew for whoever connects first.
    """

    takes_runs = gathers = False
    """True if it takes several small frames at once (`frame_run`), and may have a message that is not full
    yet (`due_in`)."""
    tells_late = False
    """True if a running series begins for whoever connects within it."""

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
        self._page = config.page
        self._limit = int(config.queue_mb * 1e6)
        self._queue: deque[Queued] = deque()
        self._open = False  # whether frames of the running series are accepted
        self._start: tuple[Header, Buffer] | None = None
        """Start message of the running series, as long as somebody who connects is told of it."""
        self._passage = Passage()  # of the series that has begun last
        self._encoder = SeriesEncoder()
        self._socket = push_socket(context)
        self._monitor = self._socket.get_monitor_socket(EVENTS)
        bind(self._socket, config)
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
            when_full=self.when_full, stalls=self.stalls, page=self._page,
        )  # fmt: skip

    def begin(self, header: Header, metadata: Buffer, *, resumed: bool = False) -> None:
        """Announce a series.

        Args:
            header: header of its start message.
            metadata: second part of its start message.
            resumed: whether the receiver was killed in the middle of it.
        """
        self.step()
        self._open, self._passage = False, Passage()
        self._start = (header, kept(metadata)) if resumed or self.tells_late else None
        if self.peers:
            self._announce(header, metadata)

    @property
    def _is_awaited(self) -> bool:
        """True if somebody has come within the series who is to be told of it."""
        return self._start is not None and not self._open and self.peers > 0

    def _announce(self, header: Header, metadata: Buffer) -> None:
        if not self.tells_late:
            self._start = None
        nbytes = len(metadata)
        series = sum(isinstance(item.head, Header) for item in self._queue)
        if series >= MAX_SERIES or not self._make_room(nbytes):
            log.warning(
                "consumer %s gets nothing of this series: %.1f MB of %d earlier ones still wait for it; "
                "does it hang?",
                self.name, self.waiting_bytes / 1e6, series,
            )  # fmt: skip
            self._start = None
            return
        # A series without a file name is sent as live only: STINS requires the key.
        named = msgspec.structs.replace(self._prepared(header), filename=header.filename or "")
        self._open = True
        self._put(Queued(named, self._passage, [metadata], nbytes))

    def _prepared(self, header: Header) -> Header:
        """Return the header as this consumer gets it, once everything is ready for the frames."""
        return header

    def frame(self, index: int, frame: Frame) -> None:
        """Queue a frame, or count it as dropped; a frame without a number gets its index as number."""
        if index % self._every:
            self.skipped += 1
            self._passage.skipped += 1
            return
        nbytes = sum(map(len, frame.blobs))
        if not self._open or not self._make_room(nbytes):
            self._drop(self._passage)
            return
        image = frame.image
        if image.frame is None:
            image = msgspec.structs.replace(image, frame=index)
        self._put(Queued(image, self._passage, frame.blobs, nbytes))

    def frame_run(self, first: int, frames: Sequence[Frame]) -> None:
        """Queue consecutive frames."""
        for index, frame in enumerate(frames, first):
            self.frame(index, frame)

    def end(self, end: SeriesEnd) -> None:
        """End the series; the end message is queued and never dropped."""
        self._start = None
        if self._open:
            self._open = False
            self._put(Queued(end, self._passage))

    def due_in(self) -> float:
        """Return in how many seconds `step` has to be called at the latest."""
        return math.inf

    def step(self) -> None:
        """Send queued messages as far as possible now, and observe connections."""
        self._observe_connections()
        if self._start is not None and self._is_awaited:
            self._announce(*self._start)
        while self._queue and is_ready(self._socket, zmq.POLLOUT):
            # Meanwhile one consumer may have disconnected and another connected, which must not get the rest
            # of a series.
            self._observe_connections()
            if not self._queue or not self._sent(self._queue[0]):
                return
            self.waiting_bytes -= self._queue.popleft().nbytes

    @property
    def unsent(self) -> bool:
        """True if messages wait that could be sent."""
        return bool(self._queue) and self.peers > 0

    @property
    def socket(self) -> zmq.Socket[bytes]:
        """The socket, to be polled."""
        return self._socket

    def leave(self) -> None:
        """Leave nothing behind as this process ends in the middle of a series, which the next one resumes."""

    def close(self) -> None:
        """Close the socket; messages that ZeroMQ holds have a second to leave."""
        self._forget("the receiver ends")
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close()

    def _drop(self, passage: Passage, frames: int = 1) -> None:
        self.dropped += frames
        passage.dropped += frames

    def _put(self, item: Queued) -> None:
        self._queue.append(item)
        self.waiting_bytes += item.nbytes
        self.step()
        if item.rest and self._queue and self._queue[-1] is item:  # it waits
            self._queue[-1] = msgspec.structs.replace(item, rest=[kept(part) for part in item.rest])

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
                self._drop(item.passage)
                return True
        return False

    def _sent(self, item: Queued) -> bool:
        """Send now or not at all: a consumer may disconnect between the poll of its socket and the send."""
        state, number = self._encoder.state, self._encoder.msg_number
        parts = item.parts(self._encoder)
        try:
            self._socket.send_multipart(parts, zmq.NOBLOCK, copy=not isinstance(item.head, Image))
        except zmq.Again:
            self._encoder.state, self._encoder.msg_number = state, number
            return False
        self.sent += 1
        item.passage.sent += item.frames
        return True

    def _observe_connections(self) -> None:
        while is_ready(self._monitor, zmq.POLLIN):
            kind, descriptor, _ = zmq_sockets.monitor_report(self._monitor)
            if kind == zmq.EVENT_ACCEPTED:
                self._connections.accepted(descriptor)
            elif kind == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self._connections.shaken_hands()
            elif self._connections.gone(descriptor) is not None and not self.peers:
                self._forget("it went away")

    def _forget(self, why: str) -> None:
        """Drop the queued messages and the rest of the series, which nobody will receive."""
        frames = sum(item.frames for item in self._queue)
        if self._open or self._queue:
            log.warning(
                "consumer %s: %s, %s that waited for it dropped", self.name, why, plural(frames, "frame")
            )
        for item in self._queue:
            self._drop(item.passage, item.frames)
        self._queue.clear()
        self.waiting_bytes = 0
        self._open = False
        self._encoder.state = SeriesState.IDLE
