"""det_status, det_setup, det_live and det_take at the Door."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import pytest
import tango

from penstock.sardana.door import MacroRun
from penstock.sardana.laboratory.laboratory import Laboratory


def lines(run: MacroRun) -> list[str]:
    assert run.ending == "finish", (run.error, run.said())
    said = run.said("Output").splitlines()
    assert max(map(len, said)) <= 80 or any("/" in line for line in said if len(line) > 80)
    return said


@pytest.mark.parametrize("command", [("det_status",), ("det_status", "sim")])
def test_status_of_detectors(laboratory: Laboratory, command: tuple[str, ...]) -> None:
    said = lines(laboratory.run(*command))
    assert said[0] == "sim  sim/det/1  ON"
    assert said[-1].startswith("  ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("process", "words"),
    [
        ("Simulator/sim", ["sim  sim/det/1  does not answer"]),
        (
            "receiver sim",
            ["sim  sim/det/1  ON", "Not ready for a scan.", "does not answer (nobody listens there)"],
        ),
    ],
)
def test_status_of_a_detector_that_is_gone(laboratory: Laboratory, process: str, words: list[str]) -> None:
    laboratory.process(process).stop()
    try:
        run = laboratory.run("det_status")
    finally:
        laboratory.restart(process)
        laboratory.wait_idle()
    said = " ".join(" ".join(lines(run)).split()).replace("sim sim/det/1 ", "sim  sim/det/1  ")
    for each in words:
        assert each in said


def test_parameters_are_shown_with_unit_limits_and_choices(laboratory: Laboratory) -> None:
    laboratory.detector("sim").ExposureTime = 0.1
    said = lines(laboratory.run("det_setup", "sim"))
    rows = {line.split()[0]: line.split()[1:] for line in said if line.startswith("  ") and line.split()}
    assert rows["ExposureTime"] == ["0.1", "s", "1e-05", "to", "3600.0"]
    assert "series:" in said and "camera:" in said
    assert "INTERNAL, " in "\n".join(said)


def test_parameters_are_set_and_read_back(laboratory: Laboratory) -> None:
    run = laboratory.run("det_setup", "sim", "exposuretime", "0.25", "Fliplr", "true")
    assert lines(run) == ["exposuretime = 0.25", "Fliplr = True"]
    detector = laboratory.detector()
    assert (detector.ExposureTime, detector.Fliplr) == (0.25, True)
    detector.Fliplr = False


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("ExposureTime", "-1", "ExposureTime = -1: allowed: 1e-05 to 3600.0 s"),
        ("ExposureTime", "long", "ExposureTime = long: write a number"),
        ("Fliplr", "perhaps", "Fliplr = perhaps: write true or false"),
        ("SensorTemperature", "1", "SensorTemperature can only be read"),
        ("Exposure", "1", "sim/det/1 has no parameter Exposure; similar ones: ExposureTime"),
        ("Gain", "1", "the macro det_setup shows all"),
    ],
)
def test_refused_values_give_a_sentence(laboratory: Laboratory, name: str, value: str, sentence: str) -> None:
    run = laboratory.run("det_setup", "sim", name, value)
    assert run.ending == "exception"
    assert sentence in run.error


def test_live_on_and_off(laboratory: Laboratory) -> None:
    detector = laboratory.detector()
    assert "sim is live: " in lines(laboratory.run("det_live", "sim"))[0]
    assert detector.State() is tango.DevState.RUNNING
    assert laboratory.run("det_live", "sim", "on").ending == "finish"
    lines(laboratory.run("det_live", "sim", "off"))
    assert detector.State() is tango.DevState.ON
    assert "write on or off" in laboratory.run("det_live", "sim", "1").error


def test_frames_are_taken_into_files_that_did_not_exist(laboratory: Laboratory) -> None:
    for number in (1, 2):
        said = lines(laboratory.run("det_take", "sim", "5", "0.01"))
        path = laboratory.data / f"take_00000_sim_{number:04d}.h5"
        assert said[-1] == str(path)
        assert "5 of 5 frames" in said[-2]
        with h5py.File(path, locking=False) as file:
            assert file[laboratory.detector().FileDataset].shape[0] == 5


def test_the_pattern_of_the_measurement_group_names_the_files_of_scans_and_of_det_take(
    laboratory: Laboratory,
) -> None:
    pattern = f"h5file://{laboratory.data}/mine_{{index:02d}}"  # as Sardana's own pages write it
    laboratory.define("defmeas", "patterned", "ct01", "sim")
    laboratory.define("set_meas_conf", "ValueRefEnabled", "True", "[", "sim", "]", "patterned")
    laboratory.define("set_meas_conf", "ValueRefPattern", pattern, "[", "sim", "]", "patterned")
    laboratory.define("senv", "ActiveMntGrp", "patterned")
    try:
        said = lines(laboratory.run("det_take", "sim", "1", "0.01"))
        laboratory.define("ascan", "mot01", "0", "1", "1", "0.01")
        scanned = laboratory.device("sim").LastFile
        laboratory.define("set_meas_conf", "ValueRefEnabled", "False", "[", "sim", "]", "patterned")
        without = lines(laboratory.run("det_take", "sim", "1", "0.01"))
    finally:
        laboratory.define("senv", "ActiveMntGrp", "mntgrp")
    assert said[-1] == str(laboratory.data / "mine_01.h5")
    assert scanned == str(laboratory.data / "mine_02.h5")
    assert Path(without[-1]).name.startswith("take_00000_sim_")


@pytest.mark.parametrize(
    ("frames", "time", "sentence"),
    [
        ("0", "0.01", "frames = 0: allowed: 1 to "),
        ("5", "-1", "time = -1: allowed: 1e-05 to 3600.0 s"),
        ("5", "nan", "time = nan: allowed: 1e-05 to 3600.0 s"),
    ],
)
def test_what_det_take_cannot_take_is_refused_with_the_limits(
    laboratory: Laboratory, frames: str, time: str, sentence: str
) -> None:
    run = laboratory.run("det_take", "sim", frames, time)
    assert run.ending == "exception"
    assert run.error.startswith(sentence)


def test_taking_that_is_stopped_completes_the_file(laboratory: Laboratory) -> None:
    detector = laboratory.detector()
    before = detector.SeriesId
    run = laboratory.door.start("det_take", "sim", "1000", "0.02")
    laboratory.door.wait(run, until=lambda: detector.SeriesId != before and detector.nFramesAcquired >= 3)
    assert detector.State() is tango.DevState.RUNNING
    laboratory.door.stop()
    laboratory.end(run)
    assert run.ending == "stop"
    assert detector.State() is tango.DevState.ON
    assert "of 1,000 frames" in run.said("Warning")
    assert detector.FileWritten in run.said("Output")


def test_stop_comes_too_late_for_a_macro_that_has_ended(laboratory: Laboratory) -> None:
    run = laboratory.run("det_status")
    laboratory.door.stop()
    laboratory.door.abort()
    assert laboratory.end(run).ending == "finish"


def test_taking_without_files_is_refused(laboratory: Laboratory) -> None:
    detector = laboratory.detector()
    detector.SaveRaw = False
    try:
        run = laboratory.run("det_take", "sim", "1", "0.01")
    finally:
        detector.SaveRaw = True
    assert run.ending == "exception"
    assert "sim/det/1 writes no files, because its SaveRaw is false; set it to true" in run.error


def test_without_a_folder_for_scans_it_is_said_that_it_is_that_of_the_last_one(
    laboratory: Laboratory,
) -> None:
    folder = laboratory.data / "visit"
    folder.mkdir()
    laboratory.define("senv", "ScanDir", str(folder))
    laboratory.define("ascan", "mot01", "0", "1", "1", "0.01")
    laboratory.define("usenv", "ScanDir")
    try:
        last = laboratory.run("det_take", "sim", "2", "0.01")
        laboratory.define("usenv", "ScanHistory")
        first = laboratory.run("det_take", "sim", "2", "0.01")
    finally:
        laboratory.define("senv", "ScanDir", str(laboratory.data))
    assert Path(lines(last)[-1]).parent == folder
    assert f"ScanDir is not set: detectors' files go to {folder}, the folder of the last scan" in last.said()
    assert Path(lines(first)[-1]).parent == laboratory.data
    assert "ScanDir is not set: detectors' files go to the data root of the receiver" in first.said()


@pytest.mark.parametrize("own", ["", '{"title": "mine", "user": {"role": "student"}}'])
def test_a_scan_says_nothing_of_itself_in_files_that_come_after(laboratory: Laboratory, own: str) -> None:
    detector = laboratory.detector()
    detector.Metadata = own
    laboratory.define("ascan", "mot01", "0", "1", "1", "0.01")
    assert json.loads(detector.Metadata or "{}") == json.loads(own or "{}")
    # as after an abort, of which no hook is told
    detector.Metadata = json.dumps(
        {"title": "ascan", "entry_identifier": "3", "scan": {"macro": "ascan", "entries": [
            "title", "entry_identifier", "scan.macro", "scan.entries"]}}
    )  # fmt: skip
    path = lines(laboratory.run("det_take", "sim", "1", "0.01"))[-1]
    assert detector.Metadata == ""
    with h5py.File(path, locking=False) as file:
        assert "entry_identifier" not in file["entry"]


def test_another_2d_channel_is_refused(laboratory: Laboratory) -> None:
    laboratory.define("defctrl", "DummyTwoDController", "twodctrl")
    laboratory.define("defelem", "twod01", "twodctrl", "1")
    run = laboratory.run("det_take", "twod01", "1", "0.1")
    assert "twod01 is not a Penstock detector" in run.error
