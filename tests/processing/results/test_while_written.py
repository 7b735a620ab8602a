"""The result file while another process writes it, and after that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.processing.results.layout import DONE, PENDING
from penstock.processing.results.read import Results
from penstock.processing.results.result_file import ResultFile
from penstock.processing.wire import Array
from tests.processing.results import made, writer

FRAMES = 20_000
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a process that writes a result file; it has written the first frame."""
    started: list[subprocess.Popen[str]] = []

    def run(frames: int = FRAMES, *more: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.processing.results.writer", str(tmp_path), str(frames), *more]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        )  # fmt: skip
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate(timeout=30)


def some(numbers: np.ndarray, last: int, between: int) -> np.ndarray:
    """The first and the last of them, and some between."""
    return np.unique(
        np.concatenate((numbers[:3], numbers[-last:], numbers[:: max(1, len(numbers) // between)]))
    )


def check(path: Path, *, every: bool = False) -> int:
    """Open the file as everybody does; what is done is right: every frame and name, or some, since it would
    take longer with each of them. Returns how many frames are."""
    with h5py.File(path, "r") as file:
        entry = file["entry"]
        done = entry["account/frame_status"][...] == DONE
        index = np.flatnonzero(done)
        if not len(index):
            return 0
        few = index if every else some(index, 20, 50)
        assert np.array_equal(entry["curve/curve"][few], made.curves(few))
        assert np.array_equal(entry["bright/bright"][: index[-1] + 1][index], index)
        assert (entry["account/valid/bright"][: index[-1] + 1][index] == 1).all()
        news = np.array(sorted(int(name.removeprefix("news_")) for name in entry if name.startswith("news_")))
        for number in news if every else some(news, 5, 5):
            if not done[number]:
                continue  # the name is there before its first frame is done
            name = f"news_{number}"
            assert entry[f"{name}/{name}"][number] == number
            assert not entry[f"{name}/{name}"][number + 1 : number + 10].any()
        if "late" in entry:
            late = few[few >= writer.LATE_FROM]
            assert np.array_equal(entry["late/late"][late], np.repeat(late[:, np.newaxis], 3, axis=1))
        return len(index)


@pytest.mark.parametrize("opens", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_file_opens_plainly_while_it_is_written_and_after_a_kill(
    tmp_path: Path, start: Start, opens: int
) -> None:
    process = start(5000, "endless")
    path, counts = tmp_path / "x.spots.h5", [0]
    while len(counts) <= opens or counts[-1] < 600:
        counts.append(check(path))
    assert process.poll() is None and counts == sorted(counts)
    process.kill()
    process.wait(timeout=30)
    assert check(path, every=True) >= counts[-1]


@pytest.mark.parametrize("opens", [30, pytest.param(300, marks=pytest.mark.slow)])
def test_a_file_that_is_made_anew_all_the_time_opens_plainly(
    tmp_path: Path, start: Start, opens: int
) -> None:
    process = start(10**6, "unplanned")  # it never gets there: each name takes longer than the one before
    path, counts, inodes = tmp_path / "x.spots.h5", [0], set()
    while len(counts) <= opens or counts[-1] < max(400, 10 * opens):
        counts.append(check(path))
        inodes.add(os.stat(path).st_ino)
    assert process.poll() is None and counts == sorted(counts)
    process.kill()
    process.wait(timeout=30)
    assert check(path, every=True) >= counts[-1] and len(inodes) > 1
    results = ResultFile.resume(path, "s1")
    done = int((results.states == DONE).sum())
    results.rows(made.BRIGHT, np.array([done + 5000]), np.array([done + 5000]))
    assert made.finish(results, done + 5001) == ""
    assert {each.name for each in tmp_path.iterdir()} == {"x.spots.h5"}


def test_a_name_appears_while_others_read(tmp_path: Path, start: Start) -> None:
    start(2000).wait(timeout=100)
    reader = Results(tmp_path / "x.spots.h5")
    assert check(reader.path) == 2000
    found = reader.rows("late", 498, 502)
    assert found.has.tolist() == [False, False, True, True]


@pytest.mark.parametrize("kill", [0, 1, *(pytest.param(later, marks=pytest.mark.slow) for later in (2, 3))])
def test_a_killed_distributor_resumes_where_it_was(tmp_path: Path, start: Start, kill: int) -> None:
    process = start()
    path = tmp_path / "x.spots.h5"
    while int((Results(path).states() == DONE).sum()) < 10 + kill * 150:
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=30)
    results = ResultFile.resume(path, "s1")
    states = results.states
    done = np.flatnonzero(states == DONE)
    # What is in the sum is what is done: no frame more, none less.
    (mean,) = results.totals.arrays
    assert mean.n == len(done) and set(states[states != DONE]) == {PENDING}
    assert results.totals.values[0].tolist() == [done.sum()] * 4
    assert Results(path).accumulated("mean")[0].tolist() == [pytest.approx(done.mean())] * 4
    # It goes on, with names that are known and with new ones.
    rest = np.flatnonzero(states != DONE)
    results.rows(made.CURVE, rest, made.curves(rest))
    results.rows(made.BRIGHT, rest, rest)
    late = rest[rest >= writer.LATE_FROM]
    results.rows(writer.LATE, late, np.repeat(late[:, np.newaxis], 3, axis=1))
    results.status(rest, DONE)
    assert made.finish(results, FRAMES) == ""
    assert check(path, every=True) == FRAMES
    assert {each.name for each in tmp_path.iterdir()} == {"x.spots.h5"}


def test_a_kill_between_totals_and_statuses_counts_no_frame_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = made.created(tmp_path, 10)
    one = Array(name="sum", dtype="<u8", shape=(), kind="sum", n=3)
    results.accumulated([one], [np.array(3, "u8")], np.array([0, 1, 2]))
    more = Array(name="sum", dtype="<u8", shape=(), kind="sum", n=5)
    monkeypatch.setattr(ResultFile, "_show_totals", lambda self: None)  # it is killed here
    results.accumulated([more], [np.array(10, "u8")], np.array([3, 4]))
    results.close()
    monkeypatch.undo()
    resumed = ResultFile.resume(tmp_path / "x.spots.h5", "s1")
    assert resumed.states.tolist() == [DONE] * 5 + [PENDING] * 5
    assert resumed.totals.values[0] == 10
    assert Results(resumed.path).accumulated("sum") == (10, 5)
    resumed.close()


@pytest.mark.parametrize("name", ["hits", "count", "first"])
def test_events_and_parameters_go_on_after_a_kill(tmp_path: Path, name: str) -> None:
    results = made.created(tmp_path, 10)
    hits = Array(name=name, dtype="<i4", shape=(3,), kind="events", counts=(1, 2))
    results.rows(hits, np.array([0, 1]), np.array([10, 11, 12], "<i4"))
    results.status(np.array([0, 1]), DONE)
    results.error(7, "bad")
    results.close()
    resumed = ResultFile.resume(tmp_path / "x.spots.h5", "s1")
    resumed.rows(hits, np.array([2, 3]), np.array([20, 21, 22], "<i4"))
    resumed.status(np.array([2, 3]), DONE)
    resumed.error(8, "worse")
    resumed.parameters(2, {"threshold": 1}, 4)
    made.finish(resumed, 10)
    reader = Results(tmp_path / "x.spots.h5")
    assert reader.rows(name, 0, 4).values.tolist() == [10, 11, 12, 20, 21, 22]
    assert reader.account()["errors"] == {7: "bad", 8: "worse"}
    assert [version for version, _, _ in reader.parameters()] == [1, 2]


def test_both_files_are_moved_together(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    results = made.created(folder, 4)
    made.raw_file(folder / "x.h5")
    made.fill(results, 0, 4)
    made.finish(results, 4)
    folder.rename(tmp_path / "c")
    with h5py.File(tmp_path / "c" / "x.spots.h5") as file:
        assert file["entry/timestamp"][...].tolist() == [1e9 + number for number in range(4)]
        assert file["entry/sequence_number"][...].tolist() == [0, 1, 2, 3]
        assert file["entry/instrument/sim/data"].shape[0] == 4
        assert file["entry/account"].attrs["raw_file"] == "x.h5"
