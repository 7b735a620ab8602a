"""Rotation and flips of a frame, in its own buffer."""

from __future__ import annotations

import numpy as np


def rotated_shape(shape: tuple[int, ...], rotation: int) -> tuple[int, ...]:
    """Return the shape of a frame after a rotation by a multiple of 90 degrees; flips do not change it."""
    return (*shape[:-2], shape[-1], shape[-2]) if rotation // 90 % 2 else shape


class Orientation:
    """Rotation counter-clockwise in steps of 90 degrees, then mirroring, for images of one shape.

    A frame of k blobs is rotated image by image: the k images keep their order.
    """

    def __init__(self, shape: tuple[int, ...], dtype: str, rotation: int, fliplr: bool, flipud: bool) -> None:
        self._shape = shape
        self._turns = rotation // 90
        self._fliplr = fliplr
        self._flipud = flipud
        self.active = bool(self._turns or fliplr or flipud)
        self.shape = rotated_shape(shape, rotation)
        self._scratch = np.empty(shape, dtype) if self.active else None

    def __call__(self, buffer: np.ndarray) -> None:
        """Rotate and mirror the frame in `buffer` (uint8, C order, exactly one frame)."""
        if self._scratch is None:
            return
        image = self._scratch
        image[...] = buffer.view(image.dtype).reshape(self._shape)
        image = np.rot90(image, self._turns, axes=(-2, -1))
        if self._fliplr:
            image = image[..., ::-1]
        if self._flipud:
            image = image[..., ::-1, :]
        buffer.view(image.dtype).reshape(self.shape)[...] = image
