"""The orientation of metadata that describe pixels: they are rotated and mirrored with the image.

A pixel mask in the original orientation would silently mask the wrong pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from penstock.receiver.transforms.module_layout import Layout, Place
from penstock.receiver.transforms.steps.format import Format, Kernel, Step, plain


def rotate(image: np.ndarray, quarter_turns: int) -> np.ndarray:
    """Return the image, or the images of a stack, rotated counter-clockwise, as a view."""
    return np.rot90(image, quarter_turns, axes=(-2, -1))


class Rotate(Step, frozen=True, kw_only=True, tag="rotate"):
    """Each image is rotated counter-clockwise; the images of a frame of k blobs keep their order."""

    quarter_turns: Literal[1, 2, 3]
    """Number of rotations by 90 degrees."""

    def plan(self, format: Format) -> tuple[Format, Kernel]:
        plain(format, "rotate")
        rows, cols = format.image_shape
        if self.quarter_turns % 2:
            rows, cols = cols, rows
        after = format._replace(shape=(*format.shape[:-2], rows, cols))
        return after, lambda image: rotate(image, self.quarter_turns)


def flip(image: np.ndarray, direction: str) -> np.ndarray:
    """Return the image, or the images of a stack, mirrored left-right or up-down, as a view."""
    return image[..., ::-1] if direction == "left-right" else image[..., ::-1, :]


class Flip(Step, frozen=True, kw_only=True, tag="flip"):
    """Each image is mirrored."""

    direction: Literal["left-right", "up-down"]
    """Direction in which the image is mirrored."""

    def plan(self, format: Format) -> tuple[Format, Kernel]:
        plain(format, "flip")
        return format, lambda image: flip(image, self.direction)


IMAGES = ("pixel_mask", "flatfield")
CENTRE = ("beam_center_x", "beam_center_y")
SIZES = ("x_pixel_size", "y_pixel_size")
ACQUISITION = "acquisition"
"""Object of the metadata that describes how the series was taken, and how the streamer has rotated it."""
BEFORE = "before_transforms"
"""Object of the metadata for what does not hold for the frames as they are stored: a beam centre that cannot
be rotated, because the image size is unknown, and facts of counts (see `facts`)."""


def described(
    metadata: Mapping[str, Any], steps: Sequence[Step], shape: tuple[int, ...] | None
) -> Mapping[str, Any]:
    """Return the metadata of a series after the steps.

    Args:
        metadata: metadata as sent.
        steps: steps of the chain.
        shape: shape of the frames as sent, if known; otherwise that of the mask or the flat field is used.
    """
    turns = [step for step in steps if isinstance(step, (Rotate, Flip))]
    if not turns:
        return metadata
    turned = dict(metadata)
    size = None if shape is None else (shape[-2], shape[-1])
    for key in IMAGES:
        image = _image(metadata.get(key))
        if isinstance(image, dict):
            size = size or next(iter(image.values())).shape[-2:]
            turned[key] = {name: _oriented(item, turns) for name, item in image.items()}
        elif image is not None:
            size = size or image.shape[-2:]
            turned[key] = _oriented(image, turns)
    if all(_is_number(metadata.get(key)) for key in CENTRE):
        centre = (float(metadata[CENTRE[0]]), float(metadata[CENTRE[1]]))
        if size is not None and centre != (0.0, 0.0):
            turned.update(zip(CENTRE, _point(centre, size, turns), strict=True))
        elif size is None:
            turned[BEFORE] = {key: turned.pop(key) for key in CENTRE}
    quarters = sum(step.quarter_turns for step in turns if isinstance(step, Rotate))
    if quarters % 2 and all(key in metadata for key in SIZES):
        turned.update(zip(SIZES, (metadata[SIZES[1]], metadata[SIZES[0]]), strict=True))
    return turned


def turned(layout: Layout, steps: Sequence[Step]) -> Layout:
    """Return the layout of modules in an assembled image after the steps."""
    turns = [step for step in steps if isinstance(step, (Rotate, Flip))]
    if not turns:
        return layout
    places = []
    for place in layout.places:
        corners = [
            _point((place.column + columns, place.row + rows), layout.shape, turns)
            for columns, rows in ((0, 0), (place.columns, place.rows))
        ]
        (left, right), (top, bottom) = (sorted(map(int, each)) for each in zip(*corners, strict=True))
        places.append(Place(top, left, bottom - top, right - left, 0))
    is_upright = sum(step.quarter_turns for step in turns if isinstance(step, Rotate)) % 2 == 0
    return Layout(tuple(places), layout.shape if is_upright else layout.shape[::-1])


def does(steps: Sequence[Step], rotation: int, fliplr: bool, flipud: bool) -> bool:
    """Return whether the steps rotate and mirror an image in this way.

    Args:
        steps: steps of the chain.
        rotation: degrees counter-clockwise, a multiple of 90.
        fliplr: mirrored left-right after that.
        flipud: mirrored up-down after that.
    """
    corners = np.arange(6).reshape(2, 3)
    wanted = np.rot90(corners, rotation // 90)
    wanted = wanted[:, ::-1] if fliplr else wanted
    wanted = wanted[::-1] if flipud else wanted
    return np.array_equal(
        _oriented(corners, [step for step in steps if isinstance(step, (Rotate, Flip))]), wanted
    )


def recorded(metadata: Mapping[str, Any], steps: Sequence[Step]) -> Mapping[str, Any]:
    """Return the metadata with the steps' rotations and flips in `acquisition`, for the file."""
    turns = [_words(step) for step in steps if isinstance(step, (Rotate, Flip))]
    taken = metadata.get(ACQUISITION, {})
    if not turns or not isinstance(taken, Mapping):
        return metadata
    return {**metadata, ACQUISITION: {**taken, "receiver_transforms": turns}}


def _oriented(image: np.ndarray[Any, Any], turns: Sequence[Rotate | Flip]) -> np.ndarray[Any, Any]:
    for step in turns:
        if isinstance(step, Rotate):
            image = rotate(image, step.quarter_turns)
        else:
            image = flip(image, step.direction)
    return np.ascontiguousarray(image)


def _words(step: Rotate | Flip) -> str:
    return f"rotate {90 * step.quarter_turns}" if isinstance(step, Rotate) else f"flip {step.direction}"


def _point(
    point: tuple[float, float], size: tuple[int, int], turns: Sequence[Rotate | Flip]
) -> tuple[float, float]:
    """Return a point (x, y), relative to the corner of the first pixel; `size` is (rows, cols)."""
    (x, y), (rows, cols) = point, size
    for step in turns:
        if isinstance(step, Rotate):
            for _ in range(step.quarter_turns):
                x, y, rows, cols = y, cols - x, cols, rows
        elif step.direction == "left-right":
            x = cols - x
        else:
            y = rows - y
    return x, y


def _image(value: Any) -> np.ndarray[Any, Any] | dict[str, np.ndarray[Any, Any]] | None:
    """Return the image, or one image per channel, of a metadata value; `None` if it is neither."""
    if isinstance(value, Mapping):
        images = {str(name): _image(item) for name, item in value.items()}
        found = {name: item for name, item in images.items() if isinstance(item, np.ndarray)}
        return found if found and len(found) == len(images) else None
    if isinstance(value, list):
        try:
            value = np.array(value)
        except ValueError:  # rows of different lengths
            return None
    return value if isinstance(value, np.ndarray) and value.ndim >= 2 and value.dtype.kind in "biuf" else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**53
