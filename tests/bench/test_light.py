"""The measurement of the light streamer counts every file, and says so."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock_bench.light import light
from penstock_bench.runner import Bench

RAM_DISK = "/dev/shm"
pytestmark = pytest.mark.skipif(not os.access(RAM_DISK, os.W_OK), reason="there is no RAM disk")


@pytest.fixture
def folder() -> Iterator[Path]:
    """One on a RAM disk."""
    with tempfile.TemporaryDirectory(dir=RAM_DISK, prefix="penstock-bench-") as name:
        yield Path(name)


def test_it_says_what_arrived_and_what_it_took(folder: Path) -> None:
    options = {"rate": 50.0, "seconds": 0.2, "megabytes": 0.2, "python": ""}
    bench = Bench(folder=folder, options=options)
    (turn,) = light(bench, "")["light streamer"]
    assert (turn["files"], turn["files missing"]) == (10, 0)
    assert turn["Python's thread, µs"] > 0 and turn["all threads, µs"] > 0
    assert "10 of 10 files of 0.2 MB arrived" in bench.notes[0] and "lost none" in bench.notes[0]
    assert not [path for path in folder.rglob("*") if path.is_file()]
