"""Frames of every kind of file that a receiver writes come as they were received, packed ones packed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest

from penstock.codecs import bslz4, lz4
from penstock.processing.distributor.series.from_files import whole_file
from penstock.processing.sources.file import STILL_WRITTEN, FileFrames
from penstock.processing.sources.stored_blobs import Located
from penstock.receiver.files.stores import preallocated
from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.frame_files import open_frames
from penstock.receiver.reading.reader import ReaderError
from penstock.receiver.transforms.channels import PartialFrame
from penstock.stins import codec
from penstock.stins.messages import Frame
from tests.receiver.files.stores.written import Written
from tests.receiver.h5_file import write_series
from tests.receiver.merge.test_receiver import Detector
from tests.receiver.sample_series import start
from tests.streams import image, pixels

SHAPE = (5, 7)


def plain(number: int) -> Frame:
    array = pixels(number, SHAPE)
    return Frame(image(number, array, series="a", timestamp=1e9 + number, trigger=number), [array.tobytes()])


def packed(number: int) -> Frame:
    array = pixels(number, SHAPE)
    return Frame(image(number, array, series="a", compression="bslz4"), [bslz4.compress(array)])


def packed_lz4(number: int) -> Frame:
    array = pixels(number, SHAPE)
    return Frame(image(number, array, series="a", compression="lz4"), [lz4.compress(array)])


def mixed(number: int) -> Frame:
    return plain(number) if number % 2 else packed(number)


def parts(number: int) -> Frame:
    array = pixels(number, (3, *SHAPE))
    return Frame(image(number, array, series="a"), [each.tobytes() for each in array])


def packed_parts(number: int) -> Frame:
    array = pixels(number, (3, *SHAPE))
    head = image(number, array, series="a", compression="bslz4")
    return Frame(head, [bslz4.compress(each) for each in array])


def spectrum(number: int) -> Frame:
    array = pixels(number, (11,))
    return Frame(image(number, array, series="a"), [array.tobytes()])


def colours(number: int) -> Frame:
    array = pixels(number, (4, 5, 3), "uint8")
    return Frame(image(number, array, series="a"), [array.tobytes()])


def big_endian(number: int) -> Frame:
    array = pixels(number, SHAPE).astype(">u4")
    return Frame(image(number, array, series="a", type=">u4"), [array.tobytes()])


KINDS: dict[str, tuple[Callable[[int], Frame], dict[str, Any], dict[str, Any]]] = {
    "plain": (plain, {}, {}),
    "plain, preallocated": (plain, {}, {}),
    "plain, two files": (plain, {}, {"files": 2}),
    "plain, swmr": (plain, {}, {"swmr": True}),
    "plain, segments": (plain, {}, {"frames_per_file": 7}),
    "bslz4": (packed, {}, {}),
    "bslz4, swmr": (packed, {}, {"swmr": True}),
    "bslz4, segments": (packed, {}, {"frames_per_file": 7}),
    "lz4": (packed_lz4, {}, {}),
    "plain and packed": (mixed, {"compression": "bslz4"}, {}),
    "three parts": (parts, {}, {}),
    "three packed parts": (packed_parts, {}, {}),
    "channels": (parts, {"channels": ("a", "b", "c")}, {}),
    "packed channels": (packed_parts, {"channels": ("a", "b", "c")}, {}),
    "spectra": (spectrum, {}, {}),
    "colours": (colours, {}, {}),
    "big endian": (big_endian, {}, {}),
}


@pytest.mark.parametrize("frames", [20, None], ids=["planned", "unplanned"])
@pytest.mark.parametrize("kind", KINDS)
def test_frames_come_as_they_were_received(
    tmp_path: Path, kind: str, frames: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, header, writing = KINDS[kind]
    if kind == "plain, preallocated":
        monkeypatch.setattr(preallocated, "LEAST_FRAME_BYTES", 1)
    first = make(0)
    keys = {"shape": first.image.shape, "type": first.image.type, "compression": first.image.compression}
    written = Written(tmp_path / "x.h5", start(frames=frames, **{**keys, **header}), **writing)
    numbers = [number for number in range(20) if number not in (3, 11)]
    written.add(*map(make, numbers))
    written.close()
    with FileFrames(tmp_path / "x.h5") as source:
        assert source.planned == 20 and source.indices.tolist() == numbers
        assert [number for number in range(-1, 22) if source.stored(number)] == numbers
        head = source.header
        assert (head.series, head.shape, head.type) == ("a", first.image.shape, first.image.type)
        assert (head.channels or ()) == header.get("channels", ())
        for number in numbers:
            expected = make(number)
            message = codec.decode(source.parts(number))
            assert isinstance(message, Frame)
            got = message.image
            assert (got.frame, got.shape, got.type, got.compression, got.series) == (
                number, expected.image.shape, expected.image.type, expected.image.compression, "a"
            )  # fmt: skip
            assert (got.timestamp, got.trigger) == (expected.image.timestamp, expected.image.trigger)
            assert [bytes(blob) for blob in message.blobs] == [bytes(blob) for blob in expected.blobs]
            assert got.partial is None
            located = source.located(number)
            assert located is not None and {each[0] for each in located} == {got.compression}
            assert [bytes_at(each) for each in located] == [bytes(blob) for blob in expected.blobs]
        with pytest.raises(ReaderError, match="does not have frame 3"):
            source.parts(3)


def bytes_at(located: Located) -> bytes:
    """What lies there, in the file that is said."""
    _, said, offset, nbytes = located
    if said is None:
        return b""
    state = os.stat(said.path)
    assert (said.device, said.inode) == (state.st_dev, state.st_ino)
    return Path(said.path).read_bytes()[offset : offset + nbytes]


def test_a_frame_of_which_channels_are_missing_is_partial(tmp_path: Path) -> None:
    whole = packed_parts(0)
    keys = {"shape": whole.image.shape, "type": "uint16", "compression": "bslz4"}
    written = Written(tmp_path / "x.h5", start(frames=2, channels=("a", "b", "c"), **keys))
    written.add(whole)
    later = packed_parts(1)
    states = (FrameStatus.STORED, FrameStatus.MISSING, FrameStatus.STORED)
    written.writer.add(1, PartialFrame(later.image, [later.blobs[0], b"", later.blobs[2]], states))
    written.series.account.take(1, FrameStatus.PARTIAL)
    written.close()
    with FileFrames(tmp_path / "x.h5") as source:
        assert source.indices.tolist() == [0, 1]
        message = codec.decode(source.parts(1))
        assert isinstance(message, Frame) and message.image.partial
        assert [bytes(blob) for blob in message.blobs] == [later.blobs[0], b"", later.blobs[2]]
        located = source.located(1)
        assert located is not None and [*map(bytes_at, located)] == [later.blobs[0], b"", later.blobs[2]]
    with open_frames(tmp_path / "x.h5") as file:
        missing = file.missing(1)
        assert missing is not None and missing.shape == (3, *SHAPE)
        assert missing.all((1, 2)).tolist() == missing.any((1, 2)).tolist() == [False, True, False]
        alone = file.missing(1, "b")
        assert file.missing(0) is None and file.missing(1, "c") is None
        assert alone is not None and alone.shape == SHAPE and alone.all()
        assert file.why(1) == "some of its modules, channels or pixels never arrived"


def test_gaps_that_a_virtual_dataset_hides_are_no_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preallocated, "LEAST_FRAME_BYTES", 1)
    monkeypatch.setattr("penstock.receiver.files.stores.gaps.MOST_FILLED_BYTES", 1)
    written = Written(tmp_path / "x.h5", start(frames=60, shape=SHAPE, type="uint16", compression="none"))
    numbers = [number for number in range(60) if number % 3 == 0]
    written.add(*map(plain, numbers))
    written.close()
    with h5py.File(tmp_path / "x.h5") as file:
        assert file["entry/data/data"].is_virtual
    with FileFrames(tmp_path / "x.h5") as source:
        assert source.indices.tolist() == numbers
        assert [bytes(source.parts(number)[1]) for number in numbers] == [
            plain(number).blobs[0] for number in numbers
        ]


@pytest.fixture
def detector(tmp_path: Path) -> Iterator[Callable[..., Detector]]:
    """Starts a detector of two modules and its receiver."""
    started: list[Detector] = []

    def begin(**keys: Any) -> Detector:
        started.append(Detector(tmp_path / "modules", **keys))
        return started[-1]

    yield begin
    for running in started:
        running.close()


@pytest.mark.parametrize("rotation", [0, pytest.param(90, marks=pytest.mark.slow)], ids=["virtual", "turned"])
def test_joined_modules_come_as_their_consumers_get_them(
    detector: Callable[..., Detector], rotation: float
) -> None:
    running = detector(rotation=rotation, gap={"seconds": 0.2})
    series = running.start("x.h5", frames=3)
    running.frame(0)
    running.frame(1, 1)
    running.frame(2)
    running.end()
    running.receiver.ended(series)
    with FileFrames(running.receiver.root / "x.h5") as source:
        assert source.header.shape == (2, 4, 6) and source.indices.tolist() == [0, 1, 2]
        for number, modules in ((0, (0, 1)), (1, (1,)), (2, (0, 1))):
            message = codec.decode(source.parts(number))
            assert isinstance(message, Frame)
            assert [bytes(blob) for blob in message.blobs] == [
                pixels(2 * number + module).tobytes() if module in modules else b"" for module in range(2)
            ]
            assert (message.image.partial is not None) == (number == 1)
            located = source.located(number)
            assert located is not None and [*map(bytes_at, located)] == [
                bytes(blob) for blob in message.blobs
            ]
    with open_frames(running.receiver.root / "x.h5") as file:
        missing = file.missing(1)
        # Module 0 is missing: the first 4 of 14 rows; or the first of two images, where they are turned.
        expected = np.zeros((2, 4, 6) if rotation else (14, 6), bool)
        expected[: 1 if rotation else 4] = True
        assert missing is not None and np.array_equal(missing, expected)
        assert file.missing(0) is None


def test_geometry_and_mask_of_the_file_are_those_of_the_start_message(tmp_path: Path) -> None:
    mask = np.zeros(SHAPE, np.uint32)
    mask[2, 3] = 1
    said = {
        "distance": 0.2, "beam_center_x": 2.0, "beam_center_y": 1.5, "x_pixel_size": 1e-4,
        "y_pixel_size": 1e-4, "incident_energy": 12_400.0, "pixel_mask": mask.tolist(),
    }  # fmt: skip
    written = Written(tmp_path / "x.h5", start(frames=1, metadata=said))
    written.add(plain(0))
    written.close()
    with FileFrames(tmp_path / "x.h5") as source:
        for name, value in said.items():
            if name != "pixel_mask":
                assert source.metadata[name] == pytest.approx(value)
        assert source.mask is not None and np.array_equal(source.mask, mask)
        assert source.group == "/entry/instrument/sim_1"


def test_a_file_of_no_frames_has_none(tmp_path: Path) -> None:
    written = Written(tmp_path / "x.h5", start(frames=0))
    written.close()
    with FileFrames(tmp_path / "x.h5") as source:
        assert source.planned == 0 and len(source.indices) == 0 and not source.stored(0)


@pytest.mark.parametrize(
    "keys",
    [{}, {"chunks": (2, *SHAPE)}, {"chunks": (1, *SHAPE), "compression": "gzip"},
     {"chunks": (1, *SHAPE), **hdf5plugin.Bitshuffle(cname="zstd")},
     {"chunks": (1, *SHAPE), **hdf5plugin.Bitshuffle(cname="lz4")}],
    ids=["contiguous", "two frames per chunk", "gzip", "bitshuffle with zstd", "bslz4"],
)  # fmt: skip
def test_files_of_other_programs_have_all_frames(tmp_path: Path, keys: dict[str, Any]) -> None:
    frames = np.stack([pixels(number, SHAPE) for number in range(6)])
    with h5py.File(tmp_path / "x.h5", "w") as file:
        data = file.create_dataset("entry/instrument/detector/data", data=frames, **keys)
        for name, kind in (
            ("entry", "NXentry"),
            ("entry/instrument", "NXinstrument"),
            (data.parent.name, "NXdetector"),
        ):
            file[name].attrs["NX_class"] = kind
    with FileFrames(tmp_path / "x.h5") as source:
        assert source.indices.tolist() == list(range(6)) and source.planned == 6
        for number in range(6):
            message = codec.decode(source.parts(number))
            assert isinstance(message, Frame) and message.image.compression == "none"
            assert bytes(message.blobs[0]) == frames[number].tobytes()
            assert source.located(number) is None


def test_a_file_that_was_cut_is_a_sentence(tmp_path: Path) -> None:
    written = Written(tmp_path / "x.h5", start(frames=2))
    written.add(plain(0), plain(1))
    written.close()
    source = FileFrames(tmp_path / "x.h5")
    source.parts(0)
    with (tmp_path / "x.h5").open("r+b") as file:
        file.truncate(512)
    with pytest.raises(ReaderError, match="frame 1 of .*x.h5 cannot be read: .* is truncated"):
        source.parts(1)
    source.close()


def test_a_segment_that_cannot_be_read_is_named_with_its_cause(tmp_path: Path) -> None:
    written = Written(tmp_path / "x.h5", start(frames=2), frames_per_file=1)
    written.add(plain(0), plain(1))
    written.close()
    (tmp_path / "x_000002.h5").write_text("no HDF5 " * 100)
    with FileFrames(tmp_path / "x.h5") as source:
        assert len(source.parts(0)) == 2
        with pytest.raises(ReaderError, match="frame 1 of .*x.h5 .*x_000002.h5 is not an HDF5 file"):
            source.parts(1)
        assert source.located(0) is not None and source.located(1) is None


def test_a_file_that_is_replaced_is_read_to_its_end_and_said_to_be_the_one_that_is_open(
    tmp_path: Path,
) -> None:
    write_series(tmp_path / "x.h5", 3, compression="none")
    inode = os.stat(tmp_path / "x.h5").st_ino
    with FileFrames(tmp_path / "x.h5") as source:
        (tmp_path / "x.h5").rename(tmp_path / "y.h5")
        write_series(tmp_path / "x.h5", 1)
        # Each frame is 48 numbers in order, from its index on.
        assert bytes(source.parts(2)[1]) == np.arange(2, 50, dtype="<u2").tobytes()
        located = source.located(2)
        assert located is not None and located[0][1] is not None
        assert (located[0][1].path, located[0][1].inode) == (str(tmp_path / "x.h5"), inode)
        assert os.stat(tmp_path / "x.h5").st_ino != inode


def test_a_file_of_an_incomplete_series_says_why(tmp_path: Path) -> None:
    write_series(tmp_path / "whole.h5", 3)
    write_series(tmp_path / "short.h5", 3, lost=(1,), end=False)
    assert whole_file(str(tmp_path / "whole.h5")).reason == ""
    assert whole_file(str(tmp_path / "short.h5")).reason == "2 of 3 frames: 1 missing; the streamer is gone"
    write_series(tmp_path / "running.h5", 3, killed=True)
    assert whole_file(str(tmp_path / "running.h5")).reason == STILL_WRITTEN


def test_what_is_away_of_another_programs_frame_has_the_fill_value(tmp_path: Path) -> None:
    layout = h5py.VirtualLayout((1, 4, 2), np.uint16)
    for module in range(2):
        with h5py.File(tmp_path / f"m{module}.h5", "w") as file:
            file["data"] = np.full((1, 2, 2), module + 5, np.uint16)
        layout[:, 2 * module : 2 * module + 2] = h5py.VirtualSource(f"m{module}.h5", "data", (1, 2, 2))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.attrs["default"], file.create_group("entry").attrs["NX_class"] = "entry", "NXentry"
        file["entry"].attrs["default"] = "data"
        data = file.create_group("entry/data")
        data.attrs.update(NX_class="NXdata", signal="data")
        data.create_virtual_dataset("data", layout)
    (tmp_path / "m0.h5").unlink()
    with FileFrames(tmp_path / "x.h5") as frames:
        message = codec.decode(frames.parts(0))
    assert isinstance(message, Frame) and message.image.partial
    assert np.frombuffer(message.blobs[0], np.uint16).tolist() == [65535] * 4 + [6] * 4
