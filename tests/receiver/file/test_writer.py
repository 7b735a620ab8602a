"""One series into one file, read back by plain h5py."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

from penstock.codecs import bslz4
from penstock.receiver import stores
from penstock.receiver.account import FrameStatus
from penstock.receiver.crash.interrupted import mark_interrupted, open_again
from penstock.receiver.file import storage, structure
from penstock.receiver.file.per_frame import NEIGHBOURS
from penstock.receiver.file.storage import StorageError
from penstock.receiver.file.writer import (
    ROWS_PER_STEP,
    FileGoneError,
    SeriesWriter,
    WriterError,
)
from penstock.receiver.series import RunningSeries
from penstock.receiver.stores import at_work
from penstock.stins.messages import EndReason, Frame, SeriesEnd, Start
from tests import hostile
from tests.receiver.disks import small_file_system
from tests.receiver.series import frame, start
from tests.streams import image, pixels

DETECTOR = "entry/instrument/sim_1"


class Written:
    """A series that is being written: what the collector and the pipeline do, without them."""

    def __init__(self, path: Path, opening: Start) -> None:
        self.series = RunningSeries(opening)
        self.writer = SeriesWriter(path, "sim-1", self.series, "stins from tcp://127.0.0.1:1")

    def add(self, *frames: Frame) -> None:
        for item in frames:
            index = self.series.index(item.image)
            self.series.messages += 1
            self.writer.add(index, item)
            self.series.account.take(index, FrameStatus.STORED)

    def close(self, cause: str | None = None, pad: bool = False, synced: bool = False, **end: Any) -> None:
        if cause is None:
            self.series.end = SeriesEnd(**end)
        self.writer.close(self.series.close(cause), pad=pad, synced=synced)


def write(path: Path, opening: Start, frames: Iterable[Frame], **keys: Any) -> None:
    written = Written(path, opening)
    written.add(*frames)
    written.close(**keys)


def record(file: h5py.File) -> dict[str, Any]:
    group = file[f"{DETECTOR}/series"]
    return {
        name: item.asstr()[()] if item.dtype.kind == "O" else int(item[()]) for name, item in group.items()
    }


def packed(number: int) -> Frame:
    array = pixels(number)
    return Frame(image(number, array, compression="bslz4", series="a"), [bslz4.compress(array)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.h5"


def test_the_file_has_the_structure_that_every_program_looks_for(path: Path) -> None:
    write(path, start(frames=3), [frame(0), frame(1), frame(2)])
    with h5py.File(path) as file:
        assert file.attrs["default"] == "entry"
        classes = {"entry": "NXentry", "entry/data": "NXdata", "entry/instrument": "NXinstrument"}
        classes |= {DETECTOR: "NXdetector", f"{DETECTOR}/series": "NXcollection"}
        assert {name: file[name].attrs["NX_class"] for name in classes} == classes
        assert file["entry"].attrs["default"] == "data"
        assert file["entry/data"].attrs["signal"] == "data"
        assert file["entry/data/data"] == file[f"{DETECTOR}/data"], "one dataset, two names"
        assert file["entry/data/data"].attrs["target"] == f"/{DETECTOR}/data"
        begun, ended = (
            datetime.fromisoformat(file[f"entry/{name}"].asstr()[()]) for name in ("start_time", "end_time")
        )
        assert begun <= ended
        assert begun.tzinfo is not None


def test_every_frame_stands_at_its_index(path: Path) -> None:
    write(path, start(frames=3), [frame(2), frame(0), frame(1)])
    with h5py.File(path) as file:
        found = file["entry/data/data"][()]
        np.testing.assert_array_equal(found, [pixels(0), pixels(1), pixels(2)])
        assert file["entry/data/data"].chunks == (1, 4, 6)
        assert file[f"{DETECTOR}/frame_status"][()].tolist() == [1, 1, 1]


def test_values_of_scattered_frames_leave_what_stands_between_them(path: Path) -> None:
    far = 2 * NEIGHBOURS
    written = Written(path, start(frames=far + 1))
    written.add(frame(2, trigger=12), frame(5, trigger=15))
    written.writer.flush()
    written.add(frame(7, trigger=17), frame(0, trigger=10), frame(far, trigger=99), frame(3, trigger=13))
    written.close(reason="stop")
    with h5py.File(path) as file:
        group = file[DETECTOR]
        assert group["trigger"][:9].tolist() == [10, -1, 12, 13, -1, 15, -1, 17, -1]
        assert group["trigger"][far] == 99
        assert np.flatnonzero(group["frame_status"][()] == FrameStatus.STORED).tolist() == [
            0, 2, 3, 5, 7, far,
        ]  # fmt: skip


@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_a_file_that_is_no_longer_there_is_an_error_at_the_next_flush_and_at_the_end(
    how: str, path: Path
) -> None:
    written = Written(path, start(frames=3))
    written.add(frame(0))
    written.writer.flush()
    if how == "removed":
        path.unlink()
    else:
        path.rename(path.with_suffix(".away"))
    if how == "replaced":
        path.write_text("somebody else's")
    written.add(frame(1))
    with pytest.raises(FileGoneError, match=r"x\.h5 was removed, moved or replaced .* so far \(2\)"):
        written.writer.flush()
    with pytest.raises(FileGoneError):
        written.close()
    if how == "replaced":
        assert path.read_text() == "somebody else's"
    if how == "moved":
        with h5py.File(path.with_suffix(".away")) as file:
            np.testing.assert_array_equal(file["entry/data/data"][()], [pixels(0), pixels(1)])


def test_a_folder_that_is_a_file_by_now_is_an_error_of_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    written = Written(folder / "x.h5", start(frames=3))
    written.add(frame(0))
    folder.rename(tmp_path / "b")
    folder.touch()
    with pytest.raises(FileGoneError):
        written.writer.flush()
    with pytest.raises(FileGoneError):
        written.close()


def test_what_a_frame_brings_stands_beside_it(path: Path) -> None:
    write(
        path,
        start(frames=3),
        [frame(0, trigger=7, timestamp=1.5, timestamp_hw=0.25), frame(2, trigger=9, timestamp=2.5)],
    )
    with h5py.File(path) as file:
        group = file[DETECTOR]
        assert group["trigger"][()].tolist() == [7, -1, 9]
        assert group["sequence_number"][()].tolist() == [0, -1, 2]
        np.testing.assert_array_equal(group["timestamp"], [1.5, np.nan, 2.5])
        np.testing.assert_array_equal(group["timestamp_hw"], [0.25, np.nan, np.nan])
        assert group["timestamp"].attrs["units"] == "s"


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [("uint8", 255), ("uint16", 65535), ("uint32", 2**32 - 1), ("int32", -1), ("float32", np.nan)],
)
def test_pixels_that_nobody_sent_are_no_counts(path: Path, dtype: str, fill: float) -> None:
    array = pixels(0, dtype=dtype)
    frames = [Frame(image(number, array, series="a"), [array.tobytes()]) for number in (1, 3)]
    write(path, start(frames=6), frames)
    with h5py.File(path) as file:
        found = file["entry/data/data"]
        assert found.shape == (4, 4, 6)
        np.testing.assert_array_equal(found[0], np.full((4, 6), fill, dtype))
        np.testing.assert_array_equal(found[3], array)
        assert file[f"{DETECTOR}/frame_status"][()].tolist() == [0, 1, 0, 1]


def test_the_record_has_every_count_and_the_reason(path: Path) -> None:
    written = Written(path, start(frames=5))
    written.add(frame(0), frame(2))
    written.series.account.take(3, FrameStatus.CORRUPT)
    written.series.account.stale = 4
    written.close(reason=EndReason.STOP, triggered=4)
    with h5py.File(path) as file:
        found = record(file)
        assert file[f"{DETECTOR}/frame_status"][()].tolist() == [1, 0, 1, 4]
    assert found["state"] == "incomplete"
    assert found["reason"] == "2 of 5 frames: 1 missing, 1 corrupt, 1 not triggered; ended by stop"
    numbers = {name: value for name, value in found.items() if isinstance(value, int) and value}
    assert numbers == {
        "planned": 5, "received": 3, "stored": 2, "corrupt": 1, "missing": 1, "not_triggered": 1, "stale": 4,
    }  # fmt: skip
    assert found["source"] == "stins from tcp://127.0.0.1:1"


def test_a_complete_series_is_marked_complete(path: Path) -> None:
    write(path, start(frames=1), [frame(0)], triggered=1)
    with h5py.File(path) as file:
        assert (record(file)["state"], record(file)["reason"]) == ("complete", "all 1 frames are there")


def test_while_it_is_written_the_file_says_so(path: Path) -> None:
    written = Written(path, start(frames=2))
    written.add(frame(0))
    written.writer.flush()
    with h5py.File(path, locking=False) as file:
        assert record(file)["state"] == "in progress"
        np.testing.assert_array_equal(file["entry/data/data"][0], pixels(0))
        assert file[f"{DETECTOR}/frame_status"][0] == FrameStatus.STORED
    written.close()


def test_packed_and_plain_frames_stand_in_one_dataset(path: Path) -> None:
    write(path, start(frames=3), [packed(0), frame(1), packed(2)])
    with h5py.File(path) as file:
        found = file["entry/data/data"]
        assert found.id.get_create_plist().get_filter(0)[0] == 32008
        np.testing.assert_array_equal(found[()], [pixels(0), pixels(1), pixels(2)])
        assert found.id.read_direct_chunk((0, 0, 0))[1] == bslz4.compress(pixels(0)), "stored as received"


def test_modules_are_stored_blob_by_blob(path: Path) -> None:
    arrays = [pixels(number, (3, 4, 6)) for number in range(2)]
    frames = [
        Frame(image(number, array, series="a"), [module.tobytes() for module in array])
        for number, array in enumerate(arrays)
    ]
    write(path, start(frames=2), frames)
    with h5py.File(path) as file:
        found = file["entry/data/data"]
        assert (found.shape, found.chunks) == ((2, 3, 4, 6), (1, 1, 4, 6))
        np.testing.assert_array_equal(found[()], arrays)


@pytest.mark.parametrize("frames", [ROWS_PER_STEP - 1, ROWS_PER_STEP, ROWS_PER_STEP + 1, 3 * ROWS_PER_STEP])
@pytest.mark.parametrize("announced", [True, False])
def test_a_series_that_grows_beyond_a_step_is_cut_to_what_came(
    path: Path, frames: int, announced: bool
) -> None:
    written = Written(path, start(frames=frames + 100 if announced else None))
    for number in range(frames):
        written.add(frame(number))
        if number % 700 == 0:
            written.writer.flush()
    written.close()
    with h5py.File(path) as file:
        assert file["entry/data/data"].shape == (frames, 4, 6)
        np.testing.assert_array_equal(file["entry/data/data"][-1], pixels(frames - 1))
        assert file[f"{DETECTOR}/sequence_number"][()].tolist() == list(range(frames))
        assert record(file)["planned"] == (frames + 100 if announced else frames)


def test_a_frame_far_ahead_makes_the_datasets_long_enough(path: Path) -> None:
    write(path, start(frames=50_000), [frame(0), frame(40_000)])
    with h5py.File(path) as file:
        assert len(file["entry/data/data"]) == 40_001
        np.testing.assert_array_equal(file["entry/data/data"][40_000], pixels(40_000))
    assert path.stat().st_size < 2_000_000, "what never came takes no space"


def test_with_the_policy_pad_the_planned_length_stays(path: Path) -> None:
    write(path, start(frames=5), [frame(0)], pad=True, triggered=3)
    with h5py.File(path) as file:
        assert len(file["entry/data/data"]) == 5
        assert file[f"{DETECTOR}/frame_status"][()].tolist() == [1, 0, 0, 5, 5]
        assert (file["entry/data/data"][4] == 65535).all()


def test_a_length_that_no_memory_holds_is_an_error_and_not_the_end_of_the_process(path: Path) -> None:
    written = Written(path, start(frames=2**50))
    written.add(frame(0))
    written.writer.flush()
    with pytest.raises(WriterError, match="could not write the end of the file"):
        written.close(pad=True)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][0], pixels(0))


def test_a_series_without_a_frame_gives_a_file_that_opens(path: Path) -> None:
    write(path, start(frames=5), [], triggered=0)
    with h5py.File(path) as file:
        assert (record(file)["not_triggered"], record(file)["state"]) == (5, "incomplete")
        assert "data" not in file[DETECTOR]


def test_a_series_whose_format_was_announced_has_its_dataset_from_the_start(path: Path) -> None:
    written = Written(path, start(frames=5, shape=(4, 6), type="uint16", compression="bslz4"))
    with h5py.File(path, locking=False) as file:
        assert file["entry/data/data"].shape == (0, 4, 6)
    written.add(packed(0))
    written.close()


@pytest.mark.parametrize("name", hostile.METADATA)
def test_any_metadata_leave_a_file_that_opens(name: str, path: Path) -> None:
    write(path, start(frames=1, metadata=hostile.METADATA[name]), [frame(0)], triggered=1)
    seen = []
    with h5py.File(path) as file:
        file.visititems(
            lambda place, item: seen.append((place, item.shape if hasattr(item, "shape") else None))
        )
        np.testing.assert_array_equal(file["entry/data/data"][0], pixels(0))
        assert record(file)["state"] == "complete"
    assert len(seen) > 10


@pytest.mark.parametrize("name", ["a\0b", "x" * 256, "ü/../°"])
def test_any_series_id_and_any_reason_are_recorded(name: str, path: Path) -> None:
    write(path, start(frames=2, series=name), [frame(0, series=name)], reason="fault", message=f"{name}\0")
    with h5py.File(path) as file:
        assert record(file)["id"] == name.replace("\0", "\ufffd")
        assert record(file)["reason"].endswith(name.replace("\0", r"\x00") + r"\x00")


def test_an_existing_file_is_never_touched(path: Path) -> None:
    path.write_bytes(b"precious")
    with pytest.raises(StorageError, match="exists and is not overwritten"):
        Written(path, start())
    assert path.read_bytes() == b"precious"


def test_an_existing_file_is_replaced_when_that_was_asked_for(path: Path) -> None:
    path.write_bytes(b"old")
    write(path, start(overwrite=True), [frame(0)])
    with h5py.File(path) as file:
        assert len(file["entry/data/data"]) == 1


def test_a_file_that_is_being_written_is_replaced_by_nobody(path: Path) -> None:
    first = Written(path, start(frames=2))
    first.add(frame(0))
    with pytest.raises(StorageError, match=r"a receiver is writing .*x\.h5, .* another data_root") as refusal:
        Written(path, start(overwrite=True))
    assert refusal.value.kind == "being_written"
    first.add(frame(1))
    first.close(reason="complete")
    assert [file.name for file in path.parent.iterdir()] == ["x.h5"]
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][()], [pixels(0), pixels(1)])


def test_a_file_that_was_written_is_replaced_by_who_wrote_it(path: Path) -> None:
    for count in (3, 2):
        write(path, start(overwrite=True), map(frame, range(count)), reason="complete")
    with h5py.File(path) as file:
        assert len(file["entry/data/data"]) == 2


def test_a_file_that_goes_on_after_a_kill_is_replaced_by_nobody(path: Path) -> None:
    first = Written(path, start(frames=2))
    first.add(frame(0))
    first.writer.flush()
    left = path.with_name("left.h5")  # as a process leaves it that is killed now
    shutil.copy(path, left)
    first.close("stopped")
    series = RunningSeries(start(frames=2))
    writer = SeriesWriter(left, "sim-1", series, "", found=open_again(left))
    with pytest.raises(StorageError, match="a receiver is writing"):
        Written(left, start(overwrite=True))
    writer.close(series.close("stopped"), pad=False, synced=False)
    write(left, start(overwrite=True), [frame(0)])


def test_of_many_who_replace_one_file_at_once_one_wins_and_loses_nothing(path: Path) -> None:
    path.write_bytes(b"old")
    ready = threading.Barrier(8)
    won: list[int] = []
    held: list[int] = []

    def replace_it() -> None:
        folder = storage.open_folder(path)
        draft = storage.draft_name()
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, dir_fd=folder)
        held.append(at_work.hold(descriptor))
        ready.wait(10)
        try:
            storage.give_name(draft, path.name, folder, replace=True)
            won.append(os.fstat(descriptor).st_ino)
        except FileExistsError:
            os.unlink(draft, dir_fd=folder)
        os.close(descriptor)
        os.close(folder)

    for _ in range(20):
        held.clear()
        threads = [threading.Thread(target=replace_it) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert won == [path.stat().st_ino]
        won.clear()
        for mark in held:
            os.close(mark)


def test_a_file_that_cannot_be_begun_leaves_nothing_behind(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(structure, "create", fails)
    with pytest.raises(WriterError, match="No space left on device"):
        Written(path, start())
    assert list(path.parent.iterdir()) == []


def test_a_disk_without_space_to_close_a_file_gets_none(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "disk", 3) as disk:
        with pytest.raises(StorageError, match=r"free some space or choose another folder"):
            Written(disk / "x.h5", start())
        assert list(disk.iterdir()) == []


@pytest.mark.parametrize("pages", [0, 1, 2, 5, 200])
def test_a_disk_that_has_hardly_more_than_what_is_kept_back_gets_no_file_and_ends_no_process(
    tmp_path: Path, pages: int
) -> None:
    with small_file_system(tmp_path / "disk", 12) as disk:
        free = shutil.disk_usage(disk).free - storage.RESERVE_BYTES - pages * 4096
        (disk / "other").write_bytes(bytes(free))
        pid = os.fork()
        if pid == 0:
            try:
                Written(disk / "x.h5", start())
            except WriterError as error:
                os._exit(7 if "No space left on device" in str(error) else 1)
            finally:
                os._exit(2)
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 7
        assert [place.name for place in disk.iterdir()] == ["other"]


def test_a_name_that_is_gone_when_a_beginning_fails_hides_no_cause(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        path.unlink()
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(SeriesWriter, "_create_frames", gone)
    with pytest.raises(WriterError, match="cannot create .*Input/output error"):
        Written(path, start(frames=9, shape=(4, 6), type="uint16", compression="none"))


def test_a_folder_that_cannot_be_written_is_said(path: Path) -> None:
    with pytest.raises(WriterError, match="cannot create"):
        Written(path.parent / ("x" * 250 + ".hdf5.nexus"), start())


def test_a_frame_that_cannot_be_written_is_said_with_the_counts_and_a_remedy(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    written = Written(path, start(frames=9))
    written.add(frame(0), frame(1))
    monkeypatch.setattr(written.writer._store, "write", fails)
    words = r"could not write frame 2 .*: Input/output error; 2 of 9 frames .* is away .* reset the receiver"
    with pytest.raises(WriterError, match=words):
        written.writer.add(2, frame(2))
    written.close("the disk is away")
    with h5py.File(path) as file:
        assert len(file["entry/data/data"]) == 2


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
    counts = mark_interrupted(str(killed), "the data process was killed")
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
    """What the kernel has after each step of a flush is what a kill there leaves."""
    monkeypatch.setattr(stores, "LEAST_PLACED_BYTES", least)
    plain = {"shape": (4, 6), "type": "uint16", "compression": "none"}
    series = RunningSeries(start(frames=9, checksum="crc32", **plain))
    writer = SeriesWriter(path, "sim-1", series, "a test", stores.Writing(swmr=swmr))
    for number in range(6):
        writer.add(number, frame(number, checksums=(f"{number:08x}",)))
        series.account.take(number, FrameStatus.STORED)
        if number == 2:
            writer.flush()  # from now on all datasets have their chunks
    snapshots: list[bytes] = []
    assign = h5py.Dataset.__setitem__

    def assign_and_look(self: h5py.Dataset, *args: Any) -> None:
        assign(self, *args)
        snapshots.append(path.read_bytes())

    monkeypatch.setattr(h5py.Dataset, "__setitem__", assign_and_look)
    writer.flush()
    monkeypatch.undo()
    snapshots.append(path.read_bytes())
    seen = set()
    for number, snapshot in enumerate(snapshots):
        killed = path.parent / f"killed-{number}.h5"
        killed.write_bytes(snapshot)
        found = open_again(killed)
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
    writer.close(series.close(None), pad=False, synced=False)


def test_a_frame_that_comes_twice_in_a_batch_leaves_its_neighbours_alone(path: Path) -> None:
    written = Written(path, start(frames=9))
    written.add(frame(3, trigger=30), frame(3, trigger=31), frame(5, trigger=50))
    written.writer.flush()
    written.close("stopped")
    with h5py.File(path) as file:
        assert file[f"{DETECTOR}/trigger"][:].tolist() == [-1, -1, -1, 31, -1, 50]
        assert file[f"{DETECTOR}/sequence_number"][:].tolist() == [-1, -1, -1, 3, -1, 5]
        assert file[f"{DETECTOR}/frame_status"][:].tolist() == [0, 0, 0, 1, 0, 1]


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
    found = open_again(path)
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
    found = open_again(path)
    assert found.account.counts().stored == 0
    assert found.detector["trigger"][:].tolist() == [-1, -1]
    found.close()


def test_a_file_that_is_no_series_cannot_be_marked(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_group("entry/instrument")
    with pytest.raises(OSError, match="no NXdetector"):
        mark_interrupted(str(path), "killed")
