"""What the modules' streams of one series become: one start message, joined frames, one end message."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import numpy as np

from penstock.receiver.processing.module_layout import Layout, LayoutError, Region, arrange, assemble
from penstock.stins import modules as wire
from penstock.stins.errors import RemoteError, StinsError
from penstock.stins.messages import Frame, Image, Start

NO_PIXEL = 1
"""Bit 0 of a NeXus pixel mask: there is no sensor, as between two modules."""
IMAGES = {"pixel_mask": NO_PIXEL, "flatfield": 1}
"""Metadata that are images of a module, and what stands between modules in the assembled one. A flat field
of 1 changes nothing."""


class Joined:
    """One series of several streams, as far as every frame of it has to know.

    Args:
        endpoints: one per module, in the order of the modules.
        starts: their start messages.

    Raises:
        RemoteError: a place cannot be read.
    """

    def __init__(self, endpoints: Sequence[str], starts: Sequence[Start]) -> None:
        self.endpoints = tuple(endpoints)
        places = [wire.read(start.metadata) for start in starts]
        known = [place for place in places if place is not None]
        self._places = known if len(known) == len(places) else None
        self._without = [name for name, place in zip(endpoints, places, strict=True) if place is None]
        self.format: tuple[tuple[int, ...], str, str] | None = None
        """Rows and columns, type, compression of every module's frames; the first sound one says, where the
        start messages do not."""
        self.why_not = ""
        """Why the modules do not make one image, once `arranged` was asked."""
        self.is_over = False
        """Whether the series has ended: nothing more is to be joined for it."""
        self._arranged: dict[tuple[int, int], Layout | None] = {}

    def arranged(self, rows: int, columns: int) -> Layout | None:
        """The layout of modules of this size; `None` where they do not make one image."""
        size = rows, columns
        if size not in self._arranged:
            self._arranged[size] = self._arrange(*size)
        return self._arranged[size]

    @property
    def is_placeless(self) -> bool:
        """Whether no module says where it sits, so that nobody expects an assembled image."""
        return len(self._without) == len(self.endpoints)

    @property
    def places(self) -> Sequence[wire.Module]:
        """Where the modules sit, as they say themselves; empty where one does not."""
        return self._places or ()

    def with_place(self, image: Image, layout: Layout | None) -> Image:
        """Return the header of a frame with one blob per module, and where they sit, as far as they say."""
        if self._places is None:
            return image
        told = (place.full_shape for place in self._places if place.full_shape is not None)
        return JoinedImage(
            **msgspec.structs.asdict(image),
            x=tuple(place.x for place in self._places),
            y=tuple(place.y for place in self._places),
            rotation=tuple(place.rotation for place in self._places),
            full_shape=layout.shape if layout is not None else next(told, None),
        )

    def _arrange(self, rows: int, columns: int) -> Layout | None:
        if self._places is None:
            self.why_not = f"no x and y, or not a number, in the start message of {', '.join(self._without)}"
            return None
        try:
            return arrange(self._places, rows, columns)
        except LayoutError as error:
            self.why_not = str(error)
            return None


class JoinedImage(Image, frozen=True, kw_only=True, omit_defaults=True, tag_field="htype", tag="image"):
    """Header of a frame with one blob per module: where each sits, as its own stream says it, in their order.

    The keys are those that STINS has for the frames of one module, with a list in place of a number.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    rotation: tuple[float, ...]
    full_shape: tuple[int, int] | None = None
    """Rows and columns of the whole; `None` where nobody says, and the modules do not make one image."""


class JoinedStart(Start, frozen=True, kw_only=True):
    """The start messages of all modules as one."""

    joined: Joined


class JoinedFrame(Frame, frozen=True):
    """The blobs of one trigger, one per module: an empty one where a module is missing or corrupt.

    `image` is that of the whole frame. Until it is checked, `images` are the modules' own headers, `None`
    where there is none; afterwards `corrupt` says which modules were received and are not there, and why.
    """

    joined: Joined
    images: tuple[Image | None, ...]
    corrupt: Mapping[int, StinsError] = MappingProxyType({})
    layout: Layout | None = None
    """Where the blobs sit in the assembled image; `None` too for one that is assembled already."""
    covered: tuple[Region, ...] = ()
    """Where modules stand in the image that is assembled already, as far as nothing has changed it since."""

    @property
    def came(self) -> list[int]:
        """Numbers of the modules that were received."""
        return [number for number, image in enumerate(self.images) if image is not None]

    def without(self, modules: Collection[int]) -> JoinedFrame:
        """The frame as if these modules had not come."""
        if not modules:
            return self
        return msgspec.structs.replace(
            self,
            blobs=[b"" if number in modules else blob for number, blob in enumerate(self.blobs)],
            images=tuple(None if number in modules else image for number, image in enumerate(self.images)),
        )


def single(shape: tuple[int, ...], modules: int) -> tuple[int, int]:
    """Rows and columns of a module's frames: of [rows, cols], [1, rows, cols], and [k, rows, cols] with as
    many as there are modules, as each port of a Lambda says it of its own single blob.

    Raises:
        RemoteError: they have several blobs each.
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
    """The metadata with the images of the modules assembled as their frames are.

    Args:
        turn: whether frames of turned modules are assembled.
    """
    return {
        key: _image(key, value, joined, turn) if key in IMAGES else value for key, value in metadata.items()
    }


def assembled_bytes(metadata: Mapping[str, Any], joined: Joined, *, turn: bool) -> int:
    """Bytes of the images that `assembled_metadata` makes."""
    parts = [_parts(metadata[key], joined, turn) for key in IMAGES if key in metadata]
    return sum(part.layout.pixels * part.dtype.itemsize for part in parts if part is not None)


class _Parts(NamedTuple):
    """One image of each module, and how they make one of the whole detector."""

    arrays: list[np.ndarray | None]
    layout: Layout
    dtype: np.dtype


def _parts(values: Sequence[Any], joined: Joined, turn: bool) -> _Parts | None:
    """`None` where they do not make one image."""
    try:
        arrays = [None if value is None else _array(value) for value in values]
    except (TypeError, ValueError):
        return None  # ragged, or no numbers
    arrays = [array[0] if array is not None and array.shape[:-2] == (1,) else array for array in arrays]
    told = [array for array in arrays if array is not None]
    size = told[0].shape if told else ()
    if len(size) != 2 or any(array.shape != size or array.dtype.kind not in "biuf" for array in told):
        return None
    layout = joined.arranged(*size)
    if layout is None or (layout.is_turned and not turn):
        return None
    return _Parts(arrays, layout, np.result_type(*told))


def _image(key: str, values: Sequence[Any], joined: Joined, turn: bool) -> Any:
    """Return it assembled like a frame; as the list of the modules' images where that cannot be."""
    parts = _parts(values, joined, turn)
    if parts is None:
        return values
    whole = assemble(parts.layout, parts.arrays, parts.dtype, IMAGES[key])
    for place, array in zip(parts.layout.places, parts.arrays, strict=True):
        if array is None and key == "pixel_mask":
            whole[place.region] = 0  # nothing is known of its pixels, but they are there
    return whole


def _array(value: Any) -> np.ndarray:
    """A list of lists as an array; null, as JSON has it for not a number, becomes NaN."""
    array = np.asarray(value)
    return array if array.dtype != object else array.astype(np.float64)
