"""Frames in segments of N: what is there at any time, and how it is read."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.checks.series_check import check_series
from penstock.checks.verify import verify
from penstock.receiver.config import ReceiverConfig, SourceConfig
from penstock.receiver.files import names, storage
from penstock.receiver.files.recovery import interrupted
from penstock.receiver.files.refusals import NameTakenError
from penstock.receiver.files.reopened import reopen_file
from penstock.receiver.files.stores.chunked import ChunkedStore
from penstock.receiver.files.stores.segments import segment_file
from penstock.receiver.files.stores.segments import store as segments
from penstock.receiver.files.stores.segments.store import SegmentStore
from penstock.receiver.files.writer import WriterError
from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.reader import SeriesFile
from penstock.stins.messages import Frame
from tests.receiver.files.stores.written import DETECTOR, SHAPE, Written, array, frame, status_of
from tests.receiver.sample_series import start
from tests.streams import image

FILL = 65535
PER_FILE = 4


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "scan.h5"


def written(path: Path, frames: int | None = 10, late: float = 60.0, **keys: object) -> Written:
    return Written(path, start(frames=frames, **keys), frames_per_file=PER_FILE, late_seconds=late)


def files(path: Path) -> list[str]:
    return sorted(item.name for item in path.parent.iterdir() if item.suffix == ".h5")


def check(path: Path, stored: list[int], length: int) -> None:
    """Read back by plain h5py: each stored frame is right, every other reads as the fill value."""
    with h5py.File(path) as file:
        data = file["entry/data/data"]
        assert len(data) == length
        for index, found in enumerate(data[()]):
            np.testing.assert_array_equal(found, array(index) if index in stored else np.full(SHAPE, FILL))
        assert file[f"{DETECTOR}/data"] == data
        assert data.attrs["units"] == "counts"
        expected = [FrameStatus.STORED if index in stored else FrameStatus.MISSING for index in range(length)]
        assert status_of(file) == expected


def test_each_segment_is_a_file_with_its_final_name(path: Path) -> None:
    series = written(path)
    series.add(*map(frame, range(6)))
    assert files(path) == ["scan.h5", "scan_000001.h5", "scan_000002.h5"]
    series.add(*map(frame, range(6, 10)))
    series.close(reason="complete")
    assert files(path) == ["scan.h5", "scan_000001.h5", "scan_000002.h5", "scan_000003.h5"]
    check(path, list(range(10)), 10)
    with h5py.File(path.with_name("scan_000003.h5")) as file:
        assert file["entry"].attrs["default"] == "data"
        np.testing.assert_array_equal(file["entry/data/data"][()], [array(8), array(9)])


def test_frame_n_is_read_from_closed_and_from_open_segments(path: Path) -> None:
    series = written(path)
    series.add(*map(frame, range(6)))
    for index in (0, 3, 5):
        assert bytes(series.writer.read(index).blobs[0]) == array(index).tobytes()
    series.close("enough")


def test_an_aborted_series_is_cut_to_what_came(path: Path) -> None:
    series = written(path)
    series.add(*map(frame, (0, 1, 2, 3, 4, 6)))
    series.close(reason="abort", triggered=7)
    check(path, [0, 1, 2, 3, 4, 6], 7)
    with h5py.File(path.with_name("scan_000002.h5")) as file:
        assert len(file["entry/data/data"]) == 3


def test_segments_of_which_nothing_came_read_as_the_fill_value(path: Path) -> None:
    series = written(path, frames=14)
    series.add(*map(frame, (0, 1, 12)))
    series.close("enough")
    assert files(path) == ["scan.h5", "scan_000001.h5", "scan_000004.h5"]
    check(path, [0, 1, 12], 13)


@pytest.mark.parametrize("late", [60.0, 0.0], ids=["open still", "closed by then"])
def test_a_late_frame_finds_its_place(late: float, path: Path) -> None:
    series = written(path, late=late)
    series.add(*map(frame, (0, 1, 3, 4, 5, 6, 7)))
    time.sleep(0.001)  # more than no patience at all
    series.writer.flush()
    store = series.store
    assert isinstance(store, SegmentStore)
    assert (0 in store._open) is bool(late)
    series.add(frame(2), frame(8))
    series.writer.flush()
    series.add(frame(9))
    series.close(reason="complete")
    check(path, list(range(10)), 10)


def test_an_unknown_number_of_frames_makes_the_virtual_dataset_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "FIRST_MAPPED", 2)
    series = written(path, frames=None)
    series.add(*map(frame, range(41)))
    series.writer.flush()
    with h5py.File(path, locking=False) as file:
        np.testing.assert_array_equal(file["entry/data/data"][:40], [array(index) for index in range(40)])
    series.close(reason="complete")
    check(path, list(range(41)), 41)


def test_a_file_with_the_name_of_a_segment_is_never_touched(path: Path) -> None:
    other = path.with_name("scan_000002.h5")
    other.write_bytes(b"precious")
    with pytest.raises(NameTakenError, match=r"scan_000002\.h5 exists and is not overwritten"):
        written(path, shape=SHAPE, type="uint16", compression="none")
    assert other.read_bytes() == b"precious"
    assert files(path) == ["scan_000002.h5"]


def test_segments_are_replaced_when_that_was_asked_for(path: Path) -> None:
    for frames in (10, 3):
        series = written(path, frames=frames, overwrite=True)
        series.add(*map(frame, range(frames)))
        series.close(reason="complete")
    assert files(path) == ["scan.h5", "scan_000001.h5"]
    check(path, [0, 1, 2], 3)


def test_another_series_whose_name_looks_like_a_segment_is_not_replaced(path: Path) -> None:
    other = Written(path.with_name("scan_000123.h5"), start(frames=1))
    other.add(frame(0))
    other.close(reason="complete")
    with pytest.raises(NameTakenError, match=r"scan_000123\.h5 exists and is no segment; .* move it away"):
        written(path, overwrite=True, shape=SHAPE, type="uint16", compression="none")
    check(path.with_name("scan_000123.h5"), [0], 1)


def test_a_text_with_the_name_of_a_segment_is_not_replaced(path: Path) -> None:
    path.with_name("scan_000123.h5").write_text("a text of the user")
    with pytest.raises(NameTakenError, match=r"scan_000123\.h5 exists and is no segment; .* move it away"):
        written(path, overwrite=True, shape=SHAPE, type="uint16", compression="none")
    assert path.with_name("scan_000123.h5").read_text() == "a text of the user"


def test_a_segment_that_is_being_written_is_not_replaced(path: Path) -> None:
    series = written(path, frames=10)
    series.add(frame(0))
    path.rename(path.with_name("elsewhere.h5"))
    with pytest.raises(
        NameTakenError, match=r"a receiver is writing .*scan_000001\.h5, so it is not replaced"
    ):
        written(path, overwrite=True, shape=SHAPE, type="uint16", compression="none")
    with pytest.raises(WriterError, match="was removed, moved or replaced"):
        series.close(cause="stopped")


@pytest.mark.parametrize("moment", ["open", "closed"])
def test_frames_of_a_segment_that_is_taken_away_are_not_stored(moment: str, path: Path) -> None:
    series = written(path)
    series.add(*map(frame, range(6)))
    series.writer.flush()
    number = 1 if moment == "closed" else 2
    path.with_name(f"scan_00000{number}.h5").rename(path.with_name("elsewhere.h5"))
    account = series.series.account
    if moment == "open":
        with pytest.raises(WriterError, match=r"scan_000002\.h5 was removed, moved or replaced"):
            series.add(frame(6)), series.writer.flush()
    with pytest.raises(WriterError, match=rf"scan_00000{number}\.h5 was removed, moved or replaced"):
        series.close(cause="stopped")
    check(path, [4, 5] if moment == "closed" else [0, 1, 2, 3], 7 if moment == "open" else 6)
    assert account.counts().stored == account.counts().flushed == (2 if moment == "closed" else 4)


NAMES = pytest.mark.parametrize("name", ["scan.h5", "50%b.h5"])
"""HDF5 puts a number in the place of "%b" in the name of a file that a virtual dataset shows."""


@NAMES
def test_check_and_verify_follow_the_frames_into_the_segments(name: str, path: Path) -> None:
    path = path.with_name(name)
    series = written(path, checksum="crc32")
    series.add(*(frame(index, "crc32") for index in range(10)))
    series.close(reason="complete", triggered=10)
    with SeriesFile(path) as file:
        assert check_series(file).is_clean()
        assert verify(file).is_sound
    check(path, list(range(10)), 10)
    path.with_name(f"{path.stem}_000002.h5").unlink()
    with SeriesFile(path) as file:
        assert verify(file).gone == "4-7"
        assert "hollow" in {finding.kind for finding in check_series(file).findings}


def test_a_segment_of_another_series_is_not_replaced_as_if_it_were_one(path: Path) -> None:
    series = written(path)
    series.add(*map(frame, range(10)))
    series.close(triggered=10)
    segment = path.with_name(f"{path.stem}_000002.h5")
    with pytest.raises(NameTakenError, match="holds frames of another series, so it is not replaced"):
        names.check_free(segment, overwrite=True, further=None)
    shutil.copy(path, segment)  # a file of a series may have such a name
    names.check_free(segment, overwrite=True, further=None)


def copy_of_a_killed_one(path: Path, series: Written) -> Path:
    """The files as they are now, in another folder."""
    series.writer.flush()
    folder = path.parent / "killed"
    folder.mkdir()
    for name in files(path):
        (folder / name).write_bytes(path.with_name(name).read_bytes())
    series.close("ended meanwhile")
    return folder / path.name


@NAMES
def test_a_killed_series_is_marked_and_cut(name: str, path: Path) -> None:
    path = path.with_name(name)
    series = written(path)
    series.add(*map(frame, (0, 1, 2, 3, 4, 6)))
    killed = copy_of_a_killed_one(path, series)
    counts = interrupted.mark_interrupted(killed, "killed").counts()
    assert (counts.stored, counts.missing) == (6, 4)
    check(killed, [0, 1, 2, 3, 4, 6], 7)


def test_a_killed_series_can_be_continued(path: Path) -> None:
    from penstock.receiver.files.stores import Writing
    from penstock.receiver.files.writer import SeriesWriter
    from penstock.receiver.series.running_series import ResumedSeries

    series = written(path)
    series.add(*map(frame, (0, 1, 2, 4)))
    killed = copy_of_a_killed_one(path, series)
    found = reopen_file(killed)
    assert found.account.counts().stored == 4
    again = Written.__new__(Written)
    again.series = type(series.series)(
        start(frames=10), 0, ResumedSeries(found.account, (), str(killed), 0.0)
    )
    again.writer = SeriesWriter(killed, "sim-1", again.series, "", Writing(frames_per_file=7), found)
    again.add(*map(frame, (3, 5, 6, 8)))
    again.close("enough")
    check(killed, [0, 1, 2, 3, 4, 5, 6, 8], 9)
    assert files(killed) == ["scan.h5", "scan_000001.h5", "scan_000002.h5", "scan_000003.h5"]


FOLLOW = """
import sys
import h5py
import numpy as np

seen = -1
while True:
    try:
        with h5py.File(sys.argv[1]) as file:
            found = file["entry/data/data"][()]
    except OSError:
        continue
    there = [index for index, pixels in enumerate(found) if not (pixels == 65535).all()]
    for index in there:
        right = np.arange(found[0].size, dtype="u2") + index % 1000 * found[0].size
        assert (found[index].ravel() == right).all(), index
    if len(there) != seen:
        seen = len(there)
        print(seen, flush=True)
"""
"""A reader of its own: opens the file again and again, as any program would, and says how many it sees."""


def test_a_reader_beside_the_writer_sees_right_frames_or_none(path: Path) -> None:
    frames = 200
    series = written(path, frames=frames, shape=SHAPE, type="uint16", compression="none")
    command = [sys.executable, "-c", FOLLOW, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        try:
            there = 0
            for line in reader.stdout:  # each time that it has seen what is there, there is some more
                assert int(line) == there, "closed segments are seen, open ones are not"
                if there == frames:
                    break
                for index in range(there, there + PER_FILE):
                    series.add(frame(index))
                    series.writer.flush()
                there += PER_FILE
            assert there == frames
        finally:
            reader.kill()
            series.close(reason="complete", triggered=frames)
    check(path, list(range(frames)), frames)


def test_segments_are_not_written_at_the_same_time(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="segments are written one after the other"):
        ReceiverConfig(
            source=SourceConfig(endpoints=("tcp://127.0.0.1:1",)), data_root="/", frames_per_file=5, files=2
        )


def test_frames_of_several_blobs_stay_in_one_file(path: Path) -> None:
    series = written(path)
    several = np.arange(30, dtype=np.uint16).reshape(2, 3, 5)
    series.writer.add(0, type(frame(0))(image(0, several, series="a"), [part.tobytes() for part in several]))
    series.series.account.take(0, FrameStatus.STORED)
    series.close("enough")
    assert files(path) == ["scan.h5"]
    assert os.path.getsize(path)


def test_a_series_of_unknown_length_ends_at_the_most_segments_and_keeps_its_frames(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "MOST_SEGMENTS", 3)
    series = written(path, frames=None)
    series.add(*(frame(number) for number in range(3 * PER_FILE)))
    with pytest.raises(
        WriterError, match=r"at most 3 segments, of .*; set frames_per_file higher.* ends here"
    ):
        series.add(frame(3 * PER_FILE))
    series.close("too many")
    check(path, list(range(3 * PER_FILE)), 3 * PER_FILE)


def test_that_segments_have_no_effect_on_frames_of_several_images_is_said_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    series = written(path)
    several = np.arange(30, dtype=np.uint16).reshape(2, 3, 5)
    for number in (0, 1):
        item = Frame(image(number, several, series="a"), [part.tobytes() for part in several])
        series.writer.add(number, item)
        series.series.account.take(number, FrameStatus.STORED)
    series.close("enough")
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith("each frame has 2 images: ")
    assert said.endswith("into one file, frames_per_file has no effect")


def descriptors_in(folder: Path) -> list[str]:
    """What this process has open there."""
    links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return [name for name in map(os.readlink, links) if name.startswith(str(folder))]


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_beginning_that_is_refused_leaves_nothing_open(path: Path) -> None:
    path.with_name("scan_000002.h5").write_bytes(b"precious")
    with pytest.raises(NameTakenError, match="not overwritten"):
        written(path, shape=SHAPE, type="uint16", compression="none")
    assert descriptors_in(path.parent) == []


@pytest.mark.parametrize("moment", ["it is created", "its first frame is written"])
def test_a_disk_that_is_full_when_a_segment_begins_ends_the_series_before_it(
    moment: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = written(path)
    series.add(*map(frame, (0, 1, 2, 4, 5, 6, 7)))  # the first segment waits for a frame that is late
    with monkeypatch.context() as patch:
        if moment == "it is created":
            patch.setattr(segment_file, "make_room", full)
        else:
            patch.setattr(ChunkedStore, "write", full)
        with pytest.raises(WriterError, match="could not write frame 8: .*No space left"):
            series.add(frame(8))
    series.close("the disk is full")
    assert files(path) == ["scan.h5", "scan_000001.h5", "scan_000002.h5"]
    check(path, [0, 1, 2, 4, 5, 6, 7], 8)
    assert descriptors_in(path.parent) == []


def test_a_full_disk_refuses_the_last_frame_of_a_segment_before_it_is_in_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = written(path)
    series.add(*map(frame, range(3)))
    with monkeypatch.context() as patch:
        patch.setattr(segments, "make_room", full)
        with pytest.raises(WriterError, match="could not write frame 3: .*No space left"):
            series.add(frame(3))
    series.close("the disk is full")
    check(path, [0, 1, 2], 3)


def test_a_segment_that_cannot_be_ended_keeps_no_other_from_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = written(path)
    series.add(*map(frame, (0, 1, 4, 5)))
    assert isinstance(series.store, SegmentStore)
    monkeypatch.setattr(series.store._open[0].store, "finish", full)
    with pytest.raises(WriterError, match="the end of the frames: No space left"):
        series.close("stopped")
    check(path, [0, 1, 4, 5], 6)
    assert descriptors_in(path.parent) == []


def test_a_killed_series_of_many_unflushed_segments_is_cut_to_what_was_flushed(path: Path) -> None:
    child = os.fork()
    if child == 0:
        try:
            series = written(path, frames=None)
            series.add(*map(frame, range(6)))
            series.writer.flush()
            series.add(*map(frame, range(6, 15)))
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert interrupted.mark_interrupted(path, "it was killed").counts().stored == 6
    check(path, list(range(6)), 6)
    with h5py.File(path.with_name("scan_000002.h5")) as file:
        assert len(file["entry/data/data"]) == 2
    assert files(path) == ["scan.h5", "scan_000001.h5", "scan_000002.h5"]


def test_a_killed_series_whose_segments_somebody_has_taken_away_is_marked(path: Path) -> None:
    series = written(path)
    series.add(*map(frame, range(6)))
    series.writer.flush()
    for name in files(path)[1:]:
        path.with_name(name).unlink()
    copy = path.with_name("copy.h5")
    shutil.copy(path, copy)
    with pytest.raises(WriterError):
        series.close("enough")
    os.replace(copy, path)
    assert interrupted.mark_interrupted(path, "it was killed").counts().stored == 0
    with h5py.File(path) as file:
        assert file["entry/data/data"].shape == (0, *SHAPE)
        assert "damaged" not in file[f"{DETECTOR}/series/reason"].asstr()[()]
