"""A file as the window's source: of Penstock, of a scan, of DECTRIS, any NXdata, CBF, TIFF, EDF.

It is opened in the thread that first asks. A file that Penstock is still writing is followed: nobody but its
receiver knows where the new pieces of it are while it grows, so that each look opens it anew, and a frame is
shown only if two openings agree about it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from penstock.gui.live.sources import ranges
from penstock.gui.live.sources.source import WHOLE, Away, Content, Part, Refused
from penstock.receiver.client import LastFrame
from penstock.receiver.models import Counts, FrameStatus, Geometry, Lost, Rectangle, Series, Status
from penstock.receiver.reading.frame_files import FrameFile, open_frames
from penstock.receiver.reading.reader import ReaderError
from penstock.receiver.validity.frames import WITH_DATA, with_data

T = TypeVar("T")
LOOK = 1.0
"""Seconds between two looks at a file that is being written."""
TURN = 0.1
"""Seconds between two looks at whether somebody wants to read it again."""
TRIES = 4
"""Openings of a file that is being written, until two agree; a failure there passes by itself."""
GENERATION = 2**40
"""Versions are counted anew from a multiple of this each time a file is read again."""
_WHY_NOT = {
    FrameStatus.MISSING: "is missing",
    FrameStatus.CORRUPT: "arrived damaged and was not written",
    FrameStatus.DISCARDED: "was marked by its sender as not to be written",
    FrameStatus.NOT_TRIGGERED: "was never triggered",
    FrameStatus.DELIVERED: "was meant for the live view only",
    FrameStatus.PENDING: "has not arrived yet",
}
_ACCOUNT = {each.name for each in fields(Counts)} - {"planned"}


@dataclass(frozen=True, eq=False)
class Facts:
    """What a look at the file has found."""

    detector: str
    content: Content
    choices: tuple[str, ...]
    chosen: str
    frames: int
    shape: tuple[int, ...]
    dtype: str
    id: str
    state: str | None
    reason: str
    planned: int | None
    counts: dict[str, int]
    status: np.ndarray[Any, Any] | None
    lost: tuple[Lost, ...]

    @property
    def growing(self) -> bool:
        """True if Penstock has not ended it."""
        return self.state == "in progress"

    def same(self, other: Facts | None) -> bool:
        """Return whether nothing has changed since."""
        return other is not None and self._key() == other._key()

    def _key(self) -> tuple[object, ...]:
        return self.frames, self.state, self.reason, self.counts, self.newest(), len(self.lost)

    def newest(self) -> int | None:
        """Return the last frame that is there."""
        return self._one(-1)

    def first(self) -> int | None:
        """Return the first frame that is there."""
        return self._one(0)

    def _one(self, place: int) -> int | None:
        if self.status is None:
            return None if not self.frames else (0 if place == 0 else self.frames - 1)
        there = with_data(self.status, self.frames)
        return int(there[place]) if len(there) else None


class FileSource:
    """Source that reads a file, and never writes.

    Args:
        path: the file.
        images: what of it to show, one of its `choices`; by default what it puts first itself.
    """

    is_file = True

    def __init__(self, path: str | Path, images: str | None = None) -> None:
        # As an absolute path, since the working directory says nothing in a window's title.
        self._path = Path(os.path.abspath(path))
        self._images = images
        self._reading = threading.Lock()
        self._file: FrameFile | None = None  # this and what follows: under `_reading`
        self._facts: Facts | None = None
        self._followed = False
        self._version = 0
        self._looked = 0.0
        self._again = threading.Event()

    @property
    def address(self) -> str:
        """Absolute path of the file."""
        return str(self._path)

    def reload(self, images: str | None = None) -> None:
        """Have it read again, with the next call for its status; `images`: another of its `choices`."""
        self._images = images or self._images
        self._again.set()

    def choices(self) -> tuple[tuple[str, ...], str]:
        """Return what of the file can be shown, and what is; as the newest status found it."""
        facts = self._facts
        return ((), "") if facts is None else (facts.choices, facts.chosen)

    def follows(self) -> bool:
        """Return whether the file is read again by itself, since Penstock is writing it."""
        return self._facts is not None and self._facts.growing

    def status(self, seen: int | None = None, wait: float = 0.0) -> Status:
        """Return the state and account in the file; with `seen`, wait for another version so many seconds."""
        until = time.monotonic() + wait
        while True:
            status = self._look()
            left = until - time.monotonic()
            if status.version != seen or left <= 0:
                return status
            self._again.wait(min(left, TURN))

    def content(self) -> Content:
        """Return what can be shown, as the newest status found it."""
        return Content(True) if self._facts is None else self._facts.content

    def count(self) -> int | None:
        """Return the frames of the file; while it is being written, the planned ones if there are more."""
        facts = self._facts
        if facts is None:
            return None
        return max(facts.frames, facts.planned or 0)

    def frame_status(self, index: int) -> FrameStatus | None:
        """Return what became of a frame; `None` if the file does not say."""
        facts = self._facts
        if facts is None or facts.status is None or not 0 <= index < max(facts.frames, len(facts.status)):
            return None
        return FrameStatus(int(facts.status[index])) if index < len(facts.status) else FrameStatus.PENDING

    def lost(self) -> tuple[Lost, ...]:
        """Return all ranges of frames that are not, or not as a whole, in the file."""
        return () if self._facts is None else self._facts.lost

    def newest(self, seen: int | None = None, part: Part = WHOLE) -> LastFrame | None:
        """Return the newest frame of a file that is, or was, followed; else its first one."""
        facts = self._facts
        if facts is None:
            return None
        index = facts.newest() if self._followed else facts.first()
        version = self._version // GENERATION * GENERATION + (index or 0) + 1
        return None if index is None or version == seen else self._frame(index, part, version)

    def frame(self, index: int, part: Part = WHOLE) -> LastFrame:
        """Return a frame by its index."""
        facts = self._facts
        if facts is None:
            raise Away(f"{self._path} has not been read yet")
        status = self.frame_status(index)
        if status is not None and status not in WITH_DATA:
            why = f"frame {index:,} {_WHY_NOT[status]}"
            if status == FrameStatus.MISSING:
                why += f": {self._read_of(lambda file: file.why(index)) or 'it never arrived'}"
            raise Refused(why, status.name.lower())
        if not 0 <= index < facts.frames:
            kind = "not_yet" if facts.growing else "out_of_range"
            last = f"; the last is {facts.frames - 1:,}" if facts.frames else ""
            yet = " yet" if facts.growing else ""
            raise Refused(f"there is no frame {index:,} in {self._path.name}{yet}{last}", kind)
        return self._frame(index, part, 0)

    def geometry(self, series: str) -> Geometry:
        """Return what the file says of detector and beam."""
        found, remarks = self._read_of(lambda file: (file.geometry(), file.remarks()))
        if found is None:
            why = f": {'; '.join(remarks)}" if remarks else ""
            raise Refused(f"{self._path.name} says nothing of detector and beam{why}", "no_geometry")
        return found

    def mask(self, series: str, channel: str | None = None) -> np.ndarray[Any, Any] | None:
        """Return the mask of a channel, (rows, cols), 0 where a pixel counts; `None` if there is none."""
        return self._read_of(lambda file: file.mask(channel))

    def rectangle(self, frame: LastFrame, place: Rectangle, channel: str | None = None) -> LastFrame:
        """Return these pixels of this frame."""
        whole = self.frame(frame.frame, Part(channel))
        rows, columns = slice(place.y, place.y + place.height), slice(place.x, place.x + place.width)
        cut: tuple[Any, ...] = (
            (rows, columns) if whole.interpretation == "rgba-image" else (..., rows, columns)
        )
        if whole.interpretation == "spectrum":
            cut = (columns,)
        part = np.ascontiguousarray(whole.array[cut])
        missing = None if whole.missing is None else whole.missing[cut]
        return msgspec.structs.replace(whole, array=part, missing=missing, x=place.x, y=place.y)

    # -- reading ---------------------------------------------------------------------------------------

    def _look(self) -> Status:
        """Open the file, or look at it again where it is due."""
        with self._reading:
            again = self._again.is_set()
            self._again.clear()
            due = self.follows() and time.monotonic() - self._looked >= LOOK
            if self._facts is None or again or due:
                try:
                    self._read(again)
                except Away:
                    if again:  # what is wanted of it is still to be read, once that is possible
                        self._again.set()
                    raise
            assert self._facts is not None
            return self._status(self._facts)

    def _read(self, again: bool) -> None:
        self._close()
        try:
            facts = self._agreed(_facts) if self.follows() else self._once(_facts)
        except ReaderError as error:
            raise Away(str(error)) from error
        finally:
            self._looked = time.monotonic()
        if again or self._facts is None:
            self._version = (self._version // GENERATION + 1) * GENERATION
        elif not facts.same(self._facts):
            self._version += 1
        self._facts = facts
        self._followed = self._followed or facts.growing

    def _frame(self, index: int, part: Part, version: int) -> LastFrame:
        return self._read_of(lambda file: _frame(file, index, part, version, self.address))

    def _read_of(self, read: Callable[[FrameFile], T]) -> T:
        with self._reading:
            try:
                return self._agreed(read) if self.follows() else self._once(read)
            except ReaderError as error:
                raise Refused(str(error), "unreadable") from error

    def _once(self, read: Callable[[FrameFile], T]) -> T:
        if self._file is None:
            self._file = open_frames(self._path, self._images)
        try:
            return read(self._file)
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            raise ReaderError(f"{self._path} cannot be read: {error}") from error

    def _agreed(self, read: Callable[[FrameFile], T]) -> T:
        """Read a file that is being written: what two openings, one after the other, say the same of."""
        before: list[T] = []
        trouble: Exception | None = None
        for _ in range(TRIES):
            self._close()
            try:
                found = self._once(read)
            except ReaderError as error:
                trouble, before = error, []
                continue
            finally:
                self._close()
            if before and _agree(before[0], found):
                return found
            before = [found]
        if trouble is None and before and isinstance(before[0], Facts):
            return before[0]  # counts that grow between two looks
        raise ReaderError(
            f"{self._path} is being written, and does not hold still ({trouble or 'two looks differ'}); "
            "the receiver shows its frames, or wait until the series has ended"
        )

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _status(self, facts: Facts) -> Status:
        series = Series(
            id=facts.id or self.address,
            filename=self.address,
            active=facts.growing,
            complete={"complete": True, "incomplete": False}.get(facts.state or ""),
            reason=facts.reason,
            lost=list(facts.lost[:100]),
            shape=list(facts.shape),
            dtype=facts.dtype,
            dataset=facts.chosen,
        )
        known = {name: value for name, value in facts.counts.items() if name in _ACCOUNT}
        return Status(
            state="running" if facts.growing else "idle",
            detector=facts.detector,
            version=self._version,
            series=series,
            counts=Counts(planned=facts.planned, **known),
            latest_frame=facts.newest() if facts.content.images else None,
        )


def _facts(file: FrameFile) -> Facts:
    shape, status = file.shape, file.status
    if status is not None and file.state == "in progress":
        # Behind the newest frame nothing is missing yet, although the file says so of what nobody wrote.
        there = with_data(status, len(status))
        status = status.copy()
        status[int(there[-1]) + 1 if len(there) else 0 :] = FrameStatus.PENDING
    return Facts(
        file.detector, Content(file.has_images, file.curves, file.scalars), file.choices, file.chosen,
        shape[0], shape[1:], "" if file.dtype is None else file.dtype.name, file.id, file.state, file.reason,
        file.planned, file.counts, status,
        () if status is None else ranges.of_statuses(status),
    )  # fmt: skip


def _frame(file: FrameFile, index: int, part: Part, version: int, path: str) -> LastFrame:
    if part.channel is not None and part.channel not in file.channels:
        raise Refused(f"{path} has no channel {part.channel}; leave it out", "no_such_channel")
    array = file.frame(index, part.channel)
    status = None if file.status is None or index >= len(file.status) else FrameStatus(file.status[index])
    return LastFrame(
        array=array, frame=index, series=file.id or path, version=version, downsample=1,
        trigger=file.trigger(index), saturation=file.saturation, underload=file.underload,
        channels=file.channels,
        interpretation=file.interpretation, time=file.time(index),
        status=None if status is None else status.name.lower(),
        missing=file.missing(index, part.channel) if status is FrameStatus.PARTIAL else None,
    )  # fmt: skip


def _agree(one: object, other: object) -> bool:
    if isinstance(one, LastFrame) and isinstance(other, LastFrame):
        return one.array.tobytes() == other.array.tobytes()
    if isinstance(one, Facts) and isinstance(other, Facts):
        return one.same(other)
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other  # type: ignore[arg-type]
