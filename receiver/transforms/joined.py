"""A series of several modules: one start message, and frames that hold the blobs of all modules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import numpy as np

from penstock.receiver.transforms.module_layout import Layout, LayoutError, Region, arrange, assemble
from penstock.receiver.validity.pixels import PixelRule, rule_of
from penstock.stins import modules as wire
from penstock.stins.errors import RemoteError, StinsError
from penstock.stins.messages import Frame, Image, Start

NO_PIXEL = 1
"""Bit 0 of a NeXus pixel mask: there is no sensor, as between two modules."""
IMAGES = {"pixel_mask": NO_PIXEL, "flatfield": 1}
"""Metadata that are images of a module, and their value in the gaps between modules. A flat field of 1
changes nothing."""


class Joined:
    """One series of several modules: what all of its frames share.

    Args:
        endpoints: one per module, in the order of the modules.
        starts: their start messages.

    Raises:
        RemoteError: the position of a module cannot be read.
    """

    def __init__(self, endpoints: Sequence[str], starts: Sequence[Start]) -> None:
        self.endpoints = tuple(endpoints)
        places = [wire.read(start.metadata) for start in starts]
        self._without = [name for name, place in zip(endpoints, places, strict=True) if place is None]
        self.places = [] if self._without else [place for place in places if place is not None]
        """Positions of the modules as they announced them; empty if one of them did not."""
        self.rules = tuple(rule_of(start.metadata) for start in starts)
        """Rules by which pixels count, by module."""
        self.format: tuple[tuple[int, ...], str, str, int] | None = None
        """Rows and columns, type, and compression of every module's frames: from the start messages, or else
        from the first sound frame."""
        self.why_not = ""
        """Why the modules do not form one image; set by `arranged`."""
        self.placed: Layout | None = None
        """Layout of the image as it is shown, after all steps; `None` if there is none, and before the first
        frame if the start messages do not say how large the modules are."""
        self.is_over = False
        """True once the series has ended: no more frames are joined."""
        self._arranged: dict[tuple[int, int], Layout | None] = {}

    def arranged(self, rows: int, columns: int) -> Layout | None:
        """Return the layout of modules of this size; `None` if they do not form one image."""
        size = rows, columns
        if size not in self._arranged:
            self._arranged[size] = self._arrange(*size)
        return self._arranged[size]

    @property
    def rule(self) -> PixelRule:
        """Rule by which pixels count in the assembled image: limits that are the same in all modules."""
        saturations, underloads = (
            {getattr(rule, name) for rule in self.rules} for name in ("saturation", "underload")
        )
        return PixelRule(
            saturations.pop() if len(saturations) == 1 else None,
            underloads.pop() if len(underloads) == 1 else None,
        )

    @property
    def is_placeless(self) -> bool:
        """True if no module announced its position, so that nobody expects an assembled image."""
        return len(self._without) == len(self.endpoints)

    def with_place(self, image: Image, layout: Layout | None) -> Image:
        """Return the header of a frame with one blob per module, with the modules' positions if known."""
        if not self.places:
            return image
        announced = (place.full_shape for place in self.places if place.full_shape is not None)
        return JoinedImage(
            **msgspec.structs.asdict(image),
            x=tuple(place.x for place in self.places),
            y=tuple(place.y for place in self.places),
            rotation=tuple(place.rotation for place in self.places),
            full_shape=layout.shape if layout is not None else next(announced, None),
        )

    def _arrange(self, rows: int, columns: int) -> Layout | None:
        if self._without:
            self.why_not = f"no x and y, or not a number, in the start message of {', '.join(self._without)}"
            return None
        try:
            return arrange(self.places, rows, columns)
        except LayoutError as error:
            self.why_not = str(error)
            return None


class JoinedImage(Image, frozen=True, kw_only=True, omit_defaults=True, tag_field="htype", tag="image"):
    """Header of a frame with one blob per module, and their positions in the order of the modules.

    The keys are STINS' keys for the frames of one module, with a list in place of a number.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    rotation: tuple[float, ...]
    full_shape: tuple[int, int] | None = None
    """Rows and columns of the whole image; `None` if no module announced them and they form no image."""


class JoinedStart(Start, frozen=True, kw_only=True):
    """The start messages of all modules as one."""

    joined: Joined


class JoinedFrame(Frame, frozen=True):
    """The blobs of one trigger, one per module; empty if the module is missing or corrupt.

    `image` is the header of the whole frame, `images` are those of the modules, `None` for a missing one.
    Once the frame is checked, `corrupt` has the errors of the modules that were received and left out.
    """

    joined: Joined
    images: tuple[Image | None, ...]
    corrupt: Mapping[int, StinsError] = MappingProxyType({})
    layout: Layout | None = None
    """Positions of the blobs in the assembled image; `None` if unknown, or the image is already assembled."""
    covered: tuple[Region, ...] = ()
    """Positions of the modules in an image that is already assembled, after all steps."""

    @property
    def arrived(self) -> list[int]:
        """Numbers of the modules that were received."""
        return [number for number, image in enumerate(self.images) if image is not None]

    def without(self, modules: Collection[int]) -> JoinedFrame:
        """Return the frame as if these modules had not arrived."""
        if not modules:
            return self
        return msgspec.structs.replace(
            self,
            blobs=[b"" if number in modules else blob for number, blob in enumerate(self.blobs)],
            images=tuple(None if number in modules else image for number, image in enumerate(self.images)),
        )


def single(shape: tuple[int, ...], modules: int) -> tuple[int, int]:
    """Return rows and columns of a module's frames, from the shape [rows, cols], [1, rows, cols], or
    [k, rows, cols] with k modules: each port of a Lambda announces the latter for its own single blob.

    Raises:
        RemoteError: the frames have several blobs each.
    """
    if len(shape) == 3 and shape[0] in (1, modules):
        shape = shape[1:]
    if len(shape) != 2:
        raise RemoteError(
            "modules_differ",
            f"a module sends frames of shape {list(shape)}; with source.join and {modules} endpoints it must "
            f"be [rows, cols], [1, rows, cols] or [{modules}, rows, cols], with one blob each",
        )
    return shape[0], shape[1]


def assembled_metadata(metadata: Mapping[str, Any], joined: Joined, *, turn: bool) -> Mapping[str, Any]:
    """Return the metadata with the images of the modules assembled like their frames.

    Args:
        turn: assemble the frames of rotated modules too.
    """
    return {
        key: _image(key, value, joined, turn) if key in IMAGES else value for key, value in metadata.items()
    }


def assembled_bytes(metadata: Mapping[str, Any], joined: Joined, *, turn: bool) -> int:
    """Return the size of the images that `assembled_metadata` assembles, in bytes."""
    parts = [_parts(metadata[key], joined, turn) for key in IMAGES if key in metadata]
    return sum(part.layout.pixels * part.dtype.itemsize for part in parts if part is not None)


class _Parts(NamedTuple):
    """One image of each module, and their layout."""

    arrays: list[np.ndarray | None]
    layout: Layout
    dtype: np.dtype


def _parts(values: Sequence[Any], joined: Joined, turn: bool) -> _Parts | None:
    """Return the images of the modules; `None` if they do not form one image."""
    try:
        arrays = [None if value is None else _array(value) for value in values]
    except (TypeError, ValueError):
        return None  # rows of different lengths, or no numbers
    arrays = [array[0] if array is not None and array.shape[:-2] == (1,) else array for array in arrays]
    given = [array for array in arrays if array is not None]
    size = given[0].shape if given else ()
    if len(size) != 2 or any(array.shape != size or array.dtype.kind not in "biuf" for array in given):
        return None
    layout = joined.arranged(*size)
    if layout is None or (layout.is_turned and not turn):
        return None
    return _Parts(arrays, layout, np.result_type(*given))


def _image(key: str, values: Sequence[Any], joined: Joined, turn: bool) -> Any:
    """Return the image, assembled like a frame; the modules' images unchanged if they do not form one."""
    parts = _parts(values, joined, turn)
    if parts is None:
        return values
    whole = assemble(parts.layout, parts.arrays, parts.dtype, IMAGES[key])
    for place, array in zip(parts.layout.places, parts.arrays, strict=True):
        if array is None and key == "pixel_mask":
            whole[place.region] = 0  # its pixels exist, though nothing else is known of them
    return whole


def _array(value: Any) -> np.ndarray:
    """Return a list of lists as an array; null, JSON's way to write NaN, becomes NaN."""
    array = np.asarray(value)
    return array if array.dtype != object else array.astype(np.float64)
