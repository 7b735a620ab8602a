"""Regions of interest of a real receiver: values over HTTP, for frames over sockets."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.cli.main import main
from penstock.codecs import bslz4
from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import FrameStatus, Rectangle, SeriesCheck
from penstock.receiver.reading.reader import SeriesFile
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.recordings import validators
from tests.streams import Streamer, pixels

ROIS = "entry/instrument/sim_1/rois"
SHAPE = (20, 30)
PEAK = Rectangle(x=10, y=5, width=8, height=6)
EDGE = Rectangle(x=25, y=15, width=100, height=100)
OUTSIDE = Rectangle(x=30, y=0, width=5, height=5)


class Pair:
    """A streamer and the receiver that these tests share; each test leaves it idle."""

    def __init__(self, folder: Path) -> None:
        self.streamer = Streamer()
        self.receiver = ReceiverProcess(folder, self.streamer.endpoint, min_free_mb=1)
        self.client = self.receiver.client
        self.receiver.connected()

    def has_received(self, series: str, frames: int) -> None:
        """Wait until so many frames of this series have come; those of the series before do not count."""
        self.receiver.wait(
            lambda status: (
                status.series is not None and status.series.id == series and status.counts.received >= frames
            )
        )

    def series(self, images: dict[int, np.ndarray[Any, Any]], frames: int, **keys: Any) -> str:
        """A whole series of these images at their indices."""
        series = self.streamer.start(keys.pop("filename", ""), keys.pop("metadata", None), frames=frames)
        for number, image in images.items():
            self.streamer.frame(number, image, **keys)
        self.streamer.end(reason="complete", triggered=frames)
        self.receiver.ended(series)
        return series


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    made = Pair(tmp_path_factory.mktemp("rois"))
    yield made
    made.receiver.close()
    made.streamer.close()


@pytest.fixture(autouse=True)
def _no_regions_before(request: pytest.FixtureRequest) -> None:
    if "pair" in request.fixturenames:
        request.getfixturevalue("pair").client.put_rois({})


def images(count: int, dtype: str = "uint16") -> dict[int, np.ndarray[Any, Any]]:
    return {number: pixels(number, SHAPE, dtype) for number in range(count)}


def part(image: np.ndarray[Any, Any], region: Rectangle) -> np.ndarray[Any, Any]:
    return image[region.y : region.y + region.height, region.x : region.x + region.width].astype(float)


def test_values_of_every_frame_are_those_that_numpy_finds(pair: Pair) -> None:
    pair.client.put_rois({"peak": PEAK, "edge": EDGE})
    sent = images(7)
    series = pair.series(sent, 7)
    found = pair.client.roi_values(series=series)
    assert (found.series, found.first, found.upto, found.ended) == (series, 0, 7, True)
    for name, region in (("peak", PEAK), ("edge", EDGE)):
        parts = [part(image, region) for image in sent.values()]
        assert found.values[name].sum == [each.sum() for each in parts]
        assert found.values[name].mean == [each.mean() for each in parts]
        assert found.values[name].max == [each.max() for each in parts]
    peak, edge = pair.client.status().rois
    assert (peak.name, peak.x, peak.y, peak.width, peak.height, peak.frame) == ("peak", 10, 5, 8, 6, 6)
    assert (peak.sum, peak.mean, peak.max) == (
        part(sent[6], PEAK).sum(), part(sent[6], PEAK).mean(), part(sent[6], PEAK).max(),
    )  # fmt: skip
    assert edge.max == part(sent[6], EDGE).max()


def test_values_can_be_read_in_pieces(pair: Pair) -> None:
    pair.client.put_rois({"peak": PEAK})
    sent = images(9)
    series = pair.series(sent, 9)
    whole = pair.client.roi_values(series=series).values["peak"].sum
    pieces: list[float | None] = []
    first = 0
    while first < 9:
        found = pair.client.roi_values(first, 4, series)
        assert found.first == first
        pieces += found.values["peak"].sum
        first = found.upto
    assert pieces == whole
    assert pair.client.roi_values(9, 4, series).values["peak"].sum == []
    with pytest.raises(ReceiverRefused, match="has 9 frames, and 10 was asked for") as refused:
        pair.client.roi_values(10, 4, series)
    assert refused.value.kind == "out_of_range"


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int32", "float32"])
def test_every_type_of_pixel_has_values(pair: Pair, dtype: str) -> None:
    pair.client.put_rois({"peak": PEAK})
    sent = images(2, dtype)
    if dtype != "uint8":
        sent[1][6, 11] = -7 if dtype == "int32" else 4e9
    series = pair.series(sent, 2)
    found = pair.client.roi_values(series=series).values["peak"]
    assert found.sum == [part(image, PEAK).sum() for image in sent.values()]
    assert found.max == [part(image, PEAK).max() for image in sent.values()]


def test_packed_frames_have_values(pair: Pair) -> None:
    pair.client.put_rois({"peak": PEAK})
    image = pixels(3, SHAPE, "int32")
    series = pair.series({0: image}, 1, compression="bslz4", blobs=[bslz4.compress(image)])
    assert pair.client.roi_values(series=series).values["peak"].sum == [part(image, PEAK).sum()]


def test_masked_pixels_do_not_count(pair: Pair) -> None:
    pair.client.put_rois({"peak": PEAK})
    image = pixels(0, SHAPE)
    mask = np.zeros(SHAPE, int)
    mask[7, 10:14] = 8
    image[7, 10:14] = 65535
    series = pair.series({0: image}, 1, metadata={"pixel_mask": mask.tolist()})
    good = part(image, PEAK)[part(mask, PEAK) == 0]
    found = pair.client.roi_values(series=series).values["peak"]
    assert (found.sum, found.mean, found.max) == ([good.sum()], [good.mean()], [good.max()])


@pytest.mark.parametrize("packed", [False, True])
def test_saturated_pixels_count_and_their_number_is_given_with_the_values(pair: Pair, packed: bool) -> None:
    pair.client.put_rois({"peak": PEAK, "edge": EDGE})
    path = pair.receiver.root / f"saturated-{packed}.h5"
    image = np.zeros(SHAPE, np.uint32)
    image[5, 10:14] = 999, 1000, 1001, 2**32 - 1  # below, at, above, a gap
    image[19, 29] = 2**32 - 1
    keys = {"compression": "bslz4", "blobs": [bslz4.compress(image)]} if packed else {}
    facts = {"saturation_value": 1000.0}
    series = pair.series({1: image}, 2, filename=str(path), metadata=facts, **keys)
    found = pair.client.roi_values(series=series).values
    peak = found["peak"]
    assert (peak.sum, peak.mean, peak.max) == ([None, 3000], [None, 3000 / 47], [None, 1001])
    assert (peak.saturated, found["edge"].saturated) == ([None, 2], [None, 0])
    assert [each.saturated for each in pair.client.status().rois] == [2, 0]
    assert rows(path, "peak")["saturated"].tolist()[1:] == [2]


def test_a_mask_of_another_shape_is_said_and_all_pixels_count(pair: Pair) -> None:
    pair.client.put_rois({"peak": PEAK})
    before = pair.client.status().errors.get("roi_mask", 0)
    series = pair.series(images(3), 3, metadata={"pixel_mask": [[1, 1], [1, 1]]})
    status = pair.client.status()
    assert status.errors["roi_mask"] == before + 1, "once for a series"
    assert "[2, 2] pixels, the frame [20, 30]" in status.last_error
    assert pair.client.roi_values(series=series).values["peak"].sum[0] == part(pixels(0, SHAPE), PEAK).sum()


def test_a_frame_that_never_came_or_is_corrupt_has_no_values(pair: Pair) -> None:
    pair.client.put_rois({"peak": PEAK})
    series = pair.streamer.start("", frames=5)
    for number in (0, 2, 4):
        pair.streamer.frame(number, pixels(number, SHAPE), **({"blobs": [b"short"]} if number == 2 else {}))
    pair.streamer.end(reason="fault", message="two are lost", triggered=5)
    status = pair.receiver.ended(series)
    assert (status.counts.corrupt, status.counts.missing) == (1, 2)
    found = pair.client.roi_values(series=series)
    assert (found.upto, found.ended) == (5, True)
    assert [value is None for value in found.values["peak"].sum] == [False, True, True, True, False]
    (peak,) = status.rois
    assert peak.frame == 4


def test_a_frame_that_is_marked_to_be_discarded_has_no_values(pair: Pair) -> None:
    pair.client.put_rois({"peak": PEAK})
    series = pair.series(images(2), 2, discard=True)
    assert pair.client.roi_values(series=series).values["peak"].sum == [None, None]


def test_a_region_outside_of_the_frame_has_no_values_and_is_said(pair: Pair) -> None:
    pair.client.put_rois({"far": OUTSIDE, "peak": PEAK})
    before = pair.client.status().errors.get("roi_outside", 0)
    series = pair.series(images(2), 2)
    status = pair.client.status()
    assert status.state == "idle"
    assert status.errors["roi_outside"] == before + 1
    assert "region of interest far begins at x=30, y=0" in status.last_error
    found = pair.client.roi_values(series=series).values
    assert found["far"].sum == [None, None]
    assert None not in found["peak"].sum


def test_the_regions_of_a_running_series_stay_as_they_are(pair: Pair) -> None:
    pair.client.put_rois({"peak": PEAK})
    series = pair.streamer.start("", frames=2)
    pair.streamer.frame(0, pixels(0, SHAPE))
    pair.has_received(series, 1)
    pair.client.put_rois({"edge": EDGE})
    pair.streamer.frame(1, pixels(1, SHAPE))
    pair.streamer.end(reason="complete", triggered=2)
    assert [each.name for each in pair.receiver.ended(series).rois] == ["peak"]
    assert set(pair.client.roi_values(series=series).values) == {"peak"}
    following = pair.series(images(1), 1)
    assert set(pair.client.roi_values(series=following).values) == {"edge"}


def test_who_asks_for_a_frame_that_is_to_come_waits_for_it(pair: Pair) -> None:
    pair.client.put_rois({"peak": PEAK})
    series = pair.streamer.start("", frames=3)
    pair.streamer.frame(0, pixels(0, SHAPE))
    pair.has_received(series, 1)
    found = []
    asking = threading.Thread(
        target=lambda: found.append(pair.client.roi_values(1, 10, series, wait=DEADLINE))
    )
    asking.start()
    asking.join(0.2)
    assert not found
    pair.streamer.frame(1, pixels(1, SHAPE))
    asking.join(DEADLINE)
    assert (found[0].first, found[0].upto, found[0].ended) == (1, 2, False)
    assert found[0].values["peak"].sum == [part(pixels(1, SHAPE), PEAK).sum()]
    with pytest.raises(ReceiverRefused, match="has 3 frames, and 4 was asked for"):
        pair.client.roi_values(4, 10, series, wait=DEADLINE)
    pair.streamer.end(reason="stop", triggered=2)
    pair.receiver.ended(series)
    late = pair.client.roi_values(1, 10, series)
    assert (late.upto, late.ended, len(late.values["peak"].sum)) == (2, True, 1)
    never = pair.client.roi_values(2, 10, series)
    assert (never.upto, never.ended, never.values["peak"].sum) == (2, True, []), "it was planned only"


def test_a_series_without_regions_is_refused_with_a_sentence(pair: Pair) -> None:
    series = pair.series(images(1), 1)
    with pytest.raises(ReceiverRefused, match="has no regions of interest; PUT /rois sets") as refused:
        pair.client.roi_values(series=series)
    assert refused.value.kind == "no_rois"
    assert pair.client.status().rois == []
    for wait in (0.0, DEADLINE):
        with pytest.raises(ReceiverRefused, match="no values of series other; its running, or last, one is"):
            pair.client.roi_values(series="other", wait=wait)


def test_a_named_series_that_is_about_to_begin_is_waited_for(pair: Pair) -> None:
    pair.client.put_rois({"peak": PEAK})
    series = uuid.uuid4().hex
    sending = threading.Thread(target=lambda: pair.streamer.start("", frames=1, series=series))
    sending.start()
    found = pair.client.roi_values(series=series, wait=0.4)
    sending.join(DEADLINE)
    assert (found.series, found.upto, found.ended) == (series, 0, False)
    pair.streamer.frame(0, pixels(0, SHAPE))
    pair.streamer.end(reason="complete", triggered=1)
    pair.receiver.ended(series)


def test_what_cannot_be_a_region_is_refused_and_nothing_changes(pair: Pair) -> None:
    pair.client.put_rois({"peak": PEAK})
    good = {"x": 0, "y": 0, "width": 1, "height": 1}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"my peak": good}, "region of interest 'my peak': a name has letters, digits and underscores"),
        ({"1st": good}, "begins with no digit"),
        (
            {"a": {**good, "width": 0}},
            "region of interest a: width is 0; give a whole number from 1 on",
        ),
        ({"a": {**good, "x": -1}}, "region of interest a: x is -1; give a whole number from 0 on"),
        ({"a": {**good, "y": 1.5}}, "region of interest a: y is 1.5; give"),
        ({"a": {"x": 1, "y": 1, "width": 1}}, "region of interest a: height is missing; give"),
        (
            {"a": {**good, "angle": 3}},
            'region of interest a: there is no setting "angle"; there is x, y, width, height',
        ),
        ({"a": [1, 2, 3, 4]}, "the entry is a list; give its settings: x, y, width, height"),
        ({f"r{number}": good for number in range(33)}, "there are 33 regions of interest; give 32 at most"),
    ]
    for rois, sentence in wrong:
        with pytest.raises(ReceiverRefused, match=sentence) as refused:
            pair.client._call("PUT", "/rois", body={"rois": rois})
        assert refused.value.kind == "bad_region"
    assert pair.client.rois().rois == {"peak": PEAK}
    assert pair.client.rois().kept is False


# -- the file --------------------------------------------------------------------------------------


def rows(path: Path, name: str) -> dict[str, np.ndarray[Any, Any]]:
    """The values of one region in a file."""
    with h5py.File(path) as file:
        group = file[f"{ROIS}/{name}"]
        return {value: group[value][:] for value in ("sum", "mean", "max", "saturated")}


def values_in(path: Path, region: Rectangle) -> np.ndarray[Any, Any]:
    """Sums, means and maxima that NumPy finds in the frames of a file, which have no saturated pixels: NaN of
    those that are not there."""
    with SeriesFile(path) as file:
        statuses = file.frame_status
        assert statuses is not None
        found = np.full((4, len(statuses)), np.nan)
        for index in np.flatnonzero(statuses == FrameStatus.STORED):
            here = part(file.frame(int(index)), region)
            found[:, index] = here.sum(), here.mean(), here.max(), 0
    return found


@pytest.mark.parametrize("packed", [False, True])
def test_the_file_has_the_values_of_the_frames_that_are_in_it(pair: Pair, packed: bool) -> None:
    pair.client.put_rois({"peak": PEAK, "edge": EDGE, "far": OUTSIDE})
    path = pair.receiver.root / f"values-{packed}.h5"
    series = pair.streamer.start(str(path), frames=12)
    for number in (0, 1, 2, 5, 6, 9):
        image = pixels(number, SHAPE, "int32")
        keys = {"compression": "bslz4", "blobs": [bslz4.compress(image)]} if packed else {}
        if number == 6:
            keys["blobs"] = [b"short"]
        pair.streamer.frame(number, image, **keys)
    pair.streamer.end(reason="stop", triggered=10)
    assert pair.receiver.ended(series).state == "idle"
    for name, region in (("peak", PEAK), ("edge", EDGE)):
        found = rows(path, name)
        assert np.array_equal(list(found.values()), values_in(path, region), equal_nan=True)
        assert len(found["sum"]) == 10 and np.isnan(found["sum"]).sum() == 5
    assert np.isnan(rows(path, "far")["max"]).all()
    with h5py.File(path) as file:
        group = file[f"{ROIS}/edge"]
        stored = [int(group[field][()]) for field in ("x", "y", "width", "height")]
        assert stored == [25, 15, 100, 100], "as it was given"


def test_a_region_in_the_file_is_what_a_viewer_plots(pair: Pair) -> None:
    from silx.io import nxdata

    pair.client.put_rois({"peak": PEAK})
    path = pair.receiver.root / "plotted.h5"
    pair.series(images(3), 3, filename=str(path))
    with h5py.File(path) as file:
        found = nxdata.get_default(file[f"{ROIS}/peak"])
        assert found is not None and found.is_valid
        assert found.signal_dataset_name == "sum"
        assert nxdata.get_default(file).signal_dataset_name == "data", "the frames are shown first"


def test_a_file_with_regions_is_sound_nexus(pair: Pair) -> None:
    pair.client.put_rois({"peak": PEAK})
    path = pair.receiver.root / "sound.h5"
    pair.series(images(3), 3, filename=str(path))
    assert main(["check", str(path)]) == 0
    for validate in (validators.nxcheck, validators.punx):
        assert validate(path).errors == []


def test_a_series_without_regions_has_no_group_of_them(pair: Pair) -> None:
    path = pair.receiver.root / "without.h5"
    pair.series(images(1), 1, filename=str(path))
    with h5py.File(path) as file:
        assert ROIS not in file


def test_the_memory_of_regions_is_counted_while_there_are_some(pair: Pair) -> None:
    check = SeriesCheck(filename="", frames=5, frame_bytes=10**7)
    without = pair.client.check(check).memory_bytes
    pair.client.put_rois({"peak": PEAK})
    with_regions = pair.client.check(check).memory_bytes
    assert without is not None and with_regions is not None
    assert with_regions - without == pytest.approx(1.1 * 5 * 10**7), "four that wait, and one unpacked"
