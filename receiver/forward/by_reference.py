"""A consumer that gets frames by reference: they are copied once, into memory that it shares.

The memory is its queue: a frame for which no slot is free is dropped and counted. References are sent in
bunches, since each message wakes somebody up. A frame that is larger than a slot is sent as a message.
Threads copy large frames that come fast (`copies`); a reference is sent after its copy, and in its turn.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

import msgspec
import zmq

from penstock.receiver.config import ForwardConfig
from penstock.receiver.forward import copies
from penstock.receiver.forward.consumer import Consumer
from penstock.receiver.forward.copies import Copies
from penstock.receiver.forward.queued import Queued
from penstock.receiver.forward.shared import SharedSlots, remove_stale
from penstock.receiver.models import ConsumerStatus, Holder
from penstock.stins import codec
from penstock.stins.blobs import announced_blobs, blob_layout
from penstock.stins.errors import BlobError
from penstock.stins.messages import Buffer, Frame, Header, SeriesEnd, SharedMemory
from penstock.stins.shared import NOBODY, Reference

BUNCH = 64
"""Most frames in one message."""
EARLY = 0.001
"""Seconds before it is due at which a bunch is sent with frames that have just come, not on its own."""
COPY_SECONDS = 0.001
"""Seconds after which a bunch that was due, and whose first frame is still being copied, is looked at
again."""
HEADER_BYTES, HEADER_BYTES_PER_BLOB = 1024, 128
"""Room for the header of a frame in its slot: checksums and positions of modules count per blob."""
FIRST_SLOTS = 64
"""Slots in a first series whose start message does not say how large its frames are."""


class _Put(NamedTuple):
    reference: Reference
    copy: Future[None] | None
    """The copy of the frame by a thread; `None` if the loop has made it."""

    @property
    def is_copied(self) -> bool:
        return self.copy is None or self.copy.done()


class SharingConsumer(Consumer):
    """One named consumer with memory of its own.

    It has one distributor at a time, which is told of the running series whenever it comes: the frames before
    that are dropped for it.

    Args:
        config: its entry.
        context: ZeroMQ's context.
        receiver: name of the receiver.

    Raises:
        CannotBind: its address cannot be bound.
        CannotShare: its memory cannot be made.
    """

    takes_runs = gathers = tells_late = True

    def __init__(self, config: ForwardConfig, context: zmq.Context[zmq.Socket[bytes]], receiver: str) -> None:
        remove_stale(config, receiver)
        self.memory = SharedSlots(config, receiver)
        try:
            super().__init__(config, context)
        except BaseException:
            self.memory.close()
            raise
        self._copies = Copies(self.memory)
        self._gather_seconds = config.gather_seconds
        self._bunch: list[_Put] = []
        self._due = 0.0  # when the bunch is sent, full or not
        self._last = 0.0  # when the last frames came, or the series has begun
        self._largest = 0  # frame of the series, header included
        self._announced = False  # whether a consumer was told of the series
        self._before = 0  # frames of the series before a consumer was told of it
        self._token = self._gone = NOBODY
        """Tokens of the distributor that holds the memory, as last seen, and of one that went without letting
        go of it."""

    @property
    def status(self) -> ConsumerStatus:
        """The consumer's status for the receiver's snapshot."""
        memory, status = self.memory, super().status
        holder = memory.holder
        if holder is not None and not (self.peers and self._token != NOBODY) and not memory.is_locked:
            holder = None  # it was killed
        return replace(
            status,
            waiting_bytes=status.waiting_bytes + memory.taken * memory.layout.slot_bytes,
            shared=str(memory.path),
            holder=None if holder is None else Holder(**msgspec.structs.asdict(holder)),
        )

    def begin(self, header: Header, metadata: Buffer, *, resumed: bool = False) -> None:
        """Announce a series; see `Consumer.begin`."""
        self._announced, self._before, self._last = False, 0, time.monotonic()
        super().begin(header, metadata, resumed=resumed)

    def frame(self, index: int, frame: Frame) -> None:
        """Put a frame into the memory, or count it as dropped; nothing is lost of a series while no pipeline
        has been told of it."""
        self.frame_run(index, (frame,))

    def frame_run(self, first: int, frames: Sequence[Frame]) -> None:
        """Put consecutive frames into the memory; see `frame`."""
        memory, bunch = self.memory, self._bunch
        # Where frames come more rarely, the loop has time to copy, and nobody has to be waited for.
        is_fast = time.monotonic() - self._last < self._gather_seconds
        for index, frame in enumerate(frames, first):
            if not self._open:  # there was none when the series began, or it has gone since
                if self._announced:
                    self._drop(self._passage)
                else:
                    self._before += 1
                continue
            # Its index is the number by which everybody counts: that of its sender may begin elsewhere.
            image = msgspec.structs.replace(frame.image, frame=index, msg_number=None)
            header, sizes = codec.encode_image(image), tuple(map(len, frame.blobs))
            nbytes = len(header) + sum(sizes)
            if nbytes > self._largest:
                self._largest = nbytes
            if nbytes > memory.layout.slot_bytes:
                self._flush(wait=True)
                super().frame(index, Frame(image, frame.blobs))
            elif (slot := memory.take()) is None:
                self._drop(self._passage)
            else:
                copy = None
                if is_fast and nbytes >= copies.LEAST_BYTES:
                    copy = self._copies.begin(slot, header, frame.blobs, nbytes)
                else:
                    memory.copy(slot, header, frame.blobs)
                bunch.append(_Put(Reference(index, slot, len(header), sizes), copy))
                if len(bunch) % BUNCH == 0:
                    self._flush()
        now = time.monotonic()
        since, self._last = now - self._last, now
        if bunch:
            if self._due == 0.0:
                self._due = now + self._gather_seconds
            # Where frames come more rarely than that, a bunch would be one frame that is sent later.
            if now >= self._due - EARLY or since >= self._gather_seconds:
                self._flush()

    def end(self, end: SeriesEnd) -> None:
        """End the series, once its frames are copied; see `Consumer.end`."""
        self._flush(wait=True)
        super().end(end)

    def due_in(self) -> float:
        """Return in how many seconds a bunch that is not full is sent."""
        return max(0.0, self._due - time.monotonic()) if self._bunch else super().due_in()

    def step(self) -> None:
        """Send what is due, and observe connections and the holder of the memory."""
        super().step()
        self._observe_holder()
        if self._bunch and time.monotonic() >= self._due:
            self._flush()

    def leave(self) -> None:
        """Remove the memory; see `Consumer.leave`."""
        self.memory.close()

    def close(self) -> None:
        """Close the socket, and remove the memory."""
        super().close()
        self._copies.close()
        self.memory.close()

    @property
    def _is_awaited(self) -> bool:
        """True if a distributor has come within the series. One that takes the place of another one holds the
        memory, and the connection of that one has ended: of two, each would get half of the messages."""
        is_next = not self._announced or (self.peers == 1 and self.memory.token != NOBODY)
        return super()._is_awaited and is_next

    def _prepared(self, header: Header) -> Header:
        """Return the header with the layout of the memory, which fits the frames if all slots are free."""
        if self._gone != NOBODY and self.memory.is_locked:
            self._gone = NOBODY  # only its connection was lost
        self._observe_holder()
        self._announced = True
        self._drop(self._passage, self._before)
        self._before = 0
        memory = self.memory
        memory.lay_out(_frame_bytes(header) or self._largest or memory.nbytes // (FIRST_SLOTS + 1))
        layout, self._largest = memory.layout, 0
        return msgspec.structs.replace(
            header,
            shared=SharedMemory(str(memory.path), memory.nonce.hex(), layout.slots, layout.slot_bytes),
        )

    def _flush(self, *, wait: bool = False) -> None:
        """Send the frames that are copied up to the first that is not; all of them if `wait`."""
        if wait:
            self._copies.wait()
        bunch = self._bunch
        while bunch:
            ready = tuple(put.reference for put in takewhile(lambda put: put.is_copied, bunch[:BUNCH]))
            del bunch[: len(ready)]
            if not ready:
                self._due = time.monotonic() + COPY_SECONDS
                return
            self._due = time.monotonic() + self._gather_seconds if bunch else 0.0
            self.memory.find()
            self._put(Queued(ready, self._passage))

    def _observe_holder(self) -> None:
        """Take all slots back if the distributor that held the memory has let go of it, or another one has
        taken its place: nobody would free the slots of the frames that it was given. Where nobody held it,
        the one that has come has read its path in the start message."""
        token = self.memory.token
        if token == self._gone:
            token = NOBODY
        if token != self._token:
            before, self._token = self._token, token
            if before != NOBODY:
                self._forget("another distributor has taken its place" if token != NOBODY else "it ends")

    def _forget(self, why: str) -> None:
        """Drop what waits, and the rest of the series, and take all slots back."""
        self._copies.wait()
        if self._bunch:
            self._queue.append(Queued(tuple(put.reference for put in self._bunch), self._passage))
            self._bunch.clear()
            self._due = 0.0
        super()._forget(why)
        self.memory.take_back()
        if not self.peers:
            self._gone, self._token = self.memory.token, NOBODY


def _frame_bytes(header: Header) -> int:
    """Return the room that frames need at most according to a start message; 0 if it does not say."""
    shape = header.shape or ()
    try:
        count, each = blob_layout(shape, header.type or "")
        plain = count * each
    except BlobError:
        plain = 0
    # What cannot be compressed grows by less than a hundredth.
    pixels = plain if header.compression == "none" else header.frame_bytes or plain + plain // 100
    pixels = max(pixels, header.frame_bytes or 0)
    blobs = max(announced_blobs(shape, header.channels or ()), header.streams or 1)
    return pixels + HEADER_BYTES + blobs * HEADER_BYTES_PER_BLOB if pixels else 0
