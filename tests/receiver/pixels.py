"""Pixels of a blob, by the HDF5 filter of hdf5plugin: nothing of Penstock unpacks them."""

from __future__ import annotations

from typing import Any

import h5py
import hdf5plugin
import numpy as np

from penstock.stins.messages import Frame


def pixels(frame: Frame) -> np.ndarray[Any, Any]:
    """The image, (rows, cols) or (k, rows, cols)."""
    image = frame.image
    known = {"bslz4": hdf5plugin.Bitshuffle(cname="lz4"), "lz4": hdf5plugin.LZ4()}
    filters = dict(known.get(image.compression, {}))
    chunks = image.shape if len(image.shape) == 2 else (1, *image.shape[1:])
    with h5py.File("pixels.h5", "w", driver="core", backing_store=False) as file:
        dataset = file.create_dataset("data", image.shape, image.type, chunks=chunks, **filters)
        for part, blob in enumerate(frame.blobs):
            dataset.id.write_direct_chunk((part, 0, 0)[3 - len(image.shape) :], bytes(blob))
        return np.asarray(dataset[...])


def bslz4(array: np.ndarray[Any, Any], block: int = 0) -> bytes:
    """An array as the blob that a detector would send, in blocks of so many pixels; 0: as it likes."""
    with h5py.File("blob.h5", "w", driver="core", backing_store=False) as file:
        dataset = file.create_dataset(
            "data", data=array, chunks=array.shape, **dict(hdf5plugin.Bitshuffle(nelems=block, cname="lz4"))
        )
        return bytes(dataset.id.read_direct_chunk((0,) * array.ndim)[1])


def lz4(array: np.ndarray[Any, Any], block: int = 0) -> bytes:
    """An array as a chunk of the LZ4 filter, in blocks of so many bytes; 0: as it likes."""
    with h5py.File("blob.h5", "w", driver="core", backing_store=False) as file:
        dataset = file.create_dataset("data", data=array, chunks=array.shape, **hdf5plugin.LZ4(nbytes=block))
        return bytes(dataset.id.read_direct_chunk((0,) * array.ndim)[1])


def lz4_block(array: np.ndarray[Any, Any]) -> bytes:
    """An array as one LZ4 block without a header, as a V1 stream of DECTRIS sends it."""
    return lz4(array)[16:]
