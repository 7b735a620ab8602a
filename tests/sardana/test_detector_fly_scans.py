"""Less usual fly scans; of two real detectors one knows which trigger it has missed.

The usual ones are in `test_scans.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import tango

from penstock.sardana.laboratory.laboratory import FLY_GROUP, GROUP, TRIGGERS, Laboratory, Unit
from penstock.sardana.reference import parse
from tests.sardana.scan_files import frames_of, points, statuses, texts

pytestmark = pytest.mark.slow

BY_ARRIVAL = "slow"


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """Two detectors of unlike speed, and motors that reach their velocity at once."""
    folder: Path = tmp_path_factory.mktemp("laboratory")
    sensor = {"SensorWidth": 64, "SensorHeight": 32}
    units = [Unit("sim", sensor), Unit(BY_ARRIVAL, {**sensor, "ReadoutTime": 0.01, "TriggerCounter": False})]
    with Laboratory(folder, units) as laboratory:
        for motor in ("mot01", "mot02"):
            proxy = laboratory.device(motor)
            proxy.Velocity, proxy.Acceleration, proxy.Deceleration = 100.0, 0.01, 0.01
        for unit in units:
            laboratory.device(unit.name).MissingTriggerTime = 1.0
        yield laboratory


@pytest.fixture(autouse=True)
def _fly(laboratory: Laboratory) -> Iterator[None]:
    laboratory.define("senv", "ActiveMntGrp", FLY_GROUP)
    yield
    laboratory.device(TRIGGERS).Missed = "[]"
    for unit in laboratory.units:
        detector = laboratory.detector(unit)
        assert detector.State() is tango.DevState.ON, detector.Status()


def scan(laboratory: Laboratory, *command: str) -> None:
    run = laboratory.run(*command)
    assert run.ending == "finish", (run.error, run.said())


def synchronize(laboratory: Laboratory, how: str, group: str) -> None:
    laboratory.define("set_meas_conf", "Synchronization", how, "[", *laboratory.units, "]", group)


def test_points_that_sardana_skips_shift_nothing(laboratory: Laboratory) -> None:
    laboratory.define("senv", "ActiveMntGrp", GROUP)
    laboratory.define("udefgh", "det_begin")  # which gives such a scan the time for every point
    try:
        scan(laboratory, "ascanct", "mot01", "0", "1", "10", "0.01", "0.01")
    finally:
        laboratory.define("defgh", "det_begin", "pre-scan")
    detector, channel = laboratory.detector(), laboratory.device("sim")
    found = map(parse, texts(laboratory.data / "scan.h5"))
    taken = [reference for reference in found if reference is not None]
    assert 0 < len(taken) <= 11
    assert [reference.index for reference in taken] == list(range(len(taken)))
    assert detector.nFramesAcquired == len(taken)
    laboratory.run("ct", "0.01")
    assert channel.LastFile != taken[0].file
    assert frames_of(taken) == list(range(len(taken)))


def test_a_step_scan_with_hardware_triggers(laboratory: Laboratory) -> None:
    scan(laboratory, "ascan", "mot01", "0", "1", "4", "0.01")
    references = points(laboratory.data / "scan.h5")
    assert frames_of(references) == [0, 1, 2, 3, 4]
    assert len({reference.file for reference in references}) == 1


@pytest.mark.parametrize("how", ["Gate", "Start"])
def test_gates_and_starts(laboratory: Laboratory, how: str) -> None:
    synchronize(laboratory, how, FLY_GROUP)
    try:
        scan(laboratory, "ascanct", "mot01", "0", "1", "6", "0.01", "0.05")
    finally:
        synchronize(laboratory, "Trigger", FLY_GROUP)
    for unit in laboratory.units:
        assert frames_of(points(laboratory.data / "scan.h5", unit)) == list(range(7))


def test_a_burst_after_one_software_start_plans_no_frame_too_many(laboratory: Laboratory) -> None:
    laboratory.define("senv", "ActiveMntGrp", GROUP)
    synchronize(laboratory, "Start", GROUP)
    try:
        scan(laboratory, "ascanct", "mot01", "0", "1", "6", "0.01", "0.05")
    finally:
        synchronize(laboratory, "Trigger", GROUP)
    assert frames_of(points(laboratory.data / "scan.h5")) == list(range(7))
    assert laboratory.detector().nFramesPlanned == 7


def test_a_lost_trigger_is_named_and_shifts_nothing(laboratory: Laboratory) -> None:
    laboratory.device(TRIGGERS).Missed = "[3]"
    scan(laboratory, "ascanct", "mot01", "0", "1", "9", "0.01", "0.05")
    channel = laboratory.device("sim")
    references = points(laboratory.data / "scan.h5")
    assert [reference.index for reference in references] == list(range(10))
    there = [reference for reference in references if reference.index != 3]
    assert frames_of(there) == [reference.index for reference in there]
    assert statuses(channel.LastFile, channel.FileDataset)[3] == 0
    assert channel.Warning == f"sim: 1 of 10 frames is not in {channel.LastFile}: index 3 missing"

    uncertain = laboratory.device(BY_ARRIVAL)
    assert len(points(laboratory.data / "scan.h5", BY_ARRIVAL)) == 10
    assert "indices of the frames after a lost trigger are uncertain" in uncertain.Warning


def test_the_last_triggers_lost_end_the_scan_too(laboratory: Laboratory) -> None:
    laboratory.device(TRIGGERS).Missed = "[8, 9]"
    scan(laboratory, "ascanct", "mot01", "0", "1", "9", "0.01", "0.05")
    channel = laboratory.device("sim")
    assert [reference.index for reference in points(laboratory.data / "scan.h5")] == list(range(10))
    assert channel.Warning.endswith("indices 8 to 9 missing")


def test_init_of_a_detector_fails_the_scan_with_what_became_of_the_series(laboratory: Laboratory) -> None:
    detector = laboratory.detector()
    before = detector.SeriesId
    run = laboratory.door.start("ascanct", "mot01", "0", "1", "400", "0.01", "0.05")
    laboratory.door.wait(run, until=lambda: detector.SeriesId != before and detector.nFramesAcquired >= 3)
    detector.Init()
    laboratory.door.wait(run, timeout=60.0)
    verdict = json.loads(detector.LastSeries)["verdict"]
    assert " of 401 frames stored in " in verdict and verdict.endswith(": ended by Init.")
    assert run.ending == "exception", run.said()
    assert f"sim: {verdict}" in run.said()
    laboratory.device(FLY_GROUP).Stop()
    for unit in laboratory.units:
        laboratory.detector(unit).Abort()
        laboratory.recover(unit)
    scan(laboratory, "ascanct", "mot01", "0", "1", "6", "0.01", "0.05")
