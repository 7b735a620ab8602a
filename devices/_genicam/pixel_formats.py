"""The pixel formats that are taken: how their bytes become pixels of NumPy.

Names, bits and packing: "Pixel Format Naming Convention" (PFNC) 2.4 of EMVA, section 6; Mono12Packed is that
of "GigE Vision" 1.2, section 25.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penstock.streamer.camera.unit import CameraError


@dataclass(frozen=True)
class PixelFormat:
    """One pixel format of a monochrome camera."""

    name: str
    bits: int
    """Significant bits of a pixel."""
    unpack: Callable[[np.ndarray, np.ndarray], None] | None = None
    """Unpacks `packed` (uint8) into `pixels` (uint16); `None` if the camera sends pixels as they are."""

    def dtype(self, *, big_endian: bool) -> str:
        """Return the type of the pixels in a frame, in the names of STINS."""
        if self.bits == 8:
            return "uint8"
        return ">u2" if big_endian and self.unpack is None else "uint16"

    def sent_bytes(self, pixels: int) -> int:
        """Return the bytes of so many pixels as sent, without padding between rows."""
        return (3 * pixels + 1) // 2 if self.unpack else pixels * (1 if self.bits == 8 else 2)

    @property
    def saturation(self) -> int:
        """The greatest value of a pixel."""
        return int(2**self.bits - 1)


def unpack_mono12p(packed: np.ndarray, pixels: np.ndarray) -> None:
    """Unpack Mono12p: pixels follow each other without a gap, least significant bits first.

    Args:
        packed: uint8, (ceil(1.5 n),).
        pixels: uint16, (n,), is filled.
    """
    _unpack(packed, pixels, _mono12p)


def unpack_mono12_packed(packed: np.ndarray, pixels: np.ndarray) -> None:
    """Unpack Mono12Packed: two pixels in three bytes, the upper eight bits of each in the outer ones.

    Args:
        packed: uint8, (ceil(1.5 n),).
        pixels: uint16, (n,), is filled.
    """
    _unpack(packed, pixels, _mono12_packed)


def _mono12p(first: np.ndarray, middle: np.ndarray, last: np.ndarray, pixels: np.ndarray) -> None:
    pixels[0::2] = middle & 0x0F
    pixels[0::2] <<= 8
    pixels[0::2] |= first
    pixels[1::2] = last
    pixels[1::2] <<= 4
    pixels[1::2] |= middle >> 4


def _mono12_packed(first: np.ndarray, middle: np.ndarray, last: np.ndarray, pixels: np.ndarray) -> None:
    pixels[0::2] = first
    pixels[0::2] <<= 4
    pixels[0::2] |= middle & 0x0F
    pixels[1::2] = last
    pixels[1::2] <<= 4
    pixels[1::2] |= middle >> 4


def _unpack(
    packed: np.ndarray, pixels: np.ndarray,
    pairs: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], None],
) -> None:  # fmt: skip
    even = pixels.size // 2 * 2
    three = packed[: even // 2 * 3].reshape(-1, 3)
    pairs(three[:, 0], three[:, 1], three[:, 2], pixels[:even])
    if pixels.size > even:  # a last pixel alone has two bytes
        both = np.empty(2, np.uint16)
        rest = packed[even // 2 * 3 :]
        pairs(rest[0:1], rest[1:2], np.zeros(1, np.uint8), both)
        pixels[even] = both[0]


FORMATS = {
    known.name: known
    for known in (
        PixelFormat("Mono8", 8),
        PixelFormat("Mono10", 10),
        PixelFormat("Mono12", 12),
        PixelFormat("Mono14", 14),
        PixelFormat("Mono16", 16),
        PixelFormat("Mono12p", 12, unpack_mono12p),
        PixelFormat("Mono12Packed", 12, unpack_mono12_packed),
    )
}
"""The formats that are taken, by name."""


def taken(name: str, available: tuple[str, ...]) -> PixelFormat:
    """Return the format of this name.

    Args:
        name: as in the camera's PixelFormat.
        available: names of the camera's formats.

    Raises:
        CameraError: the camera does not have it, or it is not taken.
    """
    ours = ", ".join(each for each in available if each in FORMATS) or "none that is taken"
    if name not in FORMATS:
        why = "packed" if name.lower().endswith(("p", "packed")) else "not monochrome and unsigned"
        raise CameraError(f"PixelFormat {name} is {why} and not taken; of this camera's, choose {ours}")
    if name not in available:
        raise CameraError(f"this camera has no PixelFormat {name}; choose {ours}")
    return FORMATS[name]
