"""Frames of one dataset or of several, one behind the other; and which of them are there, whatever HDF5 reads
in place of the others."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import h5py
import numpy as np

from penstock.receiver.files.stores.parts.linked_frames import LinkedFrames
from penstock.receiver.models import FrameStatus
from penstock.receiver.reading import packed_chunks
from penstock.receiver.reading.hdf5.views import MOST_OPENED, Sources
from penstock.receiver.reading.reader import linked_frames, text
from penstock.receiver.validity.frames import WITH_DATA

Status = np.ndarray[Any, np.dtype[np.uint8]]


class Stored:
    """The frames of one dataset: there, there in part, or never stored.

    Args:
        data: h5py dataset; it is not kept.
        axes: number of axes of a frame.
        most: other files that are opened to look at what they have; of more it is only asked whether they
            exist, until one of their frames is asked for.
    """

    def __init__(self, data: Any, axes: int, most: int = MOST_OPENED) -> None:
        self._sources = Sources(axes, most)
        self._extent = self._sources.of(data)
        self._box = tuple((0, length) for length in data.shape[data.ndim - axes :])

    @cached_property
    def statuses(self) -> Status | None:
        """STORED, PARTIAL or MISSING of each frame; `None` if all are stored."""
        some, whole = self._extent.survey(self._box)
        if whole.all():
            return None
        found = np.full(len(some), FrameStatus.MISSING, np.uint8)
        found[some], found[whole] = FrameStatus.PARTIAL, FrameStatus.STORED
        return found

    @property
    def is_sure(self) -> bool:
        """True if every file was looked at, and not only asked for."""
        return not self._sources.left_out

    def why(self, frame: int) -> str | None:
        """Return why a frame, or a part of it, is not there; `None` if all of it is."""
        return self._extent.why(frame, self._box)

    def missing(self, frame: int) -> np.ndarray[Any, Any]:
        """Return which pixels of a frame are not there: bool, of a frame's shape."""
        return self._extent.missing(frame, self._box)


@dataclass(frozen=True)
class Piece:
    """Frames of one dataset, at their place in the series; without dataset, of a file that is not there."""

    first: int
    count: int
    data: h5py.Dataset | None
    whole: bool = False
    """The dataset is one frame."""
    why: str = ""
    """Why there is no dataset."""

    def frame(self, index: int) -> np.ndarray[Any, Any]:
        """Return a frame by its place in the series."""
        assert self.data is not None
        if self.whole:
            return np.asarray(self.data[...])
        # Of a map, frames are numbered row by row.
        axes = self.data.shape[: self.data.ndim - axes_of(self.data)]
        place = tuple(int(at) for at in np.unravel_index(index - self.first, axes))
        return packed_chunks.read(self.data, place, self._linked)

    @cached_property
    def stored(self) -> Stored:
        """What of it is there; of a dataset."""
        assert self.data is not None
        return Stored(self.data, axes_of(self.data))

    @cached_property
    def _linked(self) -> LinkedFrames | None:
        """Frames that a virtual dataset shows from other datasets; `None` if it shows none."""
        return linked_frames(self.data) if self.data is not None else None

    def close(self) -> None:
        """Close the files that were opened for it."""
        if (linked := self.__dict__.pop("_linked", None)) is not None:
            linked.close()


@dataclass(frozen=True)
class Stack:
    """Frames that follow each other."""

    name: str
    pieces: tuple[Piece, ...]
    home: h5py.Group
    """Group in which they were found."""
    status: h5py.Dataset | None = None

    @property
    def data(self) -> h5py.Dataset:
        """One of the datasets, which tells shape and type."""
        return next(piece.data for piece in self.pieces if piece.data is not None)

    def __len__(self) -> int:
        return sum(piece.count for piece in self.pieces)

    @cached_property
    def said(self) -> np.ndarray[Any, Any] | None:
        """The status of each frame as the file says it; `None` if it does not."""
        if self.status is None or self.status.shape != (len(self),):
            return None
        return np.asarray(self.status[...])

    @cached_property
    def statuses(self) -> np.ndarray[Any, Any] | None:
        """The status of each frame, as the file says it, unless it is not there; `None` if all are stored."""
        found = np.full(len(self), FrameStatus.STORED, np.uint8)
        for piece in self.pieces:
            part = found[piece.first : piece.first + piece.count]
            if piece.data is None:
                part[:] = FrameStatus.MISSING
            elif (there := piece.stored.statuses) is not None:
                part[:] = there
        if self.said is None:
            return None if (found == FrameStatus.STORED).all() else found
        # What the file says to be there may be in another file, which is away.
        worse = np.isin(self.said, WITH_DATA) & (found != FrameStatus.STORED)
        return np.where(worse, found, self.said).astype(np.uint8)

    def piece(self, index: int) -> Piece:
        """Return where a frame is."""
        return self.pieces[bisect_right(self.pieces, index, key=lambda piece: piece.first) - 1]

    def has(self, index: int) -> bool:
        """Return whether a frame, or a part of it, is there, whatever the file says."""
        piece = self.piece(index)
        if piece.data is None:
            return False
        at = index - piece.first
        if (there := piece.stored.statuses) is not None and there[at] == FrameStatus.MISSING:
            return False
        # Of very many files it was asked only whether they exist.
        return piece.stored.is_sure or piece.stored.why(at) is None or not piece.stored.missing(at).all()

    def why(self, index: int) -> str | None:
        """Return why a frame, or a part of it, is not there; `None` if it is, or the file says why."""
        piece = self.piece(index)
        return piece.why if piece.data is None else piece.stored.why(index - piece.first)

    def missing(self, index: int) -> np.ndarray[Any, Any] | None:
        """Return which pixels of a frame are not there; `None` if none is."""
        piece = self.piece(index)
        return None if piece.data is None else piece.stored.missing(index - piece.first)

    def close(self) -> None:
        """Close the files that were opened for it."""
        for piece in self.pieces:
            piece.close()


def kind_of(data: h5py.Dataset) -> str:
    """Return what a frame is: "image", "spectrum" or "rgba-image"."""
    given = text(data.attrs.get("interpretation"))
    if given == "rgba-image" and (data.ndim < 3 or data.shape[-1] != 3):
        return "image"
    return given if given in ("spectrum", "rgba-image") else "image"


def axes_of(data: h5py.Dataset) -> int:
    """Return the axes of one frame."""
    return {"spectrum": 1, "rgba-image": 3}.get(kind_of(data), 2)
