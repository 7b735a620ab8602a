"""Scans through the Door into files of PenstockRecorder: plain h5py shows each point its own frame."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import pytest
import silx.io
import silx.io.nxdata
import tango

from penstock.sardana.door import MacroRun
from penstock.sardana.laboratory.laboratory import FLY_GROUP, GROUP, TIMER, TRIGGERS, Laboratory, Unit
from penstock.sardana.reference import parse
from penstock.streamer.simulated.patterns import frame_number
from tests.recordings import validators
from tests.recordings.validators import Report

pytestmark = pytest.mark.slow  # its two detectors need a Sardana of their own

DETECTORS = ("sim", "other")
WITH_DUMMY = "withdummy"
"""A measurement group with a 2D channel of Sardana's own beside the detectors."""


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """Two unlike detectors in each scan, a dummy beside them in another measurement group."""
    units = [
        Unit("sim", {"SensorWidth": 64, "SensorHeight": 32}),
        Unit("other", {"SensorWidth": 24, "SensorHeight": 12, "PixelType": "uint32"}),
    ]
    with Laboratory(tmp_path_factory.mktemp("laboratory"), units) as laboratory:
        for motor in ("mot01", "mot02"):
            laboratory.device(motor).Acceleration = laboratory.device(motor).Deceleration = 0.05
        laboratory.define("senv", "ScanRecorder", "PenstockRecorder")
        laboratory.define("defctrl", "DummyTwoDController", "dummyctrl")
        laboratory.define("defelem", "dummy", "dummyctrl", "1")
        laboratory.define("defmeas", WITH_DUMMY, TIMER, *DETECTORS, "dummy")
        channels = ("[", *DETECTORS, "dummy", "]")
        laboratory.define("set_meas_conf", "ValueRefEnabled", "True", *channels, WITH_DUMMY)
        yield laboratory


@pytest.fixture(autouse=True)
def _idle(laboratory: Laboratory) -> Iterator[None]:
    """A test leaves the detectors ready."""
    yield
    process_events(laboratory)


def process_events(laboratory: Laboratory) -> None:
    """Wait until the detectors' files are closed: until then HDF5 does not let them be read."""
    deadline = time.monotonic() + 10.0
    for name in DETECTORS:
        detector = laboratory.detector(name)
        while detector.State() is not tango.DevState.ON:
            assert time.monotonic() < deadline, detector.Status()
            time.sleep(0.01)


def scan(laboratory: Laboratory, command: str) -> Path:
    """Take a scan that ends well; returns its file."""
    run = laboratory.run(*command.split())
    assert run.ending == "finish", (run.error, run.said())
    assert "not linked" not in run.said("Warning")
    process_events(laboratory)
    return laboratory.data / "scan.h5"


def newest(root: h5py.File) -> Any:
    return root[root.attrs["default"]]


def expect_own_frames(
    entry: Any, points: int | None = None, detectors: tuple[str, ...] = DETECTORS, broken_off: bool = False
) -> int:
    """Each point shows the frame that its reference names, as its pixels prove; one without a reference
    reads as missing, and so may one whose frame was dropped when the scan was broken off. Returns how many
    frames there are."""
    measurement = entry["measurement"]
    rows = len(measurement["Pt_No"])
    assert points is None or rows == points
    shown = 0
    for detector in detectors:
        images, status = measurement[detector], measurement[f"{detector}_status"]
        texts = measurement[f"_{detector}"].asstr()[:]
        assert len(images) == len(status) == len(texts) == rows
        for point, text in enumerate(texts):
            reference = parse(text)
            assert (reference is None) == (text == "")
            if reference is None or (broken_off and status[point] == 0):
                assert (images[point] == images.fillvalue).all()
                assert status[point] == 0
            else:
                assert frame_number(images[point]) == reference.index
                assert images[point, -1, -1] == images.shape[1] + images.shape[2] - 2
                assert status[point] == 1
                shown += 1
    return shown


def test_a_step_scan_of_two_detectors(laboratory: Laboratory) -> None:
    file = scan(laboratory, "ascan mot01 0 1 4 0.01")
    with h5py.File(file) as root:
        entry = newest(root)
        assert expect_own_frames(entry, 5) == 10
        measurement = entry["measurement"]
        assert measurement["sim"].shape == (5, 32, 64)
        assert measurement["sim"].dtype == "uint16"
        assert measurement["other"].shape == (5, 12, 24)
        assert measurement["other"].dtype == "uint32"
        assert len(measurement["sim"].virtual_sources()) == 1
        (source,) = entry["files_sim/file_1"].virtual_sources()
        assert not source.file_name.startswith("/")
        assert entry.attrs["default"] == "images_sim"
        assert entry["images_other/other"] == measurement["other"]
        assert entry["counters"].attrs["signal"] == TIMER
        assert list(entry["counters"].attrs["axes"]) == ["mot01"]


@pytest.mark.parametrize(
    ("command", "points"),
    [
        ("mesh mot01 0 1 1 mot02 0 1 1 0.01 False", 4),
        pytest.param("dscan mot01 -0.5 0.5 2 0.01", 3, marks=pytest.mark.slow),
        pytest.param("timescan 2 0.01 0.3", None, marks=pytest.mark.slow),
        pytest.param("ascanct mot01 0 1 4 0.05 0.1", 5, marks=pytest.mark.slow),
        pytest.param("meshct mot01 0 1 2 mot02 0 1 1 0.05 False 0.1", 6, marks=pytest.mark.slow),
    ],
)
def test_scans_of_every_kind(laboratory: Laboratory, command: str, points: int | None) -> None:
    with h5py.File(scan(laboratory, command)) as root:
        # A scan that the software synchronises drops triggers that come too early.
        assert expect_own_frames(newest(root), points) > 0


@pytest.mark.parametrize("end", [pytest.param("stop", marks=pytest.mark.slow), "abort"])
@pytest.mark.parametrize("command", ["ascan mot01 0 1 500 0.01", "ascanct mot01 0 10 200 0.05 0.05"])
def test_a_scan_that_is_broken_off_has_the_points_so_far(
    laboratory: Laboratory, command: str, end: str
) -> None:
    run = laboratory.door.start(*command.split())
    laboratory.door.wait(run, until=lambda: points_said(run) >= 3)
    getattr(laboratory.door, end)()
    process_events(laboratory)
    laboratory.end(run)
    assert run.ending in ("stop", "abort")
    with h5py.File(laboratory.data / "scan.h5") as root:
        entry = newest(root)
        assert entry["title"].asstr()[()].split()[0] == command.split()[0]
        assert "end_time" in entry
        assert 2 * 2 <= expect_own_frames(entry, broken_off=True) < 2 * 200


def points_said(run: MacroRun) -> int:
    return sum(level == "Output" and "h5file://" in line for level, line in run.messages)


def test_a_scan_that_fails_has_the_points_so_far(laboratory: Laboratory) -> None:
    detector = laboratory.detector()
    detector.Faults = "fail_at=2"
    try:
        run = laboratory.run("ascan", "mot01", "0", "1", "4", "0.01")
        assert run.ending == "exception"
    finally:
        detector.Faults = ""
        detector.Reset()
        laboratory.detector("other").Stop()  # armed still: Sardana tells nobody that a scan has failed
        process_events(laboratory)
    with h5py.File(laboratory.data / "scan.h5") as root:
        entry = root[max(root, key=lambda name: int(name.removeprefix("entry")))]
        assert "end_time" in entry
        assert expect_own_frames(entry, broken_off=True) >= 2


def test_lost_triggers_read_as_missing_in_the_middle_and_at_the_end(laboratory: Laboratory) -> None:
    laboratory.define("senv", "ActiveMntGrp", FLY_GROUP)
    for name in DETECTORS:
        laboratory.device(name).MissingTriggerTime = 0.5
    laboratory.device(TRIGGERS).Missed = "[2, 4, 5]"
    try:
        file = scan(laboratory, "ascanct mot01 0 1 5 0.02 0.01")
    finally:
        laboratory.device(TRIGGERS).Missed = "[]"
        laboratory.define("senv", "ActiveMntGrp", GROUP)
    with h5py.File(file) as root:
        measurement = newest(root)["measurement"]
        for name in DETECTORS:
            images, status = measurement[name], measurement[f"{name}_status"]
            assert status[:].tolist() == [1, 1, 0, 1, 0, 0]
            assert [frame_number(image) for image in images[:][status[:] == 1]] == [0, 1, 3]
            assert (images[:][status[:] == 0] == images.fillvalue).all()
            assert all(parse(text) for text in measurement[f"_{name}"].asstr()[:]), "each point has its place"


def test_the_folder_can_be_moved(laboratory: Laboratory, tmp_path: Path) -> None:
    scan(laboratory, "ascan mot01 0 1 2 0.01")
    shutil.copytree(laboratory.data, tmp_path / "moved")
    hidden = laboratory.data.rename(laboratory.data.with_name("hidden"))
    try:
        with h5py.File(tmp_path / "moved/scan.h5") as root:
            assert expect_own_frames(newest(root), 3) == 6
    finally:
        hidden.rename(laboratory.data)


def test_a_channel_of_sardana_is_as_its_own_recorder_leaves_it(laboratory: Laboratory) -> None:
    laboratory.define("senv", "ActiveMntGrp", WITH_DUMMY)
    laboratory.define("senv", "ScanFile", "['mixed.h5', 'stock.h5']")
    laboratory.define("senv", "ScanRecorder", "['PenstockRecorder', 'NXscanH5_FileRecorder']")
    try:
        scan(laboratory, "ascan mot01 0 1 2 0.01")
    finally:
        laboratory.define("senv", "ActiveMntGrp", GROUP)
        laboratory.define("senv", "ScanFile", "scan.h5")
        laboratory.define("senv", "ScanRecorder", "PenstockRecorder")
    with h5py.File(laboratory.data / "mixed.h5") as ours, h5py.File(laboratory.data / "stock.h5") as theirs:
        entry, stock = newest(ours)["measurement"], next(iter(theirs.values()))["measurement"]
        assert expect_own_frames(newest(ours), 3) == 6
        names = [name for name in stock if "dummy" in name]
        assert names and names == [name for name in entry if "dummy" in name]
        for name in names:
            assert entry[name].dtype == stock[name].dtype
            assert entry[name][:].tolist() == stock[name][:].tolist()


def test_without_being_asked_it_takes_no_scan(laboratory: Laboratory) -> None:
    laboratory.define("usenv", "ScanRecorder")
    laboratory.define("senv", "ScanFile", "unasked.h5")
    try:
        scan(laboratory, "ascan mot01 0 1 1 0.01")
    finally:
        laboratory.define("senv", "ScanFile", "scan.h5")
        laboratory.define("senv", "ScanRecorder", "PenstockRecorder")
    with h5py.File(laboratory.data / "unasked.h5") as root:
        assert root.attrs["creator"] == "NXscanH5_FileRecorder"


def test_units_of_motors_are_in_the_file(laboratory: Laboratory) -> None:
    motor = laboratory.device("mot02")
    config = motor.get_attribute_config("Position")
    config.unit = "mm"
    motor.set_attribute_config(config)
    with h5py.File(scan(laboratory, "ascan mot02 0 1 1 0.01")) as root:
        assert newest(root)["measurement/mot02"].attrs["units"] == "mm"


def test_silx_opens_on_the_images_and_draws_the_counters(laboratory: Laboratory) -> None:
    file = scan(laboratory, "ascan mot01 0 1 3 0.01")
    with silx.io.open(str(file)) as root:
        plot = silx.io.nxdata.get_default(root)
        assert plot is not None
        assert (plot.signal_name, plot.signal.shape) == ("sim", (4, 32, 64))
        assert plot.title.startswith("ascan mot01")
        assert [frame_number(plot.signal[point]) for point in range(4)] == [0, 1, 2, 3]
        entry = root[root.attrs["default"]]
        counters = silx.io.nxdata.NXdata(entry["counters"])
        assert counters.is_valid and counters.is_curve
        assert len(counters.axes[0]) == 4


@pytest.mark.slow
@pytest.mark.parametrize("validate", [validators.nxcheck, validators.punx])
def test_validators_find_no_error(laboratory: Laboratory, validate: Callable[[Path], Report]) -> None:
    laboratory.define("set_meas_conf", "PlotType", "Spectrum", "[", TIMER, "]", GROUP)
    laboratory.define("set_meas_conf", "PlotAxes", "<mov>", "[", TIMER, "]", GROUP)
    file = scan(laboratory, "ascan mot01 0 1 3 0.01")
    with h5py.File(file) as root:
        assert "plot_1" in newest(root)
    report = validate(file)
    assert report.errors == []
    assert report.warnings
