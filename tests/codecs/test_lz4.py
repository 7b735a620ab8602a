"""lz4 blobs against the HDF5 filter that reads and writes them in files."""

from __future__ import annotations

import h5py
import hdf5plugin
import numpy as np
import pytest

from penstock.codecs import lz4
from tests.receiver.pixels import lz4 as by_filter

SHAPES = [(1, 1), (1, 7), (4, 6), (67, 61), (300, 171)]
DTYPES = ["uint8", "uint16", "int32", "float64"]


def picture(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return np.random.default_rng(1).poisson(3, shape).astype(dtype)


def noise(shape: tuple[int, ...]) -> np.ndarray:
    """Pixels that do not shrink."""
    return np.random.default_rng(2).integers(0, 2**16, shape, dtype=np.uint16)


def read_by_filter(blob: bytes, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    with h5py.File("blob.h5", "w", driver="core", backing_store=False) as file:
        dataset = file.create_dataset("data", shape, dtype, chunks=shape, **hdf5plugin.LZ4())
        dataset.id.write_direct_chunk((0, 0), blob)
        return np.asarray(dataset[...])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_hdf5_filter_reads_what_was_packed(shape: tuple[int, ...], dtype: str) -> None:
    array = picture(shape, dtype)
    np.testing.assert_array_equal(read_by_filter(lz4.compress(array), shape, dtype), array)


@pytest.mark.parametrize("block", [0, 64, 1000])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_the_hdf5_filter_packed_is_unpacked(shape: tuple[int, ...], dtype: str, block: int) -> None:
    array = picture(shape, dtype)
    blob = memoryview(by_filter(array, block))
    np.testing.assert_array_equal(lz4.decompress(blob, array.size, array.dtype).reshape(shape), array)
    part = lz4.decompress_part(blob, array.size, array.dtype, array.size // 3, array.size // 2)
    np.testing.assert_array_equal(part, array.ravel()[array.size // 3 : array.size // 2])


@pytest.mark.parametrize("block", [0, 128])
def test_pixels_that_do_not_shrink_stand_plain_in_their_blocks(block: int) -> None:
    array = noise((16, 16))
    for blob in (by_filter(array, block), lz4.compress(array)):
        np.testing.assert_array_equal(
            lz4.decompress(blob, array.size, array.dtype).reshape(array.shape), array
        )
        np.testing.assert_array_equal(read_by_filter(blob, array.shape, "uint16"), array)


@pytest.mark.parametrize("keep", [0, 11, 12, 15, 40, 0.5, -1])
def test_a_cut_blob_is_refused(keep: float) -> None:
    array = picture((64, 64), "uint16")
    blob = by_filter(array, 1024)
    cut = blob[: int(keep * len(blob))] if isinstance(keep, float) else blob[:keep]
    with pytest.raises(ValueError, match="lz4 bl"):
        lz4.decompress(cut, array.size, array.dtype)


def test_a_blob_of_noise_is_refused() -> None:
    blob = lz4.frame_block(bytes(range(255)), 512)
    with pytest.raises(ValueError, match="cannot be unpacked"):
        lz4.decompress(blob, 256, np.dtype("uint16"))
