"""Frames packed with lz4 alone, as DECTRIS' control units can send them: HDF5's filter 32004 reads them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

from penstock.checks.series_check import check_series
from penstock.checks.verify import verify
from penstock.receiver.files.reopened import reopen_file
from penstock.receiver.files.stores import Writing
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.reader import ReaderError, SeriesFile
from penstock.receiver.series.running_series import ResumedSeries, RunningSeries
from penstock.stins.blobs import LZ4_HEADER
from penstock.stins.checksums import checksums
from penstock.stins.messages import Frame
from tests.receiver.files.written import Written
from tests.receiver.pixels import lz4
from tests.receiver.sample_series import start
from tests.streams import image, pixels

SHAPE = (20, 30)


def array(number: int) -> np.ndarray[Any, Any]:
    return pixels(number, SHAPE) % 50


def frame(number: int, images: int = 0) -> Frame:
    parts = [array(number + part) for part in range(images or 1)]
    shape = (images, *SHAPE) if images else SHAPE
    blobs = [lz4(part, 256) for part in parts]
    keys = {"compression": "lz4", "checksums": checksums("crc32", blobs), "series": "a"}
    return Frame(image(number, np.empty(shape, "uint16"), **keys), blobs)


def plain(number: int) -> Frame:
    blobs = [array(number).tobytes()]
    return Frame(image(number, array(number), series="a", checksums=checksums("crc32", blobs)), blobs)


FURTHER = {"frames_per_file": "x_000001.h5", "files": "x_part1.h5"}


@pytest.mark.parametrize("writing", [{}, {"swmr": True}, {"frames_per_file": 2}, {"files": 2}])
def test_they_are_stored_as_received_and_read_back_equal(writing: dict[str, Any], path: Path) -> None:
    written = Written(path, start(frames=4, checksum="crc32"), **writing)
    written.add(frame(0), frame(1), frame(3))
    assert bytes(written.writer.read(3).blobs[0]) == bytes(frame(3).blobs[0])
    assert written.writer.read(3).image.compression == "lz4"
    written.add(plain(2))  # one that did not shrink
    assert written.writer.read(2).image.compression == "none"
    written.close(triggered=4)
    with SeriesFile(path) as file:
        for number in range(4):
            np.testing.assert_array_equal(file.frame(number), array(number))
        for number in (0, 1, 3):
            assert file.blobs(number) == [bytes(frame(number).blobs[0])]
        assert check_series(file).is_clean()
        assert verify(file).is_sound
    stored = next((path.with_name(name) for key, name in FURTHER.items() if key in writing), path)
    with h5py.File(stored) as file:
        assert file["entry/data/data"].id.get_create_plist().get_filter(0)[0] == 32004


@pytest.mark.parametrize("compression", ["lz4", "bslz4"])
@pytest.mark.parametrize("writing", [{}, {"frames_per_file": 1}], ids=["one", "segments"])
def test_a_block_that_is_longer_than_lz4_makes_it_is_found_by_reader_check_and_verify(
    compression: str, writing: dict[str, Any], path: Path
) -> None:
    # 1200 bytes: at most 1200 + 1200 // 255 + 16 = 1220. The receiver refuses it; here its checksum is right.
    blob = LZ4_HEADER.pack(1200, 8192) + (1221).to_bytes(4, "big") + bytes(1221)
    keys = {"compression": compression, "checksums": checksums("crc32", [blob]), "series": "a"}
    written = Written(path, start(frames=1, checksum="crc32"), **writing)
    written.add(Frame(image(0, np.empty(SHAPE, "uint16"), **keys), [blob]))
    written.close(triggered=1)
    with SeriesFile(path) as file:
        sentence = "has a block of 1221 bytes, but LZ4 packs its 1200 bytes into at most 1220"
        with pytest.raises(ReaderError, match=f"frame 0 .* {sentence}"):
            file.frame(0)
        [problem] = check_series(file).findings
        assert (problem.kind, sentence in problem.sentence) == ("unreadable", True)
        verification = verify(file)
        assert (verification.is_sound, verification.gone) == (False, "0")


def test_channels_are_stored_so(path: Path) -> None:
    written = Written(path, start(frames=2, checksum="crc32", channels=("threshold_1", "threshold_2")))
    written.add(frame(0, 2), frame(1, 2))
    written.close(triggered=2)
    with SeriesFile(path) as file:
        np.testing.assert_array_equal(file.frame(1), [array(1), array(2)])
        assert check_series(file).is_clean()


def test_a_killed_series_can_be_continued(path: Path) -> None:
    written = Written(path, start(frames=4, checksum="crc32"))
    written.add(frame(0))
    written.writer.flush()
    killed = shutil.copy(path, path.with_name("killed.h5"))
    written.close("ended meanwhile")
    found = reopen_file(killed)
    series = RunningSeries(start(frames=4), 0, ResumedSeries(found.account, (), str(killed), 0.0))
    writer = SeriesWriter(killed, "sim-1", series, "", Writing(), found)
    writer.add(2, frame(2))
    series.account.take(2, FrameStatus.STORED)
    writer.close(series.close("enough"), synced=False)
    with SeriesFile(killed) as file:
        for number in (0, 2):
            np.testing.assert_array_equal(file.frame(number), array(number))
            assert file.blobs(number) == [bytes(frame(number).blobs[0])]
