"""Images of calibration from files: darks, flat fields, gains and masks."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from penstock.processing.processor import CannotProcess
from penstock.receiver.validity.pixels import PixelRule


class CalibrationError(CannotProcess):
    """A file of calibration cannot be used; the sentence names it and the remedy."""


class Calibration(NamedTuple):
    """An image of calibration."""

    image: np.ndarray[Any, Any]
    """(rows, cols): float32, NaN where there is no value; of a mask bool, true for what does not count."""
    note: str
    """Note of what it was made of, for log and result file; "" if it is one image."""


def image(name: str, path: str) -> Calibration:
    """Return the image in a file; of several frames the mean of those that are stored.

    Args:
        name: name of the parameter, for sentences.
        path: absolute path of an .npy file, of a file with frames (HDF5, TIFF, EDF, CBF), or
            `FILE.h5::/path/of/dataset`.

    Raises:
        CalibrationError: it cannot be read, has no stored frame, or is no image of numbers.
    """
    return _calibration(name, path, is_mask=False)


def mask(path: str) -> Calibration:
    """Return which pixels a file leaves out: those not 0 in its own `pixel_mask`, else in its one image.

    Args:
        path: as for `image`.

    Raises:
        CalibrationError: as for `image`; or it has several frames, and no mask.
    """
    return _calibration("mask", path, is_mask=True)


def notes(*found: Calibration | None) -> tuple[str, ...]:
    """Return what has to be said of the images that there are."""
    return tuple(each.note for each in found if each is not None and each.note)


def of_shape(name: str, path: str, found: Calibration, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return an image that has the shape of the frames.

    Raises:
        CalibrationError: it has another one.
    """
    if found.image.shape != tuple(shape):
        raise CalibrationError(
            f"{name} {path} has {list(found.image.shape)} pixels, the frames {list(shape)}; take it with the "
            "same region, binning and orientation"
        )
    return found.image


def _calibration(name: str, path: str, *, is_mask: bool) -> Calibration:
    name_of_file, place = path, ""
    if "::" in path:
        from penstock.receiver.reading.stored_image import split

        name_of_file, place = split(path)
    file = Path(name_of_file)
    if not file.is_absolute():
        raise CalibrationError(
            f"{name} is {path}: workers run in folders of their own; give an absolute path, or put it into "
            "the pipeline's file, to whose folder it may be relative"
        )
    try:
        status = file.stat()
    except OSError as error:
        raise CalibrationError(
            f"{name}: {file}: {error.strerror}; the file has to be where the workers run"
        ) from error
    # Each change of a parameter configures anew, and each series has instances of its own.
    return _read(name, os.fspath(file), place, status.st_mtime_ns, status.st_size, is_mask)


@lru_cache(maxsize=4)
def _read(name: str, file: str, place: str, _modified: int, _size: int, is_mask: bool) -> Calibration:
    note = ""
    try:
        if file.endswith(".npy"):
            found = np.load(file, allow_pickle=False)
        elif is_mask:
            found = _mask(file, place)
        else:
            found, note = _mean(name, file, place)
    except (OSError, ValueError, KeyError, EOFError) as error:
        said = error.args[0] if isinstance(error, KeyError) and error.args else error
        raise CalibrationError(f"{name}: {file} cannot be read: {said}") from error
    if found.dtype.kind not in "biuf" or found.ndim < 2:
        raise CalibrationError(
            f"{name}: {file} has {list(found.shape)} of {found.dtype}; give an image of numbers, [rows, cols]"
        )
    if found.ndim > 2 or not is_mask:
        found = _one_of(name, file, found, is_mask)
    image = found != 0 if is_mask else found.astype(np.float32)
    image.flags.writeable = False  # all instances share it
    return Calibration(image, note)


def _one_of(name: str, file: str, found: np.ndarray[Any, Any], is_mask: bool) -> np.ndarray[Any, Any]:
    """Return the one image of a stack, or the mean of several: NaN where a pixel has no value in any."""
    stack = found.reshape(-1, *found.shape[-2:])
    if not len(stack):
        raise CalibrationError(f"{name}: {file} has no image")
    if is_mask and len(stack) > 1:
        raise CalibrationError(f"{name}: {file} has {len(stack)} images; give a file of one, [rows, cols]")
    if is_mask:
        return np.asarray(stack[0])
    good = PixelRule().good(stack)
    if good is None:
        return np.asarray(stack.mean(axis=0, dtype=np.float64))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(good, stack, 0).sum(axis=0, dtype=np.float64) / good.sum(axis=0))


def _mean(name: str, file: str, place: str) -> tuple[np.ndarray[Any, Any], str]:
    """Return the mean of the stored frames of a file, and of how many it is; or an image in it."""
    from penstock.receiver.reading.reader import ReaderError
    from penstock.receiver.reading.stored_image import stored_image

    try:
        found, used = stored_image(file, place)
    except ReaderError as error:
        raise ValueError(f"{error}; name an image in it as {file}::/path/of/dataset") from error
    return found, f"{name} {file}: mean of {used}" if used else ""


def _mask(file: str, place: str) -> np.ndarray[Any, Any]:
    """Return the mask that a file has for its frames, or its one image."""
    from penstock.receiver.reading.frame_files import open_frames
    from penstock.receiver.reading.reader import ReaderError
    from penstock.receiver.reading.stored_image import dataset
    from penstock.receiver.validity.frames import whole

    if place:
        return dataset(file, place)
    try:
        with open_frames(file) as frames:
            own = frames.mask(frames.channels[0] if frames.channels else None)
            if own is not None:
                return own
            indices = whole(frames.status, frames.shape[0])
            if len(indices) != 1:
                raise ValueError(
                    f"it has no pixel_mask, and {len(indices)} stored frames: which of them is meant? Name "
                    f"the image in it as {file}::/path/of/dataset"
                )
            return frames.frame(int(indices[0]))
    except ReaderError as error:
        raise ValueError(str(error)) from error
