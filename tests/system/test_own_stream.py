"""A detector that streams by itself: Tango device, streamer, receiver and a box that sends, all real."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
import tango

from penstock.hosts.child import PYTHON, Child, children
from tests.system.beamline import FAULT, MOVING, ON, RUNNING, Beamline, refusal, until, wait_state
from tests.system.sender_box import Box

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SERVER, DEVICE = "SenderBox/test", "box/det/1"
OFF = "does not answer; is it switched on?"


class BoxStation:
    """One box with its receiver and its Tango device."""

    def __init__(self, beamline: Beamline) -> None:
        self.box = Box()
        port = int(self.box.stream.rpartition(":")[2])
        source = {"type": "dectris-v1", "endpoints": [self.box.stream]}
        self.receiver = beamline.receiver("box", port, source=source)
        beamline.register(
            SERVER, "SenderBox", DEVICE, ReceiverUrl=self.receiver.url, BoxUrl=self.box.url,
            StreamEndpoint=self.box.stream,
        )  # fmt: skip
        self._beamline = beamline
        self._files = 0
        self.server = self._serve()
        self.detector = beamline.device(DEVICE)
        wait_state(self.detector, ON)

    def _serve(self) -> Child[bool]:
        return Child(
            SERVER,
            [*PYTHON, "-m", "tests.system.own_stream_server", "test", "-ORBendPoint", "giop:tcp:127.0.0.1:0"],
            lambda line: True if "Ready to accept request" in line else None,
            deadline=30.0,
            environment={"TANGO_HOST": self._beamline.tango_host, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    def close(self) -> None:
        self.server.stop()
        self.box.close()

    def calm(self) -> None:
        """Bring everything back to idle, whatever the last test did."""
        for event in self.box.holds.values():
            event.set()
        self.box.holds.clear()
        self.box.errors.clear()
        self.box.mute = self.box.counts = False
        if self.receiver.child is None:
            self.receiver.start()
        self.detector.Abort()
        wait_state(self.detector, ON, FAULT)
        if self.detector.State() == FAULT:
            self.detector.Reset()
        wait_state(self.detector, ON)
        if self.receiver.client.status().state == "running":
            self.receiver.client.stop("calm")
        until(lambda: self.receiver.client.status().state == "idle", "receiver idle")
        until(lambda: self.receiver.client.status().connections[0].connections == 1, "connected")
        self.set(
            ExposureTime=0.002, nTriggers=1, nFramesPerTrigger=1, TriggerMode="INTERNAL",
            DestinationFilename="", SaveRaw=True, Rotation=0, Fliplr=False,
        )  # fmt: skip
        self.box.calls.clear()

    def set(self, **values: object) -> None:
        for name, value in values.items():
            self.detector.write_attribute(name, value)

    def new_file(self) -> Path:
        self._files += 1
        return self.receiver.root / f"box-{self._files:03d}.h5"

    def arm(self, mode: str, triggers: int, frames: int = 1) -> Path:
        file = self.new_file()
        self.set(TriggerMode=mode, nTriggers=triggers, nFramesPerTrigger=frames)
        self.set(DestinationFilename=str(file))
        self.detector.Arm()
        return file

    def take_series(self) -> None:
        """A whole series, as after each fault."""
        file = self.arm("INTERNAL", 3)
        wait_state(self.detector, ON)
        self.check_file(file, 3)

    def check_file(self, file: Path, frames: int) -> None:
        last = json.loads(self.detector.LastSeries)
        assert (last["file"], last["complete"]) == (str(file), True), last
        with h5py.File(file) as opened:
            data = opened[self.detector.FileDataset][:]
        assert np.array_equal(data[:, 0, 0], np.arange(frames)), "each frame has its index as pixels"

    def trigger(self) -> None:
        """As a step scan does."""
        before = self.detector.nFramesAcquired
        until(lambda: self.detector.ReadyForSwTrigger, "ready for a trigger")
        self.detector.SoftwareTrigger()
        until(lambda: self.detector.nFramesAcquired >= before + self.detector.nFramesPerTrigger, "acquired")

    def hold(self, call: str) -> threading.Event:
        self.box.holds[call] = threading.Event()
        return self.box.holds[call]


@pytest.fixture(scope="module")
def shared(beamline: Beamline) -> Iterator[BoxStation]:
    station = BoxStation(beamline)
    yield station
    station.close()


@pytest.fixture
def station(shared: BoxStation) -> BoxStation:
    shared.calm()
    return shared


def test_the_boxs_own_values_are_shown_and_none_is_written_at_start(station: BoxStation) -> None:
    assert station.detector.Energy == station.box.set_energy
    assert "apply" not in station.box.calls
    assert station.detector.get_attribute_config("Energy").min_value == "5000.0"
    until(lambda: station.detector.Humidity == 31.5, "a reading")
    assert station.detector.read_attribute("RingFill").quality == tango.AttrQuality.ATTR_INVALID
    assert "Energy" in [each["name"] for each in json.loads(station.detector.Parameters)]


@pytest.mark.parametrize("counts", [False, True])
def test_a_series_of_software_triggers(station: BoxStation, counts: bool) -> None:
    station.box.counts = counts
    file = station.arm("SOFTWARE", 3)
    assert station.detector.State() == RUNNING
    assert "(unchecked)" in station.detector.Status()
    assert json.loads(station.box.user)["arm"] == station.detector.SeriesId
    for taken in range(3):
        station.trigger()
        assert station.detector.nFramesAcquired == taken + 1
    wait_state(station.detector, ON)
    station.check_file(file, 3)


def test_a_series_at_the_detectors_own_pace(station: BoxStation) -> None:
    file = station.arm("INTERNAL", 5)
    wait_state(station.detector, ON)
    station.check_file(file, 5)


def test_a_series_of_edges(station: BoxStation) -> None:
    file = station.arm("EXTERNAL_MULTI", 3)
    for _ in range(3):
        station.box.edge()
    wait_state(station.detector, ON)
    station.check_file(file, 3)


@pytest.mark.slow
def test_bursts(station: BoxStation) -> None:
    file = station.arm("SOFTWARE", 2, frames=4)
    for _ in range(2):
        station.trigger()
    wait_state(station.detector, ON)
    station.check_file(file, 8)


@pytest.mark.parametrize("command", ["Stop", "Abort"])
def test_stop_and_abort_end_a_series(station: BoxStation, command: str) -> None:
    station.arm("SOFTWARE", 5)
    station.trigger()
    station.detector.command_inout(command)
    wait_state(station.detector, ON)
    assert "1 of 5 frames stored" in station.detector.Status()
    station.take_series()


@pytest.mark.parametrize("how", ["Stop", "Abort"])
def test_a_series_that_is_ended_early_says_by_what(station: BoxStation, how: str) -> None:
    file = station.arm("SOFTWARE", 5)
    station.trigger()
    station.detector.command_inout(how)
    wait_state(station.detector, ON)
    said = f"1 of 5 frames stored in {file}, 4 not triggered (ended by {how.lower()})."
    assert station.detector.Status() == f"Ready. Last series: {said}"
    assert json.loads(station.detector.LastSeries)["verdict"] == said
    station.take_series()
    assert "ended by" not in station.detector.Status()


def test_what_the_box_makes_of_a_series_is_shown_stored_and_the_answer_to_the_same_request(
    station: BoxStation,
) -> None:
    detector, made = station.detector, 2**-17 * round(0.0031 * 2**17)
    station.set(ExposureTime=0.0031)
    assert detector.ExposureTime == 0.0031
    file = station.arm("INTERNAL", 2)
    assert detector.ExposureTime == made != 0.0031
    assert detector.FrameTime == pytest.approx(made + 1e-5, rel=1e-12)
    wait_state(detector, ON)
    with h5py.File(file) as written:
        (times,) = [written[path] for path in paths(written) if path.endswith("/count_time")]
        assert times[()] == made
    station.set(ExposureTime=0.0031)
    assert detector.ExposureTime == made, "the answer to that request"
    station.set(ExposureTime=0.0032)
    assert detector.ExposureTime == 0.0032
    station.set(ExposureTime=0.0031)
    assert detector.ExposureTime == made


def paths(file: h5py.File) -> list[str]:
    found: list[str] = []
    file.visit(found.append)
    return found


def test_a_box_that_arms_slowly_is_moving_and_then_running(station: BoxStation) -> None:
    arm = station.hold("arm")
    begun = time.monotonic()
    station.arm("SOFTWARE", 1)
    assert time.monotonic() - begun < 2.7
    assert station.detector.State() == MOVING
    arm.set()
    wait_state(station.detector, RUNNING)
    station.trigger()
    wait_state(station.detector, ON)
    station.take_series()


@pytest.mark.slow
def test_abort_ends_an_arming_that_is_under_way(station: BoxStation) -> None:
    arm = station.hold("arm")
    station.arm("SOFTWARE", 1)
    station.detector.Abort()
    arm.set()
    wait_state(station.detector, ON)
    assert "ended by Abort before the detector took triggers" in station.detector.Status()
    assert station.box.state == "idle"
    until(lambda: station.receiver.client.status().state == "idle", "receiver idle")
    del station.box.holds["arm"]
    station.take_series()


def test_a_refusal_at_once_is_raised_and_leaves_the_box_disarmed(station: BoxStation) -> None:
    station.box.errors["prepare"] = "no such trigger mode"
    assert "no such trigger mode" in refusal(lambda: station.arm("SOFTWARE", 1))
    assert station.detector.State() == ON
    station.box.errors.clear()
    station.box.errors["arm"] = "the shutter is open"
    assert "the shutter is open" in refusal(lambda: station.arm("SOFTWARE", 1))
    wait_state(station.detector, ON)
    station.box.errors.clear()
    station.take_series()


def test_a_refusal_that_comes_late_is_a_fault(station: BoxStation) -> None:
    arm = station.hold("arm")
    station.box.errors["arm"] = "the shutter is open"
    station.arm("SOFTWARE", 1)
    assert station.detector.State() == MOVING
    arm.set()
    wait_state(station.detector, FAULT)
    assert "the shutter is open" in station.detector.Status()
    station.box.errors.clear()
    del station.box.holds["arm"]
    station.detector.Reset()
    wait_state(station.detector, ON)
    station.take_series()


@pytest.mark.slow
def test_a_box_whose_start_message_is_lost_is_disarmed(station: BoxStation) -> None:
    station.box.mute = True
    station.arm("SOFTWARE", 1)
    wait_state(station.detector, FAULT, deadline=30.0)
    assert "has not begun the series" in station.detector.Status()
    assert station.box.state == "idle"
    station.box.mute = False
    station.detector.Reset()
    wait_state(station.detector, ON)
    station.take_series()


@pytest.mark.slow
def test_a_receiver_that_is_not_there_is_refused_before_the_box_is_armed(station: BoxStation) -> None:
    station.receiver.stop()
    assert "does not answer" in refusal(lambda: station.arm("SOFTWARE", 1))
    assert "arm" not in station.box.calls
    assert station.detector.State() == ON
    station.receiver.start()
    station.calm()
    station.take_series()


def test_a_receiver_that_is_not_connected_is_refused_before_the_box_is_armed(station: BoxStation) -> None:
    station.box.plug(in_=False)
    until(lambda: not station.receiver.client.status().connections[0].connections, "no connection")
    said = refusal(lambda: station.arm("SOFTWARE", 1))
    assert "connected" in said and station.box.stream in said
    assert "arm" not in station.box.calls
    assert station.detector.State() == ON
    station.box.plug(in_=True)
    station.calm()
    station.take_series()


def test_rotation_that_the_receiver_does_not_do_is_refused(station: BoxStation) -> None:
    station.set(Rotation=90, Fliplr=True)
    assert "Rotation 90 and Fliplr" in refusal(lambda: station.arm("SOFTWARE", 1))
    assert json.loads(station.detector.Check())["kind"] == "no_orientation"
    assert "arm" not in station.box.calls


def test_check_says_what_cannot_be_checked(station: BoxStation) -> None:
    answer = json.loads(station.detector.Check())
    assert (answer["ok"], answer["sentence"]) == (
        True, "other consumers of the stream cannot be seen (unchecked)",
    )  # fmt: skip


def test_an_energy_that_takes_long(station: BoxStation) -> None:
    apply = station.hold("apply")
    begun = time.monotonic()
    station.detector.Energy = 8048.0
    assert time.monotonic() - begun < 1.0
    assert station.detector.State() == MOVING
    assert "Energy is being set" in refusal(station.detector.Arm)
    apply.set()
    wait_state(station.detector, ON)
    assert station.detector.Energy == station.box.set_energy == 8048.0


def test_an_energy_that_is_refused_late(station: BoxStation) -> None:
    apply, before = station.hold("apply"), station.detector.Energy
    station.box.errors["apply"] = "the threshold cannot follow"
    station.detector.Energy = 9000.0
    apply.set()
    wait_state(station.detector, ON)
    assert "the threshold cannot follow" in station.detector.Status()
    assert station.detector.Energy == before
    station.box.errors.clear()
    station.box.holds.clear()
    station.detector.Energy = 8047.0
    assert station.detector.Energy == 8047.0, "at once, so that nothing moved"


def test_a_box_that_is_switched_off_and_on(station: BoxStation) -> None:
    station.box.power(on=False)
    wait_state(station.detector, FAULT)
    assert OFF in station.detector.Status()
    with pytest.raises(tango.DevFailed):
        station.detector.Energy = 9000.0
    assert OFF in refusal(station.detector.Reset)
    assert station.detector.State() == FAULT
    station.box.power(on=True)
    station.detector.Reset()
    wait_state(station.detector, ON)
    station.take_series()


def test_a_box_that_is_off_when_the_device_starts(station: BoxStation) -> None:
    station.box.power(on=False)
    station.detector.Init()
    wait_state(station.detector, FAULT)
    assert OFF in station.detector.Status()
    assert station.detector.read_attribute("Energy").quality == tango.AttrQuality.ATTR_INVALID
    station.box.power(on=True)
    station.detector.Reset()
    wait_state(station.detector, ON)
    assert station.detector.Energy == station.box.set_energy
    station.take_series()


def test_a_box_that_somebody_else_has_armed(station: BoxStation) -> None:
    station.box.arm_by_somebody_else()
    station.detector.Init()
    wait_state(station.detector, FAULT)
    assert "armed by somebody else" in station.detector.Status()
    assert station.box.state == "armed", "and stays so until somebody asks"
    reset = station.hold("reset")
    station.detector.Reset()
    assert station.detector.State() == MOVING
    reset.set()
    wait_state(station.detector, ON)
    station.calm()
    station.take_series()


@pytest.mark.slow
def test_a_receiver_that_is_restarted_after_the_start_message(station: BoxStation) -> None:
    station.arm("SOFTWARE", 3)
    station.detector.Stop()
    wait_state(station.detector, ON)
    file = station.arm("SOFTWARE", 3)
    station.receiver.stop()
    file.unlink()
    station.receiver.start()
    wait_state(station.detector, FAULT, deadline=20.0)
    assert station.box.state == "idle"
    station.calm()
    station.take_series()


@pytest.mark.slow
def test_a_box_that_is_lost_in_a_series(station: BoxStation) -> None:
    station.arm("SOFTWARE", 5)
    station.trigger()
    station.box.power(on=False)
    wait_state(station.detector, FAULT, deadline=20.0)
    status = station.detector.Status()
    assert OFF in status
    assert "1 of 5 frames stored" in status
    assert station.detector.nFramesPending == 0
    station.box.power(on=True)
    station.calm()
    station.take_series()


def test_a_streamer_that_is_killed_in_a_series(station: BoxStation) -> None:
    station.arm("SOFTWARE", 5)
    (pid,) = children(station.server.pid)
    os.kill(pid, signal.SIGKILL)
    wait_state(station.detector, FAULT)
    assert "killed by signal 9" in station.detector.Status()
    station.detector.Reset()
    wait_state(station.detector, FAULT)
    assert "armed by somebody else" in station.detector.Status(), "by a streamer that nobody knows any more"
    station.calm()
    station.take_series()
