"""bslz4 blobs against the HDF5 filter that reads and writes them in files."""

from __future__ import annotations

import h5py
import hdf5plugin
import numpy as np
import pytest

from penstock.codecs import bslz4
from tests.receiver.pixels import bslz4 as by_filter

SHAPES = [(1, 1), (1, 7), (4, 6), (64, 64), (67, 61), (300, 171)]
DTYPES = ["uint8", "int16", "uint16", "int32", "float64"]


def picture(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return np.random.default_rng(1).poisson(3, shape).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_hdf5_filter_reads_what_was_packed(shape: tuple[int, ...], dtype: str) -> None:
    array = picture(shape, dtype)
    blob = bslz4.compress(array)
    assert len(blob) <= bslz4.bound(array.nbytes, array.itemsize)
    with h5py.File("blob.h5", "w", driver="core", backing_store=False) as file:
        filters = dict(hdf5plugin.Bitshuffle(cname="lz4"))
        dataset = file.create_dataset("data", shape, dtype, chunks=shape, **filters)
        dataset.id.write_direct_chunk((0, 0), blob)
        np.testing.assert_array_equal(dataset[...], array)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_the_hdf5_filter_packed_is_unpacked(shape: tuple[int, ...], dtype: str) -> None:
    array = picture(shape, dtype)
    unpacked = bslz4.decompress(memoryview(by_filter(array)), array.size, array.dtype)
    np.testing.assert_array_equal(unpacked.reshape(shape), array)


@pytest.mark.parametrize("shape", [(1, 7), (67, 61), (300, 171), (128, 256)])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("block", [0, 128])
def test_a_part_is_unpacked_as_it_is_in_the_whole(shape: tuple[int, ...], dtype: str, block: int) -> None:
    array = picture(shape, dtype)
    blob = by_filter(array, block) if block else bslz4.compress(array)
    for first, end in ((0, 1), (0, 0), (array.size // 3, array.size // 2), (array.size - 1, array.size)):
        part = bslz4.decompress_part(blob, array.size, array.dtype, first, end)
        np.testing.assert_array_equal(part, array.ravel()[first:end])


def test_an_image_that_is_turned_is_packed_as_it_looks() -> None:
    array = np.rot90(picture((30, 20), "uint16"))
    np.testing.assert_array_equal(
        bslz4.decompress(bslz4.compress(array), array.size, array.dtype).reshape(array.shape), array
    )


@pytest.mark.parametrize("keep", [12, 15, 40, 0.5, -1])
def test_a_cut_blob_is_refused_before_the_library_reads_beyond_it(keep: float) -> None:
    array = picture((64, 64), "uint16")
    blob = bslz4.compress(array)
    cut = blob[: int(keep * len(blob))] if isinstance(keep, float) else blob[:keep]
    with pytest.raises(ValueError, match="bslz4 blob"):
        bslz4.decompress(cut, array.size, array.dtype)
