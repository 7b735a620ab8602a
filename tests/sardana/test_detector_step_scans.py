"""Step scans with real servers: each point has its own frame, and an end that nobody has planned is said."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import h5py
import pytest
import tango

from penstock.sardana.door import MacroRun
from penstock.sardana.laboratory.laboratory import Laboratory
from penstock.sardana.reference import parse
from tests.sardana.scan_files import frames_of, points, statuses
from tests.system.beamline import ON, wait_state

STEP = ("ascan", "mot01", "0", "1", "100", "0.05")
SOON = 40.0
"""Seconds within which an end is told: on a busy machine, too, and before a long exposure of 60 s is over."""


@pytest.fixture(autouse=True)
def _ready(laboratory: Laboratory) -> Iterator[None]:
    """A test leaves the detector as the next one wants to find it."""
    yield
    detector = laboratory.detector()
    assert detector.State() is tango.DevState.ON, detector.Status()
    laboratory.device("sim").ScanContext = ""


def test_every_point_of_an_ascan_has_its_own_frame(laboratory: Laboratory) -> None:
    before = set(laboratory.data.glob("scan_*_sim_*.h5"))
    run = laboratory.run("ascan", "mot01", "0", "1", "5", "0.01")
    assert run.ending == "finish", (run.error, run.said())
    references = points(laboratory.data / "scan.h5")
    assert [reference.index for reference in references] == list(range(6))
    assert frames_of(references) == list(range(6))
    assert len({reference.file for reference in references}) == 1, "one file per scan"
    assert set(laboratory.data.glob("scan_*_sim_*.h5")) - before == {Path(references[0].file)}


@pytest.mark.parametrize(
    ("command", "planned"),
    [
        ("mesh mot01 0 1 2 mot02 0 1 1 0.01 False", 6),
        pytest.param("dscan mot01 -1 1 2 0.01", 3, marks=pytest.mark.slow),
        pytest.param("timescan 3 0.01 0.3", 3, marks=pytest.mark.slow),
        pytest.param("fscan x=arange(3) 0.01 mot01 x", 3, marks=pytest.mark.slow),
    ],
)
def test_other_step_scans(laboratory: Laboratory, command: str, planned: int) -> None:
    run = laboratory.run(*command.split())
    assert run.ending == "finish", (run.error, run.said())
    references = points(laboratory.data / "scan.h5")[:planned]
    assert len(references) == planned
    assert frames_of(references) == [reference.index for reference in references]
    assert [reference.index for reference in references] == list(range(planned))
    assert len({reference.file for reference in references}) == 1, "one file per scan"


@pytest.mark.slow
def test_a_scan_without_a_number_of_points_has_a_file_for_each(laboratory: Laboratory) -> None:
    run = laboratory.run("ascanc", "mot01", "0", "5", "0.01")
    assert run.ending == "finish", (run.error, run.said())
    references = points(laboratory.data / "scan.h5")
    assert references
    assert {reference.index for reference in references} == {0}
    assert len({reference.file for reference in references}) == len(references)


def test_a_single_count(laboratory: Laboratory) -> None:
    run = laboratory.run("ct", "0.01")
    assert run.ending == "finish", (run.error, run.said())
    channel = laboratory.device("sim")
    found = parse(channel.ValueRef)
    assert found is not None
    assert frames_of([found]) == [0]
    assert channel.LastFile == found.file
    assert channel.Warning == ""


def test_a_detector_in_fault_fails_the_scan_at_once_in_its_own_words(laboratory: Laboratory) -> None:
    detector = laboratory.detector()
    detector.Faults = "fail_at=1"
    run = laboratory.run("ascan", "mot01", "0", "1", "4", "0.01")
    assert run.ending == "exception"
    assert "the hardware failed at frame 1" in laboratory.device("sim").Warning
    detector.Faults = ""
    status = detector.Status()
    run = laboratory.run("ascan", "mot01", "0", "1", "4", "0.01")
    assert run.ending == "exception"
    assert status in run.error + run.said()
    detector.Reset()
    run = laboratory.run("ct", "1e-10")
    # Not in the list of elements above it: what Sardana shows there it may have read before the Reset.
    assert "refuses ExposureTime 1e-10" in run.said("Error")
    assert "hardware failed" not in run.said("Error") + run.error, "its own cause, not that of the last one"
    run = laboratory.run("ct", "0.01")
    assert run.ending == "finish", (run.error, run.said())


@pytest.mark.parametrize(
    ("command", "value"),
    [("ascan mot01 0 1 3 0", "0"), ("ascan mot01 0 1 3 1e9", "1e+09"), ("ct 1e-10", "1e-10")],
)
def test_a_setting_that_the_detector_refuses_fails_the_scan_in_its_own_words(
    laboratory: Laboratory, command: str, value: str
) -> None:
    run = laboratory.run(*command.split())
    assert run.ending == "exception"
    assert f"sim/det/1 refuses ExposureTime {value}: allowed: 1e-05 to 3600.0 s" in run.error
    works(laboratory)


# Ends that nobody has planned --------------------------------------------------------------------


def begun(laboratory: Laboratory, *command: str, frames: int) -> MacroRun:
    """A macro under way, once its detector has taken so many frames, or exposes the first of a new series."""
    detector, channel = laboratory.detector(), laboratory.device("sim")
    before = detector.SeriesId

    def is_so_far() -> bool:
        if detector.SeriesId == before or detector.nFramesAcquired < frames:
            return False
        return frames > 0 or channel.State() is tango.DevState.MOVING  # it has been triggered

    run = laboratory.door.start(*command)
    laboratory.door.wait(run, until=is_so_far)
    return run


def works(laboratory: Laboratory) -> None:
    run = laboratory.run("ct", "0.01")
    assert run.ending == "finish", (run.error, run.said())


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stop", "abort"])
def test_a_step_scan_that_is_ended_leaves_everything_ready(laboratory: Laboratory, how: str) -> None:
    run = begun(laboratory, *STEP, frames=3)
    getattr(laboratory.door, how)()
    laboratory.wait_idle()  # not only when the macro has ended: that is Sardana's
    channel = laboratory.device("sim")
    wait_state(channel, ON)  # Sardana shows the state that it has asked for last
    assert statuses(channel.LastFile, channel.FileDataset)[:3] == [1, 1, 1]
    laboratory.end(run)
    assert run.ending in ("stop", "abort")
    works(laboratory)


@pytest.mark.slow
def test_a_scan_that_is_stopped_while_it_arms_leaves_everything_ready(laboratory: Laboratory) -> None:
    """At several moments of the arming, told by the device itself."""
    detector = laboratory.detector()
    for attempt in range(12):
        before, armed = detector.DestinationFilename, detector.SeriesId
        run = laboratory.door.start("timescan", "100", f"0.0{1 + attempt % 2}", "0.02")
        if attempt % 3 == 0:
            laboratory.door.wait(run, until=lambda: detector.DestinationFilename != before)  # noqa: B023
        elif attempt % 3 == 1:
            laboratory.door.wait(run, until=lambda: detector.State() is not tango.DevState.ON)
        else:
            laboratory.door.wait(run, until=lambda: detector.SeriesId != armed)  # noqa: B023
        laboratory.door.stop()
        laboratory.end(run)
        assert run.ending in ("stop", "abort")
        laboratory.wait_idle()
        works(laboratory)


def test_a_series_of_somebody_else_is_left_alone(laboratory: Laboratory) -> None:
    detector = laboratory.detector()
    detector.TriggerMode, detector.ExposureTime = "INTERNAL", 0.05
    detector.Live()
    theirs = detector.SeriesId
    run = laboratory.run("ct", "0.01")
    assert run.ending == "exception"
    assert "sim/det/1 runs a series of somebody else, " in run.error
    assert f"armed by {detector.ArmedBy}: " in run.error
    assert detector.State() is tango.DevState.RUNNING
    assert detector.SeriesId == theirs
    detector.Stop()
    laboratory.wait_idle()
    works(laboratory)


def test_a_stale_series_of_its_own_is_stopped(laboratory: Laboratory) -> None:
    works(laboratory)
    group = laboratory.device("mntgrp")
    group.NbStarts = 5
    group.Prepare()
    detector = laboratory.detector()
    assert detector.State() is tango.DevState.RUNNING
    stale = laboratory.device("sim").LastFile
    works(laboratory)
    assert laboratory.device("sim").LastFile != stale
    (past,) = [one for one in laboratory.receiver().history() if one.series.filename == stale]
    assert past.counts.not_triggered == 5
    assert "stop" in past.series.reason


def test_no_file_is_overwritten(laboratory: Laboratory) -> None:
    channel = laboratory.device("sim")
    channel.ScanContext = json.dumps({"scan_dir": str(laboratory.data), "scan_file": "taken", "scan_id": 3})
    taken = laboratory.data / "taken_00003_sim_0001.h5"
    taken.write_bytes(b"mine")
    laboratory.detector().DestinationFileOverwritable = True
    works(laboratory)
    assert taken.read_bytes() == b"mine"
    assert Path(channel.LastFile).name == "taken_00003_sim_0002.h5"


def test_the_scan_is_told_to_the_file(laboratory: Laboratory) -> None:
    detector, channel = laboratory.detector(), laboratory.device("sim")
    detector.Metadata = '{"sample": "CeO2"}'
    context = {
        "scan_dir": str(laboratory.data), "scan_file": "told", "scan_id": 17, "title": "ct 0.01",
        "macro": "ct", "user": "ada", "motors": [], "points": 1,
    }  # fmt: skip
    channel.ScanContext = json.dumps(context)
    works(laboratory)
    with h5py.File(channel.LastFile, locking=False) as file:
        assert file["entry/title"].asstr()[()] == "ct 0.01"
        assert file["entry/entry_identifier"].asstr()[()] == "17"
        assert file["entry/user/name"].asstr()[()] == "ada"
        assert file["entry/sample/name"].asstr()[()] == "CeO2"
    channel.ScanContext = ""
    works(laboratory)
    assert json.loads(detector.Metadata) == {"sample": "CeO2"}


def test_a_template_that_cannot_name_files_is_refused_where_it_is_set(laboratory: Laboratory) -> None:
    channel = laboratory.device("sim")
    before = channel.FileTemplate
    with pytest.raises(tango.DevFailed, match=r"without \{number\}"):
        channel.FileTemplate = "{ScanDir}/always.h5"
    assert channel.FileTemplate == before
    channel.FileTemplate = "{ScanDir}/{detector}-{number}.h5"
    try:
        works(laboratory)
        assert Path(channel.LastFile).name.startswith("sim-")
    finally:
        channel.FileTemplate = before


def test_without_references_the_images_come_themselves(laboratory: Laboratory) -> None:
    laboratory.define("set_meas_conf", "ValueRefEnabled", "False", "[", "sim", "]", "mntgrp")
    try:
        run = laboratory.run("ascan", "mot01", "0", "1", "2", "0.01")
        assert run.ending == "finish", (run.error, run.said())
        assert laboratory.detector().DestinationFilename == ""
        assert laboratory.device("sim").Value.shape == (32, 64)
        assert laboratory.device("sim").Value[0, 0] == 2
    finally:
        laboratory.define("set_meas_conf", "ValueRefEnabled", "True", "[", "sim", "]", "mntgrp")
    works(laboratory)
    assert parse(laboratory.device("sim").ValueRef) is not None


@pytest.mark.slow
def test_hardware_that_arms_slowly_is_waited_for(laboratory: Laboratory) -> None:
    laboratory.detector().Faults = "slow_arm=2.6"
    try:
        run = laboratory.run("ascan", "mot01", "0", "1", "2", "0.01")
    finally:
        laboratory.detector().Faults = ""
    assert run.ending == "finish", (run.error, run.said())
    assert frames_of(points(laboratory.data / "scan.h5")) == [0, 1, 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("process", "exposure", "frames", "sentence"),
    [
        ("receiver sim", "0.05", 3, "does not answer"),
        ("receiver sim", "60", 0, "does not answer"),
        ("Simulator/sim", "0.05", 3, "sim/det/1 does not answer"),
    ],
)
def test_a_process_that_dies_fails_the_scan_with_a_sentence(
    laboratory: Laboratory, process: str, exposure: str, frames: int, sentence: str
) -> None:
    """Within two seconds and a poll: in a long exposure before the next point."""
    run = begun(laboratory, "ascan", "mot01", "0", "1", "200", exposure, frames=frames)
    os.kill(laboratory.process(process).pid, signal.SIGKILL)
    laboratory.door.wait(run, timeout=SOON)
    assert run.ending == "exception"
    assert sentence in run.said(), "Sardana's report has the channel's status"
    laboratory.device("mntgrp").Stop()  # the timer, which Sardana leaves counting
    again = laboratory.run("ct", "0.01")
    assert again.ending == "exception"
    laboratory.restart(process)
    laboratory.recover()
    works(laboratory)


@pytest.mark.slow
@pytest.mark.parametrize("exposure", ["0.05", "60"], ids=["between points", "in a long exposure"])
def test_init_of_the_detector_fails_the_point_with_what_became_of_the_series(
    laboratory: Laboratory, exposure: str
) -> None:
    run = begun(laboratory, "ascan", "mot01", "0", "1", "200", exposure, frames=0 if exposure == "60" else 3)
    detector = laboratory.detector()
    detector.Init()
    laboratory.door.wait(run, timeout=SOON)
    assert run.ending == "exception"
    verdict = json.loads(detector.LastSeries)["verdict"]
    assert " of 201 frames stored in " in verdict and verdict.endswith(": ended by Init.")
    assert f"sim: {verdict}" in run.said(), "Sardana's report has the channel's status"
    laboratory.device("mntgrp").Stop()
    laboratory.recover()
    works(laboratory)
