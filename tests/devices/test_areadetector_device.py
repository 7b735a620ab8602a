"""The Tango device of an areaDetector camera, whose IOC is started again."""

from __future__ import annotations

from pathlib import Path

import pytest
import tango

from penstock.beamline.stage import json_line
from penstock.hosts.child import PENSTOCK, Child, free_port
from tests.system.beamline import ON, Beamline, refusal, wait_state

pytestmark = pytest.mark.slow  # it has a server and a database of its own


def started(port: int, sensor: str) -> Child:
    """An IOC with a sensor of ROWSxCOLS."""
    command = [*PENSTOCK, "areadetector", "--tcp", f"127.0.0.1:{port}", "--sensor", sensor, "--json"]
    return Child("IOC", command, json_line)


def most(device: tango.DeviceProxy, name: str) -> float:
    """The greatest value of an attribute that Tango lets pass."""
    return float(device.get_attribute_config(name).max_value)


def test_limits_are_those_of_the_sensor_that_the_last_arm_has_found(tmp_path: Path) -> None:
    port, data = free_port(), free_port()
    with Beamline(tmp_path) as beamline:
        receiver = beamline.receiver("areadetector", data)
        beamline.register(
            "AreaDetector/test", "AreaDetector", "test/area/1", ReceiverUrl=receiver.url, DataPort=data,
            NameServers=f"127.0.0.1:{port}", DriverPrefix="SIM:cam1:", ImageRecord="SIM:Pva1:Image",
        )  # fmt: skip
        with started(port, "64x96"):
            beamline.serve("AreaDetector/test")
            device = beamline.device("test/area/1")
            wait_state(device, ON)
            assert (most(device, "AOILeft"), most(device, "AOIHeight")) == (95, 64)
        with started(port, "128x256"):
            assert "above the maximum" in refusal(lambda: device.write_attribute("AOILeft", 200))
            device.ExposureTime = 0.001
            device.Arm()
            wait_state(device, ON)
            assert (most(device, "AOILeft"), most(device, "AOIHeight")) == (255, 128)
            device.AOILeft = 200
            device.Arm()
            wait_state(device, ON)
            assert device.nFramesAcquired == 1
