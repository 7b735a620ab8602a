"""Copies of parts of files that have holes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.processing.results.sparse import copy_data

BLOCK = 2**16
"""A multiple of what file systems have as blocks."""


@pytest.mark.parametrize("was_written", [False, True])
def test_holes_take_no_space_and_read_as_zeros_whatever_was_there(tmp_path: Path, was_written: bool) -> None:
    source, to = (os.open(tmp_path / name, os.O_RDWR | os.O_CREAT) for name in ("source", "to"))
    try:
        for file in (source, to):
            os.ftruncate(file, 1000 * BLOCK)
        os.pwrite(source, b"a" * BLOCK, 2 * BLOCK)
        os.pwrite(source, b"b" * BLOCK, 900 * BLOCK)
        if was_written:
            os.pwrite(to, b"x" * 10 * BLOCK, 0)
        copy_data(source, to, BLOCK, 950 * BLOCK, 3 * BLOCK)
        assert os.fstat(to).st_blocks * 512 <= 12 * BLOCK
        kept = b"x" if was_written else b"\0"
        places = {0: kept, 2: kept, 3: b"\0", 4: b"a", 5: b"\0", 9: b"\0", 901: b"\0", 902: b"b", 903: b"\0"}
        assert {place: os.pread(to, 1, place * BLOCK) for place in places} == places
        assert set(os.pread(to, 5 * BLOCK, 5 * BLOCK)) == {0}
    finally:
        os.close(source)
        os.close(to)
