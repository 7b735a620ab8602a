"""Regions of interest over restarts and deaths of the receiver, and with each way to write and to receive."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.codecs import bslz4
from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import LostRange, Rectangle
from tests.receiver.merge.test_receiver import Detector
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

Start = Callable[..., ReceiverProcess]
PEAK = Rectangle(x=1, y=1, width=3, height=2)
LEFT = Rectangle(x=0, y=0, width=1, height=4)
ROIS = "entry/instrument/sim_1/rois"
INITIAL = {"left": {"x": 0, "y": 0, "width": 1, "height": 4}}


def total(image: np.ndarray[Any, Any], region: Rectangle) -> float:
    rows, columns = slice(region.y, region.y + region.height), slice(region.x, region.x + region.width)
    return float(image[rows, columns].sum(dtype=np.float64))


def sums_in(path: Path, name: str = "peak") -> list[float | None]:
    """The sums of a region in a file, `None` for those that are not there."""
    with h5py.File(path) as file:
        return [None if np.isnan(value) else float(value) for value in file[f"{ROIS}/{name}/sum"][:]]


def restarted(receiver: ReceiverProcess, streamer: Streamer, **keys: Any) -> ReceiverProcess:
    """Another receiver in the same folder."""
    receiver.close()
    return ReceiverProcess(receiver.root.parent, streamer.endpoint, **keys)


@pytest.mark.slow
def test_kept_regions_outlive_a_restart_and_have_precedence_over_the_configuration(
    start_receiver: Start, streamer: Streamer
) -> None:
    first = start_receiver(rois=INITIAL)
    assert first.client.rois().rois == {"left": LEFT}
    assert [each.name for each in first.client.status().rois] == ["left"], "the next series will have it"
    first.client.put_rois({"peak": PEAK})
    second = restarted(first, streamer, rois=INITIAL)
    third = None
    try:
        assert second.client.rois().rois == {"left": LEFT}, "the others were not to be kept"
        assert second.client.put_rois({"peak": PEAK}, keep=True).kept
        third = restarted(second, streamer, rois=INITIAL)
        third.connected()
        found = third.client.rois()
        assert (found.rois, found.kept) == ({"peak": PEAK}, True)
        assert not third.client.put_rois({}).kept
        assert third.client.put_rois(found.rois, keep=True).kept
        series = streamer.series_of("", 2)
        third.ended(series)
        assert third.client.roi_values(series=series).values["peak"].sum == [
            total(pixels(number), PEAK) for number in range(2)
        ]
    finally:
        second.close()
        if third is not None:
            third.close()


@pytest.mark.slow
def test_regions_that_cannot_be_kept_are_refused_and_nothing_changes(
    start_receiver: Start, tmp_path: Path
) -> None:
    receiver = start_receiver(state_folder=str(tmp_path / "file"))
    (tmp_path / "file").rename(tmp_path / "away")
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(ReceiverRefused, match=r"cannot keep regions of interest in .*; fix that") as refused:
        receiver.client.put_rois({"peak": PEAK}, keep=True)
    assert refused.value.kind == "not_kept"
    assert receiver.client.rois().rois == {}


@pytest.mark.parametrize("swmr", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_series_goes_on_with_its_regions_after_a_kill(
    start_receiver: Start, streamer: Streamer, swmr: bool
) -> None:
    receiver = start_receiver(swmr=swmr)
    receiver.connected()
    receiver.client.put_rois({"peak": PEAK, "left": LEFT})
    path = receiver.root / "x.h5"
    series = streamer.start(str(path), {"distance": 0.2}, frames=30, trigger_mode="SOFTWARE")
    for number in range(10):
        streamer.frame(number, timestamp=1000.5 + number)
    receiver.flushed(10)
    receiver.client.put_rois({"other": LEFT})
    os.kill(receiver.data_process(), signal.SIGKILL)
    receiver.wait(lambda status: status.series is not None and status.series.restarts == 1)
    receiver.connected()
    for number in range(12, 30):
        streamer.frame(number)
    streamer.end(reason="complete", triggered=30)
    status = receiver.ended(series)
    assert (status.state, status.counts.missing) == ("idle", 2)
    expected = [None if number in (10, 11) else total(pixels(number), PEAK) for number in range(30)]
    found = receiver.client.roi_values(series=series)
    assert found.values["peak"].sum == expected
    assert found.time == [1000.5 + number if number < 10 else None for number in range(30)]
    assert sums_in(path) == expected
    assert receiver.client.lost_frames(series=series).ranges == [LostRange(10, 11, "missing")]
    assert receiver.client.geometry(series).distance == 0.2
    assert set(h5py.File(path)[ROIS]) == {"peak", "left"}


@pytest.mark.slow
def test_a_file_that_is_marked_after_a_kill_has_the_values_of_its_frames(
    start_receiver: Start, streamer: Streamer
) -> None:
    receiver = start_receiver(resume=False)
    receiver.connected()
    receiver.client.put_rois({"peak": PEAK})
    path = receiver.root / "x.h5"
    series = streamer.start(str(path), frames=30, trigger_mode="SOFTWARE")
    for number in range(10):
        streamer.frame(number)
    receiver.flushed(10)
    os.kill(receiver.data_process(), signal.SIGKILL)
    receiver.wait(lambda status: status.state == "error" and status.counts.pending == 0)
    found = receiver.client.roi_values(series=series)
    assert (found.upto, found.ended) == (10, True)
    assert found.values["peak"].sum == [total(pixels(number), PEAK) for number in range(10)]
    assert sums_in(path) == [total(pixels(number), PEAK) for number in range(10)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "keys",
    [
        pytest.param({"frames_per_file": 4}, id="segments"),
        pytest.param({"files": 2}, id="two files", marks=pytest.mark.slow),
        pytest.param({"swmr": True}, id="swmr", marks=pytest.mark.slow),
        pytest.param(
            {"workers": 3, "transforms": [{"type": "bslz4"}]}, id="three threads", marks=pytest.mark.slow
        ),
    ],
)
def test_values_are_in_the_file_however_it_is_written(
    start_receiver: Start, streamer: Streamer, keys: dict[str, Any]
) -> None:
    receiver = start_receiver(rois={"peak": {"x": 1, "y": 1, "width": 3, "height": 2}}, **keys)
    receiver.connected()
    path = receiver.root / "x.h5"
    series = streamer.start(str(path), frames=50)
    for number in range(50):
        streamer.frame(number, blobs=[bslz4.compress(pixels(number))], compression="bslz4")
    streamer.end(reason="complete", triggered=50)
    assert receiver.ended(series).series.complete
    assert sums_in(path) == [total(pixels(number), PEAK) for number in range(50)]


@pytest.mark.slow
def test_modules_have_values_of_the_assembled_image_without_its_gaps(tmp_path: Path) -> None:
    sim = Detector(tmp_path, transforms=[{"type": "assemble"}])
    try:
        whole = Rectangle(x=0, y=0, width=1000, height=1000)
        sim.receiver.client.put_rois({"whole": whole})
        sim.start("a.h5", frames=3)
        sim.frame(0)
        sim.frame(1, 0)
        sim.frame(2)
        sim.end()
        sim.receiver.ended("a.h5")
        found = sim.receiver.client.roi_values(series="a.h5").values["whole"]
        image = sim.image(0)
        gap = image == np.iinfo(image.dtype).max
        assert gap.any(), "the detector of this test has gaps"
        assert found.sum[0] == float(image[~gap].sum(dtype=np.float64))
        assert found.max[2] == float(sim.image(2)[~gap].max())
        assert found.sum[1] is None, "a module is missing"
    finally:
        sim.close()


@pytest.mark.slow
def test_modules_that_are_stored_apart_have_no_values_and_that_is_said(tmp_path: Path) -> None:
    sim = Detector(tmp_path)
    try:
        sim.receiver.client.put_rois({"peak": PEAK})
        sim.start("a.h5", frames=1)
        sim.frame(0)
        sim.end()
        status = sim.receiver.ended("a.h5")
        assert status.series.complete
        assert status.errors["roi_no_image"] == 1
        assert "put {type: assemble} into the transforms" in status.last_error
        assert sim.receiver.client.roi_values(series="a.h5").values["peak"].sum == [None]
    finally:
        sim.close()


@pytest.mark.slow
def test_of_several_channels_the_first_one_counts(receiver: ReceiverProcess, streamer: Streamer) -> None:
    receiver.client.put_rois({"peak": PEAK})
    images = [pixels(number) for number in (3, 4)]
    mask = {"low": np.zeros((4, 6), int).tolist(), "high": np.ones((4, 6), int).tolist()}
    series = streamer.start(
        "", {"pixel_mask": mask}, frames=2, channels=("low", "high"), shape=(2, 4, 6), type="uint16",
        compression="none",
    )  # fmt: skip
    blobs = [image.tobytes() for image in images]
    streamer.frame(0, np.array(images), blobs=blobs)
    streamer.frame(1, np.array(images), blobs=[blobs[0], b"short"])
    streamer.end(reason="complete", triggered=2)
    status = receiver.ended(series)
    assert status.counts.partial == 1
    assert receiver.client.roi_values(series=series).values["peak"].sum == [total(images[0], PEAK)] * 2


@pytest.mark.slow
def test_a_receiver_that_ends_while_a_series_runs_writes_the_values_that_it_has(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    receiver.client.put_rois({"peak": PEAK})
    path = receiver.root / "x.h5"
    streamer.start(str(path), frames=9)
    for number in range(4):
        streamer.frame(number)
    receiver.received(4)
    assert receiver.stop() == 0
    assert sums_in(path) == [total(pixels(number), PEAK) for number in range(4)]


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_values_are_those_of_the_image_behind_the_transforms(
    start_receiver: Start, streamer: Streamer, workers: int
) -> None:
    steps = [{"type": "rotate", "quarter_turns": 1}, {"type": "bslz4"}]
    receiver = start_receiver(transforms=steps, workers=workers)
    receiver.connected()
    receiver.client.put_rois({"peak": PEAK})
    path = receiver.root / "x.h5"
    mask = np.zeros((4, 6), int)
    mask[1, 3] = 1
    series = streamer.start(
        str(path), {"pixel_mask": mask.tolist()}, frames=20, shape=(4, 6), type="uint16", compression="none"
    )
    for number in range(20):
        streamer.frame(number)
    streamer.end(reason="complete", triggered=20)
    assert receiver.ended(series).series.complete
    good = np.rot90(mask) == 0
    assert sums_in(path) == [total(np.rot90(pixels(number)) * good, PEAK) for number in range(20)]
