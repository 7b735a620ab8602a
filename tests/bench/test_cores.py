"""One receiver on many cores: sets of cores, what is measured, frames, and a small run for real."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.bench import cores, cores_report, cores_series, cpu_sets, limit
from penstock.bench.cores import Found, setups
from penstock.bench.cores_content import words, wrong_in_raw_files, wrong_in_series
from penstock.bench.cores_report import report
from penstock.bench.cores_series import Ours, Place, Setup, Take
from penstock.hosts.child import PYTHON

TWO_MB = Setup(frame_bytes=2_000_000, sockets=4)
NOWHERE = Place(folder=Path("/nowhere"), send=Path("send"), limit=Path("limit_files"))


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

    assert cpu_sets.divide(list(numbers), 6, tmp_path) == (list(sending), list(receiving))


@pytest.mark.parametrize("siblings", ["", "0-3"], ids=["three cores", "one core of four threads"])
def test_too_few_cores_are_shared(tmp_path: Path, siblings: str) -> None:
    for core in range(4) if siblings else ():
        (tmp_path / f"cpu{core}" / "topology").mkdir(parents=True)
        (tmp_path / f"cpu{core}" / "topology" / "thread_siblings_list").write_text(siblings)

    assert cpu_sets.divide(range(4 if siblings else 3), 6, tmp_path) is None
    assert cpu_sets.pinned(None) == ()


def test_a_pinned_program_and_what_it_starts_run_on_its_cores_only() -> None:
    core = cpu_sets.usable()[-1]
    argv = (
        "-c",
        "import os, sys; os.execv('/bin/sh', ['sh', '-c', 'grep Cpus_allowed_list /proc/self/status'])",
    )

    told = subprocess.run(
        [*cpu_sets.pinned([core]), *PYTHON, *argv], check=True, capture_output=True, text=True
    )

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
    chosen = setups(2_000_000, number, modules=True)
    own = [setup.name for setup in chosen if setup.files or setup.streams == 1]

    assert own == wanted
    # Each has its ceiling: the same sockets, and no file.
    assert {replace(setup, files=0) for setup in chosen} == {setup for setup in chosen if not setup.files}


@pytest.mark.parametrize(
    ("available_kb", "free_blocks", "frames", "note"),
    [
        # Half of the free space; the memory, less 2 GB and the processes', divided by 1.5.
        (40_000_000, 10**7, 200, ""),
        (40_000_000, 2 * 10**5, 50, "2 MB: series of 0.1 GB in place of 0.4: there is no room for more"),
        # Seven receivers and C programs of 0.25 GB with 12 sockets each for 10 frames: 3.98 GB.
        (5_986_329, 10**7, 50, "2 MB: series of 0.1 GB in place of 0.4: there is no room for more"),
        (40_000_000, 3 * 10**4, 0, ""),
        (1_000_000, 10**7, 0, ""),
    ],
    ids=["room", "cut by the disk", "cut by the memory", "no room on the disk", "no memory"],
)
def test_a_series_is_cut_to_the_room_there_is(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    available_kb: int,
    free_blocks: int,
    frames: int,
    note: str,
) -> None:
    (tmp_path / "meminfo").write_text(f"MemTotal: 9 kB\nMemAvailable: {available_kb} kB\n")
    monkeypatch.setattr(cores, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(
        cores.os, "statvfs", lambda folder: SimpleNamespace(f_bavail=free_blocks, f_frsize=1000)
    )
    monkeypatch.setattr(
        cores, "_measure", lambda place, chosen, count, *_: [Found(setup=chosen[0], frames=count)]
    )
    notes: list[str] = []

    def run() -> list[Found]:
        return list(cores.measure(NOWHERE, 2, 3, lambda text: None, notes.append, [2_000_000]))

    if frames:
        assert run()[0].frames == frames
        assert notes == ([note] if note else [])
    else:
        with pytest.raises(RuntimeError, match=r"room for 0\.\d GB .* 8 frames of 2 MB need 0.016"):
            run()


@pytest.mark.parametrize(
    ("files_wanted", "stored", "why"),
    [(2, 2, ""), (17, 1, "Expected `int` <= 16 - at `$.files`")],
    ids=["taken", "refused"],
)
def test_files_that_the_configuration_refuses_are_one_and_the_sentence_says_why(
    monkeypatch: pytest.MonkeyPatch, files_wanted: int, stored: int, why: str
) -> None:
    entries: list[dict[str, Any]] = []
    monkeypatch.setattr(
        cores_series.contenders, "Receiver", lambda case, folder, **rest: entries.append(rest["more"])
    )

    receiver = Ours(replace(TWO_MB, files=files_wanted), NOWHERE)

    assert (entries[0]["files"], receiver.refused) == (stored, why)
    assert (entries[0]["source"]["sockets"], entries[0]["source"]["io_threads"]) == (4, 4)


class Failing:
    """A C program that does not take the whole series."""

    def take(self) -> Take:
        raise RuntimeError("it ended")


def test_a_series_that_is_not_complete_leaves_a_sentence_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "cores_part1.raw").touch()
    (tmp_path / "cores.h5").touch()
    each = Found(setup=replace(TWO_MB, files=2), frames=8)
    takers: Any = Failing()

    cores._turn(replace(NOWHERE, folder=tmp_path), each, "C", takers, 8, counted=True)

    assert each.wrong == "2 MB, files: 2, C: it ended"
    assert not each.c and not list(tmp_path.iterdir())


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
def test_a_small_run_takes_and_compares_every_series(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measure = cores.measure
    checked: list[tuple[str, int]] = []

    def small(*arguments: Any) -> Iterator[Found]:
        return measure(*arguments, series_bytes=6e7)

    for name in ("wrong_in_series", "wrong_in_raw_files"):
        compared = getattr(cores, name)

        def counted(file: Path, setup: Setup, frames: int, compared: Any = compared) -> str:
            checked.append((file.name, frames))
            return str(compared(file, setup, frames))

        monkeypatch.setattr(cores, name, counted)
    monkeypatch.setattr(cores_report, "measure", small)
    monkeypatch.setattr(cpu_sets, "divide", lambda numbers, most: ([numbers[0]], [numbers[-1]]))
    two = (cpu_sets.usable() * 2)[:2]
    monkeypatch.setattr(cpu_sets, "usable", lambda: two)
    monkeypatch.setattr(cores, "ROUND_SECONDS", 0.0)

    assert report(tmp_path, 2, as_json=True, sizes=[2_000_000]) == 0

    told = json.loads(capsys.readouterr().out)
    cases = {case["name"]: case for case in told["cases"] if case["files"] or case["streams"] == 1}
    assert list(cases) == [
        setup.name for setup in setups(2_000_000, 2, modules=True) if setup.files or setup.streams == 1
    ]
    assert not any(case["wrong"] for case in told["cases"]) and told["reached"] and not told["bars"]
    assert "2 MB: 1 of 2 rounds, which took long" in told["notes"]
    for case in cases.values():
        (ours,), (c,) = case["penstock"], case["c"]
        assert ours["frames"] == c["frames"] == 30
        assert 0 < ours["loop_seconds"] < ours["cpu_seconds"]
    # Of the 30 frames of a series, 7 are in the first round; of two modules, 3 each.
    assert sorted(checked) == sorted([("cores", 7), ("cores.h5", 7)] * 3 + [("cores", 3), ("cores.h5", 3)])
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_pixel_that_was_not_sent_is_found_in_the_receivers_files(tmp_path: Path) -> None:
    send, receive = (limit.build(tmp_path, name) for name in ("send", "limit_files"))
    assert send is not None and receive is not None
    place = Place(folder=tmp_path, send=send, limit=receive)
    setup = Setup(frame_bytes=2_000_000, sockets=3, files=2)
    file = tmp_path / "cores.h5"
    with Ours(setup, place) as receiver:
        receiver.take(9)

    assert wrong_in_series(file, setup, 9) == ""
    assert wrong_in_series(file, setup, 10) == "cores.h5 has 9 of 10 frames"
    with h5py.File(tmp_path / "cores_part2.h5", "r+") as part:  # frames 4 to 7
        part["entry/data/data"][1, 999, 900] ^= 1
    assert wrong_in_series(file, setup, 9) == "frame 5 is not what was sent"
