"""The interface between the writer and its frame stores."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hdf5plugin
import numpy as np

from penstock.receiver.files.stores.objects import set_ascii, set_attribute
from penstock.receiver.models import FrameStatus
from penstock.stins.messages import Buffer, Frame

FILTERS: Mapping[str, Mapping[str, Any]] = {
    "bslz4": dict(hdf5plugin.Bitshuffle(cname="lz4")),
    "lz4": dict(hdf5plugin.LZ4()),
}
"""Keys of `create_dataset` for each compression that is stored; all other frames are uncompressed."""


@dataclass(frozen=True)
class FrameFormat:
    """Format of the frames of a series."""

    shape: tuple[int, ...]
    """(rows, cols), or (k, rows, cols) with k blobs per frame; (n,) for spectra, (rows, cols, 3) for
    colours."""
    dtype: str
    compression: str
    planned: int | None
    """Announced number of frames; `None` if unknown."""
    channels: tuple[str, ...] = ()
    """Names of the datasets of the k blobs if each is an image of its own, else empty."""
    colours: bool = False
    """True if a frame is (rows, cols, 3) in one blob."""

    @property
    def blobs(self) -> int:
        """Number of blobs per frame."""
        return self.shape[0] if self.is_split else 1

    @property
    def is_split(self) -> bool:
        """True if frames are (k, rows, cols), each of k blobs in a chunk of its own."""
        return len(self.shape) == 3 and not self.colours

    @property
    def interpretation(self) -> str:
        """What a frame is, in NeXus' words."""
        return "rgba-image" if self.colours else "spectrum" if len(self.shape) == 1 else "image"

    @property
    def nbytes(self) -> int:
        """Size of an uncompressed frame in bytes."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Writing:
    """How the frames of a series are written."""

    files: int = 1
    """Number of files among which they are dealt; with 1 they are in the file of the series."""
    queue_bytes: int = 0
    """Most bytes that wait for a thread which writes them; 0 for no thread."""
    before_wait: list[Callable[[], None]] | None = None
    """Calls that the loop makes before it waits for messages or frames, and every few milliseconds of a long
    turn; threads add theirs. `None` if it makes none."""
    path: Path | None = None
    """File of the series; segments and parts are created next to it."""
    space_seconds: float = 0.01
    """Longest time in seconds that a series waits for the allocation of space before its frames."""
    overwrite: bool = False
    """True if existing files may be replaced."""
    replace_empty: bool = False
    """True if files without a frame may be replaced: a process that was killed has left them."""
    frames_per_file: int = 0
    """Frames per segment; 0 for no segments."""
    swmr: bool = False
    """True if others may read the file while it grows (single writer, multiple readers of HDF5)."""
    late_seconds: float = 2.0
    """Time in seconds that a segment waits for late frames."""


def describe(data: Any, interpretation: str = "image") -> None:
    """Describe a dataset of frames to viewers: they would load all frames to find out that it has images."""
    set_ascii(data, "units", "counts")
    set_attribute(data, "interpretation", interpretation)


class FrameStore(ABC):
    """Store of frames by index, in any order; the defaults are for a store that writes at once.

    In the NXdetector group, exactly the datasets with one entry per frame have an unlimited first dimension,
    so that `reopen.finish` finds them after the writer was killed.

    Methods raise OSError, RuntimeError or ValueError, from which the writer makes a sentence. After one has
    raised, only `lost`, `finish` and `close` are called, and what was written before must stay readable.
    """

    data: Any
    """Dataset `data` of the NXdetector group, which programs open: (frames, *shape), or the view of a store
    that splits frames up. The writer links to it and describes it."""

    @property
    def waiting_bytes(self) -> int:
        """Bytes of frames taken but not written yet."""
        return 0

    @property
    def most_waiting_bytes(self) -> int:
        """Most bytes of frames that wait; 0 if none ever do."""
        return 0

    @property
    def held_seconds(self) -> float:
        """Seconds for which callers have waited for the threads of several files."""
        return 0.0

    @abstractmethod
    def write(self, index: int, frame: Frame) -> None:
        """Store the blobs of a frame, for which `grow` has made room."""

    @property
    def most_run_bytes(self) -> int:
        """Bytes of the largest frame for which the store has `write_run` at present; 0 for none."""
        return 0

    def write_run(self, first: int, blobs: Sequence[Buffer]) -> None:
        """Store consecutive frames of one plain blob each, for which `grow` has made room: all of them, or
        none if this raises; only if none is larger than `most_run_bytes`."""
        raise NotImplementedError

    @abstractmethod
    def read(self, index: int) -> Frame:
        """Return a stored frame with its blobs as received, not unpacked; its header has only shape, type,
        compression and frame number."""

    def grow(self, rows: int) -> None:
        """Make room for frames below `rows`, never fewer than before; a store may take larger steps."""

    def flush(self) -> None:
        """Hand all frames to the kernel; the writer flushes its own file next."""

    def lost(self) -> Collection[int]:
        """Return frames that `write` had taken and that could not be written, as a whole or in part."""
        return ()

    def status_without(self, index: int) -> FrameStatus:
        """Return the status of a frame without what of it is `lost`: missing, if that is all."""
        return FrameStatus.MISSING

    @abstractmethod
    def finish(self, statuses: np.ndarray[Any, Any]) -> None:
        """Cut to the length of `statuses` (uint8, `FrameStatus`, one per index) at the end of the series, and
        let frames that are not stored read as the fill value. The writer closes its file next."""

    def close(self, *, synced: bool) -> None:
        """Release everything that the store has opened besides the writer's file; may be called again.

        Args:
            synced: return only when its files are on the disk.
        """
