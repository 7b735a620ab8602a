"""The one file as HDF5's single writer and multiple readers have it."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.receiver.config import ReceiverConfig, SourceConfig
from penstock.receiver.files import storage
from penstock.receiver.files.recovery import interrupted
from penstock.receiver.files.reopened import reopen_file
from penstock.receiver.files.stores import Writing, preallocated
from penstock.receiver.files.stores.chunked import ChunkedStore
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.running_series import ResumedSeries, RunningSeries
from tests.receiver.files.stores.written import DETECTOR, SHAPE, Written, array, frame, status_of
from tests.receiver.files.written import packed
from tests.receiver.sample_series import start
from tests.streams import pixels

FORMAT = {"shape": SHAPE, "type": "uint16", "compression": "none"}

FOLLOW = """
import sys
import h5py
import numpy as np

with h5py.File(sys.argv[1], "r", swmr=True) as file:
    status = file["entry/instrument/sim_1/frame_status"]
    frames = file["entry/data/data"]
    seen = -1
    while seen < 300:
        status.refresh()
        frames.refresh()
        there = np.flatnonzero(status[:] == 1)
        for index in there[max(seen, 0):]:
            right = np.arange(frames[0].size, dtype="u2") + index % 1000 * frames[0].size
            assert (frames[index].ravel() == right).all(), index
        if len(there) != seen:
            seen = len(there)
            print(seen, flush=True)
"""
"""A reader of its own that opens the file once and follows it."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.h5"


def check(path: Path, stored: list[int], length: int) -> None:
    with h5py.File(path) as file:
        data = file["entry/data/data"]
        assert len(data) == length
        for index in stored:
            np.testing.assert_array_equal(data[index], array(index))
        assert [index for index, status in enumerate(status_of(file)) if status == 1] == stored


def test_who_opens_it_as_soon_as_it_has_its_name_finds_the_frames(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HDF5 shows a follower what the file had when it was opened, however often the same process opens it."""
    give, found = storage.give_name, []

    def looked_at(draft: str, name: str, folder: int, *, replace: bool) -> None:
        give(draft, name, folder, replace=replace)
        command = "import h5py, sys; print(h5py.File(sys.argv[1], 'r', swmr=True)['entry/data/data'].shape)"
        found.append(subprocess.check_output([sys.executable, "-c", command, str(path)], text=True))

    monkeypatch.setattr(storage, "give_name", looked_at)
    series = Written(path, start(frames=300, **FORMAT), swmr=True)
    series.close(reason="stopped")
    assert found == [f"(0, {SHAPE[0]}, {SHAPE[1]})\n"]


def test_a_reader_follows_the_file_while_it_grows(path: Path) -> None:
    series = Written(path, start(frames=300, **FORMAT), swmr=True)
    command = [sys.executable, "-c", FOLLOW, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        try:
            there = 0
            for line in reader.stdout:
                if int(line) < there:
                    continue  # it has seen a part of it
                assert int(line) == there
                series.add(*map(frame, range(there, min(there + 30, 300))))
                series.writer.flush()
                there = min(there + 30, 300)
            assert reader.wait(30) == 0
            assert there == 300
        finally:
            reader.kill()
            series.close(reason="complete", triggered=300)
    check(path, list(range(300)), 300)
    with h5py.File(path) as file:
        assert file[f"{DETECTOR}/series/state"].asstr()[()] == "complete"
        assert "end_time" in file["entry"]


@pytest.mark.parametrize("known", [FORMAT, {}], ids=["announced", "by the first frame"])
def test_an_aborted_series_is_cut_and_opens_plainly(known: dict[str, Any], path: Path) -> None:
    series = Written(path, start(frames=300, checksum="crc32", **known), swmr=True)
    series.add(*(frame(index, "crc32") for index in (0, 1, 4)))
    series.writer.flush()
    assert bytes(series.writer.read(4).blobs[0]) == array(4).tobytes()
    series.add(frame(5, "crc32"))
    series.close(reason="abort", triggered=6)
    check(path, [0, 1, 4, 5], 6)


def test_every_write_is_left_to_hdf5(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preallocated, "LEAST_FRAME_BYTES", 1)
    series = Written(path, start(frames=10, **FORMAT), swmr=True)
    assert isinstance(series.store, ChunkedStore)
    series.close("enough")


def killed(path: Path) -> Path:
    series = Written(path, start(frames=300, **FORMAT), swmr=True)
    series.add(*map(frame, (0, 1, 4)))
    series.writer.flush()
    copy = path.with_name("killed.h5")
    shutil.copy(path, copy)
    series.close("ended meanwhile")
    return copy


def begun_in_the_format_of_hdf5_2(path: Path) -> Path:
    """A killed file of packed frames 0, 1 and 4, 20 planned, as Penstock made it with the bounds "latest"."""
    kept = Path(__file__).with_name("killed_swmr_of_hdf5_2.h5.gz")
    path.write_bytes(gzip.decompress(kept.read_bytes()))
    return path


def test_a_killed_file_in_the_format_of_hdf5_2_is_marked(path: Path) -> None:
    file = begun_in_the_format_of_hdf5_2(path)
    assert interrupted.mark_interrupted(file, "killed").counts().stored == 3
    with h5py.File(file) as opened:
        assert status_of(opened) == [1, 1, 0, 0, 1]
        expected = [pixels(number) for number in (0, 1, 4)]
        np.testing.assert_array_equal(opened["entry/data/data"][[0, 1, 4]], expected)


def test_a_killed_series_in_the_format_of_hdf5_2_can_be_continued(path: Path) -> None:
    file = begun_in_the_format_of_hdf5_2(path)
    found = reopen_file(file)
    series = RunningSeries(start(frames=20), 0, ResumedSeries(found.account, (), str(file), 0.0))
    writer = SeriesWriter(file, "sim-1", series, "", Writing(swmr=True), found)
    for number in (2, 7, 19):
        writer.add(number, packed(number))
        series.account.take(number, FrameStatus.STORED)
    writer.flush()
    with h5py.File(file, swmr=True, locking=False) as opened:
        np.testing.assert_array_equal(opened["entry/data/data"][19], pixels(19))
    writer.close(series.close("enough"), synced=False)
    with h5py.File(file) as opened:
        assert np.flatnonzero(status_of(opened)).tolist() == [0, 1, 2, 4, 7, 19]
        for number in (0, 1, 2, 4, 7, 19):
            np.testing.assert_array_equal(opened["entry/data/data"][number], pixels(number))


def test_after_a_kill_it_opens_with_swmr_only_and_plainly_once_it_is_marked(path: Path) -> None:
    file = killed(path)
    with pytest.raises(OSError, match="already open for write"):
        h5py.File(file)
    with h5py.File(file, swmr=True) as opened:
        np.testing.assert_array_equal(opened["entry/data/data"][4], array(4))
    assert interrupted.mark_interrupted(file, "killed").counts().stored == 3
    check(file, [0, 1, 4], 5)


def test_a_killed_series_can_be_continued(path: Path) -> None:
    file = killed(path)
    found = reopen_file(file)
    again = Written.__new__(Written)
    again.series = RunningSeries(start(frames=300), 0, ResumedSeries(found.account, (), str(file), 0.0))
    again.writer = SeriesWriter(file, "sim-1", again.series, "", Writing(swmr=True), found)
    again.add(frame(2), frame(7))
    again.writer.flush()
    with h5py.File(file, swmr=True, locking=False) as opened:
        np.testing.assert_array_equal(opened["entry/data/data"][7], array(7))
    again.close("enough")
    check(file, [0, 1, 2, 4, 7], 8)


@pytest.mark.parametrize("keys", [{"files": 2}, {"frames_per_file": 10}])
def test_it_is_for_one_file(keys: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="swmr is for one file that others read"):
        ReceiverConfig(
            source=SourceConfig(endpoints=("tcp://127.0.0.1:1",)), data_root="/", swmr=True, **keys
        )
