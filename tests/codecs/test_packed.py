"""Which filters of HDF5 write blobs that the codecs read."""

from __future__ import annotations

import h5py
import hdf5plugin
import pytest

from penstock.codecs.packed import CODECS, compression_of_filter


@pytest.mark.parametrize(
    ("filters", "compression"),
    [
        (hdf5plugin.Bitshuffle(cname="lz4"), "bslz4"),
        (hdf5plugin.LZ4(), "lz4"),
        (hdf5plugin.Bitshuffle(cname="zstd"), None),
        (hdf5plugin.Bitshuffle(cname="none"), None),
        ({"compression": "gzip"}, None),
    ],
    ids=["bslz4", "lz4", "bitshuffle and zstd", "bitshuffle alone", "gzip"],
)
def test_the_compression_of_a_dataset_is_known_by_its_filter(
    filters: dict[str, object], compression: str | None
) -> None:
    with h5py.File.in_memory() as file:
        data = file.create_dataset("data", (1, 8, 8), "u2", chunks=(1, 8, 8), **filters)
        number, _, options, _ = data.id.get_create_plist().get_filter(0)
        assert compression_of_filter(number, options) == compression
    assert compression is None or compression in CODECS
