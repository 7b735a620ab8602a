"""Space is taken ahead of the frames and given back at the end; the file itself never shows it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.receiver.preallocation import LEAST_BYTES, STEP_BYTES, Preallocation

MB = 2**20


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path / "x", os.O_RDWR | os.O_CREAT)
    yield descriptor
    os.close(descriptor)


def allocated(descriptor: int) -> int:
    return os.fstat(descriptor).st_blocks * 512


def test_space_is_taken_in_steps_ahead_of_what_is_written(file: int) -> None:
    ahead = Preallocation(file, expected=None)
    ahead.advance(MB)
    if not ahead.reached:
        pytest.skip("this file system allocates nothing ahead")
    first = ahead.reached
    assert first == MB + STEP_BYTES
    assert allocated(file) >= first
    ahead.advance(STEP_BYTES)
    assert ahead.reached == first
    ahead.advance(1)
    assert ahead.reached == MB + STEP_BYTES + 1 + STEP_BYTES
    ahead.close()


def test_no_more_is_taken_than_was_announced(file: int) -> None:
    ahead = Preallocation(file, expected=3 * MB)
    ahead.advance(MB)
    assert ahead.reached in (0, 3 * MB)
    ahead.advance(10 * MB)
    assert ahead.reached in (0, 3 * MB)
    ahead.close()


def test_a_small_series_takes_nothing(file: int) -> None:
    ahead = Preallocation(file, expected=LEAST_BYTES // 2)
    ahead.advance(1000)
    assert ahead.reached == 0
    ahead.close()


def test_the_size_of_the_file_is_what_was_written_and_the_rest_is_given_back(file: int) -> None:
    ahead = Preallocation(file, expected=None)
    ahead.advance(MB)
    os.pwrite(file, b"x" * MB, 0)
    assert os.fstat(file).st_size == MB
    ahead.close()
    assert os.fstat(file).st_size == MB
    assert allocated(file) <= MB + 64 * 1024
    ahead.close()


def test_a_file_that_cannot_be_allocated_costs_one_call(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        ahead = Preallocation(writing, expected=None)
        ahead.advance(2 * MB)
        ahead.advance(2 * MB)
        assert ahead.reached == 0
        ahead.close()
    finally:
        os.close(reading)
        os.close(writing)
