"""One tiny run from end to end, with real processes; what is there already is not measured again."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace
from rich.console import Console

from penstock.bench import campaign
from penstock.bench.campaign import Campaign, Group, parts, seconds
from penstock.bench.contenders import CONTENDERS, PENSTOCK_RECEIVER
from penstock.bench.load import Case
from penstock.bench.results import load
from penstock.cli.main import main
from penstock.hosts.child import PENSTOCK
from tests.bench.canned import results

RAM = Path("/dev/shm")
FRAMES = 12


def tiny(scale: float) -> list[Group]:
    """Each contender once; then receivers with everything that can be set."""
    cases = tuple(Case(contender=name, frame_bytes=20_000, frames=FRAMES) for name in CONTENDERS)
    ours = cases[0]
    cases += (replace(ours, announced=False),)
    kept = (
        Case(contender=ours.contender, frame_bytes=20_000, frames=FRAMES, storage="live", rate=200.0),
        Case(contender=ours.contender, frame_bytes=20_000, frames=FRAMES, storage="disk", synced=True),
        Case(contender=ours.contender, frame_bytes=20_000, frames=FRAMES, sockets=2, io_threads=2),
        Case(contender=ours.contender, frame_bytes=20_000, frames=FRAMES, workers=2, compress=True),
    )
    return [Group(cases, keep=False), Group(kept, keep=True)]


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that passes for a disk, wherever the tests write."""
    found = campaign.file_system

    def on_disk(folder: Path) -> str:
        return "ext4" if folder == tmp_path else found(folder)

    monkeypatch.setattr(campaign, "file_system", on_disk)
    return tmp_path


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="the limits need a C compiler")
def test_every_contender_takes_a_series_and_leaves_no_file_behind(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "parts", lambda: {"tiny": tiny})
    file = disk / "results.json"

    found = Campaign(file, ram=RAM, disk=disk, repeats=1).run(Console(quiet=True))

    assert [row.case.contender for row in found.of("tiny")][: len(CONTENDERS)] == list(CONTENDERS)
    for row in found.of("tiny"):
        (run,) = row.runs
        assert run.frames == FRAMES
        assert run.rate > 0 and run.thread_us > 0 and run.cpu["generator"] > 0
    (paced,) = found.of("tiny", rate=200.0)
    assert paced.runs[0].seconds >= (FRAMES - 1) / 200.0 * 0.9, "the generator keeps the rate"
    assert list(disk.iterdir()) == [file]

    def measured_again(*_: object) -> None:
        raise AssertionError("what is there already was measured again")

    monkeypatch.setattr(Campaign, "_measure", measured_again)
    again = Campaign(file, ram=RAM, disk=disk, repeats=1).run(Console(quiet=True))
    assert Campaign(file, ram=RAM, disk=disk, repeats=1, again=True).results.of("tiny") == []
    assert len(again.of("tiny")) == len(load(file).of("tiny")) == 10


def test_ending_it_ends_what_it_has_started(tmp_path: Path) -> None:
    argv = [*PENSTOCK, "bench", "--sizes", "20000", "--dir", str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as bench:
        process, deadline = psutil.Process(bench.pid), time.monotonic() + 30
        while len(family := process.children(recursive=True)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)

        bench.terminate()

        assert bench.wait(30) == 143
    assert len(family) >= 2, "a contender and its sender"
    assert not psutil.wait_procs(family, timeout=5)[1]
    assert list(tmp_path.iterdir()) == []


def test_measured_again_is_what_is_asked_for_and_the_rest_is_kept(disk: Path) -> None:
    file = disk / "results.json"
    results().save(file)

    some = Campaign(file, ram=RAM, disk=disk, repeats=3, only=["offered", "latency"], again=True).results
    every = Campaign(file, ram=RAM, disk=disk, repeats=3, again=True).results

    assert not some.of("offered") and not some.latency
    assert some.of("contenders") and some.files and some.profiles
    assert not every.measurements and not every.files and not every.profiles


def test_less_time_makes_the_series_shorter(disk: Path) -> None:
    whole = Campaign(disk / "results.json", ram=RAM, disk=disk, repeats=10)
    short = Campaign(disk / "results.json", ram=RAM, disk=disk, repeats=10, minutes=60)

    assert short._scale < whole._scale == 1.0


def test_too_little_time_is_refused_with_how_much_it_takes(disk: Path) -> None:
    with pytest.raises(ValueError, match=r"--minutes 1: it takes \d+ min with 10 runs"):
        Campaign(disk / "results.json", ram=RAM, disk=disk, repeats=10, minutes=1)


def test_a_disk_is_no_ram_disk_and_the_other_way_round(disk: Path) -> None:
    with pytest.raises(ValueError, match=r"is a RAM disk; give a folder on a disk with --disk"):
        Campaign(disk / "results.json", ram=RAM, disk=RAM, repeats=1)
    with pytest.raises(ValueError, match=r"is not a RAM disk; give one with --ram"):
        Campaign(disk / "results.json", ram=disk, disk=disk, repeats=1)


def test_every_part_is_measured_with_all_frame_sizes_or_says_which() -> None:
    groups = {name: make(1.0) for name, make in parts().items()}

    for name in ("contenders", "disk", "offered", "sockets"):
        sizes = {case.frame_bytes for group in groups[name] for case in group.cases}
        assert sizes == {20_000, 200_000, 2_000_000, 20_000_000}, name
    assert all(seconds(group, 10) > 0 for found in groups.values() for group in found)
    receivers = {case.contender for group in groups["offered"] for case in group.cases}
    assert receivers == {PENSTOCK_RECEIVER}


@pytest.mark.slow
def test_what_is_there_is_drawn_and_judged_without_measuring(
    disk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    results().save(disk / "results.json")
    monkeypatch.setattr("signal.signal", lambda number, handler: None)  # not for this process

    status = main(
        ["bench", "--figures", str(disk), "--repeats", "3", "--part", "contenders", "--part", "latency",
         "--disk", str(disk)]
    )  # fmt: skip

    assert status == 0
    assert "not reached" not in capsys.readouterr().out
    assert (disk / "contenders.svg").is_file() and (disk / "results.md").is_file()
    assert json.loads((disk / "results.json").read_text())["repeats"] == 3
