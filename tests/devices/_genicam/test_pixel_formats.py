"""Pixels from their bytes, with vectors by hand."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.devices._genicam.pixel_formats import FORMATS, taken
from penstock.streamer.camera.unit import CameraError

PIXELS = [0x123, 0xABC, 0xFFF, 0x000]
MONO12P = bytes([0x23, 0xC1, 0xAB, 0xFF, 0x0F, 0x00])
MONO12_PACKED = bytes([0x12, 0xC3, 0xAB, 0xFF, 0x0F, 0x00])


def unpacked(name: str, packed: bytes, pixels: int) -> list[int]:
    result = np.zeros(pixels, np.uint16)
    unpack = FORMATS[name].unpack
    assert unpack is not None
    unpack(np.frombuffer(packed, np.uint8), result)
    return result.tolist()


@pytest.mark.parametrize(("name", "packed"), [("Mono12p", MONO12P), ("Mono12Packed", MONO12_PACKED)])
def test_two_pixels_of_12_bits_are_three_bytes(name: str, packed: bytes) -> None:
    assert unpacked(name, packed, 4) == PIXELS


@pytest.mark.parametrize(("name", "packed"), [("Mono12p", MONO12P), ("Mono12Packed", MONO12_PACKED)])
def test_of_an_odd_number_the_last_pixel_has_two_bytes(name: str, packed: bytes) -> None:
    assert unpacked(name, packed[:5], 3) == PIXELS[:3]


@pytest.mark.parametrize(
    ("name", "pixels", "sent"),
    [("Mono8", 5, 5), ("Mono12", 5, 10), ("Mono12p", 4, 6), ("Mono12p", 3, 5), ("Mono12Packed", 1, 2)],
)
def test_the_bytes_of_a_frame_as_sent(name: str, pixels: int, sent: int) -> None:
    assert FORMATS[name].sent_bytes(pixels) == sent


def test_random_pixels_come_back() -> None:
    pixels = np.random.default_rng(12).integers(0, 4096, 1001)
    bits = "".join(f"{int(pixel):012b}"[::-1] for pixel in pixels) + "0000"
    packed = bytes(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8))
    assert unpacked("Mono12p", packed, 1001) == pixels.tolist()


def test_types_of_pixels() -> None:
    assert FORMATS["Mono8"].dtype(big_endian=True) == "uint8"
    for name in ("Mono10", "Mono12", "Mono14", "Mono16"):
        assert FORMATS[name].dtype(big_endian=True) == ">u2"
        assert FORMATS[name].dtype(big_endian=False) == "uint16"
    assert FORMATS["Mono12p"].dtype(big_endian=True) == "uint16"  # it is unpacked on this host


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Mono10p", "PixelFormat Mono10p is packed and not taken; of this camera's, choose Mono8, Mono16"),
        ("BayerRG8", "PixelFormat BayerRG8 is not monochrome and unsigned and not taken"),
        ("Mono12", "this camera has no PixelFormat Mono12; choose Mono8, Mono16"),
    ],
)
def test_other_formats_are_refused_by_name(name: str, words: str) -> None:
    with pytest.raises(CameraError, match=words):
        taken(name, ("Mono8", "Mono10p", "BayerRG8", "Mono16"))
