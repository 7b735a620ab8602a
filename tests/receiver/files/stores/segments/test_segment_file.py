"""Which files may be what a killed writer left."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import pytest

from penstock.receiver.files.stores.disk.superblock import HEAD, SIGNATURE, can_be_torn
from penstock.receiver.files.stores.segments.segment_file import may_replace


@pytest.mark.parametrize(
    ("content", "torn"),
    [
        (b"", True),
        (bytes(10), True),
        (bytes(HEAD) + b"frames, but the superblock was not written yet", True),
        (SIGNATURE, True),
        (SIGNATURE + b"cut within its superblock", True),
        (b"a text of the user", False),
        (SIGNATURE[:-1], False),
        (bytes(HEAD - 1) + b"x", False),
    ],
)
def test_one_that_is_empty_or_begins_with_zeros_or_as_hdf5(
    content: bytes, torn: bool, tmp_path: Path
) -> None:
    (tmp_path / "x.h5").write_bytes(content)
    folder = os.open(tmp_path, os.O_PATH)
    try:
        assert can_be_torn(tmp_path / "x.h5") is can_be_torn("x.h5", folder) is torn
        assert may_replace("x.h5", folder) is torn
    finally:
        os.close(folder)


def test_what_is_no_file_is_none_and_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    folder = os.open(tmp_path, os.O_PATH)
    try:
        assert not any(may_replace(name, folder) for name in ("pipe", "folder", "link"))
        with pytest.raises(FileNotFoundError):
            may_replace("nothing", folder)
    finally:
        os.close(folder)


def test_another_hdf5_file_begins_like_ours_but_is_not_replaced(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["mine"] = 1
    folder = os.open(tmp_path, os.O_PATH)
    try:
        assert can_be_torn("x.h5", folder)
        assert not may_replace("x.h5", folder)
    finally:
        os.close(folder)
