"""The place where a worker finds the frames of a bunch: shared memory, a file, or the message."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from math import nan

import msgspec

from penstock.processing import wire
from penstock.processing.pixels import Pool
from penstock.processing.processor import Frame
from penstock.processing.wire.shared_frames import SharedFrames, SharedMemoryError
from penstock.processing.worker.running import Bunch, Job
from penstock.processing.worker.stored_files import CannotOpen, OpenFiles, StoredBlob
from penstock.stins.messages import Buffer, SharedMemory
from penstock.stins.shared import Layout

log = logging.getLogger(__name__)


class FrameSource:
    """The frames of one distributor."""

    def __init__(self) -> None:
        self._pool = Pool()
        self._memory: SharedFrames | None = None
        self._layouts: dict[int, tuple[SharedFrames, Layout]] = {}
        self._files: dict[int, OpenFiles] = {}

    def opens(self, shared: SharedMemory | None) -> bool:
        """Return whether shared memory can be read here; it is opened once."""
        return shared is not None and self._opened(shared) is not None

    def begin(self, series: int, shared: SharedMemory | None) -> None:
        """Take the memory in which the frames of a series come."""
        if shared is not None and (memory := self._opened(shared)) is not None:
            self._layouts[series] = memory, Layout(shared.slots, shared.slot_bytes)

    def shares(self, series: int) -> bool:
        """Return whether the memory of a series can be read here."""
        return series in self._layouts

    def end(self, series: int) -> None:
        """Forget a series."""
        self._layouts.pop(series, None)
        self._files.pop(series, None)

    def jobs(self, message: wire.Work, parts: Sequence[Buffer]) -> list[Job] | wire.Done:
        """Return the frames of a bunch; or the answer, if they lie where they cannot be read here.

        Raises:
            WireError: what comes with the frames is not one for each.
        """
        answer = wire.Done(series=message.series, bunch=message.bunch, version=0, seconds=0.0)
        if message.stored:
            try:
                jobs = self._in_files(message, parts)
            except CannotOpen as error:
                return msgspec.structs.replace(answer, unopened=str(error))
        elif not message.references:
            jobs = self._by_value(message, parts)
        elif self.shares(message.series):
            jobs = self._by_reference(message)
        else:
            return msgspec.structs.replace(answer, unread=tuple(range(len(message.references))))
        if message.channels:
            _give(jobs, message.channels)
        return jobs

    def _by_reference(self, message: wire.Work) -> list[Job]:
        memory, layout = self._layouts[message.series]
        bunch = Bunch(message.bunch, len(message.references), lambda: memory.is_current)
        return [
            Job(Frame(reference.frame, partial(memory.frame, layout, reference), self._pool), bunch, place)
            for place, reference in enumerate(message.references)
        ]

    def _in_files(self, message: wire.Work, parts: Sequence[Buffer]) -> list[Job]:
        if len(message.stored) != len(parts):
            raise wire.WireError(f"headers and frames of bunch {message.bunch} do not agree")
        known = self._files.setdefault(message.series, OpenFiles())
        files = [known.open(said) for said in message.files]
        bunch, jobs = Bunch(message.bunch, len(parts), lambda: True), list[Job]()
        for place, (stored, header) in enumerate(zip(message.stored, parts, strict=True)):
            index = stored.frame
            if any(number >= len(files) for number, _, _ in stored.blobs):
                raise wire.WireError(f"bunch {message.bunch} does not say in which file frame {index} is")
            blobs = [StoredBlob(files[number], index, at, nbytes) for number, at, nbytes in stored.blobs]
            jobs.append(Job(Frame(index, (header, blobs), self._pool), bunch, place))
        return jobs

    def _by_value(self, message: wire.Work, parts: Sequence[Buffer]) -> list[Job]:
        if len(message.indices) != len(message.parts) or sum(message.parts) != len(parts):
            raise wire.WireError(f"parts and frames of bunch {message.bunch} do not agree")
        bunch, jobs, first = Bunch(message.bunch, len(message.indices), lambda: True), list[Job](), 0
        for place, (index, count) in enumerate(zip(message.indices, message.parts, strict=True)):
            header, *blobs = parts[first : first + count]
            jobs.append(Job(Frame(index, (header, blobs), self._pool), bunch, place))
            first += count
        return jobs

    def _opened(self, shared: SharedMemory) -> SharedFrames | None:
        if self._memory is None or (self._memory.path, self._memory.nonce) != (shared.path, shared.nonce):
            try:
                self._memory = SharedFrames(shared.path, shared.nonce)
            except SharedMemoryError as error:
                log.info("frames come by TCP: %s", error)
                return None
        return self._memory


def _give(jobs: Sequence[Job], channels: Mapping[str, Sequence[float | None]]) -> None:
    """Give frames the values of channels that they need.

    Raises:
        WireError: there is not one for each frame.
    """
    if any(len(values) != len(jobs) for values in channels.values()):
        raise wire.WireError("frames of a bunch, and values of channels, do not agree")
    for place, job in enumerate(jobs):
        found = {name: values[place] for name, values in channels.items()}
        job.frame.channels = {name: nan if value is None else value for name, value in found.items()}
