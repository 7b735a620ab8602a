"""What a row says of a device, from what the device says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from penstock.gui.model.attributes.attribute import Value
from penstock.gui.model.fleet.row import Row, away, faults_first, row, summary
from penstock.gui.model.tango.directory import DirectoryEntry

DETECTOR = DirectoryEntry("p09/det/1", "detector", "Simulator", "Simulator/p09", True)
PIPELINE = DirectoryEntry("p09/pipeline/1", "pipeline", "PenstockPipeline", "PenstockPipeline/p09", True)
RECEIVER = DirectoryEntry("p09/receiver/1", "receiver", "PenstockReceiver", "Simulator/p09", True)
URL = "http://daq-1:5000"


def detector(**values: Value | None) -> Row:
    return row(DETECTOR, {"State": "ON", "Status": "Ready.", "SeriesId": "", **values}, URL)


def receiver(**values: Value | None) -> Row:
    return row(RECEIVER, {"State": "ON", "Status": "Idle.", "FreeSpace": 1_200_000_000_000, **values}, URL)


def pipeline(**values: Value | None) -> Row:
    return row(PIPELINE, {"State": "ON", "Status": "Idle.", "SeriesId": "", **values}, "http://daq-1:5100")


def last_series(**keys: Any) -> str:
    return json.dumps({"series": "s1", "verdict": "990 of 1000 frames stored, 10 missing", **keys})


def test_before_the_first_series_there_is_nothing_to_count() -> None:
    found = detector()
    assert (found.series, found.frames, found.hertz) == ("", "", "")
    assert found.says == "Ready."
    assert not found.ill and not found.problem


def test_a_running_series_is_named_by_its_file_and_counted() -> None:
    found = detector(
        State="RUNNING", SeriesId="s1", FileWritten="/data/a/scan_0042.h5", nFramesPlanned=12_000,
        nFramesWritten=4_120, nFramesMissing=0, nFramesPending=7_880, FrameRateMeasured=99.97,
    )  # fmt: skip
    assert (found.series, found.frames, found.hertz) == ("scan_0042.h5", "4,120 of 12,000", "100 Hz")
    assert not found.problem


def test_no_rate_is_shown_when_no_series_runs() -> None:
    assert detector(FrameRateMeasured=0.0).rate is None


def test_a_live_view_has_no_end() -> None:
    found = detector(State="RUNNING", SeriesId="s1", FileWritten="", nFramesPlanned=-1, nFramesDelivered=3456)
    assert (found.series, found.frames) == ("live view", "3,456")


def test_frames_that_nobody_has_announced_are_counted_without_an_end() -> None:
    found = receiver(SeriesId="s1", FileName="/data/a.h5", nFramesPlanned=-1, nFramesWritten=12)
    assert found.frames == "12"


@pytest.mark.parametrize("state", ["FAULT", "UNKNOWN", "ALARM"])
def test_the_status_of_a_troubled_device_is_its_problem(state: str) -> None:
    assert detector(State=state, Status="The disk\n is full.").problem == "The disk is full."


def test_a_last_series_that_is_not_complete_is_a_problem_until_the_next_one_runs() -> None:
    said = {"SeriesId": "s1", "LastSeries": last_series(complete=False)}
    assert detector(**said).problem == "Last series: 990 of 1000 frames stored, 10 missing"
    assert not detector(**said, State="RUNNING").problem
    assert not detector(SeriesId="s1", LastSeries=last_series(complete=True)).problem


def test_a_last_series_that_cannot_be_read_is_said() -> None:
    assert "cannot be read here" in detector(LastSeries='{"series": 1}').problem


def test_losses_are_said_while_the_series_runs() -> None:
    found = receiver(
        State="RUNNING", SeriesId="s1", nFramesPlanned=5000, nFramesMissing=1200, nFramesCorrupt=1,
        SeriesReason="waits for something",
    )  # fmt: skip
    assert found.problem == "1,200 missing, 1 corrupt so far."


def test_losses_of_a_receivers_last_series_are_said_in_its_own_words() -> None:
    found = receiver(
        SeriesId="s1", nFramesPlanned=5, nFramesMissing=1, SeriesReason="4 of 5 frames: 1 missing"
    )
    assert found.problem == "Last series: 4 of 5 frames: 1 missing"


def test_free_space_that_nobody_knows_is_not_shown() -> None:
    assert receiver(FreeSpace=-1).free == ""
    assert receiver().free == "1.2 TB"
    assert receiver(State="UNKNOWN").free == "", "it is of when the receiver was there"


def test_a_detector_has_the_free_space_of_its_receiver_and_only_of_that() -> None:
    other = replace(detector(), name="p09/det/2", receiver_url="http://daq-2:5000")
    none = replace(detector(), name="p09/det/3", receiver_url="")
    mine = replace(detector(), receiver_url=f"{URL}/")
    free = {each.name: each.free for each in faults_first([mine, other, none, receiver()])}
    assert free == {"p09/det/1": "1.2 TB", "p09/det/2": "", "p09/det/3": "", "p09/receiver/1": "1.2 TB"}


def test_a_device_that_is_away_keeps_its_series_and_says_why_and_since_when() -> None:
    here = detector(
        State="RUNNING", SeriesId="s1", FileWritten="/data/a.h5", nFramesPlanned=5, nFramesWritten=3,
        FrameRateMeasured=1.0,
    )  # fmt: skip
    gone = away(here, "Its server does not run.", 1000.0)
    assert (gone.state, gone.problem, gone.away_since) == ("AWAY", "Its server does not run.", 1000.0)
    assert (gone.series, gone.frames, gone.hertz) == ("a.h5", "3 of 5", "")
    assert gone.ill


def test_faults_come_first_then_who_is_away_then_who_has_a_problem() -> None:
    rows = [
        receiver(), detector(), replace(detector(LastSeries=last_series(complete=False)), name="p09/det/9"),
        replace(away(detector(), "Gone."), name="p09/det/8"), replace(receiver(State="FAULT"), name="z/z/1"),
    ]  # fmt: skip
    assert [each.name for each in faults_first(rows)] == [
        "z/z/1", "p09/det/8", "p09/det/9", "p09/det/1", "p09/receiver/1",
    ]  # fmt: skip


def test_the_counts_name_what_is_not_as_it_should_be() -> None:
    rows = [
        detector(State="FAULT"),
        detector(),
        detector(State="RUNNING"),
        receiver(),
        receiver(),
        receiver(),
    ]
    assert summary(rows) == "3 detectors, 1 in FAULT, 1 running; 3 receivers"
    assert summary([away(detector(), "Gone."), receiver(State="UNKNOWN")]) == (
        "1 detector, 1 away; 1 receiver, 1 in UNKNOWN"
    )


def test_a_detector_that_takes_settings_shows_its_last_series_and_no_rate() -> None:
    found = detector(
        State="MOVING", Status="Energy is being set in the detector.", SeriesId="s1", nFramesPlanned=1000,
        nFramesWritten=990, nFramesMissing=10, nFramesPending=0, FrameRateMeasured=0.0,
        LastSeries=last_series(complete=False),
    )  # fmt: skip
    assert (found.state, found.rate) == ("MOVING", None)
    assert found.problem == "Last series: 990 of 1000 frames stored, 10 missing"


def test_a_pipeline_shows_its_raw_file_and_the_frames_that_are_done() -> None:
    assert (pipeline().frames, pipeline().series, pipeline().says) == ("", "", "Idle.")
    found = pipeline(State="RUNNING", SeriesId="s1", RawFile="/data/a.h5", Planned=1000, Done=412, Rate=250.0)
    assert (found.series, found.frames, found.hertz) == ("a.h5", "412 of 1,000", "250 Hz")
    assert not found.problem and found.gravity == 3
    assert (found.page, found.receiver_url) == ("http://daq-1:5100", "")
    assert pipeline(SeriesId="s1", Planned=-1, Done=412).frames == "412"


def test_frames_that_a_pipeline_has_not_done_are_said_with_the_last_error() -> None:
    said = {"SeriesId": "s1", "Planned": 10, "Done": 7, "Failed": 2, "Lost": 1, "LastError": "w1: no"}
    assert pipeline(**said, State="RUNNING").problem == "2 failed, 1 lost so far. Last error: w1: no"
    assert pipeline(**said).problem == "Last series: 2 failed, 1 lost. Last error: w1: no"
    assert pipeline(LastError="w1: no").last_error == "w1: no"
    assert not pipeline(LastError="w1: no").problem, "the series after it went well"


def test_what_a_pipeline_waits_for_and_why_it_is_away_are_problems() -> None:
    assert pipeline(WaitsFor="a worker").problem == "a worker"
    assert (
        pipeline(State="UNKNOWN", Status="It does not answer.", WaitsFor="a").problem == "It does not answer."
    )


def test_pipelines_are_counted_where_there_are_some() -> None:
    rows = [detector(), receiver(), pipeline(State="FAULT"), pipeline(State="RUNNING")]
    assert summary(rows) == "1 detector; 1 receiver; 2 pipelines, 1 in FAULT, 1 running"
    assert [each.kind for each in faults_first(rows)] == ["pipeline", "pipeline", "detector", "receiver"]
