"""A frame, or the value of a result, as an NTNDArray: field by field as areaDetector fills it, without EPICS.

| field | value |
|---|---|
| `value` | pixels of the member for their type; packed ones in `ubyteValue` |
| `codec` | name, and the type of the unpacked pixels; "" where they are not packed |
| `dimension` | sizes with x first; no offset, no binning, not reversed |
| `uniqueId` | index + 1, from 0 again after 2,147,483,647 |
| `dataTimeStamp` | end of the exposure |
| `timeStamp` | the same; its `userTag` is the index |
| `attribute` | ColorMode, and what else is known of the frame |

Source: ADCore, `ntndArrayConverter.cpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from penstock.codecs import ntndarray
from penstock.codecs.packed import CODECS
from penstock.codecs.pixel_type import little_endian, pixel_type
from penstock.stins.blobs import has_colours
from penstock.stins.messages import Buffer, Frame

MONO, RGB1 = 0, 2
"""ADCore's colour modes: one value per pixel; colour, x, y."""
RING = 2**31
"""Numbers that an int32 has from 0 on."""


class Attribute(NamedTuple):
    """One attribute of an array."""

    name: str
    value: int | float | str
    descriptor: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Array:
    """What an NTNDArray has."""

    values: np.ndarray[Any, Any]
    """In one row: pixels, or packed bytes."""
    member: str
    """Name of the member of the union `value`."""
    codec: str = ""
    scalar_type: int
    """Type of the unpacked pixels."""
    nbytes: int
    """Bytes of the unpacked pixels."""
    sizes: tuple[int, ...]
    """x first."""
    index: int
    time: float
    """Seconds since 1970."""
    attributes: tuple[Attribute, ...] = field(default=())

    @property
    def unique_id(self) -> int:
        """Number of the array."""
        return (self.index + 1) % RING

    @property
    def user_tag(self) -> int:
        """Index, as far as an int32 has it."""
        return self.index % RING


def of_frame(frame: Frame, time: float, known: Sequence[Attribute] = (), *, unpack: bool = False) -> Array:
    """Return a frame as an array.

    Args:
        frame: as received; its number is the index.
        time: end of the exposure.
        known: attributes of its series.
        unpack: whether packed pixels are unpacked.

    Raises:
        ValueError: it cannot be unpacked.
    """
    image = frame.image
    index = image.frame or 0
    own = [Attribute("frame", index, "Index of the frame in its series")]
    if image.trigger is not None:
        own.append(Attribute("trigger", image.trigger, "Index of the trigger"))
    if image.exposure_time is not None:
        own.append(Attribute("exposure_time", image.exposure_time, "Exposure time in s"))
    if image.partial is not None:
        own.append(Attribute("partial", image.partial, "Why a part of its pixels is missing"))
    shape, kind = tuple(image.shape), pixel_type(image.type)
    colours = has_colours(shape, len(frame.blobs))
    attributes = (_colour_mode(colours), *own, *known)
    if len(frame.blobs) == 1 and not unpack and kind.name in ntndarray.MEMBERS and kind.str[0] != ">":
        found = ntndarray.payload(image.compression, frame.blobs[0], kind.itemsize)
        if found is not None:
            codec, payload = found
            return Array(
                values=np.frombuffer(payload, np.uint8), member="ubyteValue", codec=codec,
                scalar_type=ntndarray.scalar_type(kind), nbytes=int(np.prod(shape)) * kind.itemsize,
                sizes=shape[::-1], index=index, time=time, attributes=attributes,
            )  # fmt: skip
    pixels = _unpacked(image.compression, frame.blobs, int(np.prod(shape)), kind).reshape(shape)
    return of_pixels(pixels, index, time, attributes)


def of_pixels(
    pixels: np.ndarray[Any, Any], index: int, time: float, attributes: Sequence[Attribute] = ()
) -> Array:
    """Return pixels, or the value of a result, as an array."""
    pixels = plain(pixels)
    return Array(
        values=pixels.reshape(-1), member=ntndarray.MEMBERS[pixels.dtype.name],
        scalar_type=ntndarray.scalar_type(pixels.dtype), nbytes=pixels.nbytes, sizes=pixels.shape[::-1],
        index=index, time=time, attributes=tuple(attributes) or (_colour_mode(colours=False),),
    )  # fmt: skip


def plain(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return values contiguous, little endian, and of a type that EPICS has: float16 becomes float32.

    Raises:
        ValueError: EPICS has none for them.
    """
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    if values.dtype.name not in ntndarray.MEMBERS:
        raise ValueError(f"EPICS has no type {values.dtype.name}")
    return np.ascontiguousarray(little_endian(values))


def _colour_mode(colours: bool) -> Attribute:
    return Attribute("ColorMode", RGB1 if colours else MONO, "Color mode")


def _unpacked(
    compression: str, blobs: Sequence[Buffer], pixels: int, kind: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    """Return the pixels of all blobs, one after the other."""
    if compression != "none" and compression not in CODECS:
        raise ValueError(f"no codec for {compression}; unpack frames in the receiver: transforms")
    each = pixels // len(blobs)
    parts = [
        np.frombuffer(blob, kind)
        if compression == "none"
        else CODECS[compression].decompress(blob, each, kind)
        for blob in blobs
    ]
    found = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if len(found) != pixels:
        raise ValueError(f"{len(found)} pixels where the header announces {pixels}")
    return found
