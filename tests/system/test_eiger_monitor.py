"""LiveImage of an Eiger whose frames the receiver does not take: the newest image of the box's monitor."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import tango

from penstock.devices._dectris.rest import Simplon
from penstock.streamer.simulated import patterns
from penstock.streamer.simulated.simplon.control_unit import ControlUnit
from tests.system.beamline import FAULT, ON, Beamline, until, wait_state
from tests.system.eigers import EigerStation

SENSOR = (24, 40)
MONITOR = "/monitor/api/1.8.0/images/monitor"


@pytest.fixture
def line(beamline: Beamline) -> Iterator[tuple[ControlUnit, EigerStation]]:
    with ControlUnit(sensor=SENSOR) as box:
        box.box.command("initialize")
        port = int(box.stream_endpoint.rpartition(":")[2])
        station = EigerStation(beamline, "monitor", box.http_port, "v1", port)
        wait_state(station.detector, ON)
        station.detector.write_attribute("Monitor", True)
        assert station.detector.MonitorImage == f"http://127.0.0.1:{box.http_port}{MONITOR}", "at once"
        station.detector.write_attribute("Monitor", False)
        assert station.detector.MonitorImage == ""
        station.detector.write_attribute("Monitor", True)
        yield box, station
        beamline.end(station.server)
        station.receiver.stop()


@contextmanager
def images(detector: tango.DeviceProxy) -> Iterator[queue.SimpleQueue[np.ndarray]]:
    """Those that events of LiveImage bring."""
    arrived: queue.SimpleQueue[np.ndarray] = queue.SimpleQueue()

    def take(event: tango.EventData) -> None:
        if not event.err:
            arrived.put(event.attr_value.value)

    ident = detector.subscribe_event("LiveImage", tango.EventType.CHANGE_EVENT, take)
    try:
        yield arrived
    finally:
        detector.unsubscribe_event(ident)


def frame(number: int) -> np.ndarray:
    return patterns.gradient(SENSOR, "uint16", number)


@pytest.mark.slow
def test_it_is_shown_until_the_receiver_takes_a_series(line: tuple[ControlUnit, EigerStation]) -> None:
    box, station = line
    detector = station.detector
    station.receiver.stop()
    somebody = Simplon("127.0.0.1", box.http_port)
    somebody.find_version()
    somebody.put("detector/config/ntrigger", 3)
    box.arm_by_somebody_else()
    wait_state(detector, FAULT)
    with images(detector) as arrived:
        for number in range(2):
            box.box.command("trigger")
            until(lambda n=number: np.array_equal(detector.LiveImage, frame(n)), "the monitor's image")  # type: ignore[misc]
            while not np.array_equal(arrived.get(timeout=10.0), frame(number)):
                pass
    detector.Reset()
    wait_state(detector, ON)
    station.receiver.start()
    assert box.wait_receivers(1, 10.0)
    box.faults.errors = {"monitor/images/monitor": 500}
    station.set(TriggerMode="SOFTWARE", nTriggers=5, nFramesPerTrigger=1, DestinationFilename="")
    detector.Arm()
    for _ in range(4):
        until(lambda: detector.ReadyForSwTrigger, "ready")
        detector.SoftwareTrigger()
    until(lambda: np.array_equal(detector.LiveImage, frame(3)), "the receiver's frame")
    detector.Stop()
    wait_state(detector, ON)
