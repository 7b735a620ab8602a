"""Jungfrau from its Tango device to the file: over a fake of slsdet and slsReceiver, and over PSI's own.

PSI's virtual detector and slsReceiver judge the device, with the real slsdet; the fake does what they do not.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import h5py
import hdf5plugin  # noqa: F401
import numpy as np
import psutil
import pytest
import tango

from penstock.beamline.stage import moench
from penstock.hosts.child import children
from tests.devices.sls_box import VENDOR, box
from tests.knocks import listens
from tests.system.beamline import (
    FAULT,
    ON,
    RUNNING,
    Beamline,
    refusal,
    restart_receiver,
    until,
    wait_state,
)
from tests.system.jungfraus import FakeStation, JungfrauStation, VirtualStation, virtual_station
from tests.third_party import program_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def fake(beamline: Beamline) -> Iterator[FakeStation]:
    with box() as running, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(VENDOR))
        station = FakeStation(beamline, running)
        yield station
        station.close()


@pytest.fixture(scope="module")
def virtual(beamline: Beamline) -> Iterator[VirtualStation]:
    with virtual_station(beamline, "virtual", 1) as station:
        yield station


@pytest.fixture(scope="module")
def two_modules(beamline: Beamline) -> Iterator[VirtualStation]:
    with virtual_station(beamline, "modules", 2) as station:
        yield station


@pytest.fixture(params=["fake", "virtual"])
def station(request: pytest.FixtureRequest) -> JungfrauStation:
    station: JungfrauStation = request.getfixturevalue(request.param)
    station.calm()
    return station


@pytest.fixture
def quiet(fake: FakeStation) -> FakeStation:
    """The fake, idle."""
    fake.calm()
    return fake


# Series


def test_a_series_at_the_detectors_own_pace(station: JungfrauStation) -> None:
    file = station.arm("INTERNAL", 20, Metadata='{"sample": "lysozyme"}', GainMode="FIX_G1")
    wait_state(station.detector, ON)
    assert station.last()["complete"], station.detector.Status()
    with h5py.File(file) as written:
        (name,) = [key for key in written["entry/instrument"] if key in station.receiver.name]
        found = written["entry/instrument"][name]
        assert len(found["data"]) == 20 and found["data"].dtype == np.uint16
        assert found["count_time"][()] == pytest.approx(0.01)
        assert found["description"].asstr()[()] == "JUNGFRAU"
        assert found["gain/GainMode"].asstr()[()] == "FIX_G1"
    station.set(GainMode="DYNAMIC")
    wait_state(station.detector, ON)


def test_a_series_of_software_triggers_has_each_frame_at_its_trigger(station: JungfrauStation) -> None:
    file = station.arm("SOFTWARE", 4, nFramesPerTrigger=3)
    assert station.detector.State() == RUNNING and not file.exists()
    for _ in range(4):
        station.trigger()
    wait_state(station.detector, ON)
    assert station.detector.nFramesAcquired == station.detector.nFramesWritten == 12
    with h5py.File(file) as written:
        (found,) = [each for each in written["entry/instrument"].values() if "trigger" in each]
        assert found["trigger"][:].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_frames_until_stop(station: JungfrauStation) -> None:
    file = station.arm("INTERNAL", 0, ExposureTime=0.02)
    until(lambda: station.detector.nFramesWritten >= 3, "three frames")
    station.detector.Stop()
    wait_state(station.detector, ON)
    last = station.last()
    assert last["complete"] and last["counts"]["missing"] == 0, station.detector.Status()
    with h5py.File(file) as written:
        assert len(written["entry/data/data"]) == last["counts"]["stored"] >= 3


@pytest.mark.parametrize("how", ["Stop", "Abort"])
def test_an_end_in_the_middle_counts_the_rest_as_not_triggered(station: JungfrauStation, how: str) -> None:
    station.arm("SOFTWARE", 5)
    station.trigger()
    station.trigger()
    getattr(station.detector, how)()
    wait_state(station.detector, ON)
    counts = station.last()["counts"]
    assert (counts["stored"], counts["not_triggered"], counts["missing"]) == (2, 3, 0)


@pytest.mark.parametrize("how", ["Stop", "Abort"])
def test_an_end_before_the_first_frame_leaves_nothing(station: JungfrauStation, how: str) -> None:
    file = station.arm("SOFTWARE", 5)
    assert station.receiver.client.status().expected == station.detector.SeriesId
    getattr(station.detector, how)()
    wait_state(station.detector, ON)
    assert "0 of 5 triggers" in station.detector.Status() and not file.exists()
    assert (station.last()["file"], station.last()["counts"]["not_triggered"]) == ("", 5)
    assert station.receiver.client.status().expected == ""
    station.arm("INTERNAL", 3)
    wait_state(station.detector, ON)
    assert station.last()["complete"]


def test_two_armings_of_one_file_and_a_foreign_start_between_are_three_series(
    station: JungfrauStation,
) -> None:
    before = {past.series.id for past in station.receiver.client.history(100)}
    same = station.root / f"{station.receiver.name}-same.h5"
    same.unlink(missing_ok=True)
    station.arm("INTERNAL", 2, DestinationFilename=str(same))
    wait_state(station.detector, ON)
    first = station.last()
    station.start_by_somebody_else(3)
    # The watcher may have seen somebody else's series, and says so.
    until(lambda: station.receiver.client.status().counts.received == 3, "the foreign frames")
    until(lambda: station.receiver.client.status().state == "idle", "the foreign end")
    station.calm()
    ours: dict[str, Any] = {"DestinationFilename": str(same), "DestinationFileOverwritable": True}
    try:
        station.arm("INTERNAL", 4, **ours)
    except tango.DevFailed as error:  # its last look at the detector was during the foreign series
        if "armed by somebody else" not in str(error):
            raise
        station.calm()
        station.arm("INTERNAL", 4, **ours)
    wait_state(station.detector, ON)
    second = station.last()
    past = [each for each in station.receiver.client.history(100) if each.series.id not in before]
    assert [each.counts.received for each in past] == [4, 3, 2]
    assert [each.series.id for each in past][::2] == [second["series"], first["series"]]
    assert past[1].series.filename is None, "nobody has named it"
    with h5py.File(same) as written:
        assert len(written["entry/data/data"]) == 4


def test_a_file_that_is_there_is_refused_at_arm(station: JungfrauStation) -> None:
    file = station.series("INTERNAL", 2)
    file.touch()
    assert str(file) in refusal(station.detector.Arm)
    wait_state(station.detector, ON)
    assert station.receiver.client.status().expected == ""


@pytest.mark.parametrize("mode", ["INTERNAL", "SOFTWARE"])
def test_two_modules_are_one_image(two_modules: VirtualStation, mode: str) -> None:
    station = two_modules
    station.calm()
    file = station.arm(mode, 5, ExposureTime=0.05)
    if mode == "SOFTWARE":
        for _ in range(5):
            station.trigger()
    wait_state(station.detector, ON)
    assert station.last()["complete"], station.detector.Status()
    assert station.detector.nFramesWritten == 5 and station.detector.Modules == 2
    with h5py.File(file) as written:
        assert written["entry/data/data"].shape == (5, 2, 512, 1024)


def test_a_moench(beamline: Beamline) -> None:
    with virtual_station(beamline, "moench", 1, moench) as station:
        station.calm()
        station.set(GainSetting="G2_LOWCAP_LOWGAIN")
        wait_state(station.detector, ON)
        for mode in ("INTERNAL", "SOFTWARE"):
            file = station.arm(mode, 3)
            if mode == "SOFTWARE":
                for _ in range(3):
                    station.trigger()
            wait_state(station.detector, ON)
            assert station.last()["complete"], station.detector.Status()
            with h5py.File(file) as written:
                assert written["entry/data/data"].shape == (3, 400, 400)
                found = written["entry/instrument/moench"]
                assert found["gain/GainSetting"].asstr()[()] == "G2_LOWCAP_LOWGAIN"


# Faults


def test_a_receiver_that_is_restarted_while_the_first_frame_is_awaited(station: JungfrauStation) -> None:
    station.arm("SOFTWARE", 5)
    restart_receiver(station.receiver, station.process.pid)
    wait_state(station.detector, FAULT, deadline=30.0)
    assert "no longer knows this series" in station.detector.Status()
    station.detector.Reset()
    wait_state(station.detector, ON, deadline=30.0)
    until(lambda: station.receiver.client.status().connections[0].connections == 1, "connected")
    station.arm("INTERNAL", 3)
    wait_state(station.detector, ON)
    assert station.last()["complete"]


def test_a_streamer_that_is_killed_leaves_a_detector_that_reset_brings_back(station: JungfrauStation) -> None:
    station.arm("SOFTWARE", 5)
    station.trigger()
    (streamer,) = children(station.process.pid)
    os.kill(streamer, 9)
    wait_state(station.detector, FAULT)
    until(lambda: station.receiver.client.status().state == "idle", "the receiver has ended it")
    station.detector.Reset()
    wait_state(station.detector, ON, FAULT, deadline=30.0)
    if station.detector.State() == FAULT:  # the detector was found armed
        assert "Reset disarms it" in station.detector.Status()
        station.detector.Reset()
        wait_state(station.detector, ON, deadline=30.0)
    station.arm("INTERNAL", 3)
    wait_state(station.detector, ON)
    assert station.last()["complete"]


def test_an_slsreceiver_that_dies_and_is_started_again(virtual: VirtualStation) -> None:
    virtual.calm()
    program = str(program_of("slsdet", "slsReceiver"))
    port = str(virtual.properties["Receiver"]).rpartition(":")[2]
    (running,) = [
        process
        for process in psutil.process_iter(["cmdline"])
        if process.info["cmdline"] == [program, "-p", port]
    ]
    running.kill()
    wait_state(virtual.detector, FAULT, deadline=30.0)
    # Whether it dies between two calls, or in one.
    assert "slsReceiver" in virtual.detector.Status() and "is it running" in virtual.detector.Status()
    again = subprocess.Popen([program, "-p", port], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: listens("127.0.0.1", int(port)), "slsReceiver listens")
        virtual.detector.Reset()
        wait_state(virtual.detector, ON, deadline=60.0)
        until(lambda: virtual.receiver.client.status().connections[0].connections == 1, "connected")
        virtual.arm("INTERNAL", 3)
        wait_state(virtual.detector, ON)
        assert virtual.last()["complete"], virtual.detector.Status()
    finally:
        again.kill()
        again.wait()


def test_a_detector_that_is_switched_off_is_a_fault_with_its_address(quiet: FakeStation) -> None:
    quiet.arm("SOFTWARE", 5)
    quiet.trigger()
    quiet.box.power(on=False)
    wait_state(quiet.detector, FAULT, deadline=30.0)
    assert f"127.0.0.1:{quiet.box.port} does not answer" in quiet.detector.Status()
    quiet.box.power(on=True)
    quiet.detector.Reset()
    wait_state(quiet.detector, ON, deadline=30.0)
    quiet.arm("INTERNAL", 3)
    wait_state(quiet.detector, ON)
    assert quiet.last()["complete"]


def test_frames_lost_on_the_way_are_missing_at_their_index(quiet: FakeStation) -> None:
    number = quiet.box.number
    quiet.box.lost = {number + 2, number + 3, number + 9}
    quiet.arm("INTERNAL", 10)
    wait_state(quiet.detector, ON)
    counts = quiet.last()["counts"]
    assert (counts["stored"], counts["missing"], counts["not_triggered"]) == (7, 3, 0)


def test_frames_none_of_which_arrives_are_a_fault(quiet: FakeStation) -> None:
    quiet.box.lost = set(range(quiet.box.number, quiet.box.number + 5))
    quiet.arm("INTERNAL", 5)
    wait_state(quiet.detector, FAULT, deadline=20.0)
    assert "has taken 5 frames, and none has reached the receiver" in quiet.detector.Status()


def test_it_is_armed_for_more_than_a_minute_before_its_first_frame(quiet: FakeStation) -> None:
    file = quiet.arm("SOFTWARE", 2)
    due = time.monotonic() + 70.0
    while time.monotonic() < due:
        assert quiet.detector.State() == RUNNING, quiet.detector.Status()
        time.sleep(0.5)
    quiet.trigger()
    quiet.trigger()
    wait_state(quiet.detector, ON)
    assert quiet.last()["complete"]
    with h5py.File(file) as written:
        assert len(written["entry/data/data"]) == 2
