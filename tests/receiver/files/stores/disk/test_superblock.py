"""The head of a file whose writer died; HDF5 itself judges what was made of it."""

from __future__ import annotations

import struct
from pathlib import Path

import h5py
import pytest

from penstock.receiver.files.recovery.interrupted import mark_interrupted
from penstock.receiver.files.reopened import DAMAGED
from penstock.receiver.files.stores.disk.superblock import V0_END, repair, version_of
from tests.receiver.h5_file import write_series


@pytest.mark.parametrize(("bounds", "version"), [(None, 0), ("v110", 3), ("latest", 3)])
def test_a_file_that_was_closed_stays_as_it_is(bounds: str | None, version: int, tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver=bounds) as file:
        file["a"] = [1, 2, 3]
    content = path.read_bytes()
    repair(path)
    assert version_of(path) == version
    assert path.read_bytes() == content


def test_what_is_written_next_lies_behind_all_that_was_ever_written(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["a"] = [1, 2, 3]
    end = path.stat().st_size
    with path.open("ab") as raw:
        raw.write(b"x" * 1000)
    repair(path)
    assert struct.unpack_from("<Q", path.read_bytes(), V0_END)[0] == end + 1000
    with h5py.File(path, "r+") as file:
        file["b"] = [7] * 100
    assert path.read_bytes()[end : end + 1000] == b"x" * 1000


@pytest.mark.parametrize("content", [b"", b"no HDF5 at all", b"\x89HDF\r\n\x1a\n\x00short"])
def test_what_is_no_hdf5_stays_as_it_is(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    path.write_bytes(content)
    repair(path)
    assert path.read_bytes() == content
    assert version_of(path) is None


def test_an_address_that_no_file_can_have_is_damage_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    write_series(path, planned=3, killed=True)
    content = bytearray(path.read_bytes())
    # Where the header of the root group goes on: a continuation message, of 16 bytes.
    at = content.index(b"\x10\x00\x10\x00\x00\x00\x00\x00") + 8
    content[at : at + 8] = b"\xff" * 8
    path.write_bytes(content)
    with pytest.raises(DAMAGED):
        mark_interrupted(path, "killed")


def test_a_file_with_a_damaged_index_is_marked_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    write_series(path, planned=200, killed=True)
    content = bytearray(path.read_bytes())
    with h5py.File(path, locking=False) as file:
        chunks = file["entry/data/data"].id
        places = [chunks.get_chunk_info(number).byte_offset for number in range(200)]
    # The last leaf of the index of the frames: a node of HDF5's B-trees, of type 1 (raw data chunks).
    leaves = []
    at = content.find(b"TREE\x01\x00")
    while at >= 0:
        first = struct.unpack_from("<Q", content, at + 24 + 8 + 8 * 4)[0]
        if first in places:
            leaves.append((places.index(first), at))
        at = content.find(b"TREE\x01\x00", at + 1)
    first, at = max(leaves)
    assert 0 < first < 200
    content[at : at + 4] = bytes(4)
    path.write_bytes(content)
    counts = mark_interrupted(path, "killed").counts()
    assert counts.stored == first
    with h5py.File(path) as file:
        detector = file["entry/instrument/sim"]
        assert "index was damaged" in detector["series/reason"].asstr()[()]
        assert (detector["frame_status"][:first] == 1).all()
        assert not (detector["frame_status"][first:] == 1).any()
        file["entry/data/data"][first - 1]
