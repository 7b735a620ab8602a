"""Jungfrau from its Tango device to the file: over a fake of slsdet and slsReceiver, and over PSI's own.

PSI's virtual detector and slsReceiver judge the device, with the real slsdet; the fake does what they do not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401
import numpy as np
import psutil
import pytest
import tango

from penstock.devices._base.processes import Child, children, is_taken
from penstock.devices._base.stage import Staged, json_line, jungfrau, moench
from penstock.devices._sls.connection import memory_name
from tests.devices.sls_box import VENDOR, SlsBox, box
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
from tests.third_party import program_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FOREIGN = """
import sys, time, slsdet
detector = slsdet.Jungfrau()
detector.timing, detector.triggers = slsdet.timingMode.AUTO_TIMING, 1
detector.frames, detector.exptime, detector.period = int(sys.argv[1]), 0.01, 0.02
detector.rx_start()
detector.start()
while detector.status != slsdet.runStatus.IDLE:
    time.sleep(0.02)
detector.rx_stop()
"""
"""Another client, which starts the detector as it was left."""


class JungfrauStation:
    """A detector with its device and its receiver; subclasses say where it is."""

    model = "Jungfrau"
    properties: dict[str, Any]
    source: dict[str, Any]

    def __init__(self, beamline: Beamline, name: str) -> None:
        self.beamline = beamline
        self.server = f"{self.model}/{name}"
        port = int(self.properties["StreamPort"])
        self.receiver = beamline.receiver(name, port, source=self.source)
        beamline.register(
            self.server, self.model, f"{name}/det/1", ReceiverUrl=self.receiver.url, **self.properties
        )
        self.process = beamline.serve(self.server)
        self.detector = beamline.device(f"{name}/det/1")
        self._files = 0

    @property
    def root(self) -> Path:
        return self.receiver.root

    def set(self, **values: Any) -> None:
        for name, value in values.items():
            self.detector.write_attribute(name, value)

    def series(self, mode: str, triggers: int, **values: Any) -> Path:
        """Set up a series; its file."""
        self._files += 1
        file = self.root / f"{self.receiver.name}-{self._files:03d}.h5"
        wanted = {
            "ExposureTime": 0.01, "LatencyTime": 0.0, "nFramesPerTrigger": 1, "TriggerMode": mode,
            "nTriggers": triggers, "DestinationFilename": str(file), "DestinationFileOverwritable": False,
        }  # fmt: skip
        self.set(**(wanted | values))
        return Path(self.detector.DestinationFilename)

    def arm(self, mode: str, triggers: int, **values: Any) -> Path:
        file = self.series(mode, triggers, **values)
        self.detector.Arm()
        wait_state(self.detector, RUNNING, ON)
        return file

    def trigger(self) -> None:
        """As a step scan does."""
        before = self.detector.nFramesAcquired
        until(lambda: self.detector.ReadyForSwTrigger, "ready for a trigger")
        self.detector.SoftwareTrigger()
        until(lambda: self.detector.nFramesAcquired > before, "acquired")

    def last(self) -> dict[str, Any]:
        return dict(json.loads(self.detector.LastSeries))

    def calm(self) -> None:
        """Bring everything back to idle, whatever the last test did."""
        if self.receiver.child is None:
            self.receiver.start()
        self.detector.Abort()
        wait_state(self.detector, ON, FAULT, deadline=30.0)
        if self.detector.State() == FAULT:
            self.detector.Reset()
        wait_state(self.detector, ON, deadline=60.0)
        until(lambda: self.receiver.client.status().state == "idle", "receiver idle")
        until(lambda: self.receiver.client.status().connections[0].connections == 1, "connected")

    def start_by_somebody_else(self, frames: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        streamers = [psutil.Process(pid) for pid in children(self.process.pid)]
        self.beamline.end(self.server)
        psutil.wait_procs(
            streamers, timeout=10.0
        )  # or it would ask slsdet once more, which then remembers it
        self.receiver.stop()


class FakeStation(JungfrauStation):
    """Over the fake, which this process holds; the device's processes import the fake slsdet."""

    def __init__(self, beamline: Beamline, fake: SlsBox) -> None:
        self.box = fake
        self.properties = fake.properties
        self.source = {"type": "sls", "endpoints": [f"tcp://127.0.0.1:{fake.stream_port}"]}
        super().__init__(beamline, "fake")

    def start_by_somebody_else(self, frames: int) -> None:
        self.box.start_by_somebody_else(frames)

    def calm(self) -> None:
        self.box.power(on=True)
        self.box.refuses.clear()
        self.box.lost.clear()
        super().calm()


class VirtualStation(JungfrauStation):
    """Over PSI's virtual detector and slsReceiver."""

    def __init__(self, beamline: Beamline, staged: Staged, name: str) -> None:
        self.model = staged.server
        self.properties, self.source = dict(staged.properties), dict(staged.source)
        super().__init__(beamline, name)

    def start_by_somebody_else(self, frames: int) -> None:
        host, _, port = str(self.properties["Host"]).partition(":")
        subprocess.run(
            [sys.executable, "-P", "-c", FOREIGN, str(frames)], check=True, capture_output=True, timeout=60.0,
            env={**os.environ, "SLSDETNAME": memory_name([(host, int(port))])},
        )  # fmt: skip


@pytest.fixture(scope="module")
def fake(beamline: Beamline) -> Iterator[FakeStation]:
    with box() as running, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(VENDOR))
        station = FakeStation(beamline, running)
        yield station
        station.close()


@contextmanager
def virtual_station(
    beamline: Beamline, name: str, modules: int, make: Callable[[int], Staged] = jungfrau
) -> Iterator[VirtualStation]:
    program_of("slsdet", "slsReceiver")
    staged = make(modules)
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPATH", raising=False)
        for each in staged.stand_ins:
            stack.enter_context(Child(each.name, each.command, json_line, deadline=each.deadline))
        station = VirtualStation(beamline, staged, name)
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
        until(lambda: is_taken("127.0.0.1", int(port)), "slsReceiver listens")
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
