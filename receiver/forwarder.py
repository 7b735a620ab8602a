"""The forwarder: the same STINS messages again, on one port for each named consumer.

Every consumer has its own bounded queue and its own gap-free message numbers. What a slow or
absent consumer loses is counted before the send; it never stalls the writer.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import zmq

from penstock.receiver.config import ForwardConfig
from penstock.stins.messages import Buffer, Frame, Header, SeriesEnd
from penstock.stins.series import SeriesEncoder, SeriesState

log = logging.getLogger(__name__)


class Consumer:
    """One named consumer: a bound PUSH socket.

    A consumer that is not connected when a series begins gets none of it: half a series without
    its header would be of no use.
    """

    def __init__(self, config: ForwardConfig, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        self.name = config.name
        self.sent = 0
        self.dropped = 0
        self._encoder = SeriesEncoder()
        self._late_end: list[bytes] | None = None
        self._socket = context.socket(zmq.PUSH)
        self._socket.set(zmq.SNDHWM, config.queue)
        self._socket.set(zmq.LINGER, 1000)
        self._socket.bind(config.endpoint)
        self.endpoint = self._socket.get_string(zmq.LAST_ENDPOINT)

    def begin(self, header: Header, metadata: Mapping[str, Any]) -> None:
        """Announce a series."""
        self.step()
        if self._late_end is not None:
            log.warning(
                "consumer %s has not taken the end of the last series, it gets none of this", self.name
            )
            return
        if not self._socket.poll(0, zmq.POLLOUT):
            return
        # A stream without a name travels as live only: STINS needs the key.
        named = msgspec.structs.replace(header, filename=header.filename or "")
        number = self._encoder.msg_number
        if not self._sent(self._encoder.start(named, _plain(metadata))):
            self._encoder.state, self._encoder.msg_number = SeriesState.IDLE, number

    def frame(self, index: int, frame: Frame) -> None:
        """Pass a frame on, or count it as dropped; one without a number gets its index."""
        if self._encoder.state is not SeriesState.OPEN or not self._socket.poll(0, zmq.POLLOUT):
            self.dropped += 1
            return
        image = frame.image
        if image.frame is None:
            image = msgspec.structs.replace(image, frame=index)
        number = self._encoder.msg_number
        if not self._sent([self._encoder.image(image), *frame.blobs], copy=False):
            self._encoder.msg_number = number
            self.dropped += 1

    def end(self, end: SeriesEnd) -> None:
        """End the series; the message waits if the queue is full, since it must not be lost."""
        if self._encoder.state is SeriesState.OPEN:
            self._late_end = self._encoder.end(end)
            self.step()

    def step(self) -> None:
        """Send what waits, if it can be sent now."""
        if self._late_end is not None and self._sent(self._late_end):
            self._late_end = None

    def _sent(self, parts: Sequence[Buffer], copy: bool = True) -> bool:
        """Send now or not at all: a consumer may go between a look at its socket and the send."""
        try:
            self._socket.send_multipart(parts, zmq.NOBLOCK, copy=copy)
        except zmq.Again:
            return False
        self.sent += 1
        return True

    def close(self) -> None:
        """Close the socket; what is queued has a second to leave."""
        self._socket.close()


class Forwarder:
    """All consumers of one receiver."""

    def __init__(self, configs: tuple[ForwardConfig, ...]) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.consumers = [Consumer(config, self._context) for config in configs]

    def begin(self, header: Header, metadata: Mapping[str, Any]) -> None:
        """Announce a series to every consumer."""
        for consumer in self.consumers:
            consumer.begin(header, metadata)

    def frame(self, index: int, frame: Frame) -> None:
        """Pass a frame on to every consumer."""
        for consumer in self.consumers:
            consumer.frame(index, frame)

    def end(self, end: SeriesEnd) -> None:
        """End the series for every consumer."""
        for consumer in self.consumers:
            consumer.end(end)

    def step(self) -> None:
        """Send end messages that had to wait."""
        for consumer in self.consumers:
            consumer.step()

    def close(self) -> None:
        """Close every consumer."""
        for consumer in self.consumers:
            consumer.close()
        self._context.term()


def _plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata that JSON can carry: masks, flat fields and oddities of vendor headers are left out."""
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
