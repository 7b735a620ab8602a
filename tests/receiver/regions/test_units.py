"""Rectangles, pixels, the shared memory and the file of kept regions, each by itself."""

from __future__ import annotations

import logging
import math
import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import h5py
import msgspec
import numpy as np
import pytest

from penstock.codecs import bslz4, lz4
from penstock.receiver.config import ConfigError, ReceiverConfig, parse, rectangles
from penstock.receiver.config.rectangles import BadRegionError, Rectangle
from penstock.receiver.process.supervisor.chosen_regions import KeptRegions
from penstock.receiver.regions import memory, pixels, rows
from penstock.receiver.regions.memory import RegionMemory
from penstock.receiver.regions.series import RegionSeries
from penstock.receiver.validity.pixels import PixelRule
from penstock.stins.messages import Image

SHAPE = (20, 30)
PEAK = Rectangle(4, 3, 6, 5)
RULE = PixelRule()
TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


@pytest.mark.parametrize("wrong", [{"x": "\udc80"}, {"\udc80": 1}])
def test_half_a_character_in_a_region_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(BadRegionError, match=r"region of interest a: .*udc80"):
        rectangles.parse({"a": {"x": 0, "y": 0, "width": 1, "height": 1} | wrong})


@pytest.mark.parametrize("dtype", TYPES)
def test_values_of_every_type_are_those_of_double_precision(dtype: str) -> None:
    image = np.random.default_rng(1).integers(0, 120, SHAPE).astype(dtype)
    here = image[3:8, 4:10].astype(np.float64)
    found = pixels.values(image, pixels.area(PEAK, SHAPE, None), RULE)
    assert found == (here.sum(), here.sum() / 30, here.max(), 0)


def test_the_sum_of_large_counts_is_exact() -> None:
    image = np.full(SHAPE, 2**32 - 2, np.uint32)
    area = pixels.area(Rectangle(0, 0, 30, 20), SHAPE, None)
    assert pixels.values(image, area, RULE)[0] == 600 * (2**32 - 2)


def test_pixels_that_are_no_number_or_masked_do_not_count() -> None:
    image = np.ones(SHAPE, np.float32)
    image[3, 4], image[7, 9] = np.nan, 100.0
    masked = np.zeros(SHAPE, bool)
    masked[7, 9] = masked[0, 0] = True
    assert pixels.values(image, pixels.area(PEAK, SHAPE, masked), RULE) == (28.0, 1.0, 1.0, 0.0)


@pytest.mark.parametrize("masked", [np.ones(SHAPE, bool), None])
def test_a_rectangle_without_a_pixel_that_counts_has_no_values(masked: np.ndarray | None) -> None:
    image = np.full(SHAPE, np.nan)
    assert all(math.isnan(value) for value in pixels.values(image, pixels.area(PEAK, SHAPE, masked), RULE))


@pytest.mark.parametrize(
    ("region", "inside"),
    [
        (Rectangle(28, 18, 9, 9), (slice(18, 20), slice(28, 30))),
        (Rectangle(0, 0, 2**31 - 1, 2**31 - 1), (slice(0, 20), slice(0, 30))),
        (Rectangle(29, 19, 1, 1), (slice(19, 20), slice(29, 30))),
        (Rectangle(30, 0, 1, 1), None),
        (Rectangle(0, 20, 1, 1), None),
    ],
)
def test_a_rectangle_is_cut_at_the_edges(region: Rectangle, inside: tuple[slice, slice] | None) -> None:
    found = pixels.area(region, SHAPE, np.zeros(SHAPE, bool))
    assert (found and found[:2]) == inside
    assert found is None or found.counted is None, "no pixel of it is masked: none has to be picked"


def test_the_pixels_of_a_plain_frame_are_not_copied() -> None:
    blob = bytes(range(12))
    image = Image(shape=(3, 4), type="uint8", compression="none")
    part = pixels.unpack(image, blob, slice(1, 3))
    assert part.tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]
    assert np.shares_memory(part, np.frombuffer(blob, np.uint8))


def test_an_lz4_frame_is_unpacked() -> None:
    array = np.random.default_rng(1).integers(0, 100, (128, 256), np.uint16)
    image = Image(shape=array.shape, type="uint16", compression="lz4")
    part = pixels.unpack(image, lz4.compress(array), slice(20, 34))
    np.testing.assert_array_equal(part, array[20:34])


def test_of_a_packed_frame_only_what_the_regions_need_is_unpacked() -> None:
    array = np.random.default_rng(1).integers(0, 2**16, (128, 256), np.uint16)  # 8 blocks of 16 rows
    image = Image(shape=array.shape, type="uint16", compression="bslz4")
    areas = [pixels.area(Rectangle(5, y, 9, 4), array.shape, None) for y in (20, 30)]
    needed = pixels.rows_of([*areas, None])
    assert (needed, pixels.rows_of([None])) == (slice(20, 34), slice(0, 0))
    blob = bslz4.compress(array)
    part = pixels.unpack(image, blob[: len(blob) // 2], needed)
    np.testing.assert_array_equal(part, array[needed])
    assert [pixels.values(part, each, RULE, needed.start) for each in areas] == [
        pixels.values(array, each, RULE) for each in areas
    ]


# -- the shared memory -----------------------------------------------------------------------------


@pytest.fixture
def ends() -> Iterator[tuple[RegionMemory, RegionMemory]]:
    """Of the data process and of the HTTP process."""
    descriptor = memory.create()
    yield RegionMemory(descriptor), RegionMemory(descriptor)
    os.close(descriptor)


def row(number: float, regions: int = 1) -> np.ndarray:
    return np.full((regions, 4), number)


def test_what_one_end_writes_the_other_reads(ends: tuple[RegionMemory, RegionMemory]) -> None:
    ours, theirs = ends
    assert theirs.progress() is None
    ours.begin("a", {"peak": PEAK})
    ours.put(0, row(7))
    ours.put(2, row(9))
    ours.finalize(3)
    progress = theirs.progress()
    assert progress is not None
    assert (progress.kept.series, progress.kept.rois, progress.complete_below) == ("a", {"peak": PEAK}, 3)
    found = theirs.read(progress, 0, 3)
    assert found is not None
    np.testing.assert_array_equal(found[:, 0, 0], [7, np.nan, 9])


def test_times_lie_beside_the_values(ends: tuple[RegionMemory, RegionMemory]) -> None:
    ours, theirs = ends
    ours.begin("a", {"peak": PEAK})
    ours.put(0, row(7), 1000.5)
    ours.put(2, row(9))
    progress = theirs.progress()
    assert progress is not None
    times = theirs.read_times(progress, 0, 3)
    assert times is not None
    np.testing.assert_array_equal(times, [1000.5, np.nan, np.nan])
    ours.begin("b", {"peak": PEAK})
    assert theirs.read_times(progress, 0, 3) is None


def test_values_of_the_series_before_are_none_of_this_one(ends: tuple[RegionMemory, RegionMemory]) -> None:
    ours, theirs = ends
    ours.begin("a", {"peak": PEAK})
    ours.put(0, row(7))
    before = theirs.progress()
    ours.begin("b", {"peak": PEAK, "other": PEAK})
    assert before is not None and theirs.read(before, 0, 1) is None
    progress = theirs.progress()
    assert progress is not None
    found = theirs.read(progress, 0, 5)
    assert found is not None and found.shape == (5, 2, 4) and np.isnan(found).all()


def test_of_a_long_series_the_newest_values_are_kept(
    ends: tuple[RegionMemory, RegionMemory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MOST_VALUES", 4 * 2 * 10)
    ours, theirs = ends
    ours.begin("a", {"peak": PEAK, "other": PEAK})
    for index in range(25):
        ours.put(index, row(index, 2))
    ours.put(3, row(3, 2))  # late: its place is taken
    progress = theirs.progress()
    assert progress is not None and progress.first == 15
    found = theirs.read(progress, 15, 25)
    assert found is not None
    np.testing.assert_array_equal(found[:, 1, 3], np.arange(15.0, 25.0))


# -- the file --------------------------------------------------------------------------------------


def test_a_file_of_an_older_receiver_is_read_and_continued_without_saturated_pixels(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        rows.create(file, {"peak": PEAK})
        series = RegionSeries("a", {"peak": PEAK}, {})
        del file["rois/peak/saturated"]
        file["rois/peak"].attrs["auxiliary_signals"] = ["mean", "max"]
        series.to_write = deque([(0, np.array([[8.0, 2.0, 3.0, 1.0]])), (1, np.full((1, 4), np.nan))])
        written = rows.RegionRows(file, series)
        written.resize(2)
        written.write(2)
        assert rows.found_in(file) == {"peak": PEAK}
        known = rows.read(file, 2)
        assert list(known) == [0]
        np.testing.assert_array_equal(known[0], [[8.0, 2.0, 3.0, np.nan]])
        rows.forget(file, np.array([True, False]))
        rows.cut(file, 1)
        series.to_write.append((1, np.array([[5.0, 1.0, 4.0, 2.0]])))
        written.resize(2)
        written.write(2)
        assert file["rois/peak/sum"][:].tolist() == [8.0, 5.0] and "saturated" not in file["rois/peak"]


# -- configuration and kept regions ----------------------------------------------------------------


def config(tmp_path: Path, **keys: object) -> ReceiverConfig:
    entry = {"source": {"endpoints": ["tcp://127.0.0.1:1"]}, "data_root": str(tmp_path), **keys}
    return parse({"receivers": {"sim-1": entry}}, "x.yaml").receivers["sim-1"]


@pytest.mark.parametrize(
    ("rois", "sentence"),
    [
        ({"a b": {"x": 0, "y": 0, "width": 1, "height": 1}}, "a name has letters, digits and underscores"),
        ({"a": {"x": -1, "y": 0, "width": 1, "height": 1}}, r"rois.a.x is -1; give a whole number from 0"),
        ({"a": {"x": 0, "y": 0, "width": 1}}, "rois.a.height is missing"),
        ({"a": {"x": 0, "y": 0, "width": 1, "height": 1, "w": 2}}, r'rois.a has no setting "w"'),
    ],
)
def test_a_wrong_region_in_the_configuration_is_refused_with_its_place(
    tmp_path: Path, rois: object, sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        config(tmp_path, rois=rois)


def test_kept_regions_are_there_again(tmp_path: Path) -> None:
    initial = config(tmp_path, rois={"left": msgspec.to_builtins(PEAK)})
    first = KeptRegions("sim-1", initial)
    assert (first.now, first.kept) == ({"left": PEAK}, False)
    first.keep({"peak": PEAK})
    second = KeptRegions("sim-1", initial)
    assert (second.now, second.kept) == ({"peak": PEAK}, True)
    second.use({"peak": PEAK})
    assert second.kept, "they are still those of the file"
    second.use({})
    assert not second.kept
    second.keep({})
    assert KeptRegions("sim-1", initial).now == {}, "none is what was kept"
    assert KeptRegions("sim-2", initial).now == {"left": PEAK}


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"peak": {"x": -1}}', b"\xff"])
def test_a_damaged_file_of_kept_regions_is_said_and_the_configuration_is_used(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    initial = config(tmp_path, rois={"left": msgspec.to_builtins(PEAK)})
    first = KeptRegions("sim-1", initial)
    first.keep({"peak": PEAK})
    first.path.write_bytes(content)
    with caplog.at_level(logging.ERROR):
        assert KeptRegions("sim-1", initial).now == {"left": PEAK}
    assert "cannot be read" in caplog.text and "set them again" in caplog.text
