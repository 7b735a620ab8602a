"""Pilatus from its Tango device to the file, over a simulated camserver and a real light streamer."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401
import numpy as np
import pytest
import tango

from penstock.hosts.child import PENSTOCK, children
from penstock.streamer.simulated.camserver.faults import Faults
from penstock.streamer.simulated.camserver.images import gaps
from penstock.streamer.simulated.patterns import frame_number
from tests.system.beamline import FAULT, MOVING, ON, RUNNING, Beamline, until, wait_state
from tests.system.pilatuses import STEPS, PilatusUnit

pytestmark = pytest.mark.slow

SENSOR = (407, 487)
"""Two modules with a gap."""


@pytest.fixture(scope="module")
def shared(beamline: Beamline) -> Iterator[PilatusUnit]:
    unit = PilatusUnit(beamline, "pilatus", sensor=SENSOR)
    yield unit
    unit.close()


@pytest.fixture
def pilatus(shared: PilatusUnit) -> PilatusUnit:
    """Idle, whatever the last test did."""
    shared.calm()
    return shared


def clean(file: Path) -> bool:
    """What `penstock check` says."""
    done = subprocess.run(
        [*PENSTOCK, "check", str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode == 0 and done.stdout.startswith(f"{file}: clean")


@pytest.mark.parametrize(
    "mode", ["INTERNAL", "SOFTWARE", "EXTERNAL", "EXTERNAL_MULTI", "EXTERNAL_MULTI_GATE"]
)
def test_every_frame_is_at_its_place_in_the_file_in_every_trigger_mode(
    pilatus: PilatusUnit, mode: str
) -> None:
    file = pilatus.arm(mode, 5)
    wait_state(pilatus.detector, RUNNING, ON)
    if mode == "SOFTWARE":
        for number in range(5):
            until(lambda: pilatus.detector.ReadyForSwTrigger, "ready for a trigger")
            pilatus.detector.SoftwareTrigger()
            until(lambda number=number: pilatus.detector.nFramesAcquired > number, "acquired")
    elif mode != "INTERNAL":
        pilatus.edges(1 if mode == "EXTERNAL" else 5)
    wait_state(pilatus.detector, ON)
    with h5py.File(file) as written:
        data = written["entry/data/data"]
        assert data.shape == (5, *SENSOR) and data.dtype == "int32"
        assert "32008" in str(data._filters) or data.id.get_create_plist().get_nfilters() == 1
        assert [frame_number(frame) for frame in data[:]] == list(range(5))
        assert (data[0][gaps(SENSOR)] == -1).all()
    assert pilatus.last()["complete"]
    assert clean(file)


def test_the_file_says_what_it_was_taken_with(pilatus: PilatusUnit) -> None:
    file = pilatus.take(2, Distance=0.3, BeamCenterX=240.5, BeamCenterY=200.0)
    with h5py.File(file) as written:
        found = written["entry/instrument/pilatus"]
        assert found["description"].asstr()[()] == "DECTRIS PILATUS3 300K"
        for name, value in {
            "threshold_energy": 6200.0, "x_pixel_size": 172e-6, "distance": 0.3,
            "count_time": 0.005, "beam_center_x": 240.5, "saturation_value": 1048574,
            "sensor_thickness": 0.00045, "camserver/n_excluded_pixels": 0,
        }.items():  # fmt: skip
            assert found[name][()] == pytest.approx(value), name
        assert found["sensor_material"].asstr()[()] == "Si"
        assert found["camserver/trim_file"].asstr()[()] == "simulated_T6200.bin"


def test_an_energy_is_moving_until_the_detector_is_trimmed(pilatus: PilatusUnit) -> None:
    pilatus.box.faults.slow_trim = 1.0
    pilatus.detector.Energy = 10000.0
    wait_state(pilatus.detector, MOVING)
    wait_state(pilatus.detector, ON)
    assert (pilatus.detector.Energy, pilatus.detector.Threshold) == (10000.0, 5000.0)
    pilatus.detector.Energy = 12400.0  # for the other tests
    wait_state(pilatus.detector, MOVING)
    wait_state(pilatus.detector, ON)


def test_frames_that_do_not_fit_are_refused_at_arm_with_the_number_that_does(
    pilatus: PilatusUnit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pilatus.box._images, "capacity", 2_000_000)
    pilatus.series("INTERNAL", 1000)
    with pytest.raises(tango.DevFailed) as refused:
        pilatus.detector.Arm()
    said = refused.value.args[0].desc
    assert "do not fit on the RAM disk" in said and "at most " in said
    fits = int(said.partition("at most ")[2].split(" ")[0])
    wait_state(pilatus.detector, ON)
    assert clean(pilatus.take(fits))


def test_a_disk_that_becomes_full_is_a_fault_with_camservers_words_and_the_counts(
    pilatus: PilatusUnit,
) -> None:
    file = pilatus.arm("INTERNAL", 500, ExposureTime=0.02)
    until(lambda: pilatus.detector.nFramesAcquired >= 3, "some frames")
    pilatus.box.faults.disk_full = True
    wait_state(pilatus.detector, FAULT)
    said = pilatus.detector.Status()
    assert "No space left on device" in said and "of 500 frames taken" in said
    until(lambda: pilatus.receiver.client.status().state == "idle", "the file is closed")
    with h5py.File(file) as written:
        stored = written["entry/data/data"]
        assert [frame_number(frame) for frame in stored[:3]] == [0, 1, 2]
    pilatus.box.faults = Faults()
    pilatus.detector.Reset()
    wait_state(pilatus.detector, ON)
    assert clean(pilatus.take())


@pytest.mark.slow
def test_a_light_streamer_that_dies_is_a_fault_and_reset_finds_the_next_one(pilatus: PilatusUnit) -> None:
    pilatus.arm("INTERNAL", 1000, ExposureTime=0.02)
    until(lambda: pilatus.detector.nFramesAcquired >= 1, "a frame")
    pilatus.light.kill()
    wait_state(pilatus.detector, FAULT, deadline=20.0)
    assert "light streamer" in pilatus.detector.Status() or "is gone" in pilatus.detector.Status()
    pilatus.restart_light()
    pilatus.await_receiver()
    pilatus.detector.Reset()
    wait_state(pilatus.detector, ON)
    assert not pilatus.box.box.exposing
    assert clean(pilatus.take())


def test_stop_completes_the_frame_and_closes_the_file(pilatus: PilatusUnit) -> None:
    file = pilatus.arm("INTERNAL", 1000, ExposureTime=0.05)
    until(lambda: pilatus.detector.nFramesAcquired >= 2, "some frames")
    pilatus.detector.Stop()
    wait_state(pilatus.detector, ON)
    with h5py.File(file) as written:
        numbers = [frame_number(frame) for frame in written["entry/data/data"][:3]]
    assert numbers == [0, 1, 2]
    assert clean(pilatus.take())


def test_frames_until_stop(pilatus: PilatusUnit) -> None:
    file = pilatus.arm("INTERNAL", 0, ExposureTime=0.01)
    until(lambda: pilatus.detector.nFramesAcquired >= 5, "some frames")
    pilatus.detector.Stop()
    wait_state(pilatus.detector, ON)
    assert pilatus.last()["complete"]
    assert clean(file)


def test_a_control_unit_that_is_switched_off_is_a_fault_that_reset_leaves(pilatus: PilatusUnit) -> None:
    pilatus.arm("SOFTWARE", 5)
    pilatus.box.power(False)
    wait_state(pilatus.detector, FAULT, deadline=20.0)
    assert "camserver at 127.0.0.1" in pilatus.detector.Status()
    pilatus.box.power(True)
    pilatus.detector.Reset()
    wait_state(pilatus.detector, ON)
    assert clean(pilatus.take())


@pytest.mark.slow
def test_counts_of_time_over_threshold_are_energies_in_the_file(beamline: Beamline) -> None:
    """A PILATUS whose pixels count the time over threshold: the receiver's own step turns it into energy."""
    table = [0.0, *(round(1000.0 + 12.5 * count, 1) for count in range(1, 4096))]
    steps = [{"type": "cbf"}, {"type": "counts_to_energy", "table": table}]
    unit = PilatusUnit(beamline, "tot", steps, sensor=SENSOR)
    try:
        unit.await_receiver()
        file = unit.take(3)
        with h5py.File(file) as written:
            data = written["entry/data/data"]
            assert data.dtype == "float32"
            frame = data[2]
        rows, columns = np.ogrid[: SENSOR[0], : SENSOR[1]]
        counts = rows + columns
        inside = ~gaps(SENSOR)
        inside[0, :4] = False  # the number of the frame
        assert np.isnan(frame[gaps(SENSOR)]).all(), "there is no energy between modules"
        assert frame[inside] == pytest.approx(np.asarray(table)[counts[inside]])
        assert frame[0, 0] == pytest.approx(table[2])
        assert clean(file)
    finally:
        unit.close()


@pytest.mark.slow
def test_modules_that_are_absent_are_a_mask_of_the_receiver(beamline: Beamline) -> None:
    """An L-shape is a whole sensor in which some modules are not there."""
    absent = {"first_row": 212, "first_column": 0, "rows": 195, "columns": 487}
    unit = PilatusUnit(
        beamline, "lshape", [STEPS[0], {"type": "mask", "fill": -1, **absent}, STEPS[1]], sensor=SENSOR
    )
    try:
        unit.await_receiver()
        file = unit.take(2)
        with h5py.File(file) as written:
            frame = written["entry/data/data"][1]
        assert (frame[212:] == -1).all() and frame_number(frame) == 1 and (frame[1:195] >= 0).all()
        assert clean(file)
    finally:
        unit.close()


@pytest.mark.slow
def test_a_receiver_without_the_step_for_cbf_is_told_what_it_lacks(beamline: Beamline) -> None:
    unit = PilatusUnit(beamline, "plain", [], sensor=(32, 48))
    try:
        unit.await_receiver()
        unit.series("INTERNAL", 2)
        with pytest.raises(tango.DevFailed, match="Put {type: cbf} first into its transforms"):
            unit.detector.Arm()
        wait_state(unit.detector, ON)
    finally:
        unit.close()


@pytest.mark.slow
def test_a_device_server_that_dies_leaves_a_series_that_reset_ends(pilatus: PilatusUnit) -> None:
    pilatus.arm("INTERNAL", 10_000, ExposureTime=0.02)
    until(lambda: pilatus.detector.nFramesAcquired >= 2, "some frames")
    for pid in (*children(pilatus.process.pid), pilatus.process.pid):
        os.kill(pid, signal.SIGKILL)
    pilatus.process = pilatus.beamline.serve(pilatus.server)
    wait_state(pilatus.detector, FAULT)
    assert "armed by somebody else" in pilatus.detector.Status()
    pilatus.detector.Reset()
    wait_state(pilatus.detector, ON)
    assert not pilatus.box.box.exposing
    until(lambda: pilatus.receiver.client.status().state == "idle", "receiver idle", 15.0)
    assert clean(pilatus.take())


@pytest.mark.slow
def test_a_receiver_that_dies_is_a_fault_and_the_next_series_is_whole(pilatus: PilatusUnit) -> None:
    pilatus.arm("INTERNAL", 10_000, ExposureTime=0.02)
    until(lambda: pilatus.detector.nFramesAcquired >= 2, "some frames")
    pilatus.receiver.kill()
    wait_state(pilatus.detector, FAULT, deadline=20.0)
    assert "receiver" in pilatus.detector.Status()
    pilatus.receiver.start()
    pilatus.await_receiver()
    pilatus.detector.Reset()
    wait_state(pilatus.detector, ON)
    assert not pilatus.box.box.exposing
    assert clean(pilatus.take())


@pytest.mark.slow
def test_a_server_that_is_stopped_in_order_ends_the_series_first(pilatus: PilatusUnit) -> None:
    pilatus.arm("INTERNAL", 10_000, ExposureTime=0.02)
    until(lambda: pilatus.detector.nFramesAcquired >= 2, "some frames")
    pilatus.beamline.end(pilatus.server)
    until(lambda: not pilatus.box.box.exposing, "killed")
    until(lambda: pilatus.receiver.client.status().state == "idle", "receiver idle", 15.0)
    pilatus.process = pilatus.beamline.serve(pilatus.server)
    wait_state(pilatus.detector, ON)
    assert clean(pilatus.take())
