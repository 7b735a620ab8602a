"""What a mapping of a virtual dataset selects along each axis, of the view and of the dataset behind it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from h5py import h5s

Indices = np.ndarray[Any, np.dtype[np.int64]]
UNLIMITED = int(h5s.UNLIMITED)


class Axis(NamedTuple):
    """What is selected along one axis: blocks, each of which begins `stride` behind the one before."""

    start: int
    stride: int
    blocks: int
    """Or `UNLIMITED`."""
    block: int
    """Or `UNLIMITED`."""

    @property
    def is_stepped(self) -> bool:
        """True if it leaves out some in between."""
        return self.blocks > 1 and self.stride != self.block

    @property
    def is_unlimited(self) -> bool:
        """True if it grows with the dataset."""
        return UNLIMITED in (self.blocks, self.block)

    def within(self, length: int) -> Indices:
        """Return the selected indices of an axis that is so long."""
        if self.block == UNLIMITED:
            return np.arange(self.start, length)
        blocks = self.blocks
        if blocks == UNLIMITED:
            blocks = max(0, -(-(length - self.start) // self.stride))
        found = self._of(blocks)
        return found[found < length] if self.is_unlimited else found

    def first(self, number: int) -> Indices:
        """Return so many selected indices, from the first on, whether or not the dataset has them."""
        if self.block == UNLIMITED:
            return self.start + np.arange(number)
        return self._of(-(-number // self.block) if self.blocks == UNLIMITED else self.blocks)[:number]

    def _of(self, blocks: int) -> Indices:
        starts = self.start + self.stride * np.arange(blocks)
        return np.asarray((starts[:, np.newaxis] + np.arange(self.block)).reshape(-1))


def axes(space: Any) -> list[Axis] | None:
    """Return what a selection of h5py selects: `None` if it is no regular one, nothing if it is all."""
    if space.get_select_type() == h5s.SEL_ALL:
        return []
    if not space.is_regular_hyperslab():
        return None
    return [Axis(*map(int, each)) for each in zip(*space.get_regular_hyperslab(), strict=True)]


def all_of(shape: Sequence[int]) -> list[Axis]:
    """Return the selection of all of a dataset."""
    return [Axis(0, 1, 1, length) for length in shape]


def flat(indices: Sequence[Indices], shape: Sequence[int]) -> Indices:
    """Return the numbers of frames, counted row by row, of indices along the axes that count frames.

    Args:
        indices: along each of these axes; without any there is one frame.
        shape: lengths of these axes.
    """
    if not shape:
        return np.zeros(1, np.int64)
    if len(shape) == 1:
        return indices[0]
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    found = np.zeros((), np.int64)
    for each, stride in zip(indices, strides, strict=True):
        found = found[..., np.newaxis] + each * stride
    return np.asarray(found.reshape(-1))
