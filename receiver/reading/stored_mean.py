"""The mean of the frames that a file has: what darks, flat fields and powder patterns are made of."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.receiver.reading.frame_files import FrameFile
from penstock.receiver.reading.reader import ReaderError
from penstock.receiver.validity import frames as which_frames
from penstock.receiver.validity.pixels import PixelRule


class StoredMean(NamedTuple):
    """A mean over frames."""

    image: np.ndarray[Any, Any]
    """(rows, cols), float64: of each pixel over the frames in which it has a value and is not saturated; NaN
    where there is none, as in masked pixels."""
    used: str
    """Of how many frames it is, such as "8 of 10 frames (2 missing)"."""


def stored_mean(file: FrameFile) -> StoredMean:
    """Return the mean of the frames that are stored as a whole; of several channels, of the first.

    Raises:
        ReaderError: no frame is stored, one cannot be read, or they are no images of [rows, cols].
    """
    channel = file.channels[0] if file.channels else None
    shape = file.shape[1:] if channel is None else file.shape[2:]
    if len(shape) == 3 and shape[0] == 1 and file.interpretation == "image":
        shape = shape[1:]
    if len(shape) != 2:
        what = "none" if not shape else f"{list(shape)}, {file.interpretation}"
        raise ReaderError(f"{file.path} has no images of [rows, cols]: its frames are {what}")
    indices = which_frames.whole(file.status, file.shape[0])
    used = which_frames.used(file.status, file.shape[0])
    if not len(indices):
        raise ReaderError(f"{file.path} has no stored frame: {used}")
    rule, masked = PixelRule(file.saturation, file.underload), no_value(file, channel, shape)
    total, number = np.zeros(shape), np.zeros(shape, np.int64)
    for index in indices.tolist():
        image = file.frame(index, channel).reshape(shape)
        good = rule.good(image, masked)
        total += image if good is None else np.where(good, image, 0)
        number += True if good is None else good
    with np.errstate(invalid="ignore"):
        return StoredMean(total / number, used)  # 0 / 0 is NaN


def no_value(file: FrameFile, channel: str | None, shape: tuple[int, ...]) -> np.ndarray[Any, Any] | None:
    """Return which pixels the file's own mask leaves out, bool; `None` if it has no mask of this shape."""
    mask = file.mask(channel)
    return None if mask is None or mask.shape != shape else np.asarray(mask != 0)
