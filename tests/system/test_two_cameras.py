"""Two unequal cameras of one class in one server keep their own limits."""

from __future__ import annotations

import queue
import re

import pytest
import tango

from penstock.hosts.child import free_port
from tests.system.beamline import ON, Beamline, refusal, until, wait_state


@pytest.mark.slow
def test_each_device_has_its_own_limits_values_and_events(beamline: Beamline) -> None:
    server = "Simulator/pair"
    units = {
        "pair/det/small": {"SensorWidth": 64, "SensorHeight": 32, "MinExposure": 0.01, "MaxExposure": 1.0},
        "pair/det/large": {
            "SensorWidth": 2048,
            "SensorHeight": 1024,
            "MinExposure": 0.0001,
            "MaxExposure": 60.0,
        },
    }
    receiver = beamline.receiver("pair", 1)
    for name, properties in units.items():
        beamline.register(server, "Simulator", name, ReceiverUrl=receiver.url, DataPort=0, **properties)
    beamline.serve(server)
    try:
        small, large = (beamline.device(name) for name in units)
        for device in (small, large):
            wait_state(device, ON)
        limits = {
            (device.dev_name(), name): (config.min_value, config.max_value)
            for device in (small, large)
            for name in ("ExposureTime", "AOIWidth")
            for config in [device.get_attribute_config(name)]
        }
        assert limits == {
            ("pair/det/small", "ExposureTime"): ("0.01", "1.0"),
            ("pair/det/small", "AOIWidth"): ("0", "64"),
            ("pair/det/large", "ExposureTime"): ("0.0001", "60.0"),
            ("pair/det/large", "AOIWidth"): ("0", "2048"),
        }
        large.ExposureTime = 30.0
        assert "above the maximum" in refusal(lambda: small.write_attribute("ExposureTime", 30.0))
        small.ExposureTime = 0.5
        assert large.ExposureTime == 30.0
        assert (small.SensorWidth, large.SensorWidth) == (64, 2048)

        # A limit that depends on another setting follows it, with an event, on this device only.
        events: queue.SimpleQueue[tango.AttrConfEventData] = queue.SimpleQueue()
        ident = large.subscribe_event("AOIWidth", tango.EventType.ATTR_CONF_EVENT, events.put)
        large.AOILeft = 1024
        until(lambda: large.get_attribute_config("AOIWidth").max_value == "1024", "narrower limit")

        def has_event() -> bool:
            while not events.empty():
                event = events.get()
                if not event.err and event.attr_conf.max_value == "1024":
                    return True
            return False

        until(has_event, "attribute-configuration event")
        large.unsubscribe_event(ident)
        assert small.get_attribute_config("AOIWidth").max_value == "64"
    finally:
        beamline.end(server)


@pytest.mark.slow
def test_memorized_settings_come_back_after_a_restart(beamline: Beamline) -> None:
    server = "Simulator/memory"
    receiver = beamline.receiver("memory", 1)
    beamline.register(server, "Simulator", "memory/det/1", ReceiverUrl=receiver.url, DataPort=0)
    beamline.serve(server)
    try:
        detector = beamline.device("memory/det/1")
        wait_state(detector, ON)
        detector.Rotation = 90
        detector.TargetSensorTemperature = -10.0
        detector.ExposureTime = 0.7
        beamline.serve(server)
        wait_state(detector, ON)
        assert detector.Rotation == 90
        assert detector.TargetSensorTemperature == -10.0
        assert detector.ExposureTime == pytest.approx(0.1)
    finally:
        beamline.end(server)


def test_a_device_without_its_receivers_address_says_so(beamline: Beamline) -> None:
    server = "Simulator/bare"
    beamline.register(server, "Simulator", "bare/det/1", DataPort=0)
    beamline.serve(server)
    try:
        detector = beamline.device("bare/det/1")
        wait_state(detector, tango.DevState.FAULT)
        assert "ReceiverUrl is not set" in detector.Status()
        assert "ReceiverUrl" in refusal(detector.Arm)
    finally:
        beamline.end(server)


@pytest.mark.slow
def test_a_data_port_that_another_device_has_is_a_fault_that_says_what_to_set(beamline: Beamline) -> None:
    server, port = "Simulator/taken", free_port()
    receiver = beamline.receiver("taken", port)
    for number in (1, 2):
        beamline.register(server, "Simulator", f"taken/det/{number}", ReceiverUrl=receiver.url, DataPort=port)
    beamline.serve(server)
    try:
        devices = [beamline.device(f"taken/det/{number}") for number in (1, 2)]
        for device in devices:
            wait_state(device, ON, tango.DevState.FAULT)
        (second,) = (device for device in devices if device.State() == tango.DevState.FAULT)
        remedy = re.search(r"DataPort of (\S+) to a free port, such as (\d+), .* call Init", second.Status())
        assert f"port {port} of 127.0.0.1" in second.Status() and remedy, second.Status()
        assert remedy[1] == second.dev_name()
        host, _, database_port = beamline.tango_host.partition(":")
        database = tango.Database(host, int(database_port))
        database.put_device_property(remedy[1], {"DataPort": [remedy[2]]})
        second.Init()
        wait_state(second, ON)
    finally:
        beamline.end(server)


@pytest.mark.slow
def test_a_data_port_that_another_program_has_is_a_fault_that_says_what_to_set(beamline: Beamline) -> None:
    server, port = "Simulator/foreign", beamline.tango_host.rpartition(":")[2]
    receiver = beamline.receiver("foreign", 1)
    beamline.register(server, "Simulator", "foreign/det/1", ReceiverUrl=receiver.url, DataPort=port)
    beamline.serve(server)
    try:
        detector = beamline.device("foreign/det/1")
        wait_state(detector, tango.DevState.FAULT)
        assert f"port {port} of 127.0.0.1, from which frames are sent, is taken" in detector.Status()
        assert "set the property DataPort of foreign/det/1 to a free port" in detector.Status()
    finally:
        beamline.end(server)


@pytest.mark.slow
def test_a_streamer_on_another_host_is_driven_alike(beamline: Beamline) -> None:
    import json
    import os
    import signal

    from penstock.hosts.child import PYTHON, Child

    command = [*PYTHON, "-m", "penstock.streamer.remote.process", "Simulator", "--data", "tcp://127.0.0.1:0",
               "--control", "tcp://127.0.0.1:0"]  # fmt: skip
    with Child(
        "streamer", command, lambda line: json.loads(line) if line.startswith("{") else None
    ) as streamer:
        port = int(streamer.answer["data"].rpartition(":")[2])
        receiver = beamline.receiver("remote", port)
        beamline.register(
            "Simulator/remote", "Simulator", "remote/det/1",
            ReceiverUrl=receiver.url, StreamerControl=streamer.answer["control"],
        )  # fmt: skip
        beamline.serve("Simulator/remote")
        try:
            detector = beamline.device("remote/det/1")
            wait_state(detector, ON)
            detector.nTriggers = 3
            detector.ExposureTime = 0.001
            detector.DestinationFilename = str(receiver.root / "remote.h5")
            detector.Arm()
            wait_state(detector, ON)
            assert detector.nFramesWritten == 3
            # Its death can only be heard as silence; the series still ends within five seconds.
            detector.TriggerMode = "SOFTWARE"
            detector.DestinationFilename = str(receiver.root / "killed.h5")
            detector.Arm()
            os.kill(streamer.pid, signal.SIGKILL)
            wait_state(detector, tango.DevState.FAULT, deadline=5.0)
            assert "no longer answers" in detector.Status()
            counts = receiver.client.status().counts
            assert receiver.client.status().state == "idle"
            assert counts.missing + counts.not_triggered == 3
        finally:
            beamline.end("Simulator/remote")
