"""How many files `penstock check-storage` recommends: the choice, counted by hand, and the files."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from pathlib import Path

import pytest

from penstock.checks import write_rates
from penstock.checks.write_rates import BLOCK, fewest, several_files, shares
from penstock.receiver.config import cores


@pytest.mark.parametrize(
    ("rates", "files"),
    [
        ({1: 1.9, 2: 3.6, 4: 3.7, 8: 3.5}, 2),  # 0.9 of 3.7 is 3.33
        ({1: 3.33, 2: 3.6, 4: 3.7, 8: 3.5}, 1),
        ({1: 3.32, 2: 3.32, 4: 3.7, 8: 3.5}, 4),
        ({1: 2.0, 2: 1.0, 4: 0.5, 8: 0.2}, 1),
        ({1: 1.0, 2: 2.0, 4: 4.0, 8: 8.0}, 8),
        ({1: 0.9, 2: 1.0}, 1),
        ({1: 0.89, 2: 1.0}, 2),
    ],
)
def test_the_fewest_files_that_are_nearly_as_fast_as_the_fastest(rates: dict[int, float], files: int) -> None:
    assert fewest(rates) == files


@pytest.mark.parametrize(
    ("most", "counts", "blocks"),
    [
        (16_777_215, [], 0),  # a byte less than eight blocks
        (16_777_216, [1, 2], 8),
        (33_554_431, [1, 2], 14),  # of fifteen blocks
        (33_554_432, [1, 2, 4], 16),
        (67_108_864, [1, 2, 4, 8], 32),
        (256_000_000, [1, 2, 4, 8], 120),  # of 122
    ],
)
def test_each_file_has_eight_megabytes_and_all_trials_the_same_bytes(
    most: int, counts: list[int], blocks: int
) -> None:
    assert shares(most) == (counts, blocks)


def test_several_files_are_written_by_threads_of_their_own_in_turns_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[dict[str, list[int]]] = []
    threads: dict[str, set[int]] = defaultdict(set)
    real = os.pwrite

    def pwrite(descriptor: int, block: bytes, offset: int) -> int:
        name = os.readlink(f"/proc/self/fd/{descriptor}")
        assert Path(name).parent == tmp_path
        turns[-1].setdefault(name, []).append(offset)
        threads[name].add(threading.get_ident())
        return real(descriptor, block, offset)

    def progress(done: int, total: int) -> None:
        assert total == 9
        for name, idents in threads.items():
            assert len(idents) == 1, name
        threads.clear()
        if done < total:
            assert (done, os.listdir(tmp_path)) == (len(turns), [])
            turns.append({})

    synced: list[str] = []
    monkeypatch.setattr(write_rates.os, "pwrite", pwrite)
    monkeypatch.setattr(
        write_rates.os,
        "fdatasync",
        lambda descriptor: synced.append(os.readlink(f"/proc/self/fd/{descriptor}")),
    )
    finding = several_files(tmp_path, 16 * BLOCK, progress)
    assert [len(turn) for turn in turns] == [1, 2, 4, 1, 2, 4, 1, 2, 4]
    assert len(synced) == 3 * (1 + 2 + 4)  # each file: else memory is measured, and not the disk
    for turn in turns:
        each = 16 // len(turn)
        assert all(offsets == [at * 2_097_152 for at in range(each)] for offsets in turn.values())
    assert [part.partition(":")[0] for part in finding.value.split(", ")] == ["1", "2", "4"]
    assert finding.value.endswith(" GB/s")
    assert finding.verdict == ("good" if finding.meaning.startswith("one file is") else "note")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("here", "rates", "value", "meaning"),
    [
        (8, [1.9, 3.6, 1.7, 3.8, 9.9, 0.1], "1: 1.9, 2: 3.6 GB/s",
         "set files: 2 in the receiver's entry, if the writing holds series up and its host has 6 cores"),
        (2, [1.9, 3.6, 1.7, 3.8, 9.9, 0.1], "1: 1.9, 2: 3.6 GB/s",
         "set files: 2 in the receiver's entry, if the writing holds series up and its host has 6 cores; "
         "this one has 2: keep one file"),
        (2, [0.055, 0.05, 0.054, 0.052, 0.056, 0.051], "1: 0.055, 2: 0.051 GB/s",
         "one file is as fast as several"),
    ],
)  # fmt: skip
def test_the_median_of_three_rounds_counts(
    here: int, rates: list[float], value: str, meaning: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cores, "usable", lambda: here)
    monkeypatch.setattr(write_rates, "_rate", lambda *_: rates.pop(0))
    finding = several_files(tmp_path, 8 * BLOCK)
    assert (finding.value, finding.meaning) == (value, meaning)


def test_a_slow_disk_has_one_round_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_rates, "SECONDS", 0.0)
    trials: list[int] = []
    several_files(tmp_path, 8 * BLOCK, lambda done, total: trials.append(done))
    assert trials == [0, 1, 6]
