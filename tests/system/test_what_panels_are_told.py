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

import tango

from tests.system.beamline import FAULT, ON, RUNNING, Station, children, refusal, until, wait_state

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
    """The change events of some attributes, in the order in which they came."""

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
def hearing(device: tango.DeviceProxy, *names: str) -> Iterator[Events]:
    """Subscribe; what a subscription itself delivers is there already."""
    heard = Events()
    ids = [device.subscribe_event(name, tango.EventType.CHANGE_EVENT, heard.take) for name in names]
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
    assert all(set(entry) == {"name", "group", "choices"} for entry in entries)
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
