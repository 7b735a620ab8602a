"""A file as the window's source: what it says of itself, and while somebody writes it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import msgspec
import numpy as np
import pytest
from fabio.cbfimage import CbfImage

from penstock.gui.live.measure.facts import Informed
from penstock.gui.live.sources import file_source
from penstock.gui.live.sources.file_source import FileSource
from penstock.gui.live.sources.source import Away, Part, Refused, Source
from penstock.receiver.models import FrameStatus, Rectangle
from tests.receiver.h5_file import picture, write_series
from tests.receiver.reading.hdf5.views import raw, view

WRITER = """
import sys
from pathlib import Path

from penstock.receiver.files.stores import Writing
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.messages import Frame, Header, Image, SeriesEnd, Start

sys.path.insert(0, sys.argv[3])
from tests.receiver.h5_file import SHAPE, picture

path, kind = Path(sys.argv[1]), sys.argv[2]
form = {"shape": SHAPE, "type": "uint16", "compression": "none"}
series = RunningSeries(Start(Header(filename=str(path), series="a1", frames=4, **form), {}))
how = {"plain": {}, "swmr": {"swmr": True}, "segments": {"frames_per_file": 2}}[kind]
writer = SeriesWriter(path, "sim", series, "test", Writing(**how))
for line in sys.stdin:
    if line.strip() == "close":
        break
    index = int(line)
    image = Image(shape=SHAPE, type="uint16", compression="none", frame=index, series="a1")
    writer.add(index, Frame(image, [picture(index).tobytes()]))
    series.account.take(index, FrameStatus.STORED)
    writer.flush()
    print(index, flush=True)
series.end = SeriesEnd(series="a1", reason="complete", triggered=4, sent=4)
writer.close(series.close(None), synced=False)
"""
"""The receiver's own writer, in a process of its own, which goes on when it is told to."""
ROOT = Path(__file__).resolve().parents[4]


class Written:
    """A file that grows."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind = path, kind
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), kind, str(ROOT)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def add(self, index: int) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(index, file=self._process.stdin, flush=True)
        assert self._process.stdout.readline() == f"{index}\n"

    def close(self) -> None:
        """End the series; once only."""
        if self._process.poll() is None:
            self._process.communicate("close\n", timeout=30)
        assert self._process.returncode == 0


@pytest.fixture(params=["plain", "swmr", "segments"])
def written(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Written]:
    monkeypatch.setattr(file_source, "LOOK", 0.0)
    writing = Written(tmp_path / "growing.h5", request.param)
    try:
        writing.add(0)
        yield writing
    finally:
        writing.close()


def opened(path: Path, **options: Any) -> FileSource:
    source = FileSource(path, **options)
    source.status()
    return source


def test_a_series_is_told_with_its_account_and_all_its_gaps(tmp_path: Path) -> None:
    write_series(tmp_path / "a.h5", 9, lost=(2, 3), corrupt=(7,))
    source: Source = opened(tmp_path / "a.h5")
    status = source.status()
    assert status.state == "idle" and status.detector == "sim"
    assert status.series is not None and status.series.id == "a1" and status.series.complete is False
    assert status.counts.stored == 6 and status.counts.missing == 2
    assert source.lost() == ((2, 3, "missing"), (7, 7, "corrupt"))
    assert source.count() == 9 and source.frame_status(7) is FrameStatus.CORRUPT
    assert source.content().images and source.address == str(tmp_path / "a.h5")


def test_it_begins_with_the_first_frame_that_is_there_and_shows_it_once(tmp_path: Path) -> None:
    write_series(tmp_path / "a.h5", 5, lost=(0,))
    source = opened(tmp_path / "a.h5")
    frame = source.newest()
    assert frame is not None and frame.frame == 1 and np.array_equal(frame.array, picture(1))
    assert source.newest(frame.version) is None
    assert (frame.status, frame.series, frame.trigger) == ("stored", "a1", 1)


def test_what_a_file_says_of_its_pixels_goes_with_each_frame(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        detector = file.create_group("entry/instrument/detector")
        detector["data"] = np.array([[[-4, -1]]], np.int32)
        detector["underload_value"], detector["saturation_value"] = -1, 90
    frame = opened(tmp_path / "a.h5").frame(0)
    assert (frame.underload, frame.saturation, frame.status) == (-1, 90, None)
    for header, underload in (({"_array_data.header_convention": "PILATUS_1.2"}, 0), ({}, None)):
        CbfImage(data=np.array([[-2, -1, 3]], np.int32), header=header).write(str(tmp_path / "a.cbf"))
        assert opened(tmp_path / "a.cbf").frame(0).underload == underload


def test_a_frame_that_is_not_there_is_refused_with_its_fate(tmp_path: Path) -> None:
    write_series(tmp_path / "a.h5", 5, lost=(2,), corrupt=(3,))
    source = opened(tmp_path / "a.h5")
    for index, kind in ((2, "missing"), (3, "corrupt"), (5, "out_of_range")):
        with pytest.raises(Refused) as refused:
            source.frame(index)
        assert refused.value.kind == kind, index
    with pytest.raises(Refused, match="has no channel high"):
        source.frame(1, Part(channel="high"))


def test_a_file_that_is_not_there_yet_is_read_once_it_is(tmp_path: Path) -> None:
    source = FileSource(tmp_path / "a.h5")
    with pytest.raises(Away, match="does not exist"):
        source.status()
    write_series(tmp_path / "a.h5", 3)
    assert source.status().counts.stored == 3


def test_a_file_that_is_being_written_is_followed_to_its_end(written: Written, tmp_path: Path) -> None:
    source = opened(tmp_path / "growing.h5")
    status = source.status()
    assert status.state == "running" and status.latest_frame == 0 and source.follows()
    assert source.count() == 4 and source.lost() == ()
    for index in (1, 2, 3):
        written.add(index)
        status = source.status(seen=status.version, wait=10.0)
        assert status.latest_frame == index
        frame = source.newest()
        assert frame is not None and frame.frame == index and np.array_equal(frame.array, picture(index))
    written.close()
    status = source.status(seen=status.version, wait=10.0)
    assert status.state == "idle" and status.series is not None and status.series.complete
    assert not source.follows()
    frame = source.newest()
    assert frame is not None and frame.frame == 3, "what was followed does not jump to its beginning"


@pytest.mark.parametrize("written", ["plain"], indirect=True)
def test_of_a_file_that_does_not_hold_still_no_frame_is_shown(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = opened(tmp_path / "growing.h5")
    real, turns = file_source._frame, iter(range(100))

    def another_each_time(*arguments: Any) -> Any:
        frame = real(*arguments)
        return msgspec.structs.replace(frame, array=frame.array + next(turns))

    monkeypatch.setattr(file_source, "_frame", another_each_time)
    with pytest.raises(Refused, match="is being written, and does not hold still"):
        source.frame(0)
    monkeypatch.undo()
    assert np.array_equal(source.frame(0).array, picture(0))


def test_another_file_is_read_again_on_request_only(tmp_path: Path) -> None:
    path = tmp_path / "others.h5"
    with h5py.File(path, "w") as file:
        file["stack"] = np.zeros((2, 3, 4), np.uint16)
    source = opened(path)
    before = source.status()
    assert source.count() == 2 and not source.follows()
    path.unlink()
    with h5py.File(path, "w") as file:
        file["stack"] = np.ones((5, 3, 4), np.uint16)
    assert source.status().version == before.version and source.count() == 2
    source.reload()
    assert source.status(seen=before.version, wait=10.0).version != before.version
    assert source.count() == 5 and source.frame(4).array.all()


def test_geometry_mask_and_rectangle_are_the_files_own(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run_master.h5", "w") as file:
        detector = file.create_group("entry/instrument/detector")
        for name, value, unit in (
            ("detector_distance", 150.0, "mm"), ("x_pixel_size", 7.5e-5, "m"), ("y_pixel_size", 75.0, "um"),
            ("beam_center_x", 2.5, "pixel"), ("beam_center_y", 1.5, "pixel"),
        ):  # fmt: skip
            detector[name] = value
            detector[name].attrs["units"] = unit
        wavelength = file.create_dataset("entry/instrument/beam/incident_wavelength", data=1.0)
        wavelength.attrs["units"] = "angstrom"
        mask = np.zeros((3, 4), np.uint32)
        mask[1, 2] = 1
        detector["detectorSpecific/pixel_mask"] = mask
        file["entry/data/data_000001"] = np.arange(24, dtype=np.uint16).reshape(2, 3, 4)
    source = opened(tmp_path / "run_master.h5")
    assert isinstance(source, Informed)
    known = source.geometry("")
    assert known.distance == pytest.approx(0.15) and known.y_pixel_size == pytest.approx(7.5e-5)
    assert (known.beam_center_x, known.beam_center_y) == (2.5, 1.5)
    assert known.wavelength == pytest.approx(1.0) and known.energy == pytest.approx(12398.42, abs=0.01)
    assert known.unknown == ["detector_orientation", "sensor_thickness", "sensor_material"]
    assert np.array_equal(source.mask(""), mask)
    part = source.rectangle(source.frame(1), Rectangle(x=1, y=1, width=2, height=9))
    assert part.array.tolist() == [[17, 18], [21, 22]] and (part.x, part.y, part.frame) == (1, 1, 1)


def test_a_file_that_says_nothing_of_the_beam_is_measured_without(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["stack"] = np.zeros((2, 3, 4))
    source = opened(tmp_path / "a.h5")
    with pytest.raises(Refused, match=r"a\.h5 says nothing of detector and beam"):
        source.geometry("")
    assert source.mask("") is None


def test_frames_of_another_program_that_were_never_stored_are_gaps_with_a_reason(tmp_path: Path) -> None:
    raw(tmp_path / "raw_0.h5", (0, 1))
    view(tmp_path / "a.h5", 5, ((0, 2, "raw_0.h5"), (2, 3, "raw_1.h5")))
    source = opened(tmp_path / "a.h5")
    assert source.lost() == ((2, 4, "missing"),) and source.count() == 5
    with pytest.raises(Refused, match=r"^frame 3 is missing: .*/raw_1\.h5 does not exist$") as refused:
        source.frame(3)
    assert refused.value.kind == "missing"
    raw(tmp_path / "raw_1.h5", (2, 3, 4))
    source.reload()
    source.status()
    assert source.lost() == () and (source.frame(3).array == 4).all()


def test_another_of_its_images_can_be_chosen(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "two.h5", "w") as file:
        file["one"], file["two"] = np.zeros((2, 3, 4)), np.ones((3, 3, 4))
    source = opened(tmp_path / "two.h5")
    assert source.choices() == (("one", "two"), "one")
    source.reload("two")
    source.status()
    assert source.choices()[1] == "two" and source.frame(2).array.all()


def reads() -> int:
    """Return how many times this thread has read from a file so far."""
    lines = Path("/proc/thread-self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["syscr"])


def long_series(folder: Path, frames: int) -> Path:
    path = folder / f"series-{frames}.h5"
    write_series(path, frames, lost=range(7, frames, 100), compression="none")
    return path


def long_stack(folder: Path, frames: int) -> Path:
    path = folder / f"stack-{frames}.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group("data")
        group.attrs["NX_class"], group.attrs["signal"] = "NXdata", "frames"
        group.create_dataset("frames", data=np.zeros((frames, 4, 4), "u2"), chunks=(1, 4, 4))
    return path


@pytest.mark.parametrize("make", [long_series, long_stack])
def test_opening_reads_no_more_where_there_are_many_more_frames(
    make: Callable[[Path, int], Path], tmp_path: Path
) -> None:
    few, many = 200, 6000
    needed = {}
    for frames in (few, many):
        path = make(tmp_path, frames)
        before = reads()
        source = opened(path)
        assert source.newest() is not None
        assert source.count() == frames and bool(source.lost()) is (make is long_series)
        needed[frames] = reads() - before
    # HDF5 itself looks at the tree of pieces, which has 64 of them in a leaf.
    assert needed[many] - needed[few] < (many - few) // 20
