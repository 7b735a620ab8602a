"""Space that is set aside ahead of what is written there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.receiver.files.stores import allocation


@pytest.fixture
def descriptor(tmp_path: Path) -> int:
    return os.open(tmp_path / "x", os.O_RDWR | os.O_CREAT)


def test_space_is_taken_and_reads_as_zeros(descriptor: int) -> None:
    try:
        assert allocation.allocate(descriptor, 4096, 2**20, seconds=60.0) == 2**20
        assert os.fstat(descriptor).st_blocks * 512 >= 2**20 - 4096
        assert os.pread(descriptor, 8, 4096) == bytes(8)
    finally:
        os.close(descriptor)


def test_no_more_is_taken_than_there_is_time_for(descriptor: int) -> None:
    try:
        assert allocation.allocate(descriptor, 0, 2**40, seconds=0.0) == 0
        assert os.fstat(descriptor).st_size == 0
    finally:
        os.close(descriptor)


def test_where_it_cannot_be_taken_writing_is_left_to_say_why() -> None:
    reading, writing = os.pipe()
    try:
        assert allocation.allocate(writing, 0, 4096, seconds=60.0) == 0
    finally:
        os.close(reading)
        os.close(writing)
