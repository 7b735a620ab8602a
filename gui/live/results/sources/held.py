"""What the window holds of one series: states of frames, and values of some. Bounded, and without Qt."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.gui.live.sources.ranges import Range
from penstock.processing.client import Rows
from penstock.processing.models import FINAL

DONE = 1
PENDING = 255
RECENT, AHEAD = 512, 16384
"""Frames behind and before the newest that has ended whose states are asked for each time: workers end them
in any order."""
MOST_ROWS = 4096
"""Rows of the image of all frames; a screen has no more."""
MOST_BYTES = 1 << 26
"""Most bytes of the image of all frames."""
LEAST_ROWS = 64
MOST_NUMBERS = 1 << 20
"""Frames of which a number is kept."""
AT_ONCE = 1 << 22
"""Bytes that are asked for at once."""
APART = 4
"""Frames that are asked for again so as to ask once in place of twice."""
KEPT = 1 << 25
"""Bytes of single curves that are kept."""

Codes = npt.NDArray[np.uint8]


class Account:
    """The state of each frame; `codes` is another array after each change."""

    def __init__(self) -> None:
        self.codes: Codes = np.zeros(0, np.uint8)
        self.beyond = PENDING
        """State of all frames behind those."""

    def open(self, *, all_of_them: bool) -> tuple[int, int | None]:
        """Return the frames whose states may still change, as (first, end); `None`: to the end.

        Unless all are wanted, those near the newest one that has ended.
        """
        is_open = self.codes > len(FINAL)
        first = int(np.argmax(is_open)) if is_open.any() else len(self.codes)
        if all_of_them:
            return first, None
        ended = np.flatnonzero(~is_open)
        newest = int(ended[-1]) if len(ended) else -1
        return max(first, newest + 1 - RECENT), newest + 1 + AHEAD

    def is_over(self, frames: int) -> bool:
        """Return whether no state can change any more, of so many frames."""
        n = len(self.codes)
        return bool(n) and not (self.codes > len(FINAL)).any() and (n >= frames or self.beyond != PENDING)

    def take(self, first: int, codes: npt.NDArray[Any], beyond: int = PENDING) -> bool:
        """Note the states of the frames from `first` on, and that of all behind `codes`; return whether any
        in `codes` has changed."""
        self.beyond = beyond
        end = first + len(codes)
        if end <= len(self.codes) and np.array_equal(self.codes[first:end], codes):
            return False
        found = np.full(max(end, len(self.codes)), PENDING, np.uint8)
        found[: len(self.codes)] = self.codes
        found[first:end] = codes
        self.codes = found
        return True


def newest_done(codes: Codes) -> int | None:
    """Return the highest frame that is done."""
    done = np.flatnonzero(codes == DONE)
    return int(done[-1]) if len(done) else None


def state_of(codes: Codes, frame: int, beyond: int = PENDING) -> str:
    """Return the state of a frame in a word; all behind `codes` are in the state `beyond`."""
    code = int(codes[frame]) if 0 <= frame < len(codes) else beyond
    return FINAL[code - 1] if 1 <= code <= len(FINAL) else "pending"


def gaps(codes: Codes, frames: int = 0, beyond: int = PENDING) -> tuple[Range, ...]:
    """Return the frames that have ended otherwise than done, as ranges of one state.

    Args:
        codes: states of the first frames.
        frames: number of all frames.
        beyond: state of all others.
    """
    lost = np.where((codes > DONE) & (codes <= len(FINAL)), codes, 0)
    edges = np.flatnonzero(np.diff(lost, prepend=0, append=0))
    found = [
        (int(first), int(end) - 1, FINAL[int(lost[first]) - 1])
        for first, end in pairwise(edges)
        if lost[first]
    ]
    if len(codes) < frames and DONE < beyond <= len(FINAL):
        first, state = len(codes), FINAL[beyond - 1]
        if found and found[-1][1:] == (first - 1, state):
            first = found.pop()[0]
        found.append((first, frames - 1, state))
    return tuple(found)


def rows_with_gaps(codes: Codes, rows: int, step: int) -> npt.NDArray[np.bool_]:
    """Return which rows of `step` frames have one that has ended otherwise than done, (rows,)."""
    lost = np.zeros(rows * step, np.bool_)
    part = codes[: len(lost)]
    lost[: len(part)] = (part > DONE) & (part <= len(FINAL))
    return np.asarray(lost.reshape(rows, step).any(1))


def runs(indices: npt.NDArray[np.intp], most: int) -> list[tuple[int, int]]:
    """Return ranges (first, end) that have these ascending numbers, each at most `most` long; those that are
    near each other are one."""
    if not len(indices):
        return []
    cuts = np.flatnonzero(np.diff(indices) > APART)
    firsts = indices[np.concatenate(([0], cuts + 1))].tolist()
    lasts = indices[np.concatenate((cuts, [len(indices) - 1]))].tolist()
    return [
        (at, min(at + most, last + 1))
        for first, last in zip(firsts, lasts, strict=True)
        for at in range(first, last + 1, most)
    ]


class Grid:
    """The value of every `step`-th frame as a row, NaN where there is none.

    There are at most so many rows: when there are more frames, every second row is given up.

    Args:
        points: numbers in a row.
        kind: their type, a floating-point one.
        most: rows.
    """

    def __init__(self, points: int, kind: type[np.floating[Any]] = np.float32, most: int = MOST_ROWS) -> None:
        room = MOST_BYTES // max(1, points * np.dtype(kind).itemsize)
        self._most = max(LEAST_ROWS, min(most, room))
        self._at_once = max(1, AT_ONCE // max(1, points * 8))
        self._values = np.full((LEAST_ROWS, points), np.nan, kind)
        self._got = np.zeros(LEAST_ROWS, np.bool_)
        self.rows = 0
        self.step = 1

    def reach(self, frames: int) -> None:
        """Have a place for so many frames."""
        while -(-frames // self.step) > self._most:
            self.step *= 2
            self._resize(self._values[::2], self._got[::2], len(self._got))
        self.rows = -(-frames // self.step)
        if self.rows > len(self._got):
            self._resize(self._values, self._got, min(self._most, max(self.rows, 2 * len(self._got))))

    def _resize(self, values: npt.NDArray[Any], got: npt.NDArray[np.bool_], rows: int) -> None:
        """Have other arrays: who draws the old ones sees no change."""
        count = min(len(got), rows)
        self._values = np.full((rows, values.shape[1]), np.nan, values.dtype)
        self._got = np.zeros(rows, np.bool_)
        self._values[:count], self._got[:count] = values[:count], got[:count]

    def missing(self, codes: Codes) -> list[tuple[int, int]]:
        """Return the frames that are to be asked for, as (first, end), the newest first."""
        done = codes[:: self.step][: self.rows] == DONE
        wanted = np.flatnonzero(done & ~self._got[: len(done)])
        return [
            (first * self.step, (end - 1) * self.step + 1)
            for first, end in reversed(runs(wanted, self._at_once))
        ]

    def take(self, rows: Rows, values: npt.NDArray[Any]) -> None:
        """Take (frames, points)."""
        if rows.step != self.step:
            return
        first = rows.first // self.step
        place = slice(first, min(first + len(rows.has), self.rows))
        count = max(0, place.stop - first)
        ended = rows.states[:count] == DONE
        with np.errstate(over="ignore"):  # double precision goes farther: infinity, which is no number here
            self._values[place][ended] = np.where(rows.has[:count, np.newaxis], values[:count], np.nan)[ended]
        self._got[place] |= ended

    def values(self) -> npt.NDArray[Any]:
        """Return the rows, (rows, points); the array itself, which changes later on."""
        return self._values[: self.rows]


@dataclass(frozen=True, eq=False)
class One:
    """The value of one frame."""

    frame: int
    y: npt.NDArray[Any]
    sigma: npt.NDArray[Any] | None = None
    """Standard deviations, in the shape of the value; `None` if none are known."""


class Ones:
    """The values of single frames that were asked for last; `None` where a frame has none."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, One | None] = OrderedDict()
        self._bytes = 0

    def missing(self, frames: Iterable[int]) -> list[tuple[int, int]]:
        """Return which of these are to be asked for, as (first, end)."""
        wanted = np.array([each for each in frames if each not in self._kept], np.intp)
        return runs(np.sort(wanted), RECENT)

    def put(self, frame: int, one: One | None) -> None:
        """Keep one, and forget the oldest if they are too much."""
        self._forget(frame)
        self._kept[frame] = one
        self._bytes += _size(one)
        while self._bytes > KEPT and len(self._kept) > 1:
            self._forget(next(iter(self._kept)))

    def get(self, frame: int) -> One | None:
        """Return one; `None` if there is none."""
        return self._kept.get(frame)

    def _forget(self, frame: int) -> None:
        if frame in self._kept:
            self._bytes -= _size(self._kept.pop(frame))


def _size(one: One | None) -> int:
    return 64 + (0 if one is None else one.y.nbytes + (0 if one.sigma is None else one.sigma.nbytes))


def as_real(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers that can be drawn: of complex ones their magnitude, of truth values 0 and 1."""
    if values.dtype.kind == "c":
        return np.asarray(np.abs(values))
    return values.astype(np.uint8) if values.dtype.kind == "b" else values
