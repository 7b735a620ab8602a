"""What a writer says, and leaves behind, where it cannot write."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

from penstock.receiver.files.contents import structure
from penstock.receiver.files.refusals import StorageError
from penstock.receiver.files.reserve import bytes_for
from penstock.receiver.files.writer import FileGoneError, SeriesWriter, WriterError
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.messages import Frame
from tests.receiver.disks import small_file_system
from tests.receiver.files.written import DETECTOR, Written, record
from tests.receiver.sample_series import frame, start
from tests.streams import image, pixels


def fails(*_: object) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def fill(disk: Path) -> None:
    """Take all the space that is left."""
    with contextlib.suppress(OSError), open(disk / "other", "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


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


def test_a_file_that_cannot_be_begun_leaves_nothing_behind(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(structure, "create", fails)
    with pytest.raises(StorageError, match="No space left on device"):
        Written(path, start())
    assert list(path.parent.iterdir()) == []


def test_a_disk_without_space_to_close_a_file_gets_none(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "disk", 3) as disk:
        with pytest.raises(StorageError, match=r"free some space or choose another folder"):
            Written(disk / "x.h5", start())
        assert list(disk.iterdir()) == []


@pytest.mark.parametrize(
    ("frames", "pages"), [(None, 0), (None, 1), (None, 2), (None, 5), (None, 200), (1, 0), (1, 5)]
)
def test_a_disk_that_has_hardly_more_than_what_is_kept_back_gets_no_file_and_ends_no_process(
    tmp_path: Path, frames: int | None, pages: int
) -> None:
    opening = start(frames=frames)
    with small_file_system(tmp_path / "disk", 12) as disk:
        kept = -(-bytes_for(RunningSeries(opening)) // 4096)  # in pages
        free = shutil.disk_usage(disk).free - (kept + pages) * 4096
        (disk / "other").write_bytes(bytes(free))
        pid = os.fork()
        if pid == 0:
            try:
                Written(disk / "x.h5", opening)
            except StorageError as error:
                os._exit(7 if "No space left on device" in str(error) else 1)
            finally:
                os._exit(2)
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 7
        assert [place.name for place in disk.iterdir()] == ["other"]


@pytest.mark.parametrize("images", [1, 2, 40])
@pytest.mark.parametrize("frames", [1, 100, None])
def test_what_is_kept_back_closes_a_file_on_a_full_disk(
    tmp_path: Path, frames: int | None, images: int
) -> None:
    channels = tuple(f"channel_{number}" for number in range(images)) if images > 1 else None
    array = pixels(0, (images, 4, 6) if images > 1 else (4, 6))
    taken = Frame(
        image(0, array, series="a"), [part.tobytes() for part in array] if channels else [array.tobytes()]
    )
    with small_file_system(tmp_path / "disk", 24) as disk:
        written = Written(disk / "x.h5", start(frames=frames, channels=channels))
        written.add(taken)
        written.writer.flush()
        fill(disk)
        written.close("enough")
        with h5py.File(disk / "x.h5") as file:
            assert record(file)["stored"] == 1
            np.testing.assert_array_equal(file[f"{DETECTOR}/data"][0], array[0] if channels else array)


def test_a_name_that_is_gone_when_a_beginning_fails_hides_no_cause(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        path.unlink()
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(SeriesWriter, "_create_frames", gone)
    with pytest.raises(StorageError, match="cannot create .*Input/output error"):
        Written(path, start(frames=9, shape=(4, 6), type="uint16", compression="none"))


def test_a_folder_that_cannot_be_written_is_said(path: Path) -> None:
    with pytest.raises(StorageError, match="cannot create"):
        Written(path.parent / ("x" * 250 + ".hdf5.nexus"), start())


def test_a_frame_that_cannot_be_written_is_said_with_the_counts_and_a_remedy(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Written(path, start(frames=9))
    written.add(frame(0), frame(1))
    monkeypatch.setattr(written.writer._store, "write", fails)
    words = r"could not write frame 2: Input/output error; 2 of 9 frames .* is away .* reset the receiver"
    with pytest.raises(WriterError, match=words):
        written.writer.add(2, frame(2))
    written.close("the disk is away")
    with h5py.File(path) as file:
        assert len(file["entry/data/data"]) == 2


def test_the_file_says_why_it_could_not_be_written_whatever_was_missing_before(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Written(path, start(frames=9))
    written.add(frame(0), frame(1))
    monkeypatch.setattr(written.writer._store, "flush", fails)
    with pytest.raises(WriterError, match=r"could not write the last frames: Input/output error"):
        written.close("the streamer is gone")
    with h5py.File(path) as file:
        assert "could not write the last frames: Input/output error" in record(file)["reason"]
