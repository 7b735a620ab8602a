"""What is said of a file: clean, or what is wrong with it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest

from penstock.checks.series_check import Verdict, check_series, ranges
from penstock.receiver.reading.reader import SeriesFile
from tests.data import recording
from tests.receiver.h5_file import write_series


def verdict_of(path: Path, **options: Any) -> Verdict:
    with SeriesFile(path) as series:
        return check_series(series, **options)


def kinds(verdict: Verdict, level: str = "problem") -> set[str]:
    return {finding.kind for finding in verdict.findings if finding.level == level}


@pytest.mark.parametrize(
    ("indices", "text"),
    [
        ([], ""), ([5], "5"), ([17, 18, 19, 20, 33], "17-20, 33"), ([0, 2, 4], "0, 2, 4"),
        (list(range(0, 40, 2)), "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and 8 more ranges"),
    ],
)  # fmt: skip
def test_indices_are_said_as_ranges(indices: list[int], text: str) -> None:
    assert ranges(indices) == text


@pytest.mark.parametrize(
    ("indices", "text"),
    [([], "9-281474976710655"), ([2, 8], "2, 8-281474976710655"), ([2, 7], "2, 7, 9-281474976710655")],
)
def test_frames_behind_all_others_are_one_range_however_many_they_are(indices: list[int], text: str) -> None:
    assert ranges(indices, range(9, 2**48)) == text


@pytest.mark.parametrize("compression", ["none", "bslz4"])
def test_complete_series_is_clean_and_every_frame_was_read(tmp_path: Path, compression: str) -> None:
    write_series(tmp_path / "a.h5", 6, compression=compression)
    verdict = verdict_of(tmp_path / "a.h5")
    assert verdict.findings == []
    assert verdict.is_clean(strict=True)
    assert verdict.frames_read == 6


def test_incomplete_series_is_not_clean_and_says_what_is_missing(tmp_path: Path) -> None:
    write_series(tmp_path / "a.h5", 30, lost={17, 18, 19, 23}, end=False)
    verdict = verdict_of(tmp_path / "a.h5")
    assert not verdict.is_clean()
    assert verdict.missing == "17-19, 23"
    [finding] = verdict.findings
    assert finding.kind == "incomplete"
    assert "missing at index 17-19, 23" in finding.sentence
    assert "the streamer is gone" in finding.sentence
    assert verdict.frames_read == 26


def test_frames_behind_the_last_one_of_the_file_are_missing_too(tmp_path: Path) -> None:
    write_series(tmp_path / "a.h5", 30, lost={17, 27, 28, 29}, end=False)
    with h5py.File(tmp_path / "a.h5") as file:
        assert len(file[f"{DETECTOR}/frame_status"]) == 27, "as long as what came"
    assert verdict_of(tmp_path / "a.h5").missing == "17, 27-29"


def test_corrupt_frames_are_not_read(tmp_path: Path) -> None:
    write_series(tmp_path / "a.h5", 6, corrupt={2})
    verdict = verdict_of(tmp_path / "a.h5")
    assert verdict.frames_read == 5
    assert kinds(verdict) == {"incomplete"}


def test_file_whose_receiver_was_killed_is_in_progress(tmp_path: Path) -> None:
    write_series(tmp_path / "a.h5", 3, killed=True)
    assert "in_progress" in kinds(verdict_of(tmp_path / "a.h5"))


def test_quick_look_reads_no_frame(tmp_path: Path) -> None:
    write_series(tmp_path / "a.h5", 3)
    assert verdict_of(tmp_path / "a.h5", read_frames=False).frames_read == 0


def test_progress_is_told(tmp_path: Path) -> None:
    write_series(tmp_path / "a.h5", 3)
    seen: list[int] = []
    verdict_of(tmp_path / "a.h5", progress=seen.append)
    assert seen == [3]


def test_a_small_frame_costs_few_calls_of_h5py(tmp_path: Path) -> None:
    calls = [_calls_of_h5py(tmp_path / f"{frames}.h5", frames) for frames in (50, 150)]
    # The shape, of which h5py keeps the answer, is asked for a few times; all else is known.
    assert (calls[1] - calls[0]) / 100 <= 5


def _calls_of_h5py(path: Path, frames: int) -> int:
    """Write a series, check it, and return how many functions of h5py were called meanwhile."""
    write_series(path, frames)
    called = 0

    def count(frame: Any, event: str, function: Any) -> None:
        nonlocal called
        if event == "call":
            called += "/h5py/" in frame.f_code.co_filename

    with SeriesFile(path) as series:
        sys.setprofile(count)
        try:
            verdict = check_series(series)
        finally:
            sys.setprofile(None)
    assert (verdict.frames_read, verdict.is_clean()) == (frames, True)
    return called


def _set(path: str, value: Any) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file[path][...] = value

    return change


def _resize(path: str, length: int) -> Callable[[h5py.File], None]:
    return lambda file: file[path].resize(length, axis=0)


def _delete(path: str) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[path]

    return change


def _forget(path: str, attribute: str) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[path].attrs[attribute]

    return change


DETECTOR = "entry/instrument/sim"


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (_set(f"{DETECTOR}/series/planned", 7), "sum"),
        (_set(f"{DETECTOR}/series/stored", 5), "sum"),
        (_set(f"{DETECTOR}/frame_status", [1, 1, 1, 1, 1, 2]), "counts"),
        (_set(f"{DETECTOR}/frame_status", [1, 1, 1, 1, 1, 77]), "unknown_status"),
        (_resize(f"{DETECTOR}/frame_status", 5), "status_length"),
        (_resize(f"{DETECTOR}/data", 7), "status_length"),
        (_set(f"{DETECTOR}/sequence_number", [0, 2, 1, 3, 4, 5]), "sequence"),
        (_set(f"{DETECTOR}/series/state", "perfect"), "unknown_state"),
        (_delete(f"{DETECTOR}/series/missing"), "damaged_account"),
        (_delete(f"{DETECTOR}/frame_status"), "damaged_account"),
        (_delete(f"{DETECTOR}/data"), "no_frames"),
        (_forget("/", "default"), "no_default_plot"),
        (_forget("entry/data", "signal"), "no_default_plot"),
        (_forget(f"{DETECTOR}/series", "NX_class"), "no_nx_class"),
        (_forget(f"{DETECTOR}/count_time", "units"), "no_units"),
    ],
)
def test_inconsistent_file_is_found_out(
    tmp_path: Path, change: Callable[[h5py.File], None], kind: str
) -> None:
    path = tmp_path / "a.h5"
    write_series(path, 6)
    with h5py.File(path, "r+") as file:
        change(file)
    assert kind in kinds(verdict_of(path))


def test_frame_that_cannot_be_unpacked_is_found_out(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    write_series(path, 6)
    with h5py.File(path, "r+") as file:
        for index in (1, 2, 4):
            file[f"{DETECTOR}/data"].id.write_direct_chunk((index, 0, 0), b"\x00" * 40)
    verdict = verdict_of(path)
    assert kinds(verdict) == {"unreadable"}
    assert "frames 1-2, 4" in verdict.findings[0].sentence
    assert verdict.frames_read == 3


def test_stored_frame_that_is_not_there_is_found_out(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    write_series(path, 6, lost={3})
    with h5py.File(path, "r+") as file:
        file[f"{DETECTOR}/frame_status"][3] = 1
    assert "hollow" in kinds(verdict_of(path))


def test_late_messages_are_a_note_that_counts_only_strictly(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    write_series(path, 6)
    with h5py.File(path, "r+") as file:
        file[f"{DETECTOR}/series/late"][...] = 2
    verdict = verdict_of(path)
    assert kinds(verdict, "note") == {"late"}
    assert verdict.is_clean()
    assert not verdict.is_clean(strict=True)


def test_file_of_another_program_is_judged_by_what_it_has() -> None:
    verdict = verdict_of(recording("lambda_m1_part00000.nxs"))
    assert verdict.frames_read == 10
    assert kinds(verdict, "note") == {"no_account"}
    assert "sequence" not in kinds(verdict)


def test_gap_in_the_sequence_of_a_foreign_file_is_found_out(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    write_series(path, 4)
    with h5py.File(path, "r+") as file:
        del file[f"{DETECTOR}/series"], file[f"{DETECTOR}/frame_status"]
        file[f"{DETECTOR}/sequence_number"][...] = [0, 1, 3, 4]
    assert kinds(verdict_of(path)) == {"sequence"}
