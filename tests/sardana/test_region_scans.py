"""Counters of regions in scans: each point has the value of its own frame."""

from __future__ import annotations

import json
from collections.abc import Iterator

import h5py
import numpy as np
import pytest
import tango

from penstock.receiver.models import Rectangle
from penstock.sardana.door import MacroRun
from penstock.sardana.laboratory.laboratory import GROUP, TIMER, TRIGGERS, Laboratory
from penstock.sardana.reference import parse

PEAK, EDGE = Rectangle(x=10, y=5, width=20, height=8), Rectangle(x=0, y=0, width=4, height=1)
STEPS, FLY = "regsteps", "regfly"
COUNTERS = {"edgesum": ("edge", "sum"), "peakmax": ("peak", "max"), "edgemean": ("edge", "mean")}
OF = {"sum": np.sum, "mean": np.mean, "max": np.max}


@pytest.fixture(scope="module")
def laboratory(laboratory: Laboratory) -> Iterator[Laboratory]:
    """Two regions, one of them where each frame bears its number, and a counter for each of some values."""
    laboratory.receiver().put_rois({"peak": PEAK, "edge": EDGE})
    laboratory.define(
        "defctrl", "PenstockRegions", "regctrl", "DetectorDevice", laboratory.units["sim"].device
    )
    for axis, (name, (region, value)) in enumerate(COUNTERS.items(), 1):
        laboratory.define("defelem", name, "regctrl", str(axis))
        laboratory.device(name).Region, laboratory.device(name).RegionValue = region, value
    laboratory.define("defmeas", STEPS, TIMER, "sim", *COUNTERS)
    laboratory.define("defmeas", FLY, "sim", *COUNTERS)
    laboratory.define("set_meas_conf", "ValueRefEnabled", "True", "[", "sim", "]", STEPS)
    laboratory.define("set_meas_conf", "ValueRefEnabled", "True", "[", "sim", "]", FLY)
    for parameter, value in (("Synchronizer", TRIGGERS), ("Synchronization", "Trigger")):
        laboratory.define("set_meas_conf", parameter, value, "[", "sim", *COUNTERS, "]", FLY)
    yield laboratory
    laboratory.receiver().put_rois({})
    laboratory.define("senv", "ActiveMntGrp", GROUP)


def columns(laboratory: Laboratory) -> dict[str, np.ndarray]:
    """What the last scan recorded, by channel."""
    with h5py.File(laboratory.data / "scan.h5", locking=False) as file:
        entry = max(file, key=lambda name: int(name.removeprefix("entry")))
        return {name: values[()] for name, values in file[f"{entry}/measurement"].items()
                if isinstance(values, h5py.Dataset)}  # fmt: skip


def of_frame(reference: bytes, rectangle: Rectangle, value: str) -> float:
    """NumPy's own value of the stored frame."""
    found = parse(reference.decode())
    assert found is not None
    with h5py.File(found.file, locking=False) as file:
        frame = file[found.dataset][found.index]
    inside = frame[rectangle.y :, rectangle.x :][: rectangle.height, : rectangle.width]
    return float(OF[value](inside.astype(np.float64)))


def check(laboratory: Laboratory, points: int, lost: tuple[int, ...] = (), rows: int = 1) -> None:
    """Each point has the value of its own frame, which NumPy finds in the file."""
    found = columns(laboratory)
    for name, (region, value) in COUNTERS.items():
        assert len(found[name]) == points, name
        rectangle = {"peak": PEAK, "edge": EDGE}[region]
        for point in range(points):
            if point in lost:
                assert np.isnan(found[name][point]), (name, point, found[name])
            else:
                assert found[name][point] == of_frame(found["_sim"][point], rectangle, value), (name, point)
    seen = [point for point in range(points) if point not in lost]
    assert [found["edgesum"][point] for point in seen] == [point % (points // rows) for point in seen]


def take(laboratory: Laboratory, group: str, *command: str) -> MacroRun:
    laboratory.define("senv", "ActiveMntGrp", group)
    return laboratory.run(*command)


def test_a_step_scan_has_the_value_of_each_points_frame(laboratory: Laboratory) -> None:
    run = take(laboratory, STEPS, "ascan", "mot01", "0", "1", "9", "0.01")
    assert run.ending == "finish", (run.error, run.said())
    check(laboratory, 10)
    lines = [line.split() for line in run.said().splitlines()]
    last = next(line for line in reversed(lines) if line[:2] == ["9", "1"])
    assert "9" in last[3:] and "2.25" in last[3:], last


def test_a_mesh_of_continuous_rows_has_a_new_series_for_each(laboratory: Laboratory) -> None:
    command = ("meshct", "mot01", "0", "1", "5", "mot02", "0", "1", "1", "0.01", "False", "0.002")
    run = take(laboratory, FLY, *command)
    assert run.ending == "finish", (run.error, run.said())
    check(laboratory, 12, rows=2)


def test_a_continuous_scan_has_values_by_index(laboratory: Laboratory) -> None:
    run = take(laboratory, FLY, "ascanct", "mot01", "0", "1", "40", "0.01", "0.002")
    assert run.ending == "finish", (run.error, run.said())
    check(laboratory, 41)


@pytest.mark.slow
@pytest.mark.parametrize("synchronization", ["Trigger", "Start"])
def test_a_continuous_scan_that_software_synchronises(laboratory: Laboratory, synchronization: str) -> None:
    channels = ("[", "sim", *COUNTERS, "]", STEPS)
    laboratory.define("set_meas_conf", "Synchronization", synchronization, *channels)
    try:
        # Sardana leaves a software trigger out if the point before is not done: time for a busy machine.
        run = take(laboratory, STEPS, "ascanct", "mot01", "0", "1", "5", "0.05", "0.6")
    finally:
        laboratory.define("set_meas_conf", "Synchronization", "Trigger", *channels)
    assert run.ending == "finish", (run.error, run.said())
    check(laboratory, 6)


@pytest.mark.parametrize("lost", [(3, 7), pytest.param((9, 10), marks=pytest.mark.slow)])
def test_a_lost_trigger_leaves_its_own_point_empty(laboratory: Laboratory, lost: tuple[int, int]) -> None:
    laboratory.device("sim").MissingTriggerTime = 0.3
    laboratory.device(TRIGGERS).Missed = json.dumps(lost)
    try:
        run = take(laboratory, FLY, "ascanct", "mot01", "0", "1", "10", "0.01", "0.002")
    finally:
        laboratory.device(TRIGGERS).Missed = "[]"
    assert run.ending == "finish", (run.error, run.said())
    check(laboratory, 11, lost)


@pytest.mark.parametrize("way", [pytest.param("stop", marks=pytest.mark.slow), "abort"])
def test_an_interrupted_scan_leaves_it_idle(laboratory: Laboratory, way: str) -> None:
    channel = laboratory.device("sim")
    usual, channel.MissingTriggerTime = channel.MissingTriggerTime, 10.0
    laboratory.device(TRIGGERS).Missed = json.dumps([*range(2, 60)])
    laboratory.define("senv", "ActiveMntGrp", FLY)
    counter = laboratory.device("edgesum")
    try:
        run = laboratory.door.start("ascanct", "mot01", "0", "1", "60", "0.05", "0.002")
        laboratory.door.wait(run, until=lambda: "2 of 61 values" in counter.Status())
        getattr(laboratory.door, way)()
        laboratory.end(run)
        laboratory.wait_idle()
    finally:
        laboratory.device(TRIGGERS).Missed = "[]"
        channel.MissingTriggerTime = usual
    assert run.ending in ("stop", "abort"), (run.ending, run.error)
    assert counter.State() is tango.DevState.ON, counter.Status()


def test_a_region_that_the_series_has_not_is_said_with_what_to_do(laboratory: Laboratory) -> None:
    laboratory.device("peakmax").Region = "peek"
    try:
        run = take(laboratory, STEPS, "ascan", "mot01", "0", "1", "3", "0.01")
    finally:
        laboratory.device("peakmax").Region = "peak"
    assert run.ending == "exception"
    assert "has no region 'peek', it has edge, peak; write one of these to Region" in run.said()


@pytest.mark.slow
def test_without_the_detectors_channel_it_says_so(laboratory: Laboratory) -> None:
    laboratory.define("defmeas", "lonely", TIMER, *COUNTERS)
    run = take(laboratory, "lonely", "ct", "0.01")
    assert run.ending == "exception"
    assert "add that to the measurement group, too" in run.said()


@pytest.mark.slow
def test_after_a_fault_the_next_scan_is_sound(laboratory: Laboratory) -> None:
    """Sardana waits three seconds first."""
    laboratory.device("peakmax").Region = "peek"
    assert take(laboratory, STEPS, "ct", "0.01").ending == "exception"
    laboratory.device("peakmax").Region = "peak"
    run = take(laboratory, STEPS, "ascan", "mot01", "0", "1", "3", "0.01")
    assert run.ending == "finish", (run.error, run.said())
    check(laboratory, 4)


@pytest.mark.slow
def test_the_attributes_are_kept_and_checked(laboratory: Laboratory) -> None:
    with pytest.raises(tango.DevFailed, match="sum, mean, max"):
        laboratory.device("edgesum").RegionValue = "median"
    laboratory.restart("Sardana")
    counter = laboratory.device("edgemean")
    assert (counter.Region, counter.RegionValue) == ("edge", "mean")
