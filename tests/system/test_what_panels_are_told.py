"""What a control panel follows by events: the attributes of the series, and who armed it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import tango

from penstock.hosts.version import version
from penstock.processing.client import PipelineClient, PipelineUnavailable
from tests.system.beamline import (
    FAULT,
    ON,
    RUNNING,
    UNKNOWN,
    Station,
    children,
    refusal,
    until,
    wait_state,
)

pytestmark = pytest.mark.slow

INVALID = tango.AttrQuality.ATTR_INVALID
CLIENT = """
import sys, tango
device = tango.DeviceProxy(sys.argv[1])
print("ready", flush=True)
for _ in sys.stdin:
    try:
        device.Arm()
        print("armed", flush=True)
    except tango.DevFailed as error:
        print(error.args[0].reason, flush=True)
"""


class Events:
    """The events of some attributes, in the order in which they came."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def take(self, event: tango.EventData) -> None:
        value = event.attr_value
        if value is not None:
            shown = INVALID if value.quality == INVALID else value.value
            self.events.append((value.name.lower(), shown))

    def of(self, name: str) -> list[Any]:
        return [value for told, value in list(self.events) if told == name.lower()]

    def clear(self) -> None:
        self.events.clear()


@contextmanager
def hearing(
    device: tango.DeviceProxy, *names: str, kind: tango.EventType = tango.EventType.CHANGE_EVENT
) -> Iterator[Events]:
    """Subscribe; what a subscription itself delivers is there already."""
    heard = Events()
    ids = [device.subscribe_event(name, kind, heard.take) for name in names]
    until(
        lambda: {name for name, _ in list(heard.events)} >= {name.lower() for name in names}, "first values"
    )
    try:
        yield heard
    finally:
        for each in ids:
            device.unsubscribe_event(each)


def last(station: Station) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(station.detector.LastSeries)
    return said


def test_parameters_name_every_setting_with_group_and_choices(station: Station) -> None:
    entries = json.loads(station.detector.Parameters)
    by_name = {entry["name"]: entry for entry in entries}
    assert all({"name", "group", "choices"} <= set(entry) for entry in entries)
    assert by_name["ExposureTime"]["format"] == "%.9g" and "format" not in by_name["nTriggers"]
    assert [entry["group"] for entry in entries] == sorted(
        (entry["group"] for entry in entries), key=["series", "camera", "reading"].index
    )
    configured = {info.name: info for info in station.detector.attribute_list_query()}
    writable = {name for name, info in configured.items() if info.writable == tango.AttrWriteType.READ_WRITE}
    for name in ("ArmedTimeLimit", "TriggerTimeLimit"):
        writable.remove(name)  # of the beamline, not of a series: set once, with Jive
    assert {entry["name"] for entry in entries if entry["group"] != "reading"} == writable
    readings = {entry["name"] for entry in entries if entry["group"] == "reading"}
    assert readings == {
        "SensorTemperature", "TriggerAddress", "ReadoutTime", "CameraModel", "SerialNumber", "SensorWidth",
        "SensorHeight",
    }  # fmt: skip
    assert by_name["TriggerMode"]["choices"] == list(station.detector.TriggerModes)
    assert by_name["Compression"] == {"name": "Compression", "group": "camera", "choices": ["none", "bslz4"]}
    assert by_name["Rotation"]["choices"] == ["0", "90", "180", "270"]
    assert by_name["ExposureTime"]["choices"] == []


def test_last_series_comes_before_the_state_that_follows_running(station: Station) -> None:
    file = station.new_file()
    station.set(nTriggers=20, ExposureTime=0.005, DestinationFilename=str(file))
    with hearing(station.detector, "State", "LastSeries", "ArmedBy") as heard:
        station.detector.Arm()
        wait_state(station.detector, ON)
        until(lambda: heard.of("State")[-1:] == [ON] and RUNNING in heard.of("State"), "State ON again")
        events = list(heard.events)
    ended = max(place for place, (name, value) in enumerate(events) if (name, value) == ("state", ON))
    told = max(place for place, (name, _) in enumerate(events) if name == "lastseries")
    running = max(place for place, (name, value) in enumerate(events) if (name, value) == ("state", RUNNING))
    assert running < told < ended, [name for name, _ in events]
    said = json.loads(events[told][1])
    assert said["series"] == station.detector.SeriesId and said["file"] == str(file)
    assert said["complete"] is True and said["verdict"] == f"20 of 20 frames stored in {file}."
    assert said["planned"] == said["counts"]["stored"] == 20
    assert 0 < said["ended"] - said["started"] < 20
    me = f"Python or C++ client, PID {os.getpid()} on {socket.gethostname()}"
    assert said["armed_by"] == me == station.detector.ArmedBy
    assert heard.of("ArmedBy")[-1] == me


def test_last_series_after_abort_fault_and_refusal(station: Station) -> None:
    file = station.software_series(3)
    station.trigger()
    station.detector.Abort()
    wait_state(station.detector, ON)
    said = last(station)
    assert said["file"] == str(file) and said["complete"] is False
    assert "not triggered" in said["verdict"] and "abort" in said["verdict"]
    assert said["lost"] == [[1, 2, "not_triggered"]]

    station.set(
        TriggerMode="INTERNAL", nTriggers=5, DestinationFilename=str(station.new_file()), Faults="fail_at=2"
    )
    station.detector.Arm()
    wait_state(station.detector, FAULT)
    said = last(station)
    assert said["complete"] is False and "the hardware failed at frame 2" in said["verdict"]
    station.detector.Reset()
    wait_state(station.detector, ON)

    station.set(Faults="", DestinationFilename=str(file))
    assert "exists" in refusal(station.detector.Arm)
    assert last(station) == said, "an Arm that began no series is none"


def test_the_client_that_armed_is_named_when_two_call_at_once(station: Station) -> None:
    name = f"tango://{station.beamline.tango_host}/{station.detector.dev_name()}"
    clients = [
        subprocess.Popen(
            [sys.executable, "-c", CLIENT, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    try:
        for client in clients:
            assert client.stdout is not None and client.stdout.readline() == "ready\n"
        winners = set()
        for _ in range(8):
            station.set(TriggerMode="SOFTWARE", DestinationFilename="")
            for client in clients:
                assert client.stdin is not None
                client.stdin.write("go\n")
                client.stdin.flush()
            answers = [client.stdout.readline().strip() for client in clients if client.stdout]
            assert sorted(answers) == ["Penstock_not_idle", "armed"]
            pid = clients[answers.index("armed")].pid
            assert f"PID {pid} on" in station.detector.ArmedBy
            winners.add(pid)
            station.detector.Abort()
            wait_state(station.detector, ON)
            assert f"PID {pid} on" in last(station)["armed_by"]
    finally:
        for client in clients:
            client.kill()
            client.communicate()


def test_rate_and_frame_size_follow_a_series_by_events(station: Station) -> None:
    station.set(TriggerMode="INTERNAL", nTriggers=100_000, ExposureTime=0.01, DestinationFilename="")
    with hearing(station.detector, "FrameRateMeasured", "FrameBytes", "RingFill", "ReceiverQueue") as heard:
        station.detector.Live()
        until(lambda: heard.of("FrameRateMeasured")[-1] > 50.0, "a rate")
        assert heard.of("FrameBytes")[-1] == 64 * 32 * 2
        station.detector.Stop()
        until(lambda: heard.of("FrameRateMeasured")[-1] == 0.0, "no rate")
        wait_state(station.detector, ON)
        assert heard.of("RingFill")[-1] == 0.0 and heard.of("ReceiverQueue")[-1] == 0.0
    said = last(station)
    assert said["complete"] is True and said["planned"] == said["counts"]["delivered"] < 100_000
    assert "live view" in said["verdict"]


def test_a_receiver_that_does_not_keep_up_fills_the_ring(station: Station) -> None:
    assert station.receiver.child is not None
    (data_process,) = children(station.receiver.child.pid)
    station.set(ExposureTime=0.0001, DestinationFilename="")
    with hearing(station.detector, "RingFill") as heard:
        station.detector.Live()
        os.kill(data_process, signal.SIGSTOP)
        try:
            until(lambda: heard.of("RingFill")[-1] >= 1.0, "buffers in use")
        finally:
            os.kill(data_process, signal.SIGCONT)
        until(lambda: heard.of("RingFill")[-1] == 0.0, "buffers free again")
        station.detector.Stop()
        wait_state(station.detector, ON)


def test_an_idle_detector_pushes_nothing_but_its_readings(station: Station) -> None:
    names = [info.name for info in station.detector.attribute_list_query() if info.name != "LiveImage"]
    ambient = station.detector.TargetSensorTemperature
    with hearing(station.detector, *names) as heard:
        station.set(TargetSensorTemperature=-30.0)
        until(lambda: heard.of("TargetSensorTemperature")[-1] == -30.0, "the set point")
        heard.clear()
        until(lambda: len(heard.of("SensorTemperature")) >= 2, "readings, one per second")
        assert {name for name, _ in list(heard.events)} == {"sensortemperature"}
        station.set(TargetSensorTemperature=ambient)


def test_what_nobody_knows_has_no_value(station: Station) -> None:
    with hearing(station.detector, "ReceiverQueue", "FrameRateMeasured", "RingFill") as heard:
        station.receiver.stop()
        until(lambda: heard.of("ReceiverQueue")[-1] == INVALID, "no queue")
        until(lambda: heard.of("FrameRateMeasured")[-1] == INVALID, "no rate")
        assert heard.of("RingFill")[-1] == 0.0
        station.receiver.start()
        until(lambda: heard.of("ReceiverQueue")[-1] == 0.0, "a queue again")
        os.kill(station.streamer_pid(), signal.SIGKILL)
        wait_state(station.detector, FAULT)
        until(lambda: heard.of("RingFill")[-1] == INVALID, "no ring")
        station.detector.Reset()
        wait_state(station.detector, ON)
        until(lambda: heard.of("RingFill")[-1] == 0.0, "a ring again")


def test_the_receivers_down_sampling_has_a_set_point_and_events(station: Station) -> None:
    device, client = station.receiver_device, station.receiver.client
    with hearing(device, "Downsample") as heard:
        client.set_downsample(3)  # a viewer
        until(lambda: heard.of("Downsample")[-1] == 3, "the event")
        assert device.read_attribute("Downsample").w_value == 3
        device.Downsample = 64
        until(lambda: heard.of("Downsample")[-1] == 64, "the event")
        assert (client.downsample(), client.status().downsample) == (64, 64)
        assert "above the maximum" in refusal(lambda: device.write_attribute("Downsample", 65))
        client.set_downsample(1)
        until(lambda: device.read_attribute("Downsample").w_value == 1, "the set point")


def test_the_down_sampling_is_told_to_who_has_subscribed_while_the_receiver_was_silent(
    station: Station,
) -> None:
    device, client, heard = station.receiver_device, station.receiver.client, Events()
    client.set_downsample(3)
    until(lambda: device.read_attribute("Downsample").w_value == 3, "the set point")
    assert station.receiver.child is not None
    os.kill(station.receiver.child.pid, signal.SIGSTOP)
    try:
        until(lambda: device.State() == UNKNOWN, "the device has noticed")
        ident = device.subscribe_event("Downsample", tango.EventType.CHANGE_EVENT, heard.take)
    finally:
        os.kill(station.receiver.child.pid, signal.SIGCONT)
    try:
        until(lambda: heard.of("Downsample")[-1:] == [3], "the value")
    finally:
        device.unsubscribe_event(ident)
        client.set_downsample(1)


def test_archivers_get_the_changes_that_their_configuration_lets_through(station: Station) -> None:
    """Without polling: archive_abs_change, as Jive sets it, suffices."""
    detector, archive = station.detector, tango.EventType.ARCHIVE_EVENT
    assert "archive_abs_change" in refusal(lambda: detector.subscribe_event("Distance", archive, print))
    config = detector.get_attribute_config("Distance")
    config.events.arch_event.archive_abs_change = "0.5"
    detector.set_attribute_config(config)
    station.set(Distance=1.0, DestinationFilename="")
    try:
        with (
            hearing(detector, "Distance") as changes,
            hearing(detector, "Distance", "DestinationFilename", "State", kind=archive) as heard,
        ):
            for value in (4.0, 4.25, 5.0, 5.25, 5.45, 5.75):
                station.set(Distance=value)
                until(lambda v=value: changes.of("Distance")[-1] == v, "pushed")  # type: ignore[misc]
            until(lambda: heard.of("Distance")[-1] == 5.75, "a change of 0.75 since 5.0")
            assert heard.of("Distance")[-3:] == [4.0, 5.0, 5.75]
            station.set(DestinationFilename="/data/x.h5")  # no number: each change
            until(lambda: heard.of("DestinationFilename")[-1] == "/data/x.h5", "the text")
            station.set(DestinationFilename="")
            detector.Live()
            until(lambda: RUNNING in heard.of("State"), "the state")
            detector.Stop()
            until(lambda: heard.of("State")[-1] == ON, "the state")
    finally:
        config.events.arch_event.archive_abs_change = "Not specified"
        detector.set_attribute_config(config)


def test_a_client_sees_which_penstock_it_is(station: Station) -> None:
    for device in (station.detector, station.receiver_device):
        told = device.info().version_info
        assert told["Penstock"].removesuffix(".dirty") == version().removesuffix(".dirty")
        assert told["Penstock.documentation"] == "docs/reference/tango.md of Penstock's source"


def test_a_receiver_is_not_taken_for_a_pipeline(station: Station) -> None:
    with pytest.raises(PipelineUnavailable, match="not as a Penstock pipeline does .its status names no"):
        PipelineClient(station.receiver.url).status()
