"""Types of pixels beside the usual ones: bool, float16, and NumPy's type strings of either byte order."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import msgspec
import numpy as np
import pytest

from penstock.checks.series_check import check_series
from penstock.checks.verify import verify
from penstock.codecs import bslz4
from penstock.codecs.pixel_type import fill_value
from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.files.reopened import reopen_file
from penstock.receiver.files.stores.reopen import format_of
from penstock.receiver.http.live_view import from_closed_file, unpack
from penstock.receiver.http.pictures import picture
from penstock.receiver.models import Contrast
from penstock.receiver.reading.reader import SeriesFile
from penstock.receiver.regions.series import RegionSeries
from penstock.receiver.transforms.frame_processor import FrameProcessor
from penstock.receiver.transforms.steps.bslz4 import Bslz4, Decompress
from penstock.receiver.transforms.steps.chain import Chain
from penstock.receiver.transforms.steps.mask import Mask
from penstock.receiver.transforms.steps.orientation import Flip
from penstock.stins import codec
from penstock.stins.checksums import checksums
from penstock.stins.messages import Frame
from tests.receiver.files.stores.written import Written
from tests.receiver.sample_series import start
from tests.streams import text

SHAPE = (20, 30)
SENT = ("bool", "|b1", "float16", "<f2", "<u2", "<i4", "|u1", ">u2", ">i4", ">f8", ">f2")
STORED = {"|b1": "bool", "<f2": "float16", "<u2": "uint16", "<i4": "int32", "|u1": "uint8"}
"""Types under another name than they were sent with."""


def array(number: int, dtype: str) -> np.ndarray[Any, Any]:
    """Frames of values that all types can hold and that no byte order shows alike."""
    values = (np.arange(600) + number) % 251
    return np.asarray((values % 2 if "b" in dtype[:2] else values).astype(dtype).reshape(SHAPE))


def frame(number: int, dtype: str, packed: bool = False, **keys: Any) -> Frame:
    """A frame as it comes off the wire."""
    pixels = array(number, dtype)
    blob = bslz4.compress(pixels) if packed else pixels.tobytes()
    compression = "bslz4" if packed else "none"
    head = text(
        htype="image", frame=number, shape=SHAPE, type=dtype, compression=compression, series="a", **keys
    )
    received = codec.decode([head, blob])
    assert isinstance(received, Frame)
    return FrameProcessor().process(received)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", SENT)
def test_every_type_is_stored_with_its_bytes_and_read_back_equal(
    dtype: str, packed: bool, tmp_path: Path
) -> None:
    path = tmp_path / "x.h5"
    written = Written(path, start(frames=3, checksum="crc32"))
    for number in (0, 2):
        sent = frame(number, dtype, packed)
        sums = checksums("crc32", sent.blobs)
        written.add(msgspec.structs.replace(sent, image=msgspec.structs.replace(sent.image, checksums=sums)))
    stored = written.writer.read(2)
    assert bytes(stored.blobs[0]) == bytes(frame(2, dtype, packed).blobs[0])
    assert stored.image.type == STORED.get(dtype, dtype)
    written.close(triggered=3)
    with SeriesFile(path) as file:
        assert file.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(file.frame(0), array(0, dtype))
        np.testing.assert_array_equal(file.frame(2), array(2, dtype))
        np.testing.assert_array_equal(file.frame(1), np.full(SHAPE, fill_value(dtype), dtype))
        assert verify(file).verified == 2
        assert check_series(file).frames_read == 2
    with h5py.File(path) as file:
        assert file["entry/data/data"].dtype == np.dtype(dtype)
    np.testing.assert_array_equal(from_closed_file(str(path), "a", 2).array, array(2, dtype))


@pytest.mark.parametrize("planned", [None, 100])
def test_a_killed_writers_big_endian_frames_are_continued(planned: int | None, tmp_path: Path) -> None:
    big = np.dtype(">u2").newbyteorder(">")
    path, shape = tmp_path / "x.h5", (64, 64)
    written = Written(path, start(frames=planned))
    pixels = np.arange(4096, dtype=big).reshape(shape)
    head = text(htype="image", frame=0, shape=shape, type=">u2", compression="none", series="a")
    written.add(codec.decode([head, pixels.tobytes()]))  # type: ignore[arg-type]
    written.writer.flush()
    killed = shutil.copy(path, tmp_path / "killed.h5")
    written.close("ended meanwhile")
    found = reopen_file(killed)
    try:
        frames = format_of(found.detector, planned)
        assert frames is not None
        assert (frames.dtype, found.detector["data"].dtype) == (">u2", big)
    finally:
        found.file.close()


@pytest.mark.parametrize("dtype", SENT)
def test_the_live_view_shows_them_as_numbers_of_this_machine(dtype: str) -> None:
    sent = frame(1, dtype)
    shown = unpack(SHAPE, sent.image.type, "none", sent.blobs)
    np.testing.assert_array_equal(shown, array(1, dtype))
    assert not shown.dtype.str.startswith(">")
    for scale in ("linear", "log"):
        assert picture(shown, Contrast(scale=scale), "png")[0].startswith(b"\x89PNG")  # type: ignore[arg-type]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", SENT)
def test_regions_of_interest_have_their_sums(dtype: str, packed: bool) -> None:
    regions = RegionSeries("a", {"all": Rectangle(x=0, y=0, width=30, height=20)}, {})
    row = regions.row(frame(1, dtype, packed))
    assert row is not None
    assert row[0][0] == array(1, dtype).sum(dtype=np.float64)


@pytest.mark.parametrize("dtype", [">u2", ">f4"])
def test_transforms_get_big_endian_pixels_little_endian(dtype: str) -> None:
    box = Mask(first_row=0, first_column=0, rows=1, columns=1, fill=7)
    for steps in ([box], [Decompress(), box], [Flip(direction="left-right")], [Decompress(), box, Bslz4()]):
        done = Chain(steps).apply(frame(1, dtype, isinstance(steps[0], Decompress)))
        assert not done.image.type.startswith(">")
        expected = array(1, dtype).copy()
        if box in steps:
            expected[0, 0] = 7
        else:
            expected = expected[:, ::-1]
        shown = unpack(SHAPE, done.image.type, done.image.compression, done.blobs)
        np.testing.assert_array_equal(shown, expected)


def test_blobs_that_pass_a_step_unchanged_keep_their_byte_order() -> None:
    sent = frame(1, ">u2", packed=True)
    done = Chain([Bslz4()]).apply(sent)
    assert (done.image.type, bytes(done.blobs[0])) == (">u2", bytes(sent.blobs[0]))
