"""A series in parts: every frame at its index in `data`, whatever comes and whatever was there."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

from penstock.checks.series_check import check_series
from penstock.checks.verify import verify
from penstock.codecs import bslz4
from penstock.receiver.config import ReceiverConfig, SourceConfig
from penstock.receiver.files import dealing, names, writer
from penstock.receiver.files.refusals import NameTakenError, StorageError
from penstock.receiver.files.stores.disk import write_thread
from penstock.receiver.files.stores.parts import views
from penstock.receiver.files.stores.parts.store import PartsStore
from penstock.receiver.files.stores.segments.segment_file import SegmentFile
from penstock.receiver.files.writer import FileGoneError, WriterError
from penstock.receiver.reading.reader import ReaderError, SeriesFile
from penstock.stins.checksums import checksums
from penstock.stins.messages import Frame
from tests.receiver.files.stores.parts.conftest import BLOCK
from tests.receiver.files.stores.written import DETECTOR, SHAPE, Written, array, frame, status_of
from tests.receiver.sample_series import start
from tests.streams import image

pytestmark = pytest.mark.usefixtures("small_blocks")

FILL = 65535
Begin = Callable[..., Written]
FILES = pytest.mark.parametrize("files", [2, 3, 5])


def packed(number: int) -> Frame:
    blobs = [bslz4.compress(array(number))]
    keys = {"checksums": checksums("crc32", blobs)}
    return Frame(image(number, array(number), compression="bslz4", series="a", **keys), blobs)


KINDS = {"plain": (frame, {}), "packed": (packed, {"compression": "bslz4", "checksum": "crc32"})}
MADE = pytest.mark.parametrize(("make", "keys"), KINDS.values(), ids=KINDS)
ANNOUNCED = {"shape": SHAPE, "type": "uint16"}


def holds(path: Path, stored: Iterable[int], length: int) -> None:
    """`data` has these frames, and the fill value elsewhere, by h5py and by Penstock's reader."""
    stored = set(stored)
    expected = [array(n) if n in stored else np.full(SHAPE, FILL, np.uint16) for n in range(length)]
    with h5py.File(path) as file:
        assert file["entry/data/data"].shape == (length, *SHAPE)
        np.testing.assert_array_equal(file["entry/data/data"][()], np.array(expected).reshape(-1, *SHAPE))
        assert file["entry/data/data"].fillvalue == FILL
        assert np.flatnonzero(status_of(file)).tolist() == sorted(stored)
    with SeriesFile(path) as series:
        for index in range(length):
            np.testing.assert_array_equal(series.frame(index), expected[index])
            assert index not in stored or series.stored_frame(index) is not None


def parts(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir() if each != path)


@FILES
@MADE
@pytest.mark.parametrize("frames", [40, None], ids=["announced", "unannounced"])
def test_frames_in_any_order_stand_at_their_index_and_what_never_came_is_no_count(
    files: int, make: Callable[[int], Frame], keys: dict[str, Any], frames: int | None, path: Path,
    series: Begin,
) -> None:  # fmt: skip
    written = series(files, frames, **(ANNOUNCED | {"compression": "none"} | keys if frames else {}))
    numbers = [number for number in range(40) if number not in (0, 7, 8, 9, 10, 11, 25, 39)]
    order = np.random.default_rng(files).permutation(numbers).tolist()
    for count, number in enumerate(order):
        written.add(make(number))
        if count % 11 == 10:
            written.writer.flush()
            found = written.writer.read(number)
            assert (bytes(found.blobs[0]), found.image.frame) == (bytes(make(number).blobs[0]), number)
    assert isinstance(written.store, PartsStore)
    written.close(triggered=40)
    holds(path, numbers, 39)
    assert parts(path) == [f"x_part{number}.h5" for number in range(1, files + 1)]


@FILES
def test_small_frames_that_come_together_go_to_their_parts(files: int, path: Path, series: Begin) -> None:
    written = series(files, 50, **ANNOUNCED, compression="none")
    written.add_run(*(frame(number) for number in range(20)))
    written.add_run(*(frame(number) for number in range(20, 21)))
    written.add_run(*(frame(number) for number in range(21, 50)))
    written.close(triggered=50)
    holds(path, range(50), 50)


@MADE
def test_while_a_series_runs_who_takes_no_lock_reads_what_was_flushed_and_no_arbitrary_pixels(
    make: Callable[[int], Frame], keys: dict[str, Any], path: Path, series: Begin
) -> None:
    written = series(3, None)
    for number in range(60):
        if number % 7 != 3:
            written.add(make(number))
        written.writer.flush()
        with h5py.File(path, locking=False) as file:
            data = file["entry/data/data"]
            for index in {0, number // 2, max(number - 1, 0), min(number, len(data) - 1)}:
                if index % 7 != 3:
                    np.testing.assert_array_equal(data[index], array(index))
                elif make is packed:  # a plain one has a place, which reads as zeros until the end
                    np.testing.assert_array_equal(data[index], np.full(SHAPE, FILL))
            if make is packed:
                np.testing.assert_array_equal(
                    data[number + 1 :], np.full((max(len(data) - number - 1, 0), *SHAPE), FILL)
                )
    written.close()


@MADE
@pytest.mark.parametrize("frames", [200, None], ids=["announced", "unannounced"])
def test_no_view_shows_more_of_a_part_than_there_is(
    make: Callable[[int], Frame], keys: dict[str, Any], frames: int | None, path: Path, series: Begin,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(writer, "ROWS_PER_STEP", 5)
    monkeypatch.setattr(views, "BLOCKS", 64)  # a view shows up to twice as many as there are
    written = series(3, frames)
    for number in range(110):
        written.add(make(number))
        written.writer.flush()
        assert mapped(path) > number
    written.close()
    mapped(path)


def mapped(path: Path) -> int:
    """Number of frames that views show, all of which are rows of a part."""
    shown = 0
    with h5py.File(path, locking=False) as file:
        for view in file[f"{DETECTOR}/parts"].values():
            for source in view.virtual_sources():
                (row, *_), _, _, (size, *_) = source.src_space.get_regular_hyperslab()
                shown += size
                place = path.with_name(source.file_name)
                if place.exists():
                    with h5py.File(place, locking=False) as part:
                        assert len(part["entry/data/data"]) >= row + size
    return shown


def test_views_have_few_mappings_however_long_the_series(path: Path, series: Begin) -> None:
    written = series(3, 100)
    for number in range(100):
        written.add(frame(number))
        if number % 20 == 0:
            written.writer.flush()
    written.close(triggered=100)
    holds(path, range(100), 100)
    with h5py.File(path) as file:
        group = file[f"{DETECTOR}/parts"]
        assert (group.attrs["files"], group.attrs["frames_per_block"]) == (3, BLOCK)
        assert max(len(view.virtual_sources()) for view in group.values()) == 4
        assert len(file["entry/data/data"].virtual_sources()) == len(group) == 9


@pytest.mark.parametrize("frames", [0, 1, 2, 4])
def test_no_part_without_frames_stays(frames: int, path: Path, series: Begin) -> None:
    written = series(4, 12, **ANNOUNCED, compression="none")
    assert len(parts(path)) == 4
    written.add(*(frame(number) for number in range(frames)))
    written.close("stopped")
    assert len(parts(path)) == -(-frames // BLOCK)
    with h5py.File(path) as file:
        assert len(file["entry/data/data"]) == frames


def test_a_part_says_whose_it_is_and_can_be_looked_at_alone(path: Path, series: Begin) -> None:
    written = series(2)
    written.add(*(frame(number) for number in range(12)))
    written.close(triggered=12)
    with h5py.File(path.with_name("x_part2.h5")) as file:
        assert (file.attrs["series_id"], file.attrs["part"], file.attrs["default"]) == ("a", 2, "entry")
        np.testing.assert_array_equal(file["entry/data/data"][()], [array(n) for n in (3, 4, 5, 9, 10, 11)])


def test_a_percent_sign_in_the_name_is_one(tmp_path: Path) -> None:
    path = tmp_path / "50%b%%.h5"
    written = Written(path, start(frames=9), files=2)
    written.add(*(frame(number) for number in range(9)))
    written.close(triggered=9)
    assert parts(path) == ["50%b%%_part1.h5", "50%b%%_part2.h5"]
    holds(path, range(9), 9)


def test_files_that_are_moved_together_stay_one_series(path: Path, tmp_path: Path, series: Begin) -> None:
    written = series(3, 20)
    written.add(*(frame(number) for number in range(20)))
    written.close(triggered=20)
    (tmp_path / "moved").mkdir()
    for name in ("x.h5", *parts(path)[1:]):
        shutil.move(tmp_path / name, tmp_path / "moved")
    holds(tmp_path / "moved" / "x.h5", range(20), 20)


# -- other files that are there ------------------------------------------------------------------


def whole(path: Path, files: int, frames: int = 20, **keys: Any) -> Written:
    written = Written(path, start(frames=frames, **keys), files=files)
    written.add(*(frame(number) for number in range(frames)))
    written.close(triggered=frames)
    return written


@pytest.mark.parametrize(("before", "after"), [(5, 2), (2, 5), (4, 1), (1, 3)])
def test_a_series_that_is_overwritten_leaves_no_part_behind(path: Path, before: int, after: int) -> None:
    whole(path, before)
    whole(path, after, overwrite=True)
    holds(path, range(20), 20)
    assert len(parts(path)) == (after if after > 1 else 0)


def test_parts_are_not_overwritten_unless_that_is_allowed(path: Path) -> None:
    whole(path, 2)
    path.unlink()
    with pytest.raises(StorageError, match=r"x_part1\.h5 exists and is not overwritten"):
        whole(path, 2, **ANNOUNCED, compression="none")
    assert not path.exists() and len(parts(path)) == 2


@pytest.mark.parametrize("files", [1, 3])
def test_a_users_file_with_the_name_of_a_part_is_never_replaced(path: Path, files: int) -> None:
    path.with_name("x_part2.h5").write_text("mine")
    if files == 1:
        whole(path, files, overwrite=True)
    else:
        with pytest.raises(StorageError, match=r"x_part2\.h5 exists and is no part of a series"):
            whole(path, files, overwrite=True, **ANNOUNCED, compression="none")
    assert path.with_name("x_part2.h5").read_text() == "mine"


def test_a_part_of_another_series_is_not_replaced_as_if_it_were_one(path: Path) -> None:
    whole(path, 3)
    part = path.with_name("x_part1.h5")
    config = ReceiverConfig(source=SourceConfig(endpoints=["tcp://127.0.0.1:1"]), data_root="/", files=3)
    for further in (names.further(config), None):
        with pytest.raises(NameTakenError, match=r"x_part1\.h5 holds frames of another series, so it is not"):
            names.check_free(part, overwrite=True, further=further)
    holds(path, range(20), 20)
    os.mkfifo(pipe := path.with_name("y_part1.h5"))
    names.check_free(pipe, overwrite=True, further=None)


@pytest.mark.parametrize("what", ["text", "folder", "series"])
def test_a_series_that_is_refused_for_a_users_file_leaves_the_one_that_it_would_replace(
    what: str, path: Path
) -> None:
    whole(path, 2)
    (part := path.with_name("x_part2.h5")).unlink()
    if what == "folder":
        part.mkdir()
    elif what == "series":
        whole(part, 1)
    else:
        part.write_text("mine")
    config = ReceiverConfig(source=SourceConfig(endpoints=["tcp://127.0.0.1:1"]), data_root="/", files=2)
    further = names.further(config)
    refusal = r"x_part2\.h5 exists and is no part of a series; give another"
    with pytest.raises(NameTakenError, match=refusal):
        names.check_free(path, overwrite=True, further=further)
    path.unlink()
    with pytest.raises(NameTakenError, match=refusal):  # to allow overwriting is no advice here
        names.check_free(path, overwrite=False, further=further)
    if what == "folder":
        part.rmdir()
    else:
        part.unlink()
    names.check_free(path, overwrite=True, further=further)


def add_and_flush(written: Written, frames: Iterable[Frame]) -> None:
    for each in frames:
        written.add(each)
    written.writer.flush()


# -- faults ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
@MADE
def test_if_one_part_cannot_be_written_the_series_ends_and_every_frame_that_counts_is_there(
    number: int, make: Callable[[int], Frame], keys: dict[str, Any], path: Path, series: Begin,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    real = write_thread.pwritev_all
    written = series(3, 60, **(ANNOUNCED | {"compression": "none"} | keys))
    store = written.store
    assert isinstance(store, PartsStore)
    broken = os.fstat(store._parts[1].disk.descriptor).st_ino  # type: ignore[union-attr]

    def fails(descriptor: int, blobs: Any, offset: int) -> Iterator[int]:
        if os.fstat(descriptor).st_ino == broken:
            raise OSError(number, os.strerror(number))
        yield from real(descriptor, blobs, offset)

    written.add(*(make(n) for n in range(20)))
    written.writer.flush()
    with monkeypatch.context() as broken_disk:
        broken_disk.setattr(write_thread, "pwritev_all", fails)
        with pytest.raises(WriterError, match=os.strerror(number)):
            add_and_flush(written, [make(n) for n in range(20, 60)])
    with contextlib.suppress(WriterError):
        written.close("it cannot be written")
    with h5py.File(path) as file:
        statuses = np.array(status_of(file))
        stored = np.flatnonzero(statuses)
        assert len(stored) == written.series.account.counts().stored >= 20
        assert file[f"{DETECTOR}/series/state"].asstr()[()] == "incomplete"
    holds(path, stored.tolist(), len(statuses))
    if make is packed:
        with SeriesFile(path) as found:
            judged = verify(found)
        assert judged.is_sound and judged.verified == len(stored)


def test_of_frames_that_nobody_announced_the_reason_says_that_more_may_have_come(
    path: Path, series: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(descriptor: int, blobs: Any, offset: int) -> Iterator[int]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    written = series(3, None, **ANNOUNCED, compression="none")
    add_and_flush(written, [frame(n) for n in range(20)])
    written.add(*(frame(n) for n in range(20, 24)))
    monkeypatch.setattr(write_thread, "pwritev_all", fails)
    with pytest.raises(WriterError, match="could not write the last frames"):
        written.close("the receiver is told to stop")
    with h5py.File(path) as file:
        reason = file[f"{DETECTOR}/series/reason"].asstr()[()]
    assert "20 of 24 frames are in the file, how many more were to come is not known. " in reason


@pytest.mark.parametrize(
    "act", [os.unlink, lambda name: os.rename(name, f"{name}.moved")], ids=["removed", "moved"]
)
def test_a_part_that_is_gone_in_mid_series_ends_it_with_its_name(
    act: Callable[[str], None], path: Path, series: Begin
) -> None:
    written = series(3, 30)
    written.add(*(frame(number) for number in range(12)))
    written.writer.flush()
    act(str(path.with_name("x_part2.h5")))
    written.add(*(frame(number) for number in range(12, 15)))
    with pytest.raises(WriterError, match=r"x_part2\.h5 was removed, moved or replaced; 9 of 30 frames are"):
        written.writer.flush()
    with contextlib.suppress(WriterError):
        written.close("a part is gone")
    gone = {3, 4, 5, 12, 13, 14}
    with h5py.File(path) as file:
        assert np.flatnonzero(status_of(file)).tolist() == [n for n in range(12) if n not in gone]


def test_a_file_of_the_series_that_is_gone_is_said(path: Path, series: Begin) -> None:
    written = series(2, 30)
    written.add(*(frame(number) for number in range(12)))
    path.unlink()
    with pytest.raises(FileGoneError, match=r"but for the pixels, which are in x_….h5"):
        written.writer.flush()
    with contextlib.suppress(WriterError):
        written.close("gone")


# -- what is found in a finished series ----------------------------------------------------------


def test_a_part_that_is_removed_truncated_or_foreign_is_named_with_its_frames(
    path: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    for place, series in ((path, "a"), (tmp_path / "other" / "x.h5", "b")):
        written = Written(place, start(frames=18, series=series), files=3)
        written.add(*(frame(number) for number in range(18)))
        written.close(triggered=18)
    second, third = (path.with_name(f"x_part{number}.h5") for number in (2, 3))
    kept = second.read_bytes()
    frames = "frames 3-5, 12-14 count as stored, but have no data"

    def found() -> str:
        with SeriesFile(path) as file:
            verdict = check_series(file)
            assert not verdict.is_clean() and verdict.frames_read == 12
            return " ".join(finding.sentence for finding in verdict.findings)

    second.unlink()
    assert f"files that do not exist: {second}; put these back" in (said := found()) and frames in said
    shutil.copy(tmp_path / "other" / "x_part2.h5", second)
    assert f"{second} holds part 2 of series b: put part 2 of series a back in its place" in (said := found())
    assert frames in said
    with SeriesFile(path) as file:
        with pytest.raises(ReaderError, match="frame 4 of .* cannot be read: .* holds part 2 of series b"):
            file.frame(4)
        np.testing.assert_array_equal(file.frame(6), array(6))
    shutil.copy(third, second)
    assert f"{second} holds part 3 of series a: put part 2 of series a back in its place" in found()
    second.write_bytes(kept[: len(kept) // 2])
    assert str(second) in (said := found()) and "truncated" in said and frames in said
    second.write_bytes(kept)
    holds(path, range(18), 18)


@pytest.mark.slow
def test_a_million_small_frames_stand_at_their_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealing, "BLOCK_BYTES", 2**19)
    monkeypatch.setattr(views, "BLOCKS", 128)
    monkeypatch.setattr(views, "FIRST_VIEWS", 16)
    path, total, run, shape = tmp_path / "x.h5", 1_000_000, 500, (4, 8)
    written = Written(path, start(frames=total, shape=shape, type="uint32", compression="none"), files=4)
    every = np.repeat(np.arange(total, dtype=np.uint32), 32).reshape(total, *shape)
    for first in range(0, total, run):
        written.add_run(
            *(Frame(image(n, every[n], series="a"), [every[n].data]) for n in range(first, first + run))
        )
        if first % 50_000 == 0:
            written.writer.flush()
    written.close(triggered=total)
    with h5py.File(path) as file:
        data = file["entry/data/data"]
        assert data.shape == (total, *shape) and len(file[f"{DETECTOR}/parts"]) == 2
        for first in range(0, total, 100_000):
            np.testing.assert_array_equal(data[first : first + 100_000], every[first : first + 100_000])


def test_if_a_part_cannot_be_created_nothing_is_left(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = SegmentFile._create

    def full(segment: SegmentFile, about: dict[str, Any]) -> Any:
        if about["part"] == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(segment, about)

    monkeypatch.setattr(SegmentFile, "_create", full)
    with pytest.raises(StorageError, match="No space left on device"):
        Written(path, start(frames=40, **ANNOUNCED, compression="none"), files=4)
    assert list(path.parent.iterdir()) == []
