"""Every contender takes a series, with real processes, and leaves no file behind."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock_bench import latency, profile, runner, throughput
from penstock_bench.cases import Series
from penstock_bench.results import Frames, Turns
from penstock_bench.runner import Bench
from penstock_bench.throughput import CONTENDERS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("cc") is None, reason="the limits need a C compiler"),
]
TINY = Frames(name="20 kB", shape=(100, 100), count=120)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A run whose disk is another folder, which passes for one wherever the tests write."""
    monkeypatch.setattr(runner, "file_system", lambda folder: "ext4")
    for name in ("ram", "disk"):
        (tmp_path / name).mkdir()
    return Bench(folder=tmp_path / "ram", disk=tmp_path / "disk")


def check(bench: Bench, turns: Turns) -> None:
    """All have figures, and no file is left."""
    assert not bench.failed, bench.notes
    for (turn,) in turns.values():
        assert turn["frames/s"] > 0 and turn["GB/s"] > 0 and turn["sender, µs"] > 0
        assert turn["loop, µs"] > 0 and turn["receiver, µs"] > 0
    for folder in (bench.folder, bench.disk):
        assert folder is not None
        assert not [path for path in folder.iterdir() if path.suffix], folder


def test_every_contender_takes_the_series(bench: Bench) -> None:
    turns = throughput.contenders(bench, TINY)
    assert set(turns) == set(CONTENDERS)
    check(bench, turns)


def test_the_generator_keeps_the_offered_rate_of_every_storage(bench: Bench) -> None:
    turns = throughput.offered(bench, TINY.of(20, rate=400.0))
    assert len(turns) == 15
    assert turns["disk, 50/s"][0]["frames/s"] <= 50 * 1.1
    check(bench, turns)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("measure", "number"), [(throughput.sockets, 8), (throughput.workers, 5), (throughput.disk, 3)]
)
def test_sockets_workers_and_a_disk_are_measured(
    measure: Callable[[Bench, Frames], Turns], number: int, bench: Bench
) -> None:
    turns = measure(bench, TINY)
    assert len(turns) == number
    check(bench, turns)


def test_functions_of_both_loops_have_their_shares(bench: Bench) -> None:
    turns = profile.by_function(bench, TINY)
    for (shares,) in turns.values():
        assert 0 < sum(shares.values()) <= 100.1
    assert any("naive (programs.py)" in name for name in turns["naive"][0])


def test_series_over_tango_have_their_times(bench: Bench) -> None:
    bench.rounds = 2
    (found,) = latency.series(bench, Series("disk, synced", synced=True)).values()
    assert len(found) == 2 and all(turn[name] > 0 for turn in found for name in (latency.ARM, latency.SYNC))
    assert found[0][latency.LESS] == found[0][latency.END] - found[0][latency.SYNC]
    (found,) = latency.series(bench, Series("Eiger, V1", stream="v1")).values()
    assert [latency.END in turn for turn in found] == [False, False], "the stream has no time of day"
