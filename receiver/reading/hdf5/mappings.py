"""The mappings of a virtual dataset: which frames it shows from which other dataset, and what they select
along each axis of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import h5py
import numpy as np
from h5py import h5s

from penstock.receiver.files.stores.counted_names import is_counted, numbered
from penstock.receiver.files.stores.parts.linked_frames import is_virtual
from penstock.receiver.reading.hdf5.chunks import Box

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


class Mapping(NamedTuple):
    """Frames of a virtual dataset that are shown from one other dataset."""

    file: str
    dataset: str
    frames: Indices
    """Numbers of these frames."""
    inner: list[Axis] | None
    """What is covered of each of them; `None`: nobody knows, so all."""
    source: list[Axis] | None
    """Selection in the other dataset: nothing is all of it; `None`: no regular one."""

    def covered(self, box: Box) -> list[tuple[int, int]] | None:
        """Return which part of a part of a frame is covered; `None` if nothing is."""
        if self.inner is None:
            return list(box)
        found = []
        for axis, (first, end) in zip(self.inner, box, strict=True):
            last = axis.start + (axis.blocks - 1) * axis.stride + axis.block
            found.append((max(first, axis.start), min(end, last)))
        return found if all(first < end for first, end in found) else None


def shows_other_files(data: Any) -> bool:
    """Return whether a dataset is virtual, and shows what is in other files."""
    return is_virtual(data) and any(each.file_name != "." for each in h5py.Dataset(data.id).virtual_sources())


def mappings(data: Any, frame_axes: int) -> Iterator[Mapping]:
    """Yield the mappings of a dataset.

    Args:
        data: h5py dataset, virtual.
        frame_axes: number of axes of a frame.
    """
    lead = tuple(data.shape[: data.ndim - frame_axes])
    for source in h5py.Dataset(data.id).virtual_sources():  # see `is_virtual`
        selected, there = axes(source.vspace), axes(source.src_space)
        if selected is None:  # such as single points: whole frames then, as far as it reaches
            low, high = source.vspace.get_select_bounds()
            pairs = zip(low[: len(lead)], high[: len(lead)], strict=True)
            frames = flat([np.arange(first, last + 1) for first, last in pairs], lead)
            yield Mapping(numbered(source.file_name), numbered(source.dset_name), frames, None, there)
            continue
        selected = selected or all_of(data.shape)
        outer, inner = selected[: len(lead)], selected[len(lead) :]
        if not (is_counted(source.file_name) or is_counted(source.dset_name)) or not outer:
            indices = [axis.within(length) for axis, length in zip(outer, lead, strict=True)]
            yield Mapping(
                numbered(source.file_name), numbered(source.dset_name), flat(indices, lead), inner, there
            )
            continue
        # Each block along the first axis is of a file, or dataset, of its own.
        first, others = outer[0], outer[1:]
        rest = [axis.within(length) for axis, length in zip(others, lead[1:], strict=True)]
        for number, begin in enumerate(range(first.start, lead[0], first.stride)):
            block = np.arange(begin, min(begin + first.block, lead[0]))
            yield Mapping(
                numbered(source.file_name, number), numbered(source.dset_name, number),
                flat([block, *rest], lead), inner, there,
            )  # fmt: skip
