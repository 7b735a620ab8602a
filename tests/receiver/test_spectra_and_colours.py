"""Frames that are no plain images: spectra [n], and colours [rows, cols, 3] in one blob."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import h5py
import msgspec
import numpy as np
import pytest
from PIL import Image as Picture

from penstock.checks.series_check import check_series
from penstock.checks.verify import verify
from penstock.codecs import bslz4
from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.files.reopened import reopen_file
from penstock.receiver.files.stores import Writing
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.http.answers import HEADER, FrameRequest, answer
from penstock.receiver.http.live_view import UnpackedFrame, from_closed_file, unpacked
from penstock.receiver.http.pictures import ViewError
from penstock.receiver.live.last_frame import LastFrame, create
from penstock.receiver.models import Contrast, FrameStatus, View
from penstock.receiver.reading.reader import SeriesFile
from penstock.receiver.regions.series import RegionSeries
from penstock.receiver.series.running_series import ResumedSeries, RunningSeries
from penstock.receiver.transforms.frame_processor import FrameProcessor
from penstock.receiver.transforms.steps.chain import Chain
from penstock.receiver.transforms.steps.orientation import Flip
from penstock.stins import blobs
from penstock.stins.checksums import checksums
from penstock.stins.errors import BlobError
from penstock.stins.messages import Frame, Image
from tests.receiver.conftest import Shared
from tests.receiver.files.stores.written import DETECTOR, Written
from tests.receiver.sample_series import start
from tests.streams import image, pixels

SPECTRUM, COLOURS = (2048,), (64, 48, 3)
KINDS = [(SPECTRUM, "spectrum"), (COLOURS, "rgba-image")]
GEOMETRY = {
    "distance": 0.1, "beam_center_x": 1.0, "beam_center_y": 2.0, "x_pixel_size": 1e-4, "y_pixel_size": 1e-4,
}  # fmt: skip


def array(number: int, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return pixels(number, shape, "uint16")


def frame(number: int, shape: tuple[int, ...], packed: bool = False) -> Frame:
    parts = [bslz4.compress(array(number, shape)) if packed else array(number, shape).tobytes()]
    keys = {
        "compression": "bslz4" if packed else "none",
        "checksums": checksums("crc32", parts),
        "series": "a",
    }
    return FrameProcessor().process(Frame(image(number, array(number, shape), **keys), parts))


@pytest.mark.parametrize(("shape", "interpretation"), KINDS)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("keys", "writing"),
    [
        ({"frames": 4}, {}),
        ({}, {}),
        ({"frames": 4}, {"swmr": True}),
        ({"frames": 4}, {"frames_per_file": 3}),
        ({"frames": 4}, {"files": 2}),
    ],
    ids=["planned", "unplanned", "swmr", "segments", "files"],
)
def test_every_store_keeps_them(
    keys: dict[str, Any],
    writing: dict[str, Any],
    packed: bool,
    shape: tuple[int, ...],
    interpretation: str,
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.h5"
    written = Written(path, start(checksum="crc32", metadata=GEOMETRY, **keys), **writing)
    written.add(*(frame(number, shape, packed) for number in (0, 1, 3)))
    assert bytes(written.writer.read(3).blobs[0]) == bytes(frame(3, shape, packed).blobs[0])
    assert written.writer.read(3).image.shape == shape
    written.close(triggered=4)
    with SeriesFile(path) as file:
        assert (file.shape, file.interpretation) == ((4, *shape), interpretation)
        np.testing.assert_array_equal(file.frame(3), array(3, shape))
        np.testing.assert_array_equal(file.frame(2), np.full(shape, 65535, "uint16"))
        assert file.blobs(3) == [bytes(frame(3, shape, packed).blobs[0])]
        assert (verify(file).verified, check_series(file).frames_read) == (3, 3)
    with h5py.File(path) as raw:
        shown = raw["entry/data"]
        assert shown.attrs["signal"] == "data"
        assert shown["data"].attrs["interpretation"] == interpretation
        assert "transformations" not in raw[DETECTOR]  # the geometry is that of an image


@pytest.mark.parametrize(("shape", "interpretation"), KINDS)
@pytest.mark.parametrize("frames", [None, 4])
def test_a_killed_series_can_be_continued(
    frames: int | None, shape: tuple[int, ...], interpretation: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.h5"
    written = Written(path, start(frames=frames))
    written.add(frame(0, shape))
    written.writer.flush()
    killed = shutil.copy(path, tmp_path / "killed.h5")
    written.close("ended meanwhile")
    found = reopen_file(killed)
    series = RunningSeries(start(frames=frames), 0, ResumedSeries(found.account, (), str(killed), 0.0))
    writer = SeriesWriter(killed, "sim-1", series, "", Writing(), found)
    writer.add(2, frame(2, shape))
    series.account.take(2, FrameStatus.STORED)
    writer.close(series.close("enough"), synced=False)
    with SeriesFile(killed) as file:
        assert file.interpretation == interpretation
        for number in (0, 2):
            np.testing.assert_array_equal(file.frame(number), array(number, shape))


def test_an_announced_colour_image_is_laid_out_before_the_first(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    opening = start(frames=1, shape=COLOURS, type="uint16", compression="none")
    FrameProcessor().begin(opening)
    written = Written(path, opening)
    assert written.store is not None
    assert written.store.data.chunks == (1, *COLOURS)
    written.close()


@pytest.mark.parametrize(
    ("shape", "parts", "channels", "is_colour"),
    [
        ((20, 30, 3), 1, (), True),
        ((3, 20, 30), 3, (), False),
        ((3, 20, 3), 3, ("a", "b", "c"), False),
        ((1, 20, 3), 1, (), False),
    ],
)
def test_the_number_of_blobs_tells_colours_from_several_images(
    shape: tuple[int, ...], parts: int, channels: tuple[str, ...], is_colour: bool
) -> None:
    assert blobs.has_colours(shape, parts) is is_colour
    assert blobs.announced_blobs(shape, channels) == parts
    head = Image(shape=shape, type="uint8", compression="none", frame=0)
    blobs.check(Frame(head, [bytes(int(np.prod(shape)) // parts)] * parts))


@pytest.mark.parametrize(("shape", "interpretation"), KINDS)
def test_regions_of_interest_are_refused_by_a_sentence(shape: tuple[int, ...], interpretation: str) -> None:
    regions = RegionSeries("a", {"all": Rectangle(x=0, y=0, width=9, height=9)}, {})
    assert regions.row(frame(0, shape)) is None
    assert "need images of [rows, cols]" in str(regions.sentences[0])


@pytest.mark.parametrize(("shape", "interpretation"), KINDS)
def test_transforms_are_refused_by_a_sentence(shape: tuple[int, ...], interpretation: str) -> None:
    with pytest.raises(BlobError, match="transforms take images of .*; remove `transforms`"):
        Chain([Flip(direction="up-down")]).apply(frame(0, shape))


@pytest.mark.parametrize(("shape", "interpretation"), KINDS)
def test_they_pass_the_live_view(shape: tuple[int, ...], interpretation: str, tmp_path: Path) -> None:
    shared = LastFrame(create())
    assert shared.show("a", 3, frame(3, shape))
    held = shared.read()
    assert held is not None
    written = Written(tmp_path / "x.h5", start(frames=4))
    written.add(*(frame(number, shape) for number in range(4)))
    written.close(triggered=4)
    for shown in (unpacked(held), from_closed_file(str(tmp_path / "x.h5"), "a", 3)):
        raw = answer(shown, FrameRequest(), 1)
        header = msgspec.json.decode(raw.headers[HEADER])
        assert (tuple(header["shape"]), header["interpretation"]) == (shape, interpretation)
        np.testing.assert_array_equal(np.frombuffer(raw.body, "<u2").reshape(shape), array(3, shape))
        found = np.load(io.BytesIO(answer(shown, FrameRequest(format="npy"), 1).body))
        np.testing.assert_array_equal(found, array(3, shape))


def test_a_part_of_a_spectrum_or_of_colours_can_be_had() -> None:
    def part(shape: tuple[int, ...], kind: str, view: View) -> np.ndarray[Any, Any]:
        shown = UnpackedFrame(array(0, shape), 0, "a", interpretation=kind)
        return np.load(io.BytesIO(answer(shown, FrameRequest(view, format="npy"), 1).body))

    spectrum, colours = array(0, SPECTRUM), array(0, COLOURS)
    np.testing.assert_array_equal(part(SPECTRUM, "spectrum", View(x=5, width=7)), spectrum[5:12])
    greatest = part(SPECTRUM, "spectrum", View(downsample=4, method="max"))
    np.testing.assert_array_equal(greatest, spectrum[3::4])
    np.testing.assert_array_equal(
        part(COLOURS, "rgba-image", View(x=4, y=8, width=6, height=2)), colours[8:10, 4:10]
    )
    np.testing.assert_array_equal(part(COLOURS, "rgba-image", View(downsample=2)), colours[::2, ::2])
    with pytest.raises(ViewError, match="1 row"):
        part(SPECTRUM, "spectrum", View(y=1))


def picture(shown: UnpackedFrame, **contrast: Any) -> np.ndarray[Any, Any]:
    body = answer(shown, FrameRequest(contrast=Contrast(**contrast), format="png"), 1).body
    return np.asarray(Picture.open(io.BytesIO(body)))


@pytest.mark.parametrize("scale", ["lin", "log"])
def test_the_picture_of_a_spectrum_is_its_curve(scale: str) -> None:
    counts = np.zeros(4096, "uint32")
    counts[1000] = 500  # one channel of four in a column
    drawn = picture(UnpackedFrame(counts, 0, "a", interpretation="spectrum"), scale=scale)
    assert drawn.shape == (256, 1024)
    peak = 1000 * 1024 // 4096
    assert drawn[0, peak] == 255  # up to the upper edge
    assert not drawn[:-1, : peak - 1].any()
    assert (drawn[-1] == 255).all()


def test_the_picture_of_colours_has_them() -> None:
    colours = np.zeros((20, 30, 3), "uint8")
    colours[:10, :, 0], colours[10:, :, 2] = 200, 90
    np.testing.assert_array_equal(
        picture(UnpackedFrame(colours, 0, "a", interpretation="rgba-image")), colours
    )
    deep = colours.astype("uint16") * 10
    shown = picture(UnpackedFrame(deep, 0, "a", interpretation="rgba-image"))
    assert shown[0, 0].tolist() == [255, 0, 0]
    assert shown[19, 0].tolist() == [0, 0, 115]


@pytest.mark.parametrize(
    ("shape", "dtype", "sentence"),
    [
        ((5, 20, 30), "uint16", r"\[5, 20, 30\] in one blob is a stack; a frame is \[n\].*frame of its own"),
        ((2, 5, 20, 30), "uint16", r"shape \[2, 5, 20, 30\]; a frame is \[n\].*; send each image as a frame"),
        ((20, 30), "complex64", r'type "complex64"; known are .*two blobs of \[2, rows, cols\]'),
        ((20, 30), "<c8", r"two blobs of \[2, rows, cols\]"),
    ],
)
def test_what_no_frame_can_be_is_refused_by_a_sentence(
    shape: tuple[int, ...], dtype: str, sentence: str
) -> None:
    head = Image(shape=shape, type=dtype, compression="none", frame=0)
    with pytest.raises(BlobError, match=sentence):
        FrameProcessor().process(Frame(head, [bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize)]))


@pytest.mark.parametrize(("shape", "interpretation"), KINDS)
def test_a_receiver_takes_them_from_a_stream_that_announces_nothing(
    shape: tuple[int, ...], interpretation: str, shared: Shared
) -> None:
    receiver, streamer = shared
    path = receiver.root / f"{interpretation}.h5"
    series = streamer.start(str(path))
    for number in range(3):
        streamer.frame(number, array(number, shape))
    streamer.end()
    status = receiver.ended(series)
    assert status.series is not None
    assert (status.series.complete, status.counts.stored, status.counts.corrupt) == (True, 3, 0)
    shown = receiver.client.frame(2)
    assert shown.interpretation == interpretation
    np.testing.assert_array_equal(shown.array, array(2, shape))
    assert receiver.client.picture(2, format="jpeg").startswith(b"\xff\xd8")
    with SeriesFile(path) as file:
        np.testing.assert_array_equal(file.frame(1), array(1, shape))
        assert check_series(file).is_clean()


def test_a_receiver_says_what_to_send_instead_of_a_stack(shared: Shared) -> None:
    receiver, streamer = shared
    path = receiver.root / "stack.h5"
    series = streamer.start(str(path), frames=2)
    for number in range(2):
        streamer.frame(number, array(number, (5, 20, 30)))
    streamer.end(triggered=2, sent=2)
    status = receiver.ended(series)
    assert status.series is not None
    assert (status.series.complete, status.counts.corrupt) == (False, 2)
    assert "frame 0: [5, 20, 30] in one blob is a stack" in status.series.reason
    assert "send each image as a frame of its own" in status.series.reason
