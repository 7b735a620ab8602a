"""One door to the frames of any file: of Penstock, of a scan, of DECTRIS, any NXdata, CBF, TIFF, EDF.

What is behind it is chosen by what is in the file, not by its name.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

from penstock.receiver.models import Geometry
from penstock.receiver.reading.hdf5_frames import Hdf5Frames, is_hdf5
from penstock.receiver.reading.image_files import ImageFile
from penstock.receiver.reading.reader import ReaderError


class FrameFile(Protocol):
    """Frames by index, and what is known of them; each call may read the disk. For one thread at a time."""

    path: Path
    detector: str
    """Name of the detector; "" if the file does not say."""
    choices: tuple[str, ...]
    """What of the file can be shown as images, by the path in it; empty if there is nothing to choose."""
    chosen: str
    """The one of them whose frames these are; ""."""
    curves: tuple[str, ...]
    """Names of what has many values, to be drawn as lines."""
    scalars: tuple[str, ...]
    """Names of numbers, one or one per frame."""
    has_images: bool
    interpretation: str
    """"image" (or k images), "spectrum" or "rgba-image"."""
    channels: tuple[str, ...]
    """Names of a frame's images, such as thresholds, if it has several."""
    saturation: float | None
    """Value from which a pixel counts as saturated; `None` if the file does not say."""
    underload: float | None
    """Value below which a pixel holds no value (NXdetector's `underload_value`); `None` if the file does not
    say."""
    is_pilatus: bool
    """True if it is a CBF or TIFF of a PILATUS, in which −1 is a pixel without a value, and −2 a bad one."""
    id: str
    """Id of the series; "" if the file does not say."""
    state: str | None
    """"in progress", "complete", "incomplete"; `None` if the file does not record it."""
    reason: str
    planned: int | None
    counts: dict[str, int]
    """The account, by the names of `receiver.models.Counts`; empty if there is none."""
    status: np.ndarray[Any, Any] | None
    """`receiver.models.FrameStatus` of each frame, uint8; `None` if all are there, as far as the file tells.

    In files of other programs, MISSING is a frame that was never stored, or is in a file that is away."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(frames, rows, cols), (frames, k, rows, cols), (frames, n), or (frames, rows, cols, 3)."""

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """Type of a pixel; `None` without frames."""

    def frame(self, index: int, channel: str | None = None) -> np.ndarray[Any, Any]:
        """Return one frame, unpacked, or one of its channels.

        Raises:
            ReaderError: it cannot be read, or there is no such frame or channel.
        """

    def why(self, index: int) -> str | None:
        """Return why a frame, or a part of it, has no pixels, such as "raw_2.h5 does not exist"; `None` if it
        is there as a whole, as far as the file tells."""

    def missing(self, index: int, channel: str | None = None) -> np.ndarray[Any, Any] | None:
        """Return which pixels of a partial frame were never stored, or are in a file that is away.

        Returns:
            bool, of the shape of `frame` without colours; `None` if the frame is not partial, or nobody knows
            which pixels are missing.
        """

    def time(self, index: int) -> float | None:
        """Return the end of its exposure, in seconds since 1970 (UTC), if the file says it."""

    def trigger(self, index: int) -> int | None:
        """Return the trigger of which it is, if the file says it."""

    def geometry(self) -> Geometry | None:
        """Return what the file says of detector and beam; `None` if it is of a kind that says nothing."""

    def remarks(self) -> tuple[str, ...]:
        """Return why something that the file says of detector and beam is not known here, such as a unit;
        sentences."""

    def mask(self, channel: str | None = None) -> np.ndarray[Any, Any] | None:
        """Return the pixel mask, (rows, cols), of a channel, or of the first; 0 is a pixel that counts."""

    def close(self) -> None:
        """Close the file."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_frames(path: str | Path, images: str | None = None) -> FrameFile:
    """Open a file.

    Args:
        path: the file.
        images: one of its `choices`, or of HDF5 the path of another dataset of images; by default the one
            that the file itself puts first.

    Raises:
        ReaderError: it does not exist, is damaged, or of a kind that is not read here; a sentence.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise ReaderError(f"{path} is a folder; give a file in it")
        with path.open("rb") as file:
            if not file.read(1):
                raise ReaderError(f"{path} is empty: its writer has not begun, or was stopped at once")
    except FileNotFoundError:
        raise ReaderError(f"{path} does not exist") from None
    except OSError as error:
        raise ReaderError(f"{path} cannot be opened: {error.strerror}") from error
    return Hdf5Frames(path, images) if is_hdf5(path) else ImageFile(path)
