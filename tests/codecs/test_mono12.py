"""12-bit pixels, against a reference that takes one bit after the other."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.codecs import mono12
from penstock.stins.errors import BlobError
from tests.receiver.transforms.steps import references

RANDOM = np.random.default_rng(12)


@pytest.mark.parametrize("pixels", [1, 2, 3, 8, 101])
@pytest.mark.parametrize("name", ["unpack_mono12p", "unpack_mono12packed"])
def test_mono12_agrees_with_its_reference(name: str, pixels: int) -> None:
    blob = RANDOM.bytes((pixels + 1) // 2 * 3)
    unpacked = getattr(mono12, name)(memoryview(blob), pixels)
    assert unpacked.dtype == np.dtype("<u2")
    np.testing.assert_array_equal(unpacked, getattr(references, name)(blob, pixels))


def test_the_two_layouts_of_twelve_bits_differ() -> None:
    blob = bytes([0x12, 0x34, 0x56])
    assert mono12.unpack_mono12p(blob, 2).tolist() == [0x412, 0x563]
    assert mono12.unpack_mono12packed(blob, 2).tolist() == [0x124, 0x563]


def test_an_odd_number_of_pixels_may_end_with_half_a_byte() -> None:
    blob = bytes([0x12, 0x34, 0x56, 0x78, 0x09])
    assert mono12.unpack_mono12p(blob, 3).tolist() == [0x412, 0x563, 0x978]


@pytest.mark.parametrize("length", [0, 2, 4, 7])
def test_a_mono12_blob_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(BlobError, match=f"a blob of {length} bytes; 2 pixels of 12 bits have 3 bytes"):
        mono12.unpack_mono12p(bytes(length), 2)
