"""det_begin and det_end: what scans tell the detectors, and in which state they leave them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tango

from penstock.sardana import door
from penstock.sardana.door import MacroRun
from penstock.sardana.laboratory.laboratory import SARDANA, Laboratory
from tests.sardana.scan_file import ScanFile

pytestmark = pytest.mark.slow

OWN = Path(__file__).parent / "plugins"
SCAN = ("ascan", "mot01", "0", "1", "4", "0.01")


@pytest.fixture(scope="module")
def laboratory(laboratory: Laboratory) -> Laboratory:
    """Has a channel fail01 that fails on request."""
    laboratory.define("defctrl", "FailingCounter", "failctrl")
    laboratory.define("defelem", "fail01", "failctrl", "1")
    laboratory.define("defmeas", "mixed", "ct01", "sim", "fail01")
    laboratory.define("set_meas_conf", "ValueRefEnabled", "True", "[", "sim", "]", "mixed")
    return laboratory


@pytest.fixture
def mixed(laboratory: Laboratory) -> Iterator[Laboratory]:
    laboratory.define("senv", "ActiveMntGrp", "mixed")
    yield laboratory
    laboratory.tidy()
    laboratory.device("fail01").FailIn = ""
    laboratory.define("senv", "ActiveMntGrp", "mntgrp")


def context(laboratory: Laboratory) -> str:
    return str(laboratory.device("sim").ScanContext)


def begin_scan(laboratory: Laboratory) -> MacroRun:
    """A scan of which some points were taken."""
    detector = laboratory.detector()
    before = detector.SeriesId
    run = laboratory.door.start("ascan", "mot01", "0", "1", "100", "0.01")
    laboratory.door.wait(run, until=lambda: detector.SeriesId != before and detector.nFramesAcquired >= 3)
    return run


def files(laboratory: Laboratory) -> set[Path]:
    return set(laboratory.data.glob("*_sim_*.h5"))


def metadata(path: Path) -> dict[str, Any]:
    with h5py.File(path, locking=False) as file:
        return {key: value[()] for key, value in file["entry"].items() if isinstance(value, h5py.Dataset)}


def test_files_are_named_after_the_scan_and_say_what_they_belong_to(laboratory: Laboratory) -> None:
    before = files(laboratory)
    run = laboratory.run(*SCAN)
    assert run.ending == "finish", (run.error, run.said())
    (path,) = files(laboratory) - before
    stem, number, _, series = path.stem.split("_")
    assert (stem, series) == ("scan", "0001")
    assert f"Scan #{int(number)} ended" in run.said()
    assert metadata(path)["title"] == b"ascan mot01 0.0 1.0 4 0.01"
    assert context(laboratory) == ""
    assert run.said("Warning") == ""


@pytest.mark.parametrize(
    ("away", "sentence"),
    [
        ("Simulator/sim", r"^sim: the detector device sim/det/1 does not answer; is its server running\?$"),
        pytest.param("receiver sim", "sim: sim/det/1.* receiver", marks=pytest.mark.slow),
    ],
)
def test_a_detector_that_is_not_ready_ends_the_scan_before_anything_moves(
    laboratory: Laboratory, away: str, sentence: str
) -> None:
    laboratory.define("mv", "mot01", "7")
    laboratory.process(away).stop()
    try:
        run = laboratory.run(*SCAN)
    finally:
        laboratory.restart(away)
        laboratory.wait_idle()
    assert run.ending == "exception"
    assert re.search(sentence, run.error), run.error
    assert laboratory.device("mot01").Position == 7
    run = laboratory.run("ct", "0.01")
    assert run.ending == "finish", (run.error, run.said())


def test_a_hook_that_fails_leaves_no_armed_detector(laboratory: Laboratory) -> None:
    before = files(laboratory)
    laboratory.define("defgh", "failing_hook", "pre-acq")
    try:
        run = laboratory.run(*SCAN)
    finally:
        laboratory.define("udefgh", "failing_hook")
    assert run.ending == "exception"
    assert "the shutter is closed" in run.error
    assert laboratory.detector().State() is tango.DevState.ON
    assert json.loads(laboratory.detector().LastSeries)["counts"]["not_triggered"] == 5
    (path,) = files(laboratory) - before
    assert path.exists()


def test_by_hand_det_end_stops_what_a_failed_count_has_left_armed(mixed: Laboratory) -> None:
    mixed.device("fail01").FailIn = "PrepareOne"
    assert mixed.run("ct", "0.01").ending == "exception"
    assert mixed.detector().State() is tango.DevState.RUNNING, "ct has no hook that runs then"
    assert mixed.run("det_end").ending == "finish"
    assert mixed.detector().State() is tango.DevState.ON


@pytest.mark.parametrize(
    "method",
    ["PrepareOne", pytest.param("StateOne", marks=pytest.mark.slow),
     pytest.param("ReadOne", marks=pytest.mark.slow), "StartOne"],
)  # fmt: skip
def test_another_channel_that_fails_leaves_no_armed_detector(mixed: Laboratory, method: str) -> None:
    """StartOne is last: Sardana 3.7 takes nothing more with a group in which it has failed."""
    mixed.device("fail01").FailIn = method
    run = mixed.run(*SCAN)
    assert run.ending == ("finish" if method == "ReadOne" else "exception"), (run.error, run.said())
    assert mixed.detector().State() is tango.DevState.ON
    assert context(mixed) == ""
    mixed.define("senv", "ActiveMntGrp", "mntgrp")
    assert mixed.run("ct", "0.01").ending == "finish"


def test_a_scan_that_is_stopped_leaves_no_armed_detector(laboratory: Laboratory) -> None:
    run = begin_scan(laboratory)
    laboratory.door.stop()
    laboratory.end(run)
    laboratory.wait_idle()
    assert run.ending in ("stop", "abort")
    assert context(laboratory) == ""


@pytest.mark.slow
def test_a_macro_whose_motor_has_swallowed_an_abort_is_ended(
    laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sardana's own: Pool and MacroServer in one process, no detector in it."""
    monkeypatch.setattr(door, "AGAIN", 1.0)
    laboratory.define("swallowed_abort")
    run = laboratory.door.start("mv", "mot01", "3")
    with pytest.raises(door.MacroTimeout):
        laboratory.door.wait(run, timeout=2.0)
    laboratory.door.abort()
    with pytest.raises(door.MacroTimeout):
        laboratory.door.wait(run, timeout=1.0)
    laboratory.end(run)
    assert run.ending == "abort"
    laboratory.define("mv", "mot01", "0")


@pytest.mark.slow
def test_a_door_that_hangs_is_named_and_a_new_macroserver_works(
    laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sardana's own, too."""
    monkeypatch.setattr(door, "AGAIN", 1.0)
    run = laboratory.door.start("kept_monitor")
    laboratory.door.wait(run, until=run.said)
    laboratory.door.abort()
    with pytest.raises(door.DoorHangs, match="restart the MacroServer"):
        laboratory.end(run, timeout=2.0)
    laboratory.tidy()
    laboratory.define("mv", "mot01", "0")


def test_a_series_of_somebody_else_is_left_alone(laboratory: Laboratory) -> None:
    detector = laboratory.detector()
    detector.TriggerMode = "INTERNAL"
    detector.Live()
    try:
        run = laboratory.run(*SCAN)
        assert run.ending == "exception"
        assert detector.State() is tango.DevState.RUNNING
    finally:
        detector.Stop()
        laboratory.wait_idle()


def test_by_hand_det_end_says_whose_series_it_leaves_running(laboratory: Laboratory) -> None:
    """As of one of its own that was armed before a restart of the Pool: nothing tells them apart."""
    detector = laboratory.detector()
    detector.write_attributes(
        [("TriggerMode", "SOFTWARE"), ("DestinationFilename", str(laboratory.data / "before_restart.h5"))]
    )
    detector.Arm()
    try:
        run = laboratory.run("det_end")
        assert run.ending == "finish", run.error
        assert detector.State() is tango.DevState.RUNNING
        assert (
            "sim: sim/det/1 runs a series of somebody else, or one from before a restart of the Pool, armed "
            f"by {detector.ArmedBy}: {detector.Status()} Stop it there, or send the command Stop to sim/det/1"
        ) in run.said("Warning")
        assert f"armed   by {detector.ArmedBy}" in laboratory.run("det_status").said("Output")
    finally:
        detector.Stop()
        laboratory.wait_idle()
    assert laboratory.run("ct", "0.01").ending == "finish"


def test_a_detector_that_is_gone_is_told_once_in_plain_words(laboratory: Laboratory) -> None:
    laboratory.process("Simulator/sim").stop()
    try:
        run = laboratory.run("det_end")
    finally:
        laboratory.restart("Simulator/sim")
        laboratory.wait_idle()
    assert run.ending == "finish", run.error
    assert run.said("Warning").splitlines() == [
        "sim: the detector device sim/det/1 does not answer; is its server running?"
    ]


@pytest.mark.slow
def test_a_series_from_before_a_restart_of_the_pool_is_freed_by_stop(mixed: Laboratory) -> None:
    mixed.device("fail01").FailIn = "PrepareOne"
    assert mixed.run("ct", "0.01").ending == "exception"
    mixed.restart(SARDANA)
    detector = mixed.detector()
    whose = "or one from before a restart of the Pool, armed by "
    assert whose in mixed.run("det_end").said("Warning")
    assert whose in mixed.run("ct", "0.01").error
    assert detector.State() is tango.DevState.RUNNING
    detector.Stop()
    mixed.wait_idle()
    assert mixed.run("ct", "0.01").ending == "finish"


@pytest.mark.slow
def test_somebodys_live_view_is_left_running_and_not_waited_for(laboratory: Laboratory) -> None:
    """After a restart of the Pool the channel knows of no file, and the view has none."""
    laboratory.restart(SARDANA)
    assert laboratory.device("sim").LastFile == ""
    detector = laboratory.detector()
    laboratory.define("det_live", "sim")
    try:
        begun = time.monotonic()
        run = laboratory.run("det_end")
        assert run.ending == "finish" and time.monotonic() - begun < 10.0, run.said()
        assert laboratory.run(*SCAN).ending == "exception"
        assert detector.State() is tango.DevState.RUNNING
    finally:
        laboratory.define("det_live", "sim", "off")


def test_without_a_folder_for_scans_it_says_so(laboratory: Laboratory) -> None:
    laboratory.define("usenv", "ScanDir")
    try:
        run = laboratory.run(*SCAN)
    finally:
        laboratory.define("senv", "ScanDir", str(laboratory.data))
    assert run.ending == "finish", (run.error, run.said())
    warned = run.said("Warning")
    assert f"ScanDir is not set: detectors' files go to {laboratory.data}, the folder of the last" in warned
    assert Path(laboratory.device("sim").LastFile).parent == laboratory.data


def test_a_time_scan_by_software_leaves_sardana_the_time_to_take_every_point(laboratory: Laboratory) -> None:
    before = files(laboratory)
    run = laboratory.run("timescan", "4", "0.02")
    assert run.ending == "finish", (run.error, run.said())
    assert "software triggers sim: latency time 0.1 s, without which points would be lost" in run.said("Info")
    dt = ScanFile(laboratory.data / "scan.h5").column("dt")
    assert np.diff(dt).tolist() == pytest.approx([0.12] * 3), "as they are planned, on a busy machine, too"
    assert len(files(laboratory) - before) == 1, "one file for the scan"
    run = laboratory.run("timescan", "2", "0.02", "0.2")
    assert "latency time" not in run.said("Info"), "what the user asks for is enough"


def test_another_macro_may_use_them(laboratory: Laboratory) -> None:
    run = laboratory.run("own_loop")
    assert run.ending == "finish", (run.error, run.said())
    assert "own_loop is not a scan; the detectors' files are named like those of ct" in run.said()
    assert Path(laboratory.detector().DestinationFilename).name.startswith("ct_00000_sim_")


def test_a_group_without_penstock_detectors_is_no_matter(laboratory: Laboratory) -> None:
    laboratory.define("defmeas", "timer", "ct01")
    laboratory.define("senv", "ActiveMntGrp", "timer")
    try:
        run = laboratory.run(*SCAN)
    finally:
        laboratory.define("senv", "ActiveMntGrp", "mntgrp")
    assert run.ending == "finish", (run.error, run.said())
