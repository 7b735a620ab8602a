"""The mappings of a virtual dataset: which frames it shows from which other dataset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import h5py
import numpy as np

from penstock.receiver.files.stores.counted_names import is_counted, numbered
from penstock.receiver.files.stores.parts.linked_frames import is_virtual
from penstock.receiver.reading.hdf5.chunks import Box
from penstock.receiver.reading.hdf5.selections import Axis, Indices, all_of, axes, flat


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
