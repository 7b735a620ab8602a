"""One receiver on many cores: sets of cores, what is measured, bars, frames, and a small run for real."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.hosts.child import PYTHON
from penstock_bench import cores
from penstock_bench.cases import MB_2
from penstock_bench.cores import (
    Place,
    Setup,
    divide,
    judged,
    limits,
    pinned,
    setups,
    words,
    wrong_in_raw_files,
    wrong_in_series,
)
from penstock_bench.results import Group, Turn
from penstock_bench.runner import Bench
from tests.bench.canned import group

TWO_MB = Setup(frame_bytes=2_000_000, sockets=4)


# -- sets of cores ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "step", "sending", "receiving"),
    [
        (range(16), 0, range(10, 16), range(10)),  # as many as the sender can use
        (range(8), 0, range(4, 8), range(4)),  # half
        (range(4), 0, [2, 3], [0, 1]),
        (range(16), 8, [5, 6, 7, 13, 14, 15], [0, 1, 2, 3, 4, 8, 9, 10, 11, 12]),  # 0 and 8 are one core
        (range(4), 2, [1, 3], [0, 2]),
        ([1, 3, 5, 7], 0, [5, 7], [1, 3]),
    ],
)
def test_sender_and_receiver_get_cores_of_their_own_and_no_hyper_thread_of_the_others(
    tmp_path: Path, numbers: list[int], step: int, sending: list[int], receiving: list[int]
) -> None:
    for core in numbers if step else ():
        folder = tmp_path / f"cpu{core}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{core % step},{core % step + step}\n")

    assert divide(list(numbers), tmp_path) == (list(sending), list(receiving))


@pytest.mark.parametrize("siblings", ["", "0-3"], ids=["three cores", "one core of four threads"])
def test_too_few_cores_are_shared(tmp_path: Path, siblings: str) -> None:
    for core in range(4) if siblings else ():
        (tmp_path / f"cpu{core}" / "topology").mkdir(parents=True)
        (tmp_path / f"cpu{core}" / "topology" / "thread_siblings_list").write_text(siblings)

    assert divide(range(4 if siblings else 3), tmp_path) is None
    assert pinned(None) == ()


def test_a_pinned_program_and_what_it_starts_run_on_its_cores_only() -> None:
    core = sorted(os.sched_getaffinity(0))[-1]
    argv = (
        "-c",
        "import os, sys; os.execv('/bin/sh', ['sh', '-c', 'grep Cpus_allowed_list /proc/self/status'])",
    )

    told = subprocess.run([*pinned([core]), *PYTHON, *argv], check=True, capture_output=True, text=True)

    assert told.stdout.split() == ["Cpus_allowed_list:", str(core)]


# -- what is measured ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "wanted"),
    [
        (16, ["files: 1", "files: 2", "files: 4", "files: 6", "1 stream", "2 modules", "4 modules",
              "live, 1 socket", "live, 4 sockets"]),
        (8, ["files: 1", "files: 2", "files: 4", "1 stream", "2 modules", "live, 1 socket",
             "live, 2 sockets"]),
        (2, ["files: 1", "files: 2", "1 stream", "2 modules", "live, 1 socket", "live, 2 sockets"]),
    ],
)  # fmt: skip
def test_the_number_of_cores_decides_how_many_files_modules_and_sockets(
    number: int, wanted: list[str]
) -> None:
    chosen = setups(2_000_000, number)
    own = [setup.name for setup in chosen if setup.files or setup.streams == 1]

    assert own == wanted
    # Each has its ceiling: the same sockets, and no file.
    assert {replace(setup, files=0) for setup in chosen} == {setup for setup in chosen if not setup.files}


@pytest.mark.parametrize(
    ("available_kb", "free_blocks", "nbytes"),
    [
        # Half of the free space; the memory, less 2 GB and the processes', divided by 1.5.
        (40_000_000, 2 * 10**5, 1e8),
        # Seven receivers and C programs of 0.25 GB with 12 sockets each for 10 frames: 3.98 GB.
        (5_986_329, 10**7, 1e8),
    ],
    ids=["the disk", "the memory"],
)
def test_a_series_has_the_room_that_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, available_kb: int, free_blocks: int, nbytes: float
) -> None:
    (tmp_path / "meminfo").write_text(f"MemTotal: 9 kB\nMemAvailable: {available_kb} kB\n")
    monkeypatch.setattr(cores, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(
        cores.os, "statvfs", lambda folder: SimpleNamespace(f_bavail=free_blocks, f_frsize=1000)
    )
    assert cores.room(tmp_path, setups(2_000_000, 2)) == pytest.approx(nbytes, rel=0.01)


@pytest.mark.skipif(shutil.which("cc") is None, reason="the sender needs a C compiler")
def test_without_room_there_are_no_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "room", lambda folder, chosen: 5e6)
    with pytest.raises(RuntimeError, match=r"room for 0\.0 GB .* 8 frames need 0.016"):
        cores.cores(Bench(folder=tmp_path), MB_2)


# -- bars and limits -------------------------------------------------------------------------------


def turn(gbps: float, **busy: float) -> Turn:
    """A series, and how busy its processes and threads were, in cores."""
    known = {"process": 2.0, "sender": 1.0, "loop": 0.5, "ZeroMQ's threads": 1.0} | busy
    return {"GB/s": gbps} | {f"{name}, % of a core": 100 * each for name, each in known.items()}


def measured(*found: tuple[Setup, float, float], **busy: float) -> Group:
    """Setups with the rates of Penstock and of the C program; the first one was so busy."""
    turns = {}
    for place, (setup, ours, c) in enumerate(found):
        turns |= {setup.name: [turn(ours, **(busy if place == 0 else {}))], f"C, {setup.name}": [turn(c)]}
    return group("cores", "2 MB", turns)


def test_the_bars_of_what_was_measured() -> None:
    one, live = replace(TWO_MB, sockets=1, files=1), TWO_MB
    chosen = [
        (replace(TWO_MB, files=4), 8.5, 9.0), (replace(TWO_MB, files=6), 7.0, 11.0), (one, 3.0, 4.0),
        (replace(one, streams=2, files=2), 5.0, 7.0), (replace(one, streams=4, files=4), 9.0, 14.0),
        (replace(live, sockets=1), 4.0, 4.0), (live, 8.5, 10.0),
    ]  # fmt: skip
    found = judged([setup for setup, _, _ in chosen], measured(*chosen))
    assert {name: turn["of enough"] for name, (turn,) in found.items()} == {
        "judged: 2 modules": pytest.approx(5 / 4.8), "judged: 4 modules": pytest.approx(9 / 9.6),
        "judged: live, 4 sockets": pytest.approx(1.0),  # 0.85 of the C program's is less than 10 GB/s
        "judged: 4 or 6 files": pytest.approx(8.5 / 8),
    }  # fmt: skip
    assert judged([replace(TWO_MB, frame_bytes=200_000)], measured((TWO_MB, 3.0, 9.0))) == {}


@pytest.mark.parametrize(
    ("files", "ours", "c", "busy", "sets", "wanted"),
    [
        (2, 5.0, 9.0, {}, (6, 10), []),
        (2, 9.0, 12.0, {}, (6, 10), ["the sender"]),  # 0.9 of its ceiling
        (2, 5.0, 9.0, {"sender": 5.5}, (6, 10), ["the sender"]),
        (1, 5.0, 9.0, {"process": 9.5, "ZeroMQ's threads": 3.5}, (6, 10), ["the cores"]),
        (1, 5.0, 9.0, {"process": 9.0, "sender": 5.5, "ZeroMQ's threads": 3.5}, None, ["the cores"]),
        (2, 5.0, 9.0, {"loop": 0.95}, (6, 10), ["the loop"]),
        (2, 5.0, 9.0, {"process": 4.5, "ZeroMQ's threads": 3.7}, (6, 10), ["ZeroMQ"]),
        (2, 5.0, 9.0, {"process": 4.0}, (6, 10), ["the files' threads"]),  # less 0.5 and 1.0: two and more
        (2, 5.0, 5.2, {}, (6, 10), ["that C is no faster"]),
    ],
)  # fmt: skip
def test_what_held_the_receiver_up(
    files: int, ours: float, c: float, busy: dict[str, float], sets: tuple[int, int] | None, wanted: list[str]
) -> None:
    setup = replace(TWO_MB, files=files)
    found = measured((setup, ours, c), (TWO_MB, 9.0, 10.0), **busy)
    assert limits(setup, found, sets and (range(sets[0]), range(sets[1])), 16) == wanted


# -- frames ----------------------------------------------------------------------------------------


def test_frames_of_the_sender_have_their_number_in_every_8192nd_word_and_the_last() -> None:
    frame = words(Setup(frame_bytes=200_000), 7, 2)  # 25,000 words

    marked = 7 + 2 * 2**40
    assert [frame[at] for at in (0, 8192, 16384, 24576, 24999)] == [marked] * 5
    assert [frame[at] for at in (1, 2)] == [0x9E3779B97F4A7C15, 0x3C6EF372FE94F82A]
    assert np.count_nonzero(frame == marked) == 5


@pytest.mark.parametrize(
    ("order", "wrong"),
    [
        # Blocks of 8 MB are four frames of 2 MB.
        (([0, 1, 2, 3, 8], [4, 5, 6, 7]), ""),
        (([0, 1, 2, 3, 7], [4, 5, 6, 8]), "frame 8 is not what was sent"),
        (([0, 1, 2, 3], [4, 5, 6, 7]), "cores_part1.raw has 8000000 bytes, not 10000000"),
    ],
)
def test_the_c_programs_files_are_compared_with_what_was_sent(
    tmp_path: Path, order: tuple[list[int], list[int]], wrong: str
) -> None:
    setup = replace(TWO_MB, files=2)
    for part, indices in enumerate(order):
        content = b"".join(words(setup, index, 0).tobytes() for index in indices)
        (tmp_path / f"cores_part{part + 1}.raw").write_bytes(content)

    assert wrong_in_raw_files(tmp_path / "cores", setup, 9) == wrong


# -- real processes --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="the sender needs a C compiler")
def test_a_small_run_takes_and_compares_every_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[int] = []
    for name in ("wrong_in_series", "wrong_in_raw_files"):
        compared = getattr(cores, name)

        def counted(file: Path, setup: Setup, frames: int, compared: Any = compared) -> str:
            checked.append(frames)
            return str(compared(file, setup, frames))

        monkeypatch.setattr(cores, name, counted)
    two = (sorted(os.sched_getaffinity(0)) * 2)[:2]
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda process: two)
    monkeypatch.setattr(cores, "divide", lambda numbers: ([numbers[0]], [numbers[-1]]))
    bench = Bench(folder=tmp_path)

    turns = cores.cores(bench, MB_2, series_bytes=6e7)

    assert not bench.failed, bench.notes
    own = {setup.name for setup in setups(2_000_000, 2) if setup.files or setup.streams == 1}
    assert set(turns) == own | {f"C, {setup.name}" for setup in setups(2_000_000, 2)}
    measured = [turn for name, (turn,) in turns.items() if name in own]
    assert all(turn["loop, µs"] > 0 and turn["process, µs"] > 0 for turn in measured)
    assert "sender on cores" in bench.notes[0] and "say nothing about the bars" in bench.notes[1]
    # Of the 30 frames of a series, 7 are in the first round; of two modules, 3 each.
    assert sorted(checked) == [3, 3, 7, 7, 7, 7, 7, 7]
    assert not [path for path in tmp_path.iterdir() if path.suffix]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="the sender needs a C compiler")
def test_a_pixel_that_was_not_sent_is_found_in_the_receivers_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, setup = Bench(folder=tmp_path), Setup(frame_bytes=2_000_000, sockets=3, files=2)
    place = Place(folder=tmp_path, send=bench.compiled("send"), limit=bench.compiled("limit_files"))
    monkeypatch.setattr(cores, "remove", lambda folder, *patterns: None)
    with ExitStack() as processes:
        assert cores._ours(setup, place, [9], processes)()["GB/s"] > 0
    (file,) = (path for path in tmp_path.glob("cores-*.h5") if "_part" not in path.name)

    assert wrong_in_series(file, setup, 9) == ""
    assert wrong_in_series(file, setup, 10) == f"{file.name} has 9 of 10 frames"
    with h5py.File(file.with_name(f"{file.stem}_part2.h5"), "r+") as part:  # frames 4 to 7
        part["entry/data/data"][1, 999, 900] ^= 1
    assert wrong_in_series(file, setup, 9) == "frame 5 is not what was sent"
