"""Readings of a camera, such as its temperature: present in every trigger mode, or marked as invalid."""

from __future__ import annotations

import os
import signal
from queue import SimpleQueue

import pytest
import tango

from tests.system.beamline import FAULT, ON, RUNNING, Station, until, wait_state

VALID, INVALID = tango.AttrQuality.ATTR_VALID, tango.AttrQuality.ATTR_INVALID


def quality(station: Station) -> tango.AttrQuality:
    return station.detector.read_attribute("SensorTemperature").quality


def temperature(station: Station) -> float:
    return float(station.detector.read_attribute("SensorTemperature").value)


@pytest.mark.parametrize("mode", ["EXTERNAL", "EXTERNAL_MULTI", "EXTERNAL_MULTI_GATE", "INTERNAL"])
def test_the_temperature_goes_on_while_a_series_waits_or_exposes(station: Station, mode: str) -> None:
    until(lambda: quality(station) is VALID, "a first reading")
    station.set(TargetSensorTemperature=temperature(station) - 30.0, TriggerMode=mode, ExposureTime=100.0)
    station.detector.Arm()
    wait_state(station.detector, RUNNING)
    first = temperature(station)
    until(lambda: temperature(station) < first - 0.5, "a colder sensor")
    assert station.detector.State() is RUNNING
    station.detector.Abort()
    wait_state(station.detector, ON)


def test_without_a_streamer_there_is_no_temperature_and_clients_are_told(station: Station) -> None:
    until(lambda: quality(station) is VALID, "a first reading")
    events: SimpleQueue[tango.EventData] = SimpleQueue()
    known = station.detector.subscribe_event("SensorTemperature", tango.EventType.CHANGE_EVENT, events.put)
    os.kill(station.streamer_pid(), signal.SIGKILL)
    while events.get(timeout=10.0).attr_value.quality is not INVALID:
        pass
    read = station.detector.read_attribute("SensorTemperature")
    assert (read.quality, read.value) == (INVALID, None)
    wait_state(station.detector, FAULT)
    station.detector.Reset()
    while (event := events.get(timeout=10.0)).attr_value.quality is not VALID:
        pass
    assert event.attr_value.value is not None
    station.detector.unsubscribe_event(known)


@pytest.mark.slow
def test_a_camera_that_hangs_has_no_temperature_after_five_seconds(station: Station) -> None:
    station.set(Faults="hang_at=0")
    station.detector.Arm()
    until(lambda: quality(station) is INVALID, "invalid", 8.0)
    assert station.detector.State() is RUNNING
    station.detector.Abort()
    wait_state(station.detector, FAULT)
