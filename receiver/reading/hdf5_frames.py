"""Frames of any HDF5 file: those of a series, what NXdata groups show, and the linked files of DECTRIS.

A series of Penstock is read by `reader.SeriesFile`; `hdf5` finds the frames of everybody else's files, and
what of them was never stored.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import h5py
import numpy as np

from penstock.receiver.models import FrameStatus, Geometry
from penstock.receiver.reading.hdf5.contents import Contents, stack_at
from penstock.receiver.reading.hdf5.described import described, mask, saturation, underload
from penstock.receiver.reading.hdf5.detector import Held, held, held_by_series
from penstock.receiver.reading.hdf5.module_places import with_gaps
from penstock.receiver.reading.hdf5.nodes import NO_NODE
from penstock.receiver.reading.hdf5.own_parts import WHY, OwnParts
from penstock.receiver.reading.hdf5.stack import Stack, axes_of, kind_of
from penstock.receiver.reading.reader import ReaderError, SeriesFile, open_hdf5


def is_hdf5(path: Path) -> bool:
    """Return whether a file has HDF5's signature."""
    return bool(h5py.is_hdf5(path))


class Hdf5Frames:
    """An HDF5 file as a `frame_files.FrameFile`.

    Args:
        path: the file.
        images: one of its `choices`, or the path of another dataset of images; by default the one to which
            the `default` attributes lead, else the first.

    Raises:
        ReaderError: it cannot be opened, or has no such images.
    """

    choices: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    scalars: tuple[str, ...] = ()
    is_pilatus = False

    def __init__(self, path: str | Path, images: str | None = None) -> None:
        self.path = Path(path)
        self._stack: Stack | None = None
        self._parts: OwnParts | None = None
        self._held = Held()
        self._files: list[h5py.File] = []
        self._series = SeriesFile.own(self.path)
        self.file = self._series.file if self._series is not None else open_hdf5(self.path, follow=True)
        try:
            if self._series is not None:
                self._describe_series(self._series)
            else:
                self._describe_others(images)
        except (*NO_NODE, TypeError) as error:  # what h5py raises of a damaged file
            self.close()
            raise ReaderError(
                f"{self.path} cannot be read: {error}; is it damaged, or still being written?"
            ) from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._held = Held()
        for file in self._files:
            file.close()
        if self._series is not None:
            self._series.close()
            return
        if self._stack is not None:
            self._stack.close()
        self.file.close()

    @property
    def shape(self) -> tuple[int, ...]:
        """(frames, rows, cols), (frames, k, rows, cols), (frames, n), or (frames, rows, cols, 3)."""
        if self._series is not None:
            return self._series.shape
        if self._stack is None:
            return (0,)
        data = self._stack.data
        return (len(self._stack), *data.shape[data.ndim - axes_of(data) :])

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """Type of a pixel; `None` without frames."""
        if self._series is not None:
            return self._series.dtype
        return None if self._stack is None else self._stack.data.dtype

    def frame(self, index: int, channel: str | None = None) -> np.ndarray[Any, Any]:
        """Return one frame, unpacked, or one of its channels.

        Raises:
            ReaderError: it cannot be read, was never stored, or there is no such frame or channel.
        """
        if channel is not None and channel not in self.channels:
            raise ReaderError(f"{self.path} has no channel {channel}; leave it out")
        if not 0 <= index < self.shape[0]:
            raise ReaderError(f"{self.path} has no frame {index}; its last is {self.shape[0] - 1}")
        if self._series is not None:
            found = self._series.frame(index)
            return found if channel is None else found[self.channels.index(channel)]
        assert self._stack is not None
        if not self._stack.has(index):
            raise ReaderError(f"frame {index} of {self.path} is not there: {self.why(index)}")
        try:
            return self._stack.piece(index).frame(index)
        except NO_NODE as error:
            raise ReaderError(f"frame {index} of {self.path} cannot be read: {error}") from error

    def why(self, index: int) -> str | None:
        """Return why a frame, or a part of it, has no pixels; `None` if it is there as a whole."""
        if not 0 <= index < self.shape[0]:
            return None
        if self._series is not None:
            return None if self._parts is None else self._parts.why(index)
        assert self._stack is not None
        said = None if self._stack.said is None else WHY.get(FrameStatus(int(self._stack.said[index])))
        return said or self._stack.why(index)

    def missing(self, index: int, channel: str | None = None) -> np.ndarray[Any, Any] | None:
        """Return which pixels of a partial frame are missing: bool, of its shape without colours; `None` if
        it is not partial, or nobody knows which."""
        if self.status is None or not 0 <= index < min(len(self.status), self.shape[0]):
            return None
        if self.status[index] != FrameStatus.PARTIAL:
            return None
        is_coloured = self.interpretation == "rgba-image"
        if self._stack is not None:
            found = self._stack.missing(index)
            if found is None or not found.any():
                return None
            return np.asarray(found.any(-1)) if is_coloured else found
        if self._parts is None:
            return None
        shape = self.shape[1:-1] if is_coloured else self.shape[1:]
        if channel is None:
            return self._parts.missing(index, shape, None)
        return self._parts.missing(index, shape[1:], self.channels.index(channel))

    def time(self, index: int) -> float | None:
        """Return the end of its exposure, in seconds since 1970 (UTC), if the file says it."""
        value = self._of_frame("timestamp", index)
        return None if value is None or not np.isfinite(value) else value

    def trigger(self, index: int) -> int | None:
        """Return the trigger of which it is, if the file says it."""
        value = self._of_frame("trigger", index)
        return None if value is None or value < 0 else int(value)

    def geometry(self) -> Geometry | None:
        """Return what the file says of detector and beam, as the start message of a series does."""
        detector, beam, remarks = self._held
        if detector is None:
            return None
        found, more = described(detector, beam, self.id)
        return replace(found, remarks=[*remarks, *more])

    def remarks(self) -> tuple[str, ...]:
        """Return why the file tells of no detector, or why something that it says of it is not understood."""
        found = self.geometry()
        return self._held.remarks if found is None else tuple(found.remarks)

    def mask(self, channel: str | None = None) -> np.ndarray[Any, Any] | None:
        """Return the pixel mask, (rows, cols), of a channel, or of the first; 0 is a pixel that counts.

        Of an image of modules, what lies between them has bit 0, as the receiver's own mask says it.
        """
        if self._held.detector is None:
            return None
        fits = self._series is None and self.interpretation == "image"
        found = mask(self._held.detector, channel, self.shape[-2:] if fits else None)
        return with_gaps(self._held.detector, found, self.shape[1:])

    def _of_frame(self, name: str, index: int) -> float | None:
        found = None if self._series is None else self._series.group.get(name)
        if not isinstance(found, h5py.Dataset) or found.ndim != 1 or index >= len(found):
            return None
        return float(found[index])

    def _describe_series(self, series: SeriesFile) -> None:
        self.detector, self.chosen = series.detector, "" if series.data is None else str(series.data.name)
        self.has_images = True
        self.interpretation, self.channels = series.interpretation, series.channels
        self.id, self.state, self.reason = series.id or "", series.state, series.reason
        self.planned, self.counts = series.planned, dict(series.counts)
        self._parts = OwnParts(series)
        self.status = self._parts.statuses
        self._describe_values(held_by_series(series.group))

    def _describe_others(self, images: str | None) -> None:
        found = Contents(self.file)
        self.curves, self.scalars = found.curves, found.scalars
        self.choices = tuple(stack.name for stack in found.stacks)
        other = None if images is None or images in self.choices else stack_at(self.file, images)
        if images is not None and images not in self.choices and other is None:
            has = f"it has {', '.join(self.choices)}" if found.stacks else "it has none"
            raise ReaderError(f"{self.path} has no images {images}; {has}")
        if not found.stacks and other is None and (lost := found.lost()):
            raise ReaderError(f"{self.path} shows frames of another file: {lost}")
        self._stack = other or next((each for each in found.stacks if images in (None, each.name)), None)
        self.has_images = self._stack is not None
        self.channels = ()
        self.chosen = "" if self._stack is None else self._stack.name
        self.detector = self.chosen.rpartition("/")[2]
        self.interpretation = "image" if self._stack is None else kind_of(self._stack.data)
        self.id, self.state, self.reason, self.planned, self.counts = "", None, "", None, {}
        self.status = None if self._stack is None else self._stack.statuses
        self._describe_values(
            Held() if self._stack is None else held(self._stack.data, self._stack.home, self._files)
        )

    def _describe_values(self, found: Held) -> None:
        self._held = found
        self.saturation = None if found.detector is None else saturation(found.detector)
        self.underload = None if found.detector is None else underload(found.detector)
