"""What a picture needs to be measured: geometry, mask, whole rectangles, times and lost frames, over HTTP."""

from __future__ import annotations

import io
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import cbor2
import h5py
import numpy as np
import pytest
import urllib3
from cbor2 import CBORTag

from penstock.receiver.client import ReceiverClient, ReceiverRefused
from penstock.receiver.http.frames import MAX_ASKERS
from penstock.receiver.models import Geometry, LostRange, Rectangle, Scan, View
from tests.receiver.conftest import Shared
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer, pixels

SHAPE = (20, 30)
PEAK = Rectangle(x=10, y=5, width=8, height=6)
GAP = 2**16 - 1
HEADER: dict[str, Any] = {
    "beam_center_x": 12.5, "beam_center_y": 4.25, "distance": 0.2,
    "x_pixel_size": 75e-6, "y_pixel_size": 172e-6, "incident_energy": 12398.419843320026,
    "sensor_thickness": 4.5e-4, "sensor_material": "Si",
    "detector_orientation": [1, 0, 0, 0, 1, 0],
}  # fmt: skip


def ask(receiver: ReceiverProcess, path: str) -> urllib3.BaseHTTPResponse:
    return urllib3.request("GET", receiver.client.url + path, timeout=DEADLINE, retries=False)


def refused(call: Callable[[], Any]) -> ReceiverRefused:
    with pytest.raises(ReceiverRefused) as caught:
        call()
    assert len(str(caught.value)) > 30, "a sentence"
    return caught.value


def begin(pair: Shared, metadata: dict[str, Any] | None = None, name: str = "", **keys: Any) -> str:
    """Start a series, and wait until the receiver has begun it."""
    filename = str(pair.receiver.root / name) if name else ""
    series = pair.streamer.start(filename, metadata, trigger_mode="SOFTWARE", **{"frames": 10, **keys})
    pair.receiver.wait(lambda status: status.series is not None and status.series.id == series)
    return series


def took(pair: Shared, frames: int) -> None:
    """Wait until so many frames of this series have come."""
    series = pair.streamer.series
    pair.receiver.wait(
        lambda status: (
            status.series is not None and status.series.id == series and status.counts.received >= frames
        )
    )


def end(pair: Shared, **keys: Any) -> None:
    pair.streamer.end(**keys)
    pair.receiver.ended(pair.streamer.series)


def counted(image: np.ndarray[Any, Any], mask: np.ndarray[Any, Any], where: Rectangle) -> float:
    """The sum of the pixels of a rectangle, which was fetched whole, that its part of the mask lets count."""
    part = mask[where.y : where.y + where.height, where.x : where.x + where.width]
    assert part.shape == image.shape
    return float(image[part == 0].sum(dtype=np.float64))


# -- geometry --------------------------------------------------------------------------------------


def test_the_geometry_is_that_of_the_start_message_with_both_wavelength_and_energy(shared: Shared) -> None:
    series = begin(shared, HEADER)
    expected = Geometry(
        series=series, beam_center_x=12.5, beam_center_y=4.25, distance=0.2, x_pixel_size=75e-6,
        y_pixel_size=172e-6, wavelength=1.0, energy=12398.419843320026,
        detector_orientation=[1, 0, 0, 0, 1, 0], sensor_thickness=4.5e-4, sensor_material="Si",
    )  # fmt: skip
    assert shared.receiver.client.geometry() == expected
    end(shared)
    assert shared.receiver.client.geometry(series) == expected, "after the series, too"
    other = refused(lambda: shared.receiver.client.geometry("another"))
    assert (other.kind, series in str(other)) == ("no_such_series", True)


def test_what_the_start_message_does_not_say_is_null_and_named(shared: Shared) -> None:
    begin(shared, {"distance": 0, "beam_center_x": 0.0, "beam_center_y": 0.0, "wavelength": 2.0})
    found = json.loads(ask(shared.receiver, "/geometry").data)
    assert found["wavelength"] == 2.0
    assert found["energy"] == pytest.approx(6199.2099, rel=1e-6)
    unknown = [key for key, value in found.items() if value is None]
    assert found["unknown"] == unknown
    assert set(unknown) == {*HEADER, "wavelength", "energy"} - {"incident_energy", "wavelength", "energy"}


@pytest.mark.parametrize(("shape", "words"), [((64,), "spectra"), ((4, 6, 3), "colour images")])
@pytest.mark.parametrize("announced", [True, False])
def test_spectra_and_colours_have_no_geometry_and_no_mask(
    shape: tuple[int, ...], words: str, announced: bool, shared: Shared
) -> None:
    keys = {"shape": shape, "type": "uint16", "compression": "none"} if announced else {}
    begin(shared, HEADER, **keys)
    if not announced:
        shared.streamer.frame(0, pixels(0, shape))
        took(shared, 1)
    client = shared.receiver.client
    geometry, mask = refused(client.geometry), refused(client.mask)
    assert (geometry.kind, mask.kind) == ("no_geometry", "no_mask")
    assert words in str(geometry) and words in str(mask)


# -- mask, and sums of rectangles ------------------------------------------------------------------


def test_the_mask_has_the_bits_that_were_sent(shared: Shared) -> None:
    mask = np.zeros(SHAPE, int)
    mask[7, 10:14] = 8
    mask[0, 0] = 2**31
    series = begin(shared, {"pixel_mask": mask.tolist()}, shape=SHAPE, type="uint16", compression="none")
    found = shared.receiver.client.mask()
    assert found.dtype == np.uint32
    np.testing.assert_array_equal(found, mask)
    answer = ask(shared.receiver, "/mask?format=npy")
    np.testing.assert_array_equal(np.load(io.BytesIO(answer.data), allow_pickle=False), mask)
    assert json.loads(answer.headers["X-Penstock-Mask"]) == {
        "shape": list(SHAPE), "dtype": "uint32", "series": series, "masked": 5,
    }  # fmt: skip
    assert refused(lambda: shared.receiver.client.mask("threshold_9")).kind == "no_such_channel"


@pytest.mark.parametrize("name", ["", "masked.h5"])
def test_no_masked_pixel_stands_for_its_block(shared: Shared, name: str) -> None:
    mask = np.zeros(SHAPE, int)
    mask[4, 4] = mask[8:12, 8:12] = 8
    frame = np.ones(SHAPE, np.uint16)
    frame[4, 4], frame[4, 5], frame[9, 9] = 60_000, 7, 50_000
    begin(shared, {"pixel_mask": mask.tolist()}, name)
    shared.streamer.frame(0, frame)
    end(shared)
    view = View(downsample=4, method="max_valid")

    blocks = shared.receiver.client.last_frame(view=view)

    assert blocks is not None
    assert blocks.array[1, 1] == 7, "the greatest of those that are not masked"
    assert blocks.array[2, 2] == GAP, "all of them are masked"
    assert blocks.array[0, 0] == 1
    if name:
        np.testing.assert_array_equal(shared.receiver.client.frame(0, view=view).array, blocks.array)


def test_a_series_without_a_mask_or_with_one_that_does_not_fit_says_so(shared: Shared) -> None:
    client = shared.receiver.client
    begin(shared)
    assert refused(client.mask).kind == "no_mask"
    assert ask(shared.receiver, "/mask").status == 404
    end(shared)
    begin(shared, {"pixel_mask": [[1, 1], [1, 1]]})
    shared.streamer.frame(0, pixels(0, SHAPE))
    took(shared, 1)
    assert "[2, 2] pixels, a frame [20, 30]" in str(refused(client.mask))
    end(shared)
    begin(shared, {"pixel_mask": [[1, 1], [1]]})
    assert refused(client.mask).kind == "no_mask"


@pytest.mark.parametrize("ended", [False, True])
def test_the_sum_of_a_whole_rectangle_is_that_of_the_receivers_region(ended: bool, shared: Shared) -> None:
    client, streamer = shared.receiver.client, shared.streamer
    edge = Rectangle(x=25, y=15, width=100, height=100)
    client.put_rois({"peak": PEAK, "edge": edge})
    client.set_downsample(4)  # for viewers; nothing that is measured is reduced
    mask = np.zeros(SHAPE, int)
    mask[7, 10:14] = 8
    series = begin(shared, {"pixel_mask": mask.tolist()}, name="a.h5")
    for number in range(3):
        image = pixels(number, SHAPE)
        image[7, 10:14] = GAP
        streamer.frame(number, image)
    took(shared, 3)
    if ended:
        end(shared)
    values = client.roi_values(2, 1, series, wait=DEADLINE).values
    whole = client.mask()
    newest = client.last_frame(rectangle=PEAK)
    assert newest is not None
    for shown in (newest, client.frame(2, rectangle=PEAK)):
        assert (shown.frame, shown.x, shown.y, shown.downsample) == (2, PEAK.x, PEAK.y, 1)
        assert [counted(shown.array, whole, PEAK)] == values["peak"].sum
    corner = client.frame(2, rectangle=edge).array
    assert corner.shape == (5, 5)
    assert [float(corner.sum())] == values["edge"].sum
    client.put_rois({})


@pytest.mark.parametrize("path", ["/last_frame", "/frame/0"])
def test_a_rectangle_is_refused_together_with_another_region_and_outside_of_the_frame(
    path: str, shared: Shared
) -> None:
    shared.receiver.ended(shared.streamer.series_of(str(shared.receiver.root / "a.h5"), 1))
    for query in ("rectangle=0,0,2,2&downsample=2", "rectangle=0,0,2,2&x=1", "rectangle=6,0,1,1"):
        answer = ask(shared.receiver, f"{path}?{query}")
        assert (answer.status, json.loads(answer.data)["kind"]) == (409, "no_such_view"), query
    for query in ("rectangle=0,0,2", "rectangle=-1,0,2,2", "rectangle=0,0,0,2", "rectangle=a"):
        answer = ask(shared.receiver, f"{path}?{query}")
        assert (answer.status, json.loads(answer.data)["kind"]) == (422, "bad_request"), query
    answer = ask(shared.receiver, f"{path}?rectangle=1,2,3,9&format=npy")
    np.testing.assert_array_equal(np.load(io.BytesIO(answer.data), allow_pickle=False), pixels(0)[2:, 1:4])


# -- frames and their times ------------------------------------------------------------------------


def test_a_requested_frame_has_its_status_and_its_time_before_and_after_the_end(shared: Shared) -> None:
    client, streamer = shared.receiver.client, shared.streamer
    begin(shared, name="a.h5")
    streamer.frame(0, timestamp=1000.5)
    streamer.frame(1)
    took(shared, 2)

    def told() -> list[tuple[str | None, float | None]]:
        return [(found.status, found.time) for found in (client.frame(0), client.frame(1))]

    assert told() == [("stored", 1000.5), ("stored", None)]
    shared.receiver.flushed(2)
    assert told() == [("stored", 1000.5), ("stored", None)]
    newest = client.last_frame()
    assert newest is not None and newest.status == "stored"
    end(shared)
    assert told() == [("stored", 1000.5), ("stored", None)]
    begin(shared)
    streamer.frame(0)
    took(shared, 1)
    live = client.last_frame()
    assert live is not None and live.status == "delivered"


def test_values_of_regions_have_the_times_of_the_file(shared: Shared) -> None:
    client, streamer = shared.receiver.client, shared.streamer
    client.put_rois({"peak": PEAK})
    series = begin(shared, name="a.h5", frames=4)
    for number in (0, 1, 3):
        streamer.frame(number, pixels(number, SHAPE), **({} if number == 1 else {"timestamp": 1e9 + number}))
    end(shared, reason="fault", triggered=4)
    found = client.roi_values(series=series)
    assert found.time == [1e9, None, None, 1e9 + 3]
    with h5py.File(shared.receiver.root / "a.h5") as file:
        written = file["entry/instrument/sim_1/timestamp"][:]
    assert found.time == [None if np.isnan(each) else each for each in written]
    client.put_rois({})


def test_who_is_refused_because_others_wait_is_told_when_to_ask_again(shared: Shared) -> None:
    receiver, streamer = shared
    begin(shared, name="a.h5")
    streamer.frame(0)
    took(shared, 1)
    found: list[np.ndarray[Any, Any]] = []
    refusals: SimpleQueue[ReceiverRefused] = SimpleQueue()

    def look() -> None:
        try:
            found.append(ReceiverClient(receiver.client.url, timeout=DEADLINE).frame(0).array)
        except ReceiverRefused as refusal:
            refusals.put(refusal)

    threads = [threading.Thread(target=look) for _ in range(MAX_ASKERS + 1)]
    child = receiver.data_process()
    os.kill(child, signal.SIGSTOP)  # nobody is served, so that one is too many
    try:
        for thread in threads:
            thread.start()
        error = refusals.get(timeout=DEADLINE)
    finally:
        os.kill(child, signal.SIGCONT)
        for thread in threads:
            thread.join(2 * DEADLINE)
    assert error.kind == "busy"
    assert error.retry_after is not None and error.retry_after >= 1
    assert found, "the others get their frame"
    np.testing.assert_array_equal(found[0], pixels(0))


# -- lost frames -----------------------------------------------------------------------------------


def test_all_ranges_of_lost_frames_come_in_pages_so_far_and_at_the_end(shared: Shared) -> None:
    client, streamer = shared.receiver.client, shared.streamer
    series = begin(shared, name="a.h5", frames=700)
    for number in range(0, 600, 2):
        streamer.frame(number, **({"discard": True} if number == 4 else {}))
    every = [LostRange(number, number, "missing") for number in range(1, 599, 2)]
    every[2:2] = [LostRange(4, 4, "discarded")]
    due = time.monotonic() + DEADLINE
    while (found := client.lost_frames()).ranges != every:  # once the gap clock has given all of them up
        assert time.monotonic() < due
    assert (found.series, found.so_far, found.upto, found.next) == (series, True, 599, None)
    end(shared, reason="fault", triggered=650)
    status = client.status()
    assert status.series is not None and len(status.series.lost) == 100
    rest = LostRange(599, 649, "missing"), LostRange(650, 699, "not_triggered")
    expected = [*every, *rest]
    pages: list[LostRange] = []
    first: int | None = 0
    while first is not None:
        page = client.lost_frames(first, limit=100, series=series)
        assert len(page.ranges) <= 100
        assert (page.so_far, page.upto) == (False, 700)
        pages += page.ranges
        first = page.next
    assert pages == expected
    assert client.lost_frames(620).ranges == [LostRange(620, 649, "missing"), rest[1]]
    assert client.lost_frames(700).ranges == []
    assert refused(lambda: client.lost_frames(701)).kind == "out_of_range"
    assert refused(lambda: client.lost_frames(series="another")).kind == "no_such_series"


def test_of_a_series_that_was_not_taken_nothing_is_said_of_the_one_before(shared: Shared) -> None:
    shared.receiver.ended(shared.streamer.series_of(str(shared.receiver.root / "a.h5"), 1))
    taken = shared.streamer.start(str(shared.receiver.root / "a.h5"), frames=1)
    shared.receiver.wait(lambda status: status.series is not None and status.series.id == taken)
    for call in (shared.receiver.client.geometry, shared.receiver.client.lost_frames):
        assert refused(call).kind == "not_known"


def test_the_scan_is_what_the_users_metadata_say_of_it_and_nothing_else_is_guessed(shared: Shared) -> None:
    said = {"macro": "ascan", "motors": ["mot01"], "points": 21, "entries": ["title", "scan"]}
    series = begin(shared, {"user": {"title": "ascan mot01 0 10 20 0.1", "scan": said}})
    expected = Scan(
        series=series, title="ascan mot01 0 10 20 0.1", macro="ascan", motors=["mot01"], points=21
    )
    assert shared.receiver.client.scan() == expected
    end(shared)
    assert shared.receiver.client.scan(series) == expected, "after the series, too"
    assert refused(lambda: shared.receiver.client.scan("another")).kind == "no_such_series"
    wrong = {"macro": [], "motors": "mot01", "points": -1}
    for user in ({}, {"scan": 17}, {"scan": {"points": True}}, {"title": 3, "scan": wrong}):
        series = begin(shared, {"user": user, "title": "of the streamer"})
        assert shared.receiver.client.scan() == Scan(series=series)
        end(shared)


# -- transforms, vendors' streams and modules ------------------------------------------------------


def test_beam_centre_pixel_sizes_and_mask_are_turned_with_the_image(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(
        transforms=[{"type": "rotate", "quarter_turns": 1}, {"type": "flip", "direction": "left-right"}],
        rois={"peak": {"x": 8, "y": 12, "width": 6, "height": 9}},
    )
    receiver.connected()
    pair = Shared(receiver, streamer)
    mask = np.zeros(SHAPE, int)
    mask[7, 10:14] = 4
    begin(
        pair, {**HEADER, "pixel_mask": mask.tolist()}, name="a.h5",
        shape=SHAPE, type="uint16", compression="none",
    )  # fmt: skip
    streamer.frame(0, pixels(0, SHAPE))
    took(pair, 1)
    client, there = receiver.client, Rectangle(x=8, y=12, width=6, height=9)

    def turned(image: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.rot90(image)[:, ::-1]

    found = client.geometry()
    # 20 rows and 30 columns become 30 rows and 20 columns: both axes change places, and both turn round.
    assert (found.beam_center_x, found.beam_center_y) == (20 - 4.25, 30 - 12.5)
    assert (found.x_pixel_size, found.y_pixel_size) == (172e-6, 75e-6)
    assert found.unknown == ["detector_orientation"], "that of the image as sent is not that of this one"
    whole = client.mask()
    np.testing.assert_array_equal(whole, turned(mask))
    shown = client.frame(0, rectangle=there)
    np.testing.assert_array_equal(shown.array, turned(pixels(0, SHAPE))[12:21, 8:14])
    values = client.roi_values(0, 1, wait=DEADLINE).values["peak"]
    assert values.sum == [counted(shown.array, whole, there)]
    assert whole[12:21, 8:14].any()
    end(pair)
    with h5py.File(receiver.root / "a.h5") as file:
        group = file["entry/instrument/sim_1"]
        assert group["beam_center_x"][()] == found.beam_center_x
        assert group["beam_center_y"][()] == found.beam_center_y
        np.testing.assert_array_equal(group["pixel_mask"][:], whole)


def test_a_dectris_stream_has_geometry_and_the_mask_of_each_threshold(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(
        source={"type": "dectris-v2", "endpoints": [streamer.endpoint]},
        rois={"peak": {"x": 10, "y": 5, "width": 8, "height": 6}},
    )
    receiver.connected()
    pair, channels = Shared(receiver, streamer), ["threshold_1", "threshold_2"]
    masks = {name: np.zeros(SHAPE, "<u4") for name in channels}
    masks["threshold_1"][6, 12:15] = 2
    masks["threshold_2"][0, 0] = 16
    about = {"series_id": 1, "series_unique_id": "01HR"}

    def shaped(array: np.ndarray[Any, Any], tag: int) -> CBORTag:
        return CBORTag(40, [list(array.shape), CBORTag(tag, array.tobytes())])

    streamer.send([cbor2.dumps({
        "type": "start", **about, "channels": channels, "number_of_images": 1, "number_of_triggers": 1,
        "beam_center_x": 14.5, "beam_center_y": 9.0, "detector_translation": [0.0, 0.0, -0.15],
        "pixel_size_x": 75e-6, "pixel_size_y": 75e-6, "incident_wavelength": 1.0, "sensor_material": "CdTe",
        "sensor_thickness": 7.5e-4, "detector_orientation": [0, 1, 0, -1, 0, 0],
        "pixel_mask": {name: shaped(mask, 70) for name, mask in masks.items()},
        "user_data": {"filename": str(receiver.root / "a.h5")},
    })])  # fmt: skip
    images = {name: pixels(number, SHAPE, "uint16") for number, name in enumerate(channels)}
    images["threshold_1"][6, 12:15] = GAP
    streamer.send([cbor2.dumps({
        "type": "image", **about, "image_id": 0,
        "start_time": [0, 50], "stop_time": [1, 50], "real_time": [1, 50],
        "data": {name: shaped(image, 69) for name, image in images.items()},
    })])  # fmt: skip
    receiver.received(1)
    client = receiver.client
    found = client.geometry()
    assert (found.series, found.distance, found.wavelength, found.unknown) == ("01HR", 0.15, 1.0, [])
    assert found.energy == pytest.approx(12398.42, abs=0.01)
    # Its axes point left, up and against the beam.
    assert found.detector_orientation == [0, -1, 0, 1, 0, 0]
    for name in channels:
        np.testing.assert_array_equal(client.mask(name), masks[name])
    np.testing.assert_array_equal(client.mask(), masks["threshold_1"])
    shown = client.frame(0, View(channel="threshold_1"), rectangle=PEAK)
    values = client.roi_values(0, 1, wait=DEADLINE).values["peak"]
    assert values.sum == [counted(shown.array, client.mask(), PEAK)]
    streamer.send([cbor2.dumps({"type": "end", **about})])
    receiver.ended("01HR")
    assert pair.receiver.client.geometry("01HR") == found


@pytest.fixture
def modules(tmp_path: Path) -> Iterator[Callable[..., tuple[ReceiverProcess, list[Streamer]]]]:
    """Starts a receiver of two modules, which stand one above the other with a gap of 6 rows between them."""
    streamers = [Streamer() for _ in range(2)]
    started: list[ReceiverProcess] = []

    def start(**keys: Any) -> tuple[ReceiverProcess, list[Streamer]]:
        source = {"endpoints": [streamer.endpoint for streamer in streamers], "join": "modules"}
        started.append(ReceiverProcess(tmp_path, streamers[0].endpoint, source, **keys))
        started[0].connected()
        return started[0], streamers

    yield start
    for receiver in started:
        receiver.close()
    for streamer in streamers:
        streamer.close()


@pytest.mark.parametrize(
    "masked",
    [pytest.param(True, id="masks"), pytest.param(False, id="gaps-only", marks=pytest.mark.slow)],
)
def test_the_mask_of_joined_modules_is_assembled_like_their_image(
    masked: bool, modules: Callable[..., tuple[ReceiverProcess, list[Streamer]]]
) -> None:
    there = Rectangle(x=1, y=2, width=4, height=10)
    rois = {"both": {"x": 1, "y": 2, "width": 4, "height": 10}}
    receiver, streamers = modules(transforms=[{"type": "assemble"}], rois=rois)
    masks = [np.zeros((4, 6), int) for _ in streamers]
    masks[0][3, 2] = 2
    for number, streamer in enumerate(streamers):
        metadata = {"x": 0, "y": 10 * number, "beam_center_x": 3.0, "beam_center_y": 7.0}
        if masked:
            metadata["pixel_mask"] = masks[number].tolist()
        streamer.start(str(receiver.root / "a.h5"), metadata, series="a", frames=1, trigger_mode="SOFTWARE")
        streamer.frame(0, pixels(number))
    receiver.received(1)
    client = receiver.client
    expected = np.ones((14, 6), np.uint32)
    for number, mask in enumerate(masks):
        expected[10 * number :][:4] = mask if masked else 0
    found = client.mask()
    np.testing.assert_array_equal(found, expected)
    shown = client.frame(0, rectangle=there)
    assert (shown.array == GAP).any(), "the gap"
    values = client.roi_values(0, 1, wait=DEADLINE).values["both"]
    assert values.sum == [counted(shown.array, found, there)]
    geometry = client.geometry()
    assert (geometry.beam_center_x, geometry.beam_center_y) == (3.0, 7.0)


@pytest.mark.slow
@pytest.mark.parametrize("masked", [True, False])
def test_what_is_turned_behind_the_assembling_has_mask_and_gaps_turned_with_it(
    masked: bool, modules: Callable[..., tuple[ReceiverProcess, list[Streamer]]]
) -> None:
    turns = [{"type": "rotate", "quarter_turns": 3}, {"type": "flip", "direction": "up-down"}]
    there = Rectangle(x=2, y=1, width=10, height=4)
    rois = {"both": {"x": 2, "y": 1, "width": 10, "height": 4}}
    receiver, streamers = modules(transforms=[{"type": "assemble"}, *turns], rois=rois)
    for number, streamer in enumerate(streamers):
        metadata: dict[str, Any] = {"x": 0, "y": 9 * number, "beam_center_x": 2.0, "beam_center_y": 7.0}
        if masked:
            metadata["pixel_mask"] = (pixels(0) == 15).astype(int).tolist()
        format = {"shape": (4, 6), "type": "uint16", "compression": "none"}
        streamer.start(
            str(receiver.root / "a.h5"), metadata, series="a", frames=1, trigger_mode="SOFTWARE", **format
        )
        streamer.frame(0, pixels(number))
    receiver.received(1)
    client = receiver.client
    found, whole = client.mask(), client.frame(0)
    assert whole.array.shape == found.shape == (6, 13)
    np.testing.assert_array_equal((whole.array == GAP) & (found == 1), whole.array == GAP)
    assert np.count_nonzero(found) == 6 * 5 + (2 if masked else 0)
    shown = client.frame(0, rectangle=there)
    assert (shown.array == GAP).any(), "the gap"
    values = client.roi_values(0, 1, wait=DEADLINE).values["both"]
    assert values.sum == [counted(shown.array, found, there)]
    geometry = client.geometry()
    # Clockwise, then upside down: column and row change places, and both count from the other end.
    assert (geometry.beam_center_x, geometry.beam_center_y) == (13 - 7.0, 6 - 2.0)


@pytest.mark.slow
def test_modules_that_are_stored_one_by_one_have_the_mask_of_the_image_that_is_shown(
    modules: Callable[..., tuple[ReceiverProcess, list[Streamer]]],
) -> None:
    receiver, streamers = modules()
    masks = [np.zeros((4, 6), int) for _ in streamers]
    masks[1][0, 0] = 8
    for number, streamer in enumerate(streamers):
        metadata = {"x": 0, "y": 8 * number, "rotation": 90, "pixel_mask": masks[number].tolist()}
        streamer.start(str(receiver.root / "a.h5"), metadata, series="a", frames=1, trigger_mode="SOFTWARE")
        streamer.frame(0, pixels(number))
    receiver.received(1)
    found, shown = receiver.client.mask(), receiver.client.frame(0).array
    assert found.shape == shown.shape == (14, 4)
    np.testing.assert_array_equal(found[8:], np.rot90(masks[1]))
    assert (found[6:8] == 1).all() and (shown[6:8] == GAP).all(), "the gap"
