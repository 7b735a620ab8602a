"""Scans as a user takes them, through the Door of a real Sardana: every point shows its own frame."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import tango

from penstock.hosts.child import children
from penstock.sardana.door import MacroRun
from penstock.sardana.laboratory.laboratory import Laboratory, LaboratoryFailed, Unit
from tests.sardana.scan_file import ScanFile

pytestmark = pytest.mark.slow  # its three detectors need a Sardana of their own

SENSOR = {"SensorWidth": 64, "SensorHeight": 32}
FAST = Unit("sim", SENSOR)
BLIND = Unit("blind", {**SENSOR, "TriggerCounter": False})
SLOW = Unit("slow", {**SENSOR, "ReadoutTime": 0.004, "SensorWidth": 32})


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """Three detectors of unlike speed and kind; the fly group has them all."""
    with Laboratory(tmp_path_factory.mktemp("scans"), [FAST, BLIND, SLOW]) as laboratory:
        for unit in laboratory.units:
            laboratory.define("defmeas", f"step_{unit}", "ct01", unit)
            laboratory.define("set_meas_conf", "ValueRefEnabled", "True", unit, f"step_{unit}")
        yield laboratory


@pytest.fixture(autouse=True)
def _as_new(laboratory: Laboratory) -> Iterator[None]:
    """Each test begins on idle detectors, and leaves them idle."""
    laboratory.door.wait_idle()
    yield
    for unit in laboratory.units:
        laboratory.wait_idle(unit)


def _scan(
    laboratory: Laboratory, group: str, *command: str, ending: str = "finish"
) -> tuple[MacroRun, ScanFile]:
    laboratory.define("senv", "ActiveMntGrp", group)
    run = laboratory.run(*command)
    assert run.ending == ending, (run.error, run.said())
    return run, ScanFile(laboratory.data / "scan.h5")


def _own_frames(points: int) -> list[int]:
    return list(range(points))


# Every kind of scan ---------------------------------------------------------------------------


def test_step_scan(laboratory: Laboratory) -> None:
    _, file = _scan(laboratory, "step_sim", "ascan", "mot01", "0", "1", "20", "0.01")
    assert file.frame_numbers("sim") == _own_frames(21)
    assert len(file.sources("sim")) == 1, "one file, one mapping"
    assert file.column("mot01").tolist() == pytest.approx([point / 20 for point in range(21)])


def test_continuous_scan_at_100_hz(laboratory: Laboratory) -> None:
    _, file = _scan(laboratory, laboratory.fly_group, "ascanct", "mot01", "0", "1", "100", "0.005", "0.005")
    for unit in ("sim", "blind", "slow"):
        assert file.frame_numbers(unit) == _own_frames(101)


def test_continuous_mesh(laboratory: Laboratory) -> None:
    run, file = _scan(
        laboratory, laboratory.fly_group,
        "meshct", "mot01", "0", "1", "19", "mot02", "0", "1", "4", "0.005", "True", "0.005",
    )  # fmt: skip
    assert file.frame_numbers("sim") == _own_frames(20) * 5, run.said()
    assert len(set(file.sources("sim"))) == 5, "a file per row"


def test_time_scan(laboratory: Laboratory) -> None:
    _, file = _scan(laboratory, laboratory.fly_group, "timescan", "9", "0.02")
    assert file.frame_numbers("sim") == _own_frames(9)


def test_two_detectors_of_unlike_speed(laboratory: Laboratory) -> None:
    _, file = _scan(laboratory, laboratory.step_group, "ascan", "mot01", "0", "1", "10", "0.01")
    assert file.frame_numbers("sim") == file.frame_numbers("slow") == _own_frames(11)


# Ends before their time -----------------------------------------------------------------------


STEPS = ("ascan", "mot01", "0", "1", "200", "0.02")
LINE = ("ascanct", "mot01", "0", "1", "400", "0.008", "0.002")
MESH = ("meshct", "mot01", "0", "1", "100", "mot02", "0", "1", "4", "0.008", "True", "0.002")
TIMES = ("timescan", "400", "0.008")


@pytest.mark.parametrize(
    ("group", "command", "how"),
    [
        ("step_sim", STEPS, "stop"),
        ("fly", LINE, "abort"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("step_sim", STEPS, "abort"), ("fly", LINE, "stop"), ("fly", MESH, "stop"),
                ("fly", MESH, "abort"), ("fly", TIMES, "stop"), ("fly", TIMES, "abort"),
            )
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else value,
)  # fmt: skip
def test_ended_in_the_middle_and_then_another(
    laboratory: Laboratory, group: str, command: tuple[str, ...], how: str
) -> None:
    laboratory.define("senv", "ActiveMntGrp", group)
    detector = laboratory.detector("sim")
    before = detector.SeriesId
    run = laboratory.door.start(*command)
    # Sardana asks for references seven times a second: at 100 Hz some are there after thirty frames.
    some = 5 if group == "step_sim" else 30
    laboratory.door.wait(run, until=lambda: detector.SeriesId != before and detector.nFramesAcquired > some)
    assert laboratory.door.proxy.State() is tango.DevState.RUNNING
    getattr(laboratory.door, how)()
    laboratory.end(run)
    laboratory.wait_idle("sim")
    assert run.ending in ("stop", "abort"), (run.ending, run.error, run.said())
    account = json.loads(detector.LastSeries)
    taken = account["counts"]["stored"]
    assert some < taken < account["planned"], account
    assert Path(account["file"]).is_file()
    file = ScanFile(laboratory.data / "scan.h5")
    numbers = file.frame_numbers("sim")
    assert [number for number in numbers if number is not None][:5] == _own_frames(5)
    again, file = _scan(laboratory, "step_sim", "ascan", "mot01", "0", "1", "3", "0.01")
    assert file.frame_numbers("sim") == _own_frames(4), again.said()


def test_a_scan_paused_for_longer_than_any_gap_limit(laboratory: Laboratory) -> None:
    laboratory.define("senv", "ActiveMntGrp", "step_sim")
    detector = laboratory.detector("sim")
    before = detector.SeriesId
    run = laboratory.door.start("ascan", "mot01", "0", "1", "20", "0.01")
    laboratory.door.wait(run, until=lambda: detector.SeriesId != before and detector.nFramesAcquired > 5)
    laboratory.door.pause()
    begun, acquired = time.monotonic(), -1
    while time.monotonic() - begun < GAP_LIMIT + 1.0:  # the pause itself is what is tried
        laboratory.door.wait(run, until=lambda: True)
        time.sleep(0.1)
        acquired = detector.nFramesAcquired
    assert 5 < acquired < 21 and detector.State() is tango.DevState.RUNNING
    laboratory.door.resume()
    laboratory.door.wait(run)
    assert run.ending == "finish", (run.error, run.said())
    assert ScanFile(laboratory.data / "scan.h5").frame_numbers("sim") == _own_frames(21)


GAP_LIMIT = 2.0
"""Seconds: the receiver's gap clock; see `docs/reference/accounting.md`."""


# Lost triggers --------------------------------------------------------------------------------


def test_a_lost_trigger_and_a_camera_that_knows(laboratory: Laboratory) -> None:
    run, file = _lose(laboratory, 50)
    numbers = file.frame_numbers("sim")
    assert numbers == [None if point == 50 else point for point in range(101)]
    assert "50" in run.said("Warning") and "sim" in run.said("Warning")


def test_a_lost_trigger_and_a_camera_that_does_not(laboratory: Laboratory) -> None:
    run, file = _lose(laboratory, 50)
    numbers = file.frame_numbers("blind")
    assert numbers[:50] == _own_frames(50), "what came before the loss is right"
    assert numbers[100] is None, "a hundred frames came"
    assert "uncertain" in run.said("Warning") and "blind" in run.said("Warning")


def _lose(laboratory: Laboratory, edge: int) -> tuple[MacroRun, ScanFile]:
    """A continuous scan in which one edge reaches nobody."""
    trigger = laboratory.device("tg01")
    for unit in laboratory.units:
        laboratory.device(unit).MissingTriggerTime = 1.0
    trigger.Missed = json.dumps([edge])
    try:
        return _scan(laboratory, laboratory.fly_group, "ascanct", "mot01", "0", "1", "100", "0.005", "0.005")
    finally:
        trigger.Missed = "[]"


# What dies ------------------------------------------------------------------------------------


def test_the_receiver_is_killed_in_the_middle(laboratory: Laboratory) -> None:
    laboratory.define("senv", "ActiveMntGrp", "step_slow")
    detector = laboratory.detector("slow")
    before = detector.SeriesId
    run = laboratory.door.start("ascan", "mot01", "0", "1", "400", "0.02")
    laboratory.door.wait(run, until=lambda: detector.SeriesId != before and detector.nFramesAcquired > 5)
    killed = time.monotonic()
    laboratory.kill("receiver slow")
    laboratory.door.wait(run, timeout=30.0)
    assert run.ending == "exception", run.said()
    assert time.monotonic() - killed < 15.0, "noticed within seconds"
    assert "receiver" in run.error + run.said()
    again = laboratory.run("ascan", "mot01", "0", "1", "3", "0.01")
    assert again.ending == "exception" and "receiver" in again.error + again.said(), "at its beginning"
    laboratory.restart("receiver slow")
    laboratory.recover("slow")
    _, file = _scan(laboratory, "step_slow", "ascan", "mot01", "0", "1", "3", "0.01")
    assert file.frame_numbers("slow") == _own_frames(4)


@pytest.mark.parametrize("victim", ["receiver slow", "streamer", "Simulator/slow"])
def test_a_continuous_scan_fails_with_its_detector(laboratory: Laboratory, victim: str) -> None:
    """Sardana itself takes the scan for a good one: it looks only whether the group still moves."""
    laboratory.define("senv", "ActiveMntGrp", laboratory.fly_group)
    detector = laboratory.detector("slow")
    before = detector.SeriesId
    run = laboratory.door.start("ascanct", "mot01", "0", "1", "200", "0.015", "0.005")
    laboratory.door.wait(run, until=lambda: detector.SeriesId != before and detector.nFramesAcquired > 15)
    if victim == "streamer":
        for pid in children(laboratory.process("Simulator/slow").pid):
            os.kill(pid, signal.SIGKILL)
    else:
        laboratory.kill(victim)
    laboratory.door.wait(run, timeout=40.0)
    if victim != "streamer":
        laboratory.restart(victim)
    _recover_within(laboratory, "slow", 10.0)
    assert run.ending == "exception", run.said()
    assert re.search("receiver|streamer|slow/det/1", run.error), run.error
    _, file = _scan(laboratory, "step_slow", "ascan", "mot01", "0", "1", "3", "0.01")
    assert file.frame_numbers("slow") == _own_frames(4)


def test_a_continuous_scan_without_any_trigger_fails(laboratory: Laboratory) -> None:
    trigger = laboratory.device("tg01")
    trigger.Missed = json.dumps(list(range(51)))
    for unit in laboratory.units:
        laboratory.detector(unit).ArmedTimeLimit = 2.0
    try:
        run, _ = _scan(
            laboratory, laboratory.fly_group, "ascanct", "mot01", "0", "1", "50", "0.005", "0.005",
            ending="exception",
        )  # fmt: skip
    finally:
        trigger.Missed = "[]"
        for unit in laboratory.units:
            laboratory.detector(unit).ArmedTimeLimit = 3600.0
    assert "no trigger came within 2 s of Arm (ArmedTimeLimit)" in run.error


def _recover_within(laboratory: Laboratory, unit: str, seconds: float) -> None:
    """A device that was restarted refuses Reset until it has its streamer again."""
    limit = time.monotonic() + seconds
    while True:
        try:
            laboratory.recover(unit)
            return
        except (tango.DevFailed, LaboratoryFailed):
            if time.monotonic() > limit:
                raise
            time.sleep(0.1)
