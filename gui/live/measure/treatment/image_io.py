"""Masks and backgrounds in files: npy, EDF, TIFF, and whatever else holds one image."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.receiver.reading.frame_files import open_frames
from penstock.receiver.validity import frames
from penstock.receiver.validity.pixels import Flag, PixelRule

PATTERN = "Images (*.npy *.edf *.tif *.tiff *.cbf *.h5 *.nxs)"
SAVED = "NumPy (*.npy);;EDF (*.edf);;TIFF (*.tif)"


def load(path: Path) -> npt.NDArray[Any]:
    """Return the image in a file, (rows, cols); of a file of frames, the first one that is stored whole.

    Raises:
        ValueError: it holds no image, or cannot be read; a sentence.
        ReaderError: the same, of other kinds than .npy.
    """
    return _with_gaps(path)[0]


def load_background(path: Path) -> npt.NDArray[Any]:
    """Return the image in a file as `load` does, NaN where a pixel has no value.

    Which have none is told by what the file says of its detector, and by its mask.

    Raises:
        ValueError, ReaderError: as of `load`.
    """
    found, none = _with_gaps(path)
    return np.where(none, np.nan, found) if none.any() else found


def _with_gaps(path: Path) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return the image in a file, and which of its pixels have no value."""
    rule, mask = PixelRule(), None
    if path.suffix.lower() == ".npy":
        try:
            found = np.load(path, allow_pickle=False)
        except OSError as error:
            raise ValueError(f"{path} cannot be opened: {error.strerror or error}") from error
        except (ValueError, EOFError) as error:  # NumPy speaks of pickles
            raise ValueError(f"{path.name} is no array of NumPy, or is damaged") from error
    else:
        with open_frames(path) as file:
            stored = frames.whole(file.status, file.shape[0])
            if not len(stored):
                why = frames.not_whole(file.status, file.shape[0])
                said = f" ({why})" if why else ""
                raise ValueError(f"{path.name} has no frame that is stored whole{said}: take another file")
            found, mask = file.frame(int(stored[0])), file.mask()
            rule = PixelRule(file.saturation, file.underload)
    if found.ndim != 2 or found.dtype.kind not in "biuf":
        raise ValueError(f"{path.name} has no image of rows and columns, but {list(found.shape)}")
    left_out = mask != 0 if mask is not None and mask.shape == found.shape else None
    return np.asarray(found), rule.flags(found, left_out) == Flag.INVALID


def load_mask(path: Path) -> npt.NDArray[np.bool_]:
    """Return which pixels a file leaves out, (rows, cols): those not 0 in its mask, or else in its image.

    Of a file of frames without a mask, that is the first frame that is stored whole.

    Raises:
        ValueError: it holds no image, or cannot be read; a sentence.
        ReaderError: the same, of other kinds than .npy.
    """
    if path.suffix.lower() != ".npy":
        with open_frames(path) as file:
            own = file.mask()
        if own is not None:
            return np.asarray(own != 0)
    return np.asarray(load(path) != 0)


def save(path: Path, image: npt.NDArray[Any]) -> None:
    """Write an image; the name's end says how: .npy, .edf, .tif.

    Raises:
        ValueError: it has another end.
        OSError: it cannot be written.
    """
    kind = path.suffix.lower()
    image = image.astype(np.uint8) if image.dtype == np.bool_ else image
    if kind == ".npy":
        with path.open("wb") as file:
            np.save(file, image)
    elif kind == ".edf":
        from fabio.edfimage import EdfImage

        EdfImage(data=image).write(str(path))
    elif kind in (".tif", ".tiff"):
        from fabio.tifimage import TifImage

        TifImage(data=image.astype(np.float32) if image.dtype == np.float64 else image).write(str(path))
    else:
        raise ValueError(f"{path.name} ends with no .npy, .edf or .tif: give it one of them")
