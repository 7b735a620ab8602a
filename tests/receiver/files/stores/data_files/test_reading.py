"""Series whose packed frames an earlier version has spread over data files, in blocks that go round."""

from __future__ import annotations

from pathlib import Path

import h5py
import hdf5plugin
import numpy as np
import pytest
from h5py import h5d, h5p, h5s, h5t

from penstock.checks.verify import verify
from penstock.codecs import bslz4
from penstock.receiver.files.recovery.interrupted import mark_interrupted
from penstock.receiver.files.stores.data_files.data_file import DATASET
from penstock.receiver.reader import SeriesFile
from penstock.stins.checksums import checksums
from penstock.stins.messages import Frame
from tests.receiver.files.stores.written import DETECTOR, SHAPE, Written, array
from tests.receiver.sample_series import start
from tests.streams import image

FRAMES, WRITERS, BLOCK = 22, 3, 4


def packed(number: int) -> Frame:
    blobs = [bslz4.compress(array(number))]
    return Frame(image(number, array(number), series="a", checksums=checksums("crc32", blobs)), blobs)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A series whose frames are moved to data files, as processes had written them."""
    path = tmp_path / "x.h5"
    written = Written(path, start(frames=FRAMES, checksum="crc32"))
    written.add(*(packed(number) for number in range(FRAMES)))
    written.close(triggered=FRAMES)
    layout, rest, origin = h5p.create(h5p.DATASET_CREATE), (1, 1), (0, 0)
    for writer in range(WRITERS):
        name = f"x_data_{writer + 1:04d}.h5"
        mine = [n for n in range(FRAMES) if n // BLOCK % WRITERS == writer]
        with h5py.File(path.with_name(name), "w") as file:
            data = file.create_dataset(
                DATASET, (len(mine), *SHAPE), "uint16", maxshape=(None, *SHAPE), chunks=(1, *SHAPE),
                fillvalue=65535, **hdf5plugin.Bitshuffle(cname="lz4"),
            )  # fmt: skip
            for row, number in enumerate(mine):
                data.id.write_direct_chunk((row, 0, 0), bytes(packed(number).blobs[0]))
        here, there = (h5s.create_simple((0, *SHAPE), (h5s.UNLIMITED, *SHAPE)) for _ in range(2))
        count = (h5s.UNLIMITED, *rest)
        here.select_hyperslab((writer * BLOCK, *origin), count, (WRITERS * BLOCK, *rest), (BLOCK, *SHAPE))
        there.select_hyperslab((0, *origin), count, (BLOCK, *rest), (BLOCK, *SHAPE))
        layout.set_virtual(here, name.encode(), DATASET.encode(), there)
    with h5py.File(path, "r+") as file:
        del file["entry/data/data"], file[f"{DETECTOR}/data"]
        space = h5s.create_simple((0, *SHAPE), (h5s.UNLIMITED, *SHAPE))
        kind = h5t.py_create(np.dtype("uint16"))
        h5d.create(file[DETECTOR].id, b"data", kind, space, dcpl=layout)
        file["entry/data/data"] = file[f"{DETECTOR}/data"]
    return path


def test_they_read_and_verify_as_before(path: Path) -> None:
    with SeriesFile(path) as file:
        for number in range(FRAMES):
            np.testing.assert_array_equal(file.frame(number), array(number))
            assert file.blobs(number) == [bytes(packed(number).blobs[0])]
        assert verify(file).is_sound
    with h5py.File(path.with_name("x_data_0002.h5"), "r+") as file:
        file[DATASET].id.write_direct_chunk((1, 0, 0), bytes(packed(99).blobs[0]))
    with SeriesFile(path) as file:
        assert verify(file).wrong == "5"


def test_one_whose_receiver_was_killed_before_it_was_replaced_by_this_version_is_marked(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file[f"{DETECTOR}/series/state"][()] = "in progress"
    assert mark_interrupted(path, "it was killed").counts().stored == FRAMES
    with SeriesFile(path) as file:
        assert file.state == "incomplete"
        np.testing.assert_array_equal(file.frame(FRAMES - 1), array(FRAMES - 1))
