"""A distributor for tests: it holds the shared memory, reads every frame, and frees its slot when told to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
import zmq

from penstock.processing.sources.stream import Began, ByValue, Ended, Referenced, Stream
from penstock.processing.wire.shared_frames import SharedFrames, lock
from penstock.receiver.models import Status
from penstock.stins import codec
from penstock.stins.messages import Forwarded, Frame, Header, Image
from penstock.stins.shared import Layout
from tests.receiver.processes import ReceiverProcess

DEADLINE = 20.0


class Taken(msgspec.Struct):
    """What has come of one series."""

    header: Header
    images: list[tuple[int, Image]] = []
    """Index and header of each frame, in the order in which they came."""
    blobs: dict[int, list[bytes]] = {}
    slots: list[int] = []
    bunches: list[int] = []
    """Frames in each message of references."""
    by_value: list[int] = []
    forwarded: Forwarded | None = None
    absent: tuple[Any, ...] | None = None

    @property
    def indices(self) -> list[int]:
        return [index for index, _ in self.images]

    def pixels(self, index: int) -> np.ndarray[Any, Any]:
        """One plain frame, of one blob or several."""
        image = next(image for found, image in self.images if found == index)
        return np.frombuffer(b"".join(self.blobs[index]), image.type).reshape(image.shape)


class Distributor:
    """One connection to a consumer's port.

    Args:
        path: of the memory that it holds; "" to learn it from the start message.
        endpoint: of the consumer.
        frees: whether it frees each slot as soon as it has read it.
    """

    def __init__(self, path: str, endpoint: str, *, frees: bool = True) -> None:
        self.hold = lock(path) if path else None
        self._context = zmq.Context()
        self.stream = Stream(endpoint, self._context)
        self.frees = frees
        self.memory: SharedFrames | None = None

    def series(self) -> Taken:
        """The next series, up to its end."""
        taken = self.begun()
        while taken.forwarded is None:
            self.step(taken)
        return taken

    def begun(self) -> Taken:
        """The next series, which has begun."""
        event = self._next()
        assert isinstance(event, Began), event
        shared = event.header.shared
        assert shared is not None
        if self.hold is None or self.hold.path != shared.path:
            self.hold = lock(shared.path)
        if self.memory is not None:
            self.memory.close()
        self.memory = SharedFrames(shared.path, shared.nonce)
        return Taken(event.header)

    def step(self, taken: Taken) -> None:
        """Take one message of a series."""
        event = self._next()
        shared = taken.header.shared
        assert shared is not None and self.memory is not None
        match event:
            case Referenced(references):
                layout = Layout(shared.slots, shared.slot_bytes)
                taken.bunches.append(len(references))
                for reference in references:
                    header, blobs = self.memory.frame(layout, reference)
                    message = codec.decode([header, *blobs])
                    assert isinstance(message, Frame) and message.image.frame == reference.frame
                    taken.images.append((reference.frame, message.image))
                    taken.blobs[reference.frame] = [bytes(blob) for blob in blobs]
                    taken.slots.append(reference.slot)
                if self.frees:
                    self.memory.free([reference.slot for reference in references])
            case ByValue(index, parts):
                message = codec.decode(parts)
                assert isinstance(message, Frame)
                taken.images.append((index, message.image))
                taken.blobs[index] = [bytes(blob) for blob in message.blobs]
                taken.by_value.append(index)
            case Ended(end):
                taken.forwarded, taken.absent = end.forwarded, end.absent
            case _:
                raise AssertionError(event)

    def read(self, taken: Taken, frames: int) -> None:
        """Read until so many frames of a series have come."""
        while len(taken.images) < frames:
            self.step(taken)

    def close(self) -> None:
        """Leave, as a distributor does that ends."""
        if self.hold is not None:
            self.hold.close()
        self.stream.close()
        self._context.term()

    def _next(self) -> object:
        due = time.monotonic() + DEADLINE
        while (event := self.stream.receive()) is None:
            assert self.stream.socket.poll(int((due - time.monotonic()) * 1000)), "nothing comes"
        return event


@contextmanager
def distributor(receiver: ReceiverProcess, *, held: bool = True, **keys: Any) -> Iterator[Distributor]:
    """The distributor of a receiver's first consumer, connected."""
    status = receiver.connected()
    shared = status.consumers[0].shared
    assert shared is not None
    before = status.consumers[0].connected
    made = Distributor(shared if held else "", status.consumers[0].endpoint, **keys)
    try:
        receiver.wait(lambda status: status.consumers[0].connected > before)
        yield made
    finally:
        made.close()


def free_again(receiver: ReceiverProcess) -> Status:
    """Wait until no slot is taken."""
    return receiver.wait(lambda status: status.consumers[0].waiting_bytes == 0)
