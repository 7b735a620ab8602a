"""A data file that cannot be begun."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from penstock.receiver.files.stores import side_file
from penstock.receiver.files.stores.data_file import DataFile
from penstock.receiver.files.stores.messages import OpenDataFile


def test_a_full_disk_leaves_neither_the_file_nor_a_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(side_file, "make_room", full)
    folder = os.open(tmp_path, os.O_RDONLY)
    before = len(os.listdir("/proc/self/fd"))
    try:
        with pytest.raises(OSError, match="No space left"):
            DataFile(OpenDataFile("x.h5", (5, 7), "uint16", False), folder)
        assert len(os.listdir("/proc/self/fd")) == before
        assert list(tmp_path.iterdir()) == []
    finally:
        os.close(folder)


def test_what_hdf5_refuses_leaves_neither_the_file_nor_a_descriptor(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    before = len(os.listdir("/proc/self/fd"))
    try:
        with pytest.raises(TypeError):
            DataFile(OpenDataFile("x.h5", (5, 7), "nonsense", False), folder)
        assert len(os.listdir("/proc/self/fd")) == before
        assert list(tmp_path.iterdir()) == []
    finally:
        os.close(folder)
