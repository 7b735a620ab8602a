"""From Arm to the closed file, with every process real."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import time

import h5py
import numpy as np
import pytest
import tango

from penstock.cli.main import main
from penstock.streamer.simulated.triggers import TriggerSource
from tests.system.accounts import check_account, file_counts
from tests.system.beamline import (
    FAULT,
    INIT,
    MOVING,
    ON,
    RUNNING,
    Station,
    children,
    connections,
    refusal,
    until,
    wait_state,
)


def test_an_internal_series_runs_from_arm_to_a_closed_file(station: Station) -> None:
    file = station.new_file()
    station.set(nTriggers=20, DestinationFilename=str(file))
    station.detector.Arm()
    assert station.detector.State() in (RUNNING, ON)
    wait_state(station.detector, ON)
    check_account(station, file, 20, stored=20)
    assert station.detector.nFramesAcquired == 20
    with h5py.File(file) as opened:
        assert opened["entry/data/data"].shape == (20, 32, 64)


def test_the_state_is_running_until_the_receiver_has_closed_the_file(station: Station) -> None:
    file = station.software_series(3)
    assert station.detector.State() == RUNNING
    for _ in range(3):
        assert station.detector.State() == RUNNING
        station.trigger()
    wait_state(station.detector, ON)
    # Nothing is waited for here: ON promises that both are true.
    status = station.receiver.client.status()
    assert status.state == "idle"
    assert status.series is not None and status.series.active is False
    check_account(station, file, 3, stored=3)


def test_each_trigger_takes_its_frames(station: Station) -> None:
    file = station.software_series(2, nFramesPerTrigger=3)
    for point in (1, 2):
        until(lambda: station.detector.ReadyForSwTrigger, "ready")
        station.detector.SoftwareTrigger()
        until(lambda expected=3 * point: station.detector.nFramesAcquired == expected, "frames of a point")
    wait_state(station.detector, ON)
    check_account(station, file, 6, stored=6)
    with h5py.File(file) as opened:
        (detector,) = [g for g in opened["entry/instrument"].values() if "frame_status" in g]
        assert detector["trigger"][()].tolist() == [0, 0, 0, 1, 1, 1]


def test_external_edges_take_frames(station: Station) -> None:
    file = station.new_file()
    station.set(TriggerMode="EXTERNAL_MULTI", nTriggers=3, DestinationFilename=str(file))
    station.detector.Arm()
    host, port = station.detector.TriggerAddress.split(":")
    source = TriggerSource((host, int(port)))
    for number in (1, 2, 3):
        source.pulse()
        until(lambda expected=number: station.detector.nFramesAcquired == expected, "frame of an edge")
    source.close()
    wait_state(station.detector, ON)
    check_account(station, file, 3, stored=3)


def test_arm_resets_all_counts(station: Station) -> None:
    station.set(nTriggers=2)
    station.detector.Arm()
    wait_state(station.detector, ON)
    assert station.detector.nFramesAcquired == 2
    station.software_series(5)
    for name in ("nFramesAcquired", "nFramesReceived", "nFramesWritten", "nFramesMissing"):
        assert station.detector.read_attribute(name).value == 0, name
    station.detector.Abort()
    wait_state(station.detector, ON)


def test_save_raw_off_delivers_without_a_file(station: Station) -> None:
    file = station.new_file()
    station.set(nTriggers=4, SaveRaw=False, DestinationFilename=str(file))
    station.detector.Arm()
    wait_state(station.detector, ON)
    assert not file.exists()
    check_account(station, None, 4, delivered=4)


@pytest.mark.parametrize("command", ["Live", "Continuous"])
def test_live_series_run_until_stop_without_a_file(station: Station, command: str) -> None:
    file = station.new_file()
    station.set(nTriggers=3, DestinationFilename=str(file))
    station.detector.command_inout(command)
    until(lambda: station.detector.nFramesReceived > 10, "frames go on beyond nTriggers")
    assert station.detector.State() == RUNNING
    until(lambda: station.detector.LiveImage.shape == (32, 64), "image")
    station.detector.Stop()
    wait_state(station.detector, ON)
    assert not file.exists()
    assert station.detector.nTriggers == 3
    check_account(station, None, station.detector.nFramesPlanned, missing=0, stored=0)


@pytest.mark.parametrize(("command", "complete"), [("Stop", True), ("Abort", False)])
def test_without_a_number_of_triggers_frames_go_into_the_file_until_stop(
    station: Station, command: str, complete: bool
) -> None:
    file = station.new_file()
    station.set(nTriggers=0, DestinationFilename=str(file))
    assert json.loads(station.detector.Check())["ok"]
    station.detector.Arm()
    assert "frames until Stop" in station.detector.Status()
    until(lambda: station.detector.nFramesWritten > 10, "frames")
    assert (station.detector.State(), station.detector.nFramesPlanned) == (RUNNING, -1)
    station.detector.command_inout(command)
    wait_state(station.detector, ON)
    status = station.receiver.client.status()
    assert status.series is not None and status.series.complete is complete, status.series
    stored = status.counts.stored
    last = json.loads(station.detector.LastSeries)
    assert (last["complete"], last["counts"]["stored"]) == (complete, stored)
    assert station.detector.Status().startswith(f"Ready. Last series: {stored} frames stored in {file}")
    assert main(["check", str(file)]) == (0 if complete else 1)
    if complete:
        check_account(station, file, stored, stored=stored)


def test_without_a_number_of_triggers_continuous_has_no_file_and_other_modes_are_refused(
    station: Station,
) -> None:
    file = station.new_file()
    station.set(nTriggers=0, DestinationFilename=str(file), TriggerMode="SOFTWARE")
    assert "nTriggers 0 takes frames until Stop, with TriggerMode INTERNAL only" in refusal(
        station.detector.Arm
    )
    assert station.detector.State() == ON
    station.detector.Continuous()
    until(lambda: station.detector.nFramesReceived > 2, "frames")
    station.detector.Stop()
    wait_state(station.detector, ON)
    assert not file.exists()


def test_the_live_image_comes_by_events_at_a_bounded_rate(station: Station) -> None:
    events: queue.SimpleQueue[tuple[float, tango.EventData]] = queue.SimpleQueue()
    ident = station.detector.subscribe_event(
        "LiveImage", tango.EventType.CHANGE_EVENT, lambda event: events.put((time.monotonic(), event))
    )
    try:
        station.detector.Live()
        arrived = [events.get(timeout=5.0) for _ in range(6)]
    finally:
        station.detector.unsubscribe_event(ident)
        station.detector.Stop()
    wait_state(station.detector, ON)
    assert not any(event.err for _, event in arrived)
    assert arrived[-1][1].attr_value.value.shape == (32, 64)
    # 5 Hz by default, though a thousand frames a second are taken.
    assert arrived[-1][0] - arrived[1][0] > 0.6


def test_stop_finishes_the_file(station: Station) -> None:
    file = station.software_series(10)
    station.trigger()
    station.trigger()
    station.detector.Stop()
    wait_state(station.detector, ON)
    check_account(station, file, 10, stored=2, not_triggered=8)


def test_who_triggers_as_soon_as_the_detector_is_ready_is_never_refused(station: Station) -> None:
    file = station.software_series(20, ExposureTime=0.02)
    for _ in range(20):
        due = time.monotonic() + 5.0
        while not station.detector.ReadyForSwTrigger:
            assert time.monotonic() < due, station.detector.Status()
        station.detector.SoftwareTrigger()
    wait_state(station.detector, ON)
    check_account(station, file, 20, stored=20)


def test_stop_during_an_exposure_finishes_the_frame(station: Station) -> None:
    file = station.software_series(10, ExposureTime=0.5)
    until(lambda: station.detector.ReadyForSwTrigger, "ready")
    station.detector.SoftwareTrigger()
    station.detector.Stop()
    wait_state(station.detector, ON)
    check_account(station, file, 10, stored=1, not_triggered=9)


def test_abort_during_an_exposure_drops_the_frame(station: Station) -> None:
    file = station.software_series(10, ExposureTime=30.0)
    until(lambda: station.detector.ReadyForSwTrigger, "ready")
    station.detector.SoftwareTrigger()
    station.detector.Abort()
    wait_state(station.detector, ON, deadline=5.0)
    check_account(station, file, 10, stored=0)
    with h5py.File(file) as opened:
        (detector,) = [g for g in opened["entry/instrument"].values() if "frame_status" in g]
        assert detector["series/state"].asstr()[()] == "incomplete"
        assert "abort" in detector["series/reason"].asstr()[()]


@pytest.mark.parametrize("command", ["Stop", "Abort"])
def test_stop_and_abort_are_allowed_in_every_state(station: Station, command: str) -> None:
    station.detector.command_inout(command)
    assert station.detector.State() == ON
    station.software_series(2)
    for _ in range(3):
        station.detector.command_inout(command)
    wait_state(station.detector, ON)
    station.detector.command_inout(command)
    assert station.detector.State() == ON


@pytest.mark.parametrize("command", ["Stop", "Abort"])
def test_a_series_is_stopped_in_the_middle_of_a_burst(station: Station, command: str) -> None:
    file = station.new_file()
    station.set(nTriggers=100_000, DestinationFilename=str(file))
    station.detector.Arm()
    until(lambda: station.detector.nFramesReceived > 5, "frames come in")
    station.detector.command_inout(command)
    wait_state(station.detector, ON)
    check_account(station, file, 100_000, corrupt=0)


@pytest.mark.parametrize("command", ["Stop", "Abort"])
def test_hardware_that_needs_long_to_arm_shows_moving(station: Station, command: str) -> None:
    file = station.new_file()
    station.set(Faults="slow_arm=2.5", TriggerMode="SOFTWARE", nTriggers=2, DestinationFilename=str(file))
    begun = time.monotonic()
    station.detector.Arm()
    assert time.monotonic() - begun < 2.5
    assert station.detector.State() == MOVING
    wait_state(station.detector, RUNNING)
    station.trigger()
    station.detector.command_inout(command)
    wait_state(station.detector, ON)
    check_account(station, file, 2)


@pytest.mark.parametrize("command", ["Stop", "Abort"])
def test_arming_hardware_can_be_stopped(station: Station, command: str) -> None:
    file = station.new_file()
    station.set(Faults="slow_arm=20", TriggerMode="SOFTWARE", nTriggers=2, DestinationFilename=str(file))
    station.detector.Arm()
    assert station.detector.State() == MOVING
    station.detector.command_inout(command)
    wait_state(station.detector, ON)
    check_account(station, file, 2, not_triggered=2)


def test_settings_cannot_be_written_while_a_series_runs(station: Station) -> None:
    station.software_series(1)
    for name, value in (("ExposureTime", 0.5), ("TriggerMode", "INTERNAL"), ("Energy", 9000.0)):
        sentence = refusal(lambda name=name, value=value: station.detector.write_attribute(name, value))
        assert name in sentence and "Stop" in sentence
    station.detector.Abort()
    wait_state(station.detector, ON)
    station.detector.ExposureTime = 0.5


def test_frame_time_and_frame_rate_follow_each_other(station: Station) -> None:
    detector = station.detector
    detector.ExposureTime = 0.01
    readout = detector.ReadoutTime
    assert detector.FrameTime == pytest.approx(0.01 + readout)
    detector.FrameRate = 20.0
    assert detector.FrameTime == pytest.approx(0.05)
    assert detector.LatencyTime == pytest.approx(0.04)
    detector.FrameTime = 0.1
    assert detector.FrameRate == pytest.approx(10.0)
    detector.FrameTime = 0.01 + readout
    sentence = refusal(lambda: detector.write_attribute("FrameTime", 0.001))
    assert "ExposureTime + ReadoutTime" in sentence and "0.0101" in sentence


def test_names_that_clients_use_are_there(station: Station) -> None:
    station.detector.DestinationFileName = "/data/x.h5"
    assert station.detector.DestinationFilename == "/data/x.h5"
    assert station.detector.TriggerMode == "INTERNAL"
    assert "EXTERNAL_MULTI_GATE" in station.detector.TriggerModes
    station.software_series(1)
    until(lambda: station.detector.ReadyForSwTrigger, "ready")
    station.detector.Trigger()
    wait_state(station.detector, ON)
    assert station.detector.nFramesWritten == 1


def test_a_subscriber_receives_every_change(station: Station) -> None:
    station.set(nTriggers=2)  # a count that Arm can reset
    station.detector.Arm()
    wait_state(station.detector, ON)
    events: queue.SimpleQueue[tango.EventData] = queue.SimpleQueue()
    names = ("State", "Status", "nFramesAcquired", "nFramesWritten", "ExposureTime", "FrameTime", "FrameRate",
             "SeriesId", "ReadyForSwTrigger")  # fmt: skip
    ids = [station.detector.subscribe_event(name, tango.EventType.CHANGE_EVENT, events.put) for name in names]
    seen: dict[str, list[object]] = {name.lower(): [] for name in names}

    def collect() -> dict[str, list[object]]:
        while not events.empty():
            event = events.get()
            assert not event.err, event.errors
            seen[event.attr_value.name.lower()].append(event.attr_value.value)
        return seen

    try:
        station.set(ExposureTime=0.002)
        station.software_series(2)
        # Events come every 30 ms at most: what lasts shorter than that has none.
        until(lambda: collect()["readyforswtrigger"][-1:] == [True], "event of readiness")
        station.trigger()
        station.trigger()
        wait_state(station.detector, ON)
        until(lambda: collect()["state"][-1:] == [ON] and RUNNING in seen["state"], "State events")
        until(lambda: collect()["nframeswritten"][-1] == 2, "counts")
    finally:
        for ident in ids:
            station.detector.unsubscribe_event(ident)
    assert seen["nframesacquired"][-1] == 2
    assert 0 in seen["nframesacquired"][1:], "Arm resets the count with an event"
    assert seen["exposuretime"][-1] == 0.002
    assert seen["frametime"][-1] == pytest.approx(0.002 + station.detector.ReadoutTime)
    assert seen["readyforswtrigger"][-1] is False and True in seen["readyforswtrigger"]
    assert len(set(seen["seriesid"])) >= 2
    assert any("Taking 2 frames" in str(text) for text in seen["status"])


def test_metadata_and_geometry_reach_the_file(station: Station) -> None:
    file = station.new_file()
    station.set(
        DestinationFilename=str(file), BeamCenterX=31.5, BeamCenterY=12.0, Distance=0.2,
        Metadata='{"sample": "CeO2"}',
    )  # fmt: skip
    station.detector.Arm()
    wait_state(station.detector, ON)
    with h5py.File(file) as opened:
        detector = opened[opened["entry/data/data"].attrs["target"]].parent
        assert detector["beam_center_x"][()] == 31.5
        assert detector["distance"][()] == 0.2
    sentence = refusal(lambda: station.detector.write_attribute("Metadata", "not json"))
    assert "Metadata" in sentence


def test_rotation_turns_the_stored_image(station: Station) -> None:
    upright, turned = station.new_file(), station.new_file()
    station.set(DestinationFilename=str(upright), Pattern="gradient")
    station.detector.Arm()
    wait_state(station.detector, ON)
    station.set(DestinationFilename=str(turned), Rotation=90)
    station.detector.Arm()
    wait_state(station.detector, ON)
    with h5py.File(upright) as first, h5py.File(turned) as second:
        assert np.array_equal(np.rot90(first["entry/data/data"][0]), second["entry/data/data"][0])
    assert "multiple of 90" in refusal(lambda: station.detector.write_attribute("Rotation", 45))


def test_the_receivers_device_shows_the_same_series(station: Station) -> None:
    file = station.software_series(3)
    receiver = station.receiver_device
    wait_state(receiver, RUNNING)
    assert receiver.FileName == str(file)
    assert receiver.SeriesId == station.detector.SeriesId
    for _ in range(3):
        station.trigger()
    wait_state(receiver, ON)
    until(lambda: receiver.nFramesWritten == 3, "counts of the receiver's device")
    assert receiver.nFramesPlanned == 3 and receiver.nConnections == 1
    until(lambda: receiver.FreeSpace > 0, "free space of the receiver's disk")
    assert receiver.FreeSpace == pytest.approx(shutil.disk_usage(file.parent).free, rel=0.1)
    assert receiver.QueueFill == 0
    receiver.Downsample = 2
    assert station.receiver.client.downsample() == 2
    receiver.Downsample = 1


def test_the_receivers_device_can_stop_the_series(station: Station) -> None:
    file = station.software_series(5)
    station.trigger()
    until(lambda: station.detector.nFramesReceived == 1, "frame received")
    station.receiver_device.Stop()
    wait_state(station.detector, FAULT)
    assert "the receiver ended the series" in station.detector.Status()
    check_account(station, file, 5, stored=1)


def test_init_ends_a_series_as_abort_does_and_is_on_once_the_file_is_closed(station: Station) -> None:
    detector, receiver = station.detector, station.receiver
    assert receiver.child is not None
    (data_process,) = children(receiver.child.pid)
    file = station.software_series(4)
    station.trigger()
    until(lambda: detector.nFramesReceived == 1, "frame received")
    os.kill(data_process, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        detector.Init()
        assert time.monotonic() - begun < 2.5, "Init must return before a client's time-out"
        while time.monotonic() - begun < 1.5:
            assert detector.State() == INIT, "the receiver has not closed the file"
            assert f"Init is ending the series; the receiver closes {file}." in detector.Status()
    finally:
        os.kill(data_process, signal.SIGCONT)
    wait_state(detector, ON)
    assert receiver.client.status().state == "idle"
    verdict = f"1 of 4 frames stored in {file}, 3 not triggered: ended by Init."
    assert detector.Status() == f"Ready. Last series: {verdict}"
    assert json.loads(detector.LastSeries)["verdict"] == verdict
    assert json.loads(detector.LastSeries)["complete"] is False
    counts = file_counts(file, 4)
    assert (counts["stored"], counts["not_triggered"]) == (1, 3)

    connected = connections(station.process.pid)
    for _ in range(20):
        detector.Init()
        station.receiver_device.Init()
    wait_state(detector, ON)
    wait_state(station.receiver_device, ON)
    assert detector.Status() == f"Ready. Last series: {verdict}"
    until(lambda: connections(station.process.pid) <= connected, "no connection of a former life stays open")
    station.software_series(1)
    assert "Init" not in detector.Status()
    assert json.loads(detector.LastSeries)["verdict"] == verdict
