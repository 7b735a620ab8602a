"""The forwarder: sends the same STINS messages on, on one port per named consumer.

Every consumer has its own queue in front of its socket, bounded in bytes, and its own message numbers without
gaps, which are assigned at the send. Frames that a consumer loses are counted before that. A slow, stopped or
dead consumer never stalls the writer, unless it is configured to (`when_full: block`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import msgspec
import numpy as np
import zmq

from penstock.receiver.config import ForwardConfig
from penstock.receiver.forward.by_reference import SharingConsumer
from penstock.receiver.forward.consumer import CLOSE_SECONDS, Consumer, bind
from penstock.receiver.forward.shared import SharedSlots, remove_stale
from penstock.receiver.models import ConsumerStatus
from penstock.stins import metadata as free_metadata
from penstock.stins.messages import Buffer, Frame, Header, SeriesEnd


class Forwarder:
    """All consumers of one receiver.

    Args:
        configs: their entries.
        receiver: name of the receiver, for the names of shared memory.

    Raises:
        CannotBind: an address cannot be bound.
        CannotShare: memory cannot be shared.
    """

    def __init__(self, configs: tuple[ForwardConfig, ...], receiver: str = "receiver") -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.consumers: list[Consumer] = [
            SharingConsumer(config, self._context, receiver)
            if config.shared else Consumer(config, self._context)
            for config in configs
        ]  # fmt: skip
        self.takes_runs = all(consumer.takes_runs for consumer in self.consumers)
        """True if several small frames may be given at once (`frame_run`)."""
        self.may_stall = any(consumer.when_full == "block" for consumer in self.consumers)
        """True if `stalled_by` can be anything but ""."""
        self._gathering = [consumer for consumer in self.consumers if consumer.gathers]

    def begin(
        self,
        header: Header,
        metadata: Mapping[str, Any],
        part: Buffer | None = None,
        *,
        resumed: bool = False,
    ) -> None:
        """Announce a series to every consumer.

        Args:
            header: header of its start message.
            metadata: metadata as in the file.
            part: metadata as received, to be sent on unchanged; `None` if they were received in another form,
                or the transforms have changed them.
            resumed: whether the receiver was killed in the middle of it.
        """
        if self.consumers:
            sent = free_metadata.write(_plain(metadata)) if part is None else part
            for consumer in self.consumers:
                consumer.begin(header, sent, resumed=resumed)

    def frame(self, index: int, frame: Frame) -> None:
        """Queue a frame for every consumer."""
        for consumer in self.consumers:
            consumer.frame(index, frame)

    def frame_run(self, first: int, frames: Sequence[Frame]) -> None:
        """Queue consecutive small frames for every consumer."""
        for consumer in self.consumers:
            consumer.frame_run(first, frames)

    def end(self, end: SeriesEnd) -> None:
        """End the series for every consumer; each is also told what became of its frames."""
        for consumer in self.consumers:
            consumer.end(end)

    def step(self) -> None:
        """Send queued messages as far as possible now."""
        for consumer in self.consumers:
            consumer.step()

    @property
    def stalled_by(self) -> str:
        """The names of the consumers that stall the series now; "" if none does."""
        if not self.may_stall:
            return ""
        return ", ".join(consumer.name for consumer in self.consumers if consumer.stalls)

    def soonest(self, seconds: float) -> float:
        """Return within how many seconds `step` is due, if that is sooner than `seconds`."""
        return min([seconds, *(consumer.due_in() for consumer in self._gathering)])

    def status(self) -> list[ConsumerStatus]:
        """Return the status of every consumer."""
        return [consumer.status for consumer in self.consumers]

    def unsent(self) -> list[zmq.Socket[bytes]]:
        """Return the sockets with queued messages, to be polled until they are writable."""
        return [consumer.socket for consumer in self.consumers if consumer.unsent]

    def leave(self) -> None:
        """Leave nothing behind as this process ends in the middle of a series: consumers see no end."""
        for consumer in self.consumers:
            consumer.leave()

    def close(self) -> None:
        """Give queued messages a second to leave, then close every consumer."""
        due = time.monotonic() + CLOSE_SECONDS
        while (sockets := self.unsent()) and (left := due - time.monotonic()) > 0:
            zmq.select([], sockets, [], left)
            self.step()
        for consumer in self.consumers:
            consumer.close()
        self._context.term()


def check(configs: tuple[ForwardConfig, ...], receiver: str) -> None:
    """Check that all consumers can be served at once: bind their addresses and reserve the memory that is
    shared with them, and release both. What a receiver of this name that was killed has left is removed.

    Raises:
        CannotBind: an address cannot be bound.
        CannotShare: the memory cannot be reserved.
    """
    with zmq.Context() as context, ExitStack() as held:
        for config in configs:
            bind(held.enter_context(context.socket(zmq.PUSH)), config)
        for config in configs:
            if config.shared:
                remove_stale(config, receiver)
                held.callback(SharedSlots(config, receiver, populate=False).close)


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
