"""CBF byte-offset blobs, against a reference and fabio's own encoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.codecs import cbf
from penstock.stins.errors import BlobError
from tests.receiver.transforms.steps import references

RANDOM = np.random.default_rng(34)
SHAPES = [(1, 1), (1, 5), (7, 3), (24, 31)]


def counts(shape: tuple[int, int]) -> np.ndarray[Any, Any]:
    """A frame with small differences, large ones, and masked pixels."""
    image = RANDOM.poisson(3, shape).astype("int64")
    image.flat[::7] = RANDOM.integers(0, 40_000, image.flat[::7].size)
    image.flat[::31] = RANDOM.integers(0, 2**31, image.flat[::31].size)
    image.flat[::13] = -2
    return image.astype("int32")


@pytest.mark.parametrize("shape", SHAPES)
def test_cbf_agrees_with_its_reference(shape: tuple[int, int]) -> None:
    image = counts(shape)
    blob = references.cbf_encode(image)
    np.testing.assert_array_equal(references.cbf_decode(blob, image.size), image.ravel())
    decoded = cbf.decode(memoryview(blob), image.size)
    assert decoded.dtype == np.dtype("<i4")
    np.testing.assert_array_equal(decoded, image.ravel())


def test_cbf_reads_what_fabio_writes() -> None:
    from fabio.ext.byte_offset import comp_cbf32

    image = counts((40, 50))
    np.testing.assert_array_equal(cbf.decode(bytes(comp_cbf32(image.ravel())), image.size), image.ravel())


def test_the_padding_of_a_cbf_file_may_come_along() -> None:
    image = counts((6, 7))
    blob = references.cbf_encode(image) + bytes(4095)
    np.testing.assert_array_equal(cbf.decode(blob, image.size), image.ravel())


def test_a_cbf_blob_that_was_cut_anywhere_is_refused() -> None:
    image = counts((6, 7))
    image.flat[-1] = 2**31 - 1  # 7 bytes: a cut may be within them
    blob = references.cbf_encode(image)
    for length in range(len(blob)):
        with pytest.raises(BlobError, match="holds fewer than the 42 pixels") as caught:
            cbf.decode(blob[:length], image.size)
        assert caught.value.kind == "blob_length"


def test_a_cbf_blob_of_a_larger_image_is_refused() -> None:
    blob = references.cbf_encode(np.arange(100, dtype="int32") * 3)
    with pytest.raises(BlobError, match="holds more than the 42 pixels"):
        cbf.decode(blob, 42)


@pytest.mark.parametrize("noise", range(50))
def test_noise_is_no_image_and_no_crash(noise: int) -> None:
    blob = np.random.default_rng(noise).bytes(200)
    try:
        expected = references.cbf_decode(blob, 100)
    except ValueError:
        with pytest.raises(BlobError):
            cbf.decode(blob, 100)
    else:
        np.testing.assert_array_equal(cbf.decode(blob, 100), expected)
