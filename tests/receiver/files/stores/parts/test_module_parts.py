"""Modules with a file each: every blob in the file of its module, under the frame's index."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

from penstock.checks.series_check import check_series
from penstock.checks.verify import verify
from penstock.codecs import bslz4
from penstock.processing.sources.file import FileFrames
from penstock.receiver.files import writer
from penstock.receiver.files.recovery.interrupted import mark_interrupted
from penstock.receiver.files.refusals import StorageError
from penstock.receiver.files.stores.contract import Writing
from penstock.receiver.files.stores.disk import write_thread
from penstock.receiver.files.writer import SeriesWriter, WriterError
from penstock.receiver.merge.messages import frame as joined_frame
from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.hdf5_frames import Hdf5Frames
from penstock.receiver.reading.reader import ReaderError, SeriesFile
from penstock.receiver.series.module_status import ModuleStatus
from penstock.receiver.series.running_series import RunningSeries
from penstock.receiver.transforms.joined import Joined
from penstock.receiver.transforms.module_processor import ModuleProcessor
from penstock.stins.checksums import checksums
from penstock.stins.messages import Header, Image, SeriesEnd, Start
from tests.receiver.files.stores.written import DETECTOR, status_of
from tests.receiver.sample_series import start
from tests.streams import pixels

MODULES, SIZE, FILL = 3, (2, 4), 65535
STORED, PARTIAL, MISSING = FrameStatus.STORED, FrameStatus.PARTIAL, FrameStatus.MISSING
ALL = range(MODULES)
PLACES: dict[str, list[dict[str, float]]] = {
    "assembled": [{"x": 1, "y": 0}, {"x": 0, "y": 3}, {"x": 5, "y": 4}],
    "turned": [{"x": 1, "y": 0}, {"x": 0, "y": 3, "rotation": 180}, {"x": 5, "y": 4}],
}
"""In an image of 6 rows and 9 columns."""


def array(number: int, module: int) -> np.ndarray[Any, Any]:
    """The pixels of a module."""
    return pixels(10 * number + module, SIZE)


def image(number: int, modules: Sequence[int] = ALL) -> np.ndarray[Any, Any]:
    """The assembled image of these modules."""
    whole = np.full((6, 9), FILL, np.uint16)
    if 0 in modules:
        whole[0:2, 1:5] = array(number, 0)
    if 1 in modules:
        whole[3:5, 0:4] = array(number, 1)
    if 2 in modules:
        whole[4:6, 5:9] = array(number, 2)
    return whole


class Joint:
    """A series of three modules, which is being written.

    Args:
        path: its file.
        frames: announced ones.
        places: key of `PLACES`.
        compression: of the blobs.
        overwrite: whether the file of an earlier series is replaced.
    """

    def __init__(
        self, path: Path, frames: int | None = 40, places: str = "assembled", compression: str = "none",
        overwrite: bool = False,
    ) -> None:  # fmt: skip
        starts = [Start(Header(filename=""), place) for place in PLACES[places]]
        self._joined = Joined([f"tcp://m{module}:1" for module in ALL], starts)
        known = {"shape": (MODULES, *SIZE), "type": "uint16", "compression": compression} if frames else {}
        self._compression = compression
        self.series = RunningSeries(start(frames=frames, **known, checksum="crc32", overwrite=overwrite))
        self.table = ModuleStatus(MODULES)
        self.series.joined, self.series.modules = self._joined, self.table
        self.writer = SeriesWriter(path, "sim-1", self.series, "a test", Writing(files=MODULES))

    def put(self, number: int, modules: Sequence[int] = ALL) -> None:
        """These modules of a frame have come, all sound."""
        came = {}
        for module in modules:
            blob = array(number, module)
            blobs: list[Any] = [blob.tobytes() if self._compression == "none" else bslz4.compress(blob)]
            head = Image(
                shape=SIZE, type="uint16", compression=self._compression, frame=number, series="a",
                checksums=checksums("crc32", blobs),
            )  # fmt: skip
            came[module] = head, blobs
        frame = ModuleProcessor(()).process(joined_frame(self._joined, "a", number, came))
        account, is_late = self.series.account, bool(self.table.good(number))
        status = self.table.enter(number, dict.fromkeys(modules, STORED))
        if is_late:
            self.writer.complete(number, frame)
            account.revise(number, status, late=True)
            return
        try:
            self.writer.add(number, frame)
        except WriterError:
            account.refuse(number)
            self.table.enter(number, dict.fromkeys(modules, MISSING))
            raise
        account.take(number, status)

    def close(self, **end: Any) -> None:
        """The end message has come."""
        self.series.end = SeriesEnd(**end)
        self.writer.close(self.series.close(None), synced=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """File of the series."""
    return tmp_path / "x%b.h5"


def parts(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir() if each != path)


def holds(path: Path, came: dict[int, Sequence[int]], places: str, length: int) -> None:
    """The file has these modules of these frames, and the fill value elsewhere; it is sound."""
    table = [[STORED if module in came.get(n, ()) else MISSING for module in ALL] for n in range(length)]
    images = np.array([image(number, came.get(number, ())) for number in range(length)])
    blobs = np.full((length, MODULES, *SIZE), FILL, np.uint16)
    for number, modules in came.items():
        for module in modules:
            blobs[number, module] = array(number, module)
    with h5py.File(path) as file:
        group = file[DETECTOR]
        assert group["module_status"][()].tolist() == table
        np.testing.assert_array_equal(group["data" if places == "turned" else "modules"][()], blobs)
        expected = blobs if places == "turned" else images
        np.testing.assert_array_equal(file["entry/data/data"][()], expected)
        assert group["data"].attrs["interpretation"] == "image"
    with SeriesFile(path) as series:
        for number in range(length):
            np.testing.assert_array_equal(series.frame(number), expected[number])
            assert (series.stored_frame(number) is not None) == bool(came.get(number))
        assert series.unreadable_files() == []
        found = check_series(series, read_frames=True)
        assert {finding.kind for finding in found.findings} <= {"incomplete", "module", "late"}
        assert verify(series).is_sound
    with FileFrames(path) as frames:
        assert frames.header.shape == (MODULES, *SIZE)
        assert frames.indices.tolist() == sorted(came)
        for number, modules in came.items():
            found = frames.parts(number)[1:]
            assert [len(blob) > 0 for blob in found] == [module in modules for module in ALL]
            located = frames.located(number)
            assert located is not None and [place[1] is None for place in located] == [
                module not in modules for module in ALL
            ]


@pytest.mark.parametrize("compression", ["none", "bslz4"])
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("frames", [40, None], ids=["announced", "unannounced"])
def test_modules_in_any_order_stand_at_the_index_of_their_frame(
    frames: int | None, places: str, compression: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "ROWS_PER_STEP", 5)
    chance = np.random.default_rng(4)
    came = {n: [m for m in ALL if chance.random() < 0.8] for n in range(38) if n not in (7, 8, 20)}
    came = {number: modules for number, modules in came.items() if modules}
    written = Joint(path, frames, places, compression)
    for count, number in enumerate(chance.permutation(list(came)).tolist()):
        early = came[number][: 1 + number % 3]
        written.put(number, early)
        if late := came[number][len(early) :]:
            written.put(number, late)
        if count % 7 == 6:
            written.writer.flush()
            back = written.writer.read(number)
            assert [len(blob) > 0 for blob in back.blobs] == [module in came[number] for module in ALL]
            with h5py.File(path, locking=False) as file:  # while it is written, without a lock
                data = file["entry/data/data"]
                assert len(data) > number
                if places == "assembled":
                    np.testing.assert_array_equal(data[number], image(number, came[number]))
    written.close(triggered=40)
    assert parts(path) == ["x%b_part1.h5", "x%b_part2.h5", "x%b_part3.h5"]
    holds(path, came, places, 38)
    for name in (path.name, *parts(path)):  # also elsewhere
        (path.parent / "moved").mkdir(exist_ok=True)
        shutil.move(path.with_name(name), path.parent / "moved" / name)
    holds(path.parent / "moved" / path.name, came, places, 38)


def test_a_module_that_never_comes_leaves_no_file_and_no_complaint(path: Path) -> None:
    written = Joint(path, 4)
    for number in range(4):
        written.put(number, (0, 2))
    written.close(triggered=4)
    assert parts(path) == ["x%b_part1.h5", "x%b_part3.h5"]
    holds(path, dict.fromkeys(range(4), (0, 2)), "assembled", 4)
    with Hdf5Frames(path) as frames:
        missing = frames.missing(1)
        assert missing is not None and np.argwhere(missing).tolist() == [
            [row, column] for row in (3, 4) for column in range(4)
        ]


@pytest.mark.parametrize("frames", [5, None])
def test_without_a_frame_there_are_no_files_of_modules(frames: int | None, path: Path) -> None:
    written = Joint(path, frames)
    written.writer.flush()
    written.close(triggered=0)
    assert parts(path) == []
    with SeriesFile(path) as series:
        assert len(series) == 0
        assert series.unreadable_files() == []
        assert verify(series).frames == 0


def test_a_shorter_series_takes_the_place_of_a_longer_one(path: Path) -> None:
    for frames, modules in ((9, ALL), (2, (0, 1))):
        written = Joint(path, frames, overwrite=True)
        for number in range(frames):
            written.put(number, modules)
        written.close(triggered=frames)
    assert parts(path) == ["x%b_part1.h5", "x%b_part2.h5"]
    holds(path, dict.fromkeys(range(2), (0, 1)), "assembled", 2)


@pytest.mark.parametrize("harm", ["removed", "truncated", "exchanged"])
def test_the_file_of_a_module_that_is_gone_is_named_and_its_pixels_are_not_shown_as_counts(
    harm: str, path: Path
) -> None:
    written = Joint(path, 4)
    for number in range(4):
        written.put(number, ALL if number else (0, 2))
    written.close(triggered=4)
    part = path.with_name("x%b_part2.h5")
    if harm == "removed":
        part.unlink()
    elif harm == "truncated":
        os.truncate(part, part.stat().st_size // 2)
    else:
        shutil.copy(path.with_name("x%b_part1.h5"), part)
    with SeriesFile(path) as series:
        (unreadable,) = series.unreadable_files()
        assert unreadable.path == part and str(part) in unreadable.why
        if harm == "removed":
            np.testing.assert_array_equal(series.frame(0), image(0, (0, 2)))  # it was never there
        else:
            with pytest.raises(ReaderError, match="frame 0 .*x%b_part2.h5"):  # HDF5 would open the file
                series.frame(0)
        with pytest.raises(ReaderError, match="frame 1 .*x%b_part2.h5"):
            series.frame(1)
        found = verify(series)
        assert (found.gone, found.verified) == ("1-3", 1)
        findings = {finding.kind: finding.sentence for finding in check_series(series).findings}
        assert ("missing_file" if harm == "removed" else "unreadable_file") in findings
        frames = "1-3" if harm == "removed" else "0-3"
        assert findings["away"].startswith(
            f"frames {frames} cannot be read as a whole (frame {frames[0]} of "
        )
        assert "unreadable" not in findings  # nothing that is there is damaged
    with FileFrames(path) as frames:
        assert frames.located(1) is None
        with pytest.raises(ReaderError, match="x%b_part2.h5"):
            frames.parts(1)
        assert len(frames.parts(0)) == 1 + MODULES


@pytest.mark.parametrize("how", ["unlink", "rename"])
def test_frames_whose_module_is_removed_in_mid_series_are_partial(how: str, path: Path) -> None:
    written = Joint(path, 9)
    for number in range(3):
        written.put(number)
    part = path.with_name("x%b_part2.h5")
    part.unlink() if how == "unlink" else part.rename(path.with_name("elsewhere"))
    with pytest.raises(WriterError, match="x%b_part2.h5 was removed, moved or replaced"):
        written.writer.flush()
    with contextlib.suppress(WriterError):
        written.close()
    assert written.series.account.counts().partial == 3
    with h5py.File(path) as file:
        assert status_of(file) == [PARTIAL] * 3
        assert file[f"{DETECTOR}/module_status"][()].tolist() == [[STORED, MISSING, STORED]] * 3
    holds_pixels(path, dict.fromkeys(range(3), (0, 2)))


def holds_pixels(path: Path, came: dict[int, Sequence[int]]) -> None:
    """Of the frames of the file, these modules are there, and verify."""
    with SeriesFile(path) as series:
        for number in range(len(series)):
            np.testing.assert_array_equal(series.frame(number), image(number, came.get(number, ())))
        found = verify(series)
        assert (found.wrong, found.gone, found.verified) == ("", "", len(came))


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_frames_one_module_of_which_cannot_be_written_are_partial_and_the_others_verify(
    error: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Joint(path, 40)
    for number in range(5):
        written.put(number)
    written.writer.flush()
    inode = os.stat(path.with_name("x%b_part2.h5")).st_ino
    really = write_thread.pwritev_all

    def fails(descriptor: int, blobs: Any, offset: int) -> Any:
        if os.fstat(descriptor).st_ino == inode:
            raise OSError(error, os.strerror(error))
        return really(descriptor, blobs, offset)

    monkeypatch.setattr(write_thread, "pwritev_all", fails)
    for number in range(5, 8):
        written.put(number)
    with pytest.raises(WriterError, match=os.strerror(error)):
        written.writer.flush()
    with contextlib.suppress(WriterError):
        written.close()
    counts = written.series.account.counts()
    assert (counts.stored, counts.partial) == (5, 3)
    with h5py.File(path) as file:
        assert status_of(file) == [STORED] * 5 + [PARTIAL] * 3
    holds_pixels(path, dict.fromkeys(range(5), ALL) | dict.fromkeys(range(5, 8), (0, 2)))


@pytest.mark.parametrize("compression", ["none", "bslz4"])
def test_a_series_whose_writer_was_killed_has_what_was_flushed(compression: str, path: Path) -> None:
    if (child := os.fork()) == 0:
        written = Joint(path, None, compression=compression)
        for number in range(9):
            written.put(number, (0, 2) if number == 4 else ALL)
        written.writer.flush()
        written.put(9)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    account = mark_interrupted(path, "it was killed")
    assert (account.counts().stored, account.counts().partial) == (8, 1)
    came = {number: (0, 2) if number == 4 else ALL for number in range(9)}
    holds(path, came, "assembled", 9)


@pytest.mark.parametrize("harm", ["removed", "truncated", "exchanged", "a folder"])
def test_if_a_file_is_lost_together_with_the_writer_the_other_modules_stay(harm: str, path: Path) -> None:
    if (child := os.fork()) == 0:
        written = Joint(path, 40)
        for number in range(5):
            written.put(number, (1,) if number == 3 else ALL)
        written.writer.flush()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    part = path.with_name("x%b_part2.h5")
    if harm == "truncated":
        os.truncate(part, part.stat().st_size // 2)
    elif harm == "exchanged":
        shutil.copy(path.with_name("x%b_part1.h5"), part)
    else:
        part.unlink()
        if harm == "a folder":
            part.mkdir()
    counts = mark_interrupted(path, "it was killed").counts()
    assert (counts.stored, counts.partial, counts.missing) == (0, 4, 36)
    if harm not in ("removed", "truncated"):  # HDF5 would open what has its name
        part.rmdir() if harm == "a folder" else part.unlink()
    came = dict.fromkeys((0, 1, 2, 4), (0, 2))
    with h5py.File(path) as file:
        assert status_of(file) == [PARTIAL] * 3 + [MISSING, PARTIAL]
        table = file[f"{DETECTOR}/module_status"][()].tolist()
        assert table == [[STORED if m in came.get(n, ()) else MISSING for m in ALL] for n in range(5)]
        assert (
            file[f"{DETECTOR}/series/reason"]
            .asstr()[()]
            .endswith("0 of 40 frames are in the file, 4 more are partial")
        )
    if harm != "truncated":
        holds(path, came, "assembled", 5)


def test_the_file_of_a_module_that_is_put_back_holds_what_was_received(path: Path) -> None:
    written = Joint(path, 9)
    for number in range(3):
        written.put(number)
    part, elsewhere = path.with_name("x%b_part2.h5"), path.with_name("elsewhere")
    part.rename(elsewhere)
    with contextlib.suppress(WriterError):
        written.writer.flush()
    with contextlib.suppress(WriterError):
        written.close()
    elsewhere.rename(part)
    with SeriesFile(path) as series:
        assert series.module_status is not None and not series.module_status[:, 1].any()
        assert verify(series).is_sound
    with h5py.File(part, "r+") as file:
        file["entry/data/data"].id.write_direct_chunk((1, 0, 0), bytes(16))
    with SeriesFile(path) as series:
        assert verify(series).wrong == "1"


def test_the_name_of_a_part_may_be_a_users(path: Path) -> None:
    users = path.with_name("x%b_part3.h5")
    users.write_text("mine")
    with pytest.raises(StorageError, match="x%b_part3.h5 exists"):
        Joint(path, 4)
    assert users.read_text() == "mine"
    assert parts(path) == [users.name] and not path.exists()
