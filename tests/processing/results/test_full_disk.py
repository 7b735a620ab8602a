"""A result file on a disk that is full, or fails."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from penstock.processing.results.errors import ResultError
from penstock.processing.results.read import Results
from penstock.processing.results.result_file import ResultFile
from penstock.processing.wire import Array
from tests.processing.results import made
from tests.receiver.disks import small_file_system
from tests.receiver.failing_disk import FailingDisk

LARGE = Array(name="large", dtype="<f8", shape=(1, 1000))


def fill_up(rest: Path) -> None:
    """Write a file until the disk is full."""
    with contextlib.suppress(OSError), rest.open("wb", buffering=0) as file:
        while file.write(bytes(2**12)):
            pass


def test_a_plan_too_large_for_the_disk_is_refused_when_the_series_begins(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "small", 4) as folder:
        with pytest.raises(
            ResultError, match="account of the series: the disk of .* is full: free some space"
        ):
            made.created(folder, 4_000_000)
        assert list(folder.iterdir()) == []


def test_a_name_without_room_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "small", 8) as folder:
        results = made.created(folder, 10_000)
        one = np.arange(1)
        results.rows(made.BRIGHT, one, one)
        with pytest.raises(
            ResultError, match="could not write room for large: the disk of .* is full"
        ) as caught:
            results.rows(LARGE, one, np.zeros((1, 1000)))
        assert caught.value.kind == "not_writable"
        assert {each.name for each in folder.iterdir()} == {"x.spots.h5", ".x.spots.h5.lock"}
        made.fill_small(results, 1, 10_000)
        assert made.finish(results, 10_000) == ""
        assert Results(folder / "x.spots.h5").rows("bright", 9_999, 10_000).values.tolist() == [9_999]


def test_rows_have_their_place_before_the_disk_is_full(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "small", 16) as folder:
        results = made.created(folder, 1000)
        results.prepare((LARGE,))
        fill_up(folder / "rest")
        indices = np.arange(1000)
        results.rows(LARGE, indices, np.ones((1000, 1000)))
        results.status(indices, 1)
        assert made.finish(results, 1000) == ""
        assert Results(results.path).rows("large", 999, 1000).values.sum() == 1000


def test_an_end_without_room_to_make_the_file_anew_is_complete_all_the_same(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "small", 16) as folder:
        results = made.created(folder, None)
        indices = np.arange(1000)
        results.rows(Array(name="large", dtype="<f8", shape=(1, 250)), indices, np.ones((1000, 250)))
        results.status(indices, 1)
        fill_up(folder / "rest")
        said = made.finish(results, 1000)
        assert (
            "the disk of" in said and "It has places for 4,096 frames; those beyond 1,000 are empty" in said
        )
        found = Results(folder / "x.spots.h5")
        assert found.account()["state"] == "complete" and found.account()["counts"]["done"] == 1000
        assert found.rows("large", 999, 1001).has.tolist() == [True, False]
        assert {each.name for each in folder.iterdir()} == {"x.spots.h5", "rest"}


CHILD = """
import sys
from pathlib import Path
import numpy as np
from penstock.processing.results.errors import ResultError
from penstock.processing.results.result_file import ResultFile
from tests.processing.results import made
results = made.created(Path(sys.argv[1]), 100)
made.fill(results, 0, 50)
print("ready", flush=True)
sys.stdin.readline()
try:
    made.fill(results, 50, 100)
except ResultError as error:
    print(error, flush=True)
sys.stdin.readline()
made.fill(results, 50, 100)
print(made.finish(results, 100), flush=True)
"""


def test_a_write_that_fails_is_a_sentence_and_can_be_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    disk = FailingDisk(tmp_path, folder, monkeypatch)
    root = Path(__file__).parents[3]
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(root)}, cwd=root,
    )  # fmt: skip
    assert child.stdin is not None and child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    disk.fail(errno.EIO)
    child.stdin.write("go\n")
    child.stdin.flush()
    said = child.stdout.readline()
    assert "could not write rows of curve: Input/output error; see what `penstock check-storage" in said
    assert disk.mend() == 1
    rest, _ = child.communicate("go\n", timeout=30)
    assert rest == "\n" and child.returncode == 0
    found = Results(folder / "x.spots.h5")
    assert np.array_equal(found.rows("curve", 0, 100).values, made.curves(np.arange(100)))


def test_resume_finds_no_half_made_file(tmp_path: Path) -> None:
    results = made.created(tmp_path, 10)
    results.close()
    (tmp_path / ".x.spots.h5.new").write_bytes(b"half of a copy, whose writer was killed")
    ResultFile.resume(tmp_path / "x.spots.h5", "s1").close()
    assert {each.name for each in tmp_path.iterdir()} == {"x.spots.h5"}
