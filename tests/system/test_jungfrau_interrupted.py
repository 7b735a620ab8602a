"""Jungfrau and Moench whose modules are switched off and on, or stopped by another client: PSI's own judge.

Source: slsDetectorPackage 10.0.1; a module's server that is started again has the state after power-on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import h5py
import hdf5plugin  # noqa: F401
import pytest

from penstock.beamline.stage import moench
from tests.system.beamline import FAULT, ON, Beamline, refusal, until, wait_state
from tests.system.jungfraus import VirtualStation, virtual_station

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

STOPPED = "Another program has stopped the detector (stopDetector)."
GAINS = {"Jungfrau": ("GainMode", "FIX_G1"), "Moench": ("GainSetting", "G4_LOWGAIN")}
"""A setting, and a value that it does not have after power-on."""
READ_BACK = """
times = [[each.total_seconds() for each in got] for got in (detector.getExptime(), detector.getPeriod())]
for values in (
    *times, detector.getNumberOfFrames(), detector.getNumberOfTriggers(), detector.getTimingMode(),
    detector.{gain}(), detector.getHighVoltage(), detector.getPowerChip(), detector.getSourceUDPIP(),
    detector.getDestinationUDPIP(), detector.getSourceUDPMAC(),
):
    print(*(getattr(each, "name", each) for each in values), sep=",")
"""
"""Lines of another client, which print what each module has."""
GETTERS = {"Jungfrau": "getGainMode", "Moench": "getSettings"}


@pytest.fixture(scope="module")
def two_jungfraus(beamline: Beamline) -> Iterator[VirtualStation]:
    with virtual_station(beamline, "power", 2) as station:
        yield station


@pytest.fixture(scope="module")
def a_moench(beamline: Beamline) -> Iterator[VirtualStation]:
    with virtual_station(beamline, "moench-power", 1, moench) as station:
        yield station


@pytest.fixture(params=["two_jungfraus", "a_moench"])
def station(request: pytest.FixtureRequest) -> VirtualStation:
    station: VirtualStation = request.getfixturevalue(request.param)
    station.calm()
    return station


def test_a_module_that_is_switched_off_and_on_between_two_series(station: VirtualStation) -> None:
    detector, last = station.detector, len(station.modules) - 1
    gain, ours = GAINS[station.model]
    station.set(**{gain: ours, "HighVoltage": 90, "PowerChip": True})
    wait_state(detector, ON)
    station.switch_off(last)
    wait_state(detector, FAULT, deadline=30.0)
    host, port = station.modules[last]
    assert f"{host}:{port}" in detector.Status() and "Call Reset" in detector.Status()
    assert re.search("does not answer|has closed the connection", detector.Status())
    station.switch_on(last)
    recovers(station)


def test_a_module_that_is_off_for_so_short_that_it_answers_again_is_named(station: VirtualStation) -> None:
    """It is found so by a server that starts after it."""
    station.beamline.end(station.server)
    station.switch_off(0)
    station.switch_on(0)
    station.process = station.beamline.serve(station.server)
    wait_state(station.detector, FAULT, deadline=30.0)
    host, port = station.modules[0]
    said = station.detector.Status()
    assert f"the module at {host}:{port} was switched off and on; Reset initialises it" in said
    recovers(station)


def test_a_module_that_is_switched_off_and_on_in_a_series(station: VirtualStation) -> None:
    detector = station.detector
    gain, ours = GAINS[station.model]
    station.set(**{gain: ours, "HighVoltage": 90})
    wait_state(detector, ON)
    station.arm("INTERNAL", 1000, ExposureTime=0.05)
    until(lambda: detector.nFramesWritten >= 2, "two frames")
    station.switch_off(0)
    wait_state(detector, FAULT, deadline=30.0)
    host, port = station.modules[0]
    assert f"{host}:{port}" in detector.Status() and "Call Reset" in detector.Status()
    assert re.search("does not answer|has closed the connection", detector.Status())
    station.switch_on(0)
    until(lambda: station.receiver.client.status().state == "idle", "the receiver has ended it", 60.0)
    recovers(station)


def test_chips_that_were_switched_off_are_switched_on_by_reset_and_arm_is_not_refused(
    station: VirtualStation,
) -> None:
    station.set(PowerChip=False)
    wait_state(station.detector, FAULT)
    assert "the chips have no power" in station.detector.Status()
    station.detector.Reset()
    wait_state(station.detector, ON, deadline=60.0)
    assert station.detector.PowerChip
    station.arm("INTERNAL", 3, ExposureTime=0.05)
    wait_state(station.detector, ON)
    assert station.last()["complete"], station.detector.Status()


@pytest.mark.parametrize("mode", ["INTERNAL", "SOFTWARE", "EXTERNAL"])
def test_a_stop_by_another_client_is_named_and_the_rest_was_not_triggered(
    station: VirtualStation, mode: str
) -> None:
    triggers, frames = (2, 20) if mode == "SOFTWARE" else (40, 1)
    # Started before the series, which does not wait for it; the frames take much longer than the stop.
    with station.another_client("detector.stopDetector()") as stop:
        file = station.arm(mode, triggers, nFramesPerTrigger=frames, ExposureTime=0.05, LatencyTime=0.95)
        if mode == "SOFTWARE":
            station.detector.SoftwareTrigger()
        until(lambda: station.detector.nFramesAcquired >= 2, "two frames")
        stop()
    wait_state(station.detector, ON)
    assert f"Ready. {STOPPED} Last series: " in station.detector.Status()
    assert STOPPED.removeprefix("A") in str(station.last()["verdict"])
    counts = station.last()["counts"]
    with h5py.File(file) as written:
        stored = len(written["entry/data/data"])
    assert 2 <= stored < 20 and station.detector.nFramesAcquired == stored == counts["received"]
    assert (counts["missing"], counts["not_triggered"]) == (0, 40 - stored)
    station.arm("INTERNAL", 3, ExposureTime=0.05)
    wait_state(station.detector, ON)
    assert station.last()["complete"], station.detector.Status()


def recovers(station: VirtualStation) -> None:
    """Reset, settings that are named as lost, and a whole series with all that was set."""
    detector, modules = station.detector, len(station.modules)
    gain, ours = GAINS[station.model]
    detector.Reset()
    wait_state(detector, ON, deadline=60.0)
    lost = [name for name in (gain, "HighVoltage") if f"{name} was" in detector.Status()]
    assert ("PowerChip was" in detector.Status(), bool(lost)) == (False, bool(refused(station)))
    station.set(**{gain: ours, "HighVoltage": 90})
    wait_state(detector, ON)
    station.arm("INTERNAL", 5, ExposureTime=0.05, LatencyTime=0.025)
    wait_state(detector, ON)
    assert station.last()["complete"] and detector.nFramesWritten == 5, detector.Status()
    found = station.as_another_client(READ_BACK.format(gain=GETTERS[station.model]))
    host = "127.0.0.1"
    each = ["0.05", "0.075", "5", "1", "AUTO_TIMING", ours, "90", "True", host, host]
    macs = ["aa:bb:cc:dd:00:00", "aa:bb:cc:dd:00:01"][:modules]
    assert found == [*(",".join([value] * modules) for value in each), ",".join(macs)]


def refused(station: VirtualStation) -> str:
    """What Arm says while settings are lost; "" if nothing is."""
    if "write it again" not in station.detector.Status():
        return ""
    station.series("INTERNAL", 5)
    return refusal(station.detector.Arm)
