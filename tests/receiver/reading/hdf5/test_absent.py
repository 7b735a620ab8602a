"""Frames that were never stored, or are in a file that is away, are absent: HDF5 would read zeros."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.processing.sources.file import FileFrames
from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.frame_files import open_frames
from penstock.receiver.reading.reader import ReaderError
from tests.receiver.files.stores.written import SHAPE, Written, frame
from tests.receiver.reading.hdf5.views import mapped, picture, raw, view
from tests.receiver.sample_series import start

THERE, PART, GONE = int(FrameStatus.STORED), int(FrameStatus.PARTIAL), int(FrameStatus.MISSING)
FRAMES = np.stack([picture(index) for index in range(4)])
Cases = dict[str, tuple[Callable[[Path], None], "list[int] | None", str]]


def of_two(folder: Path) -> None:
    raw(folder / "raw_0.h5", (0, 1))
    view(folder / "a.h5", 4, ((0, 2, "raw_0.h5"), (2, 2, "raw_1.h5")))


def truncated(folder: Path) -> None:
    of_two(folder)
    raw(folder / "whole.h5", (2, 3))
    (folder / "raw_1.h5").write_bytes((folder / "whole.h5").read_bytes()[:-9])


def no_hdf5(folder: Path) -> None:
    of_two(folder)
    (folder / "raw_1.h5").write_bytes(b"frames" * 99)


def no_dataset(folder: Path) -> None:
    of_two(folder)
    raw(folder / "raw_1.h5", (2, 3), "others")


def fewer(folder: Path) -> None:
    of_two(folder)
    raw(folder / "raw_1.h5", (2,))


def fewer_of_some(folder: Path) -> None:
    raw(folder / "raw_0.h5", (0, 1, 2))
    layout = h5py.VirtualLayout((4, 2, 4), np.uint16)
    layout[:] = h5py.VirtualSource("raw_0.h5", "data", (9, 2, 4))[:4]
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_virtual_dataset("data", layout)


def two_levels(folder: Path) -> None:
    raw(folder / "raw_0.h5", (0, 1))
    view(folder / "inner.h5", 4, ((0, 2, "raw_0.h5"), (2, 2, "raw_1.h5")))
    view(folder / "a.h5", 4, ((0, 4, "inner.h5"),))


def unmapped(folder: Path) -> None:
    raw(folder / "raw_0.h5", (0, 1))
    view(folder / "a.h5", 4, ((0, 2, "raw_0.h5"),))


def every_second(folder: Path) -> None:
    raw(folder / "raw_0.h5", (0, 2))
    layout = h5py.VirtualLayout((4, 2, 4), np.uint16)
    for number in (0, 1):
        layout[number::2] = h5py.VirtualSource(f"raw_{number}.h5", "data", (2, 2, 4))
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_virtual_dataset("data", layout)


def chunks(folder: Path, size: int = 1, **more: Any) -> None:
    with h5py.File(folder / "a.h5", "w") as file:
        data = file.create_dataset("data", (4, 2, 4), "u2", chunks=(size, 2, 4), **more)
        data[0], data[1] = picture(0), picture(1)


def contiguous(folder: Path) -> None:
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("data", (4, 2, 4), "u2")


def early(folder: Path) -> None:
    how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    how.set_chunk((1, 2, 4))
    how.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    space = h5py.h5s.create_simple((4, 2, 4))
    with h5py.File(folder / "a.h5", "w") as file:
        kind = h5py.h5t.py_create(np.dtype("u2"))
        h5py.Dataset(h5py.h5d.create(file.id, b"data", kind, space, dcpl=how))


def external(folder: Path, size: int | None = None) -> None:
    with h5py.File(folder / "a.h5", "w") as file:
        places = [(str(folder / "raw.bin"), 0, h5py.h5f.UNLIMITED)]
        file.create_dataset("data", (4, 2, 4), "u2", external=places)
    if size is not None:
        (folder / "raw.bin").write_bytes(FRAMES.tobytes()[:size])


def shorter_module(folder: Path) -> None:
    """The second of two modules, columns 2 and 3, has the first two frames only."""
    raw(folder / "left.h5", (0, 1, 2, 3), shape=(2, 2))
    raw(folder / "right.h5", (0, 1), shape=(2, 2))
    there = ((0, -1), (0, 2), (0, 2))
    mapped(
        folder / "a.h5", (0, 2, 4),
        (
            (((0, -1), (0, 2), (0, 2)), "left.h5", there),
            (((0, -1), (0, 2), (2, 2)), "right.h5", there),
        ),
    )  # fmt: skip


def counted(folder: Path) -> None:
    for number in (0, 2, 3):
        raw(folder / f"raw_{number}.h5", (number,))
    mapped(folder / "a.h5", (0, 2, 4), ((((0, -1), (0, 2), (0, 4)), "raw_%b.h5", ((0, 1), (0, 2), (0, 4))),))


def scan(folder: Path) -> None:
    """Its status beside the frames says that all but the second were stored."""
    raw(folder / "raw_0.h5", (0,))
    view(folder / "a.h5", 4, ((0, 1, "raw_0.h5"), (2, 2, "raw_1.h5")))
    with h5py.File(folder / "a.h5", "r+") as file:
        plot = file.create_group("entry")
        plot.attrs["NX_class"], plot.attrs["signal"] = "NXdata", "sim"
        file.move("data", "entry/sim")
        plot["sim_status"] = np.array([1, 0, 1, 1], np.uint8)


CASES: Cases = {
    "all there": (lambda folder: (of_two(folder), raw(folder / "raw_1.h5", (2, 3)))[0], None, ""),
    "away": (of_two, [THERE, THERE, GONE, GONE], r"raw_1\.h5 does not exist"),
    "truncated": (truncated, [THERE, THERE, GONE, GONE], r"raw_1\.h5 is truncated"),
    "no HDF5": (no_hdf5, [THERE, THERE, GONE, GONE], r"raw_1\.h5 is not an HDF5 file"),
    "no dataset": (no_dataset, [THERE, THERE, GONE, GONE], r"raw_1\.h5 has no data"),
    "fewer frames": (fewer, [THERE, THERE, THERE, GONE], r"data of .*raw_1\.h5 has fewer frames"),
    "fewer than are selected": (
        fewer_of_some, [THERE, THERE, THERE, GONE], r"data of .*raw_0\.h5 has fewer frames"
    ),
    "two levels": (two_levels, [THERE, THERE, GONE, GONE], r"raw_1\.h5 does not exist"),
    "unmapped": (unmapped, [THERE, THERE, GONE, GONE], "it is in no file"),
    "every second": (every_second, [THERE, GONE, THERE, GONE], r"raw_1\.h5 does not exist"),
    "chunks": (chunks, [THERE, THERE, GONE, GONE], "it was never written"),
    "chunks with a fill value": (
        lambda folder: chunks(folder, fillvalue=7), [THERE, THERE, GONE, GONE], "it was never written"
    ),
    "packed chunks": (
        lambda folder: chunks(folder, compression="gzip"), [THERE, THERE, GONE, GONE], "it was never written"
    ),
    "two frames per chunk": (lambda folder: chunks(folder, 2), [THERE, THERE, GONE, GONE], "never written"),
    "contiguous": (contiguous, [GONE] * 4, "it was never written"),
    "allocated early, which tells nothing": (early, None, ""),
    "external": (external, [GONE] * 4, r"raw\.bin does not exist"),
    "external, all there": (lambda folder: external(folder, 64), None, ""),
    # Of four frames of 16 bytes each, two and a half.
    "external, too short": (
        lambda folder: external(folder, 40), [THERE, THERE, GONE, GONE], r"raw\.bin ends before it"
    ),
    "a shorter module": (
        shorter_module, [THERE, THERE, PART, PART], r"data of .*right\.h5 has fewer frames than are shown"
    ),
    "counted files": (counted, [THERE, GONE, THERE, THERE], r"raw_1\.h5 does not exist"),
    "a scan": (scan, [THERE, GONE, GONE, GONE], "^it never arrived$|raw_1"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_was_never_stored_is_absent_and_the_others_are_read(case: str, tmp_path: Path) -> None:
    make, expected, why = CASES[case]
    make(tmp_path)
    with open_frames(tmp_path / "a.h5") as file:
        assert file.shape == (4, 2, 4)
        assert (None if file.status is None else file.status.tolist()) == expected
        for index, status in enumerate(expected or [THERE] * 4):
            if status == THERE:
                assert file.why(index) is None and file.missing(index) is None
                if case != "allocated early, which tells nothing":
                    assert file.frame(index).tolist() == picture(index).tolist()
                continue
            said = file.why(index)
            assert said is not None and re.search(why, said), said
            if status == GONE:
                with pytest.raises(ReaderError, match=f"frame {index} of .* is not there: {re.escape(said)}"):
                    file.frame(index)
            else:  # the right half of the image is missing
                missing = file.missing(index)
                assert missing is not None and missing.tolist() == [[False, False, True, True]] * 2
                assert file.frame(index)[:, :2].tolist() == picture(index)[:, :2].tolist()
    with FileFrames(tmp_path / "a.h5") as source:
        assert source.indices.tolist() == [index for index in range(4) if not expected or expected[index]]


def test_tiles_that_were_never_written_are_missing_in_a_frame(tmp_path: Path) -> None:
    """Frames of 3 × 5 pixels in tiles of 2 × 2; of frame 1 the first and the last tile were written."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        data = file.create_dataset("data", (3, 3, 5), "u2", chunks=(1, 2, 2))
        data[0] = 1
        data[1, 0, 0] = 2
        data[1, 2, 4] = 3
    with open_frames(tmp_path / "a.h5") as opened:
        assert opened.status is not None and opened.status.tolist() == [THERE, PART, GONE]
        assert opened.why(1) == "a part of it was never written: the file has a place for it, and no pixels"
        missing = opened.missing(1)
        assert missing is not None
        assert missing.astype(int).tolist() == [[0, 0, 1, 1, 1], [0, 0, 1, 1, 1], [1, 1, 1, 1, 0]]
        assert opened.missing(0) is None


def test_modules_of_one_dataset_that_are_put_side_by_side_miss_what_was_never_written(tmp_path: Path) -> None:
    """Two modules of 1 × 2 pixels with a column between them, which belongs to none; module 1 of frame 1 and
    both of frame 2 were never written."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        modules = file.create_dataset("parts/modules", (3, 2, 1, 2), "u2", chunks=(1, 1, 1, 2))
        modules[0], modules[1, 0] = 5, 6
        layout = h5py.VirtualLayout((3, 1, 5), "u2")
        source = h5py.VirtualSource(modules)
        layout[:, :, :2], layout[:, :, 3:] = source[:, 0], source[:, 1]
        plot = file.create_group("entry")
        plot.attrs["NX_class"], plot.attrs["signal"] = "NXdata", "data"
        plot.create_virtual_dataset("data", layout)
    with open_frames(tmp_path / "a.h5") as opened:
        assert opened.status is not None and opened.status.tolist() == [THERE, PART, GONE]
        missing = opened.missing(1)
        assert missing is not None and missing.tolist() == [[False, False, False, True, True]]
        assert opened.frame(1).tolist() == [[6, 6, 0, 0, 0]]


def test_the_frames_of_a_map_are_absent_by_their_number(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        data = file.create_dataset("data", (2, 3, 2, 4), "u2", chunks=(1, 1, 2, 4))
        data[0, 1], data[1, 0] = picture(1), picture(3)
    with open_frames(tmp_path / "a.h5") as opened:
        assert opened.status is not None
        assert opened.status.tolist() == [GONE, THERE, GONE, THERE, GONE, GONE]
        assert opened.frame(3).tolist() == picture(3).tolist()


def test_of_very_many_files_each_is_looked_at_when_its_frame_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw(tmp_path / "raw_0.h5", (0,))
    (tmp_path / "raw_1.h5").write_bytes(b"no frames")
    view(tmp_path / "a.h5", 3, [(number, 1, f"raw_{number}.h5") for number in range(3)])
    monkeypatch.setattr("penstock.receiver.reading.hdf5.stack.Stored.__init__.__defaults__", (1,))
    with open_frames(tmp_path / "a.h5") as opened:
        assert opened.status is not None and opened.status.tolist() == [THERE, THERE, GONE]
        with pytest.raises(ReaderError, match=r"frame 1 of .* is not there: .*raw_1\.h5 is not an HDF5 file"):
            opened.frame(1)
        assert opened.frame(0).tolist() == picture(0).tolist()


def test_a_file_whose_frames_are_all_away_says_so(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["data/data_000001"] = h5py.ExternalLink("raw.h5", "/data")
    with pytest.raises(ReaderError, match=r"a\.h5 shows frames of another file: .*raw\.h5 does not exist"):
        open_frames(tmp_path / "a.h5")


def test_a_segment_of_a_series_that_is_away_is_absent_in_it(tmp_path: Path) -> None:
    opening = start(frames=4, shape=SHAPE, type="uint16", compression="none")
    written = Written(tmp_path / "x.h5", opening, frames_per_file=2)
    written.add(*map(frame, (0, 2, 3)))
    written.close()
    (tmp_path / "x_000002.h5").rename(tmp_path / "elsewhere.h5")
    with open_frames(tmp_path / "x.h5") as file:
        assert file.status is not None and file.status.tolist() == [THERE, GONE, GONE, GONE]
        assert file.why(1) == "it never arrived" and file.why(2) == f"{tmp_path}/x_000002.h5 does not exist"
        with pytest.raises(ReaderError, match=r"frame 3 of .*x_000002\.h5 does not exist"):
            file.frame(3)
