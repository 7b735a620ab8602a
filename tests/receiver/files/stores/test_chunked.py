"""Packed frames in the one file, on a disk that is full before the first of them."""

from __future__ import annotations

import contextlib
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

from penstock.codecs import bslz4
from penstock.receiver.files.writer import WriterError
from penstock.stins.messages import Frame
from tests.receiver.disks import small_file_system
from tests.receiver.files.stores.written import DETECTOR, Written, status_of
from tests.receiver.sample_series import start
from tests.streams import image

SHAPE = (514, 257)


def noise(number: int) -> Frame:
    """A frame that does not get smaller when it is packed: 264 kB."""
    array = np.random.default_rng(number).integers(0, 2**16, SHAPE, "uint16")
    return Frame(image(number, array, compression="bslz4", series="a"), [bslz4.compress(array)])


def fill_up(disk: Path) -> None:
    with (disk / "other").open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


@pytest.mark.parametrize("channels", [None, ["a", "b"]], ids=["one dataset", "channels"])
def test_where_not_even_the_first_frame_fits_the_dataset_is_cut_all_the_same(
    tmp_path: Path, channels: list[str] | None
) -> None:
    def write_some() -> None:
        for number in range(3):
            blobs = noise(number).blobs * (2 if channels else 1)
            array = np.empty(shape, "uint16")
            written.add(Frame(image(number, array, compression="bslz4", series="a"), blobs))
            written.writer.flush()

    with small_file_system(tmp_path / "disk", 12) as disk:
        shape = (2, *SHAPE) if channels else SHAPE
        opening = start(frames=40, shape=shape, type="uint16", compression="bslz4", channels=channels)
        written = Written(disk / "x.h5", opening)
        fill_up(disk)
        with pytest.raises(WriterError, match="The disk of .* is full"):
            write_some()
        with contextlib.suppress(WriterError):
            written.close("the disk is full")
        with h5py.File(disk / "x.h5") as file:
            shown = file["entry/data/data"]
            assert len(shown) == len(status_of(file)) < 40
            assert shown == file[f"{DETECTOR}/data"]
            assert shown.attrs["units"] == "counts"
            assert file[f"{DETECTOR}/series/state"].asstr()[()] == "incomplete"
