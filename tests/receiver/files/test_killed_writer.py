"""What a writer that was killed leaves behind: marked, and cut to what it holds."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

from penstock.receiver.files import stores
from penstock.receiver.files.recovery.interrupted import mark_interrupted
from penstock.receiver.files.reopened import reopen_file
from penstock.receiver.files.stores import preallocated
from penstock.receiver.files.stores.disk import disk_file
from penstock.receiver.files.stores.disk.blob_writes import pwrite_all
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.messages import Buffer, SeriesEnd
from tests.receiver.files.written import DETECTOR, Written, record
from tests.receiver.sample_series import frame, start
from tests.streams import pixels


def test_flushed_counts_what_survives(path: Path) -> None:
    written = Written(path, start(frames=9))
    written.add(frame(0), frame(1))
    assert written.series.account.flushed == 0
    written.writer.flush()
    assert written.series.account.flushed == 2
    written.add(frame(2))
    assert written.series.account.flushed == 2
    written.close(synced=True)
    assert written.series.account.flushed == 3


def test_a_file_whose_writer_was_killed_is_marked_and_cut_to_what_it_holds(path: Path) -> None:
    written = Written(path, start(frames=9))
    written.add(frame(0), frame(2))
    written.writer.flush()
    killed = path.parent / "killed.h5"
    killed.write_bytes(path.read_bytes())
    written.close()
    counts = mark_interrupted(str(killed), "the data process was killed").counts()
    assert (counts.planned, counts.stored, counts.missing) == (9, 2, 7)
    with h5py.File(killed) as file:
        found = record(file)
        assert (found["state"], found["reason"], found["missing"]) == (
            "incomplete", "the data process was killed; 2 of 9 frames are in the file", 7,
        )  # fmt: skip
        np.testing.assert_array_equal(file["entry/data/data"][()][[0, 2]], [pixels(0), pixels(2)])
        assert file[f"{DETECTOR}/frame_status"][()].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("least", "swmr"), [(2**20, False), (0, False), (0, True)], ids=["chunked", "placed", "swmr"]
)
def test_a_kill_within_a_flush_leaves_no_stored_frame_without_what_it_brought(
    least: int, swmr: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the kernel has after each write of a flush is what a kill there leaves."""
    monkeypatch.setattr(preallocated, "LEAST_FRAME_BYTES", least)
    plain = {"shape": (4, 6), "type": "uint16", "compression": "none"}
    series = RunningSeries(start(frames=9, checksum="crc32", **plain))
    writer = SeriesWriter(path, "sim-1", series, "a test", stores.Writing(swmr=swmr))
    for number in range(6):
        writer.add(number, frame(number, checksums=(f"{number:08x}",)))
        series.account.take(number, FrameStatus.STORED)
        if number == 2:
            writer.flush()  # from now on all datasets have their chunks
    snapshots: list[bytes] = []

    def write_and_look(descriptor: int, blob: Buffer, offset: int) -> None:
        pwrite_all(descriptor, blob, offset)
        snapshots.append(path.read_bytes())

    monkeypatch.setattr(disk_file, "pwrite_all", write_and_look)
    writer.flush()
    monkeypatch.undo()
    assert len(snapshots) > 5
    seen = set()
    for number, snapshot in enumerate(snapshots):
        killed = path.parent / f"killed-{number}.h5"
        killed.write_bytes(snapshot)
        found = reopen_file(killed)
        stored = found.account.counts().stored
        seen.add(stored)
        assert found.detector["sequence_number"][:stored].tolist() == list(range(stored))
        assert found.detector["checksum"][:stored].tolist() == [b"%08x" % n for n in range(stored)]
        # A frame that does not count has left nothing of itself.
        assert set(found.detector["sequence_number"][stored:].tolist()) <= {-1}
        assert set(found.detector["checksum"][stored:].tolist()) <= {b""}
        found.close()
    assert seen == {3, 6}
    series.end = SeriesEnd()
    writer.close(series.close(None), synced=False)


def test_what_a_killed_writer_left_behind_the_end_does_not_come_back(path: Path) -> None:
    """The values were written, the new length was not."""
    written = Written(path, start(frames=9))
    written.add(frame(0), frame(1))
    written.close("stopped")
    with h5py.File(path, "r+") as file:
        for name, value in (("sequence_number", 5), ("frame_status", 1)):
            file[f"{DETECTOR}/{name}"].resize(6, axis=0)
            file[f"{DETECTOR}/{name}"][5] = value
            file.flush()
    content = bytearray(path.read_bytes())
    with h5py.File(path, "r+") as file:
        for name in ("sequence_number", "frame_status"):
            place = file[f"{DETECTOR}/{name}"].id.get_chunk_info_by_coord((0,))
            chunk = content[place.byte_offset : place.byte_offset + place.size]
            file[f"{DETECTOR}/{name}"].resize(2, axis=0)
            file.flush()
            os.pwrite(file.id.get_vfd_handle(), chunk, place.byte_offset)
    found = reopen_file(path)
    for name, blank in (("sequence_number", -1), ("frame_status", 0)):
        found.detector[name].resize(6, axis=0)
        assert found.detector[name][2:].tolist() == [blank] * 4
    found.close()


def test_a_frame_whose_number_has_no_chunk_in_the_index_is_missing(path: Path) -> None:
    """A flush that was cut short can have written the index of the statuses alone."""
    written = Written(path, start(frames=9))
    written.add(frame(0), frame(1))
    written.close()
    with h5py.File(path, "r+") as file:
        detector = file[DETECTOR]
        del detector["sequence_number"]
        detector.create_dataset(
            "sequence_number", (2,), "int64", maxshape=(None,), chunks=(64,), fillvalue=-1
        )
    found = reopen_file(path)
    assert found.account.counts().stored == 0
    assert found.detector["trigger"][:].tolist() == [-1, -1]
    found.close()


def test_a_file_that_is_no_series_cannot_be_marked(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_group("entry/instrument")
    with pytest.raises(OSError, match="no NXdetector"):
        mark_interrupted(str(path), "killed")
