"""What goes wrong with an Eiger, as a user sees it at its Tango device: the sentence, and the way out."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator

import h5py
import pytest
import tango

from penstock.beamline.stage import json_line
from penstock.hosts.child import PENSTOCK, Child, free_port
from penstock.streamer.simulated.simplon.control_unit import ControlUnit
from penstock.streamer.simulated.triggers import TriggerSource
from tests.system.beamline import (
    FAULT,
    MOVING,
    ON,
    RUNNING,
    Beamline,
    refusal,
    restart_receiver,
    until,
    wait_state,
)
from tests.system.eigers import EigerStation, EigerUnit

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared(beamline: Beamline) -> Iterator[EigerUnit]:
    unit = EigerUnit(beamline, "faulty", "v2", sensor=(16, 24))
    yield unit
    unit.close()


@pytest.fixture
def unit(shared: EigerUnit) -> EigerUnit:
    shared.calm()
    return shared


# Slow ---------------------------------------------------------------------------------------------


def test_a_box_that_arms_slowly_is_moving_and_then_running(unit: EigerUnit) -> None:
    unit.box.faults.slow_arm = 3.0
    begun = time.monotonic()
    unit.arm("SOFTWARE", 2)
    assert time.monotonic() - begun < 2.7
    assert unit.detector.State() == MOVING
    wait_state(unit.detector, RUNNING)
    series = unit.receiver.client.status().series
    assert series is not None and series.id == unit.detector.SeriesId
    unit.trigger()
    unit.detector.Stop()
    wait_state(unit.detector, ON)


@pytest.mark.slow
def test_abort_ends_a_slow_arming(unit: EigerUnit) -> None:
    unit.box.faults.slow_arm = 3.0
    unit.arm("SOFTWARE", 2)
    unit.detector.Abort()
    wait_state(unit.detector, ON)
    assert "ended by Abort before the detector took triggers" in unit.detector.Status()
    assert unit.state == "idle"
    unit.box.faults.slow_arm = 0.0
    unit.take_series()


def test_an_energy_that_takes_long_is_moving_and_arm_is_refused(unit: EigerUnit) -> None:
    unit.box.faults.slow_put = 60.0
    before = unit.detector.Energy
    begun = time.monotonic()
    unit.detector.Energy = before + 100.0
    assert time.monotonic() - begun < 1.0
    assert unit.detector.State() == MOVING
    assert "Energy is being set in the detector" in refusal(unit.detector.Arm)
    unit.box.faults.slow_put = 0.0
    wait_state(unit.detector, ON)
    assert unit.detector.Energy == before + 100.0


@pytest.mark.parametrize(("name", "key"), [("Energy", "photon_energy"), ("Threshold", "threshold/1/energy")])
def test_a_setting_that_the_box_refuses_is_said_and_its_own_is_shown(
    unit: EigerUnit, name: str, key: str
) -> None:
    before = unit.detector.read_attribute(name).value
    unit.box.faults.errors = {f"detector/config/{key}": 500}
    unit.box.faults.slow_put = 1.0
    refused = _late_refusal(unit, lambda: unit.detector.write_attribute(name, before + 50.0))
    assert f"failed at PUT detector/api/1.8.0/config/{key} = {before + 50.0} (HTTP 500" in refused
    assert unit.detector.read_attribute(name).value == before
    unit.calm()
    unit.take_series()


def _late_refusal(unit: EigerUnit, call: Callable[[], None]) -> str:
    """The sentence, whether it comes at once or when the state is ON again."""
    try:
        call()
    except tango.DevFailed as error:
        return str(error.args[0].desc)
    wait_state(unit.detector, ON)
    return str(unit.detector.Status())


# Error answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["detector/command/arm", "detector/config/count_time", "stream/config/header_appendix"]
)
def test_an_error_while_arming_is_refused_and_leaves_the_box_idle(unit: EigerUnit, path: str) -> None:
    unit.box.faults.errors = {path: 503}
    unit.series("SOFTWARE", 2, ExposureTime=0.003 + len(path) * 1e-5)
    said = refusal(unit.detector.Arm)
    assert path.rpartition("/")[2] in said and "HTTP 503" in said
    wait_state(unit.detector, ON)
    assert unit.state == "idle"
    unit.box.faults.errors = {}
    unit.take_series()


def test_an_error_at_a_trigger_is_a_fault_and_the_frames_before_are_in_the_file(unit: EigerUnit) -> None:
    unit.arm("SOFTWARE", 3)
    unit.trigger()
    until(lambda: unit.detector.ReadyForSwTrigger, "ready")
    unit.box.faults.errors = {"detector/command/trigger": 500}
    unit.detector.SoftwareTrigger()
    wait_state(unit.detector, FAULT)
    status = unit.detector.Status()
    assert "trigger 2: " in status and "HTTP 500" in status and "1 of 3 frames stored" in status
    assert status.endswith("Call Reset.")
    unit.calm()
    unit.take_series()


def test_status_that_is_an_error_is_a_fault(unit: EigerUnit) -> None:
    unit.box.faults.errors = {"detector/status/state": 500}
    wait_state(unit.detector, FAULT)
    status = unit.detector.Status()
    assert "status/state" in status and "HTTP 500" in status
    unit.box.faults.errors = {}
    unit.reset()
    unit.take_series()


# Power, network -------------------------------------------------------------------------------------


def test_a_box_that_is_switched_off_and_on_is_initialised_by_reset_alone(unit: EigerUnit) -> None:
    unit.box.power(on=False)
    wait_state(unit.detector, FAULT)
    assert "cannot be reached (Connection refused)" in unit.detector.Status()
    assert "check that the control unit is switched on" in refusal(unit.detector.Reset)
    unit.box.power(on=True)
    unit.box.faults.slow_initialize = 1.0
    unit.detector.Reset()
    assert unit.detector.State() == MOVING
    wait_state(unit.detector, ON)
    unit.calm()
    unit.take_series()


def test_settings_that_a_power_cut_has_cost_are_named_and_arm_waits_for_each(unit: EigerUnit) -> None:
    detector = unit.detector
    detector.Energy = 9000.0
    wait_state(detector, ON)
    detector.AutoSummation = False
    wait_state(detector, ON)
    unit.box.power(on=False)
    unit.box.power(on=True)
    wait_state(detector, FAULT)
    detector.Reset()
    wait_state(detector, ON)
    lost = "AutoSummation was False, is True: write it again"
    lost_energy = "Energy was 9000, is 8047.78: write it again"
    assert lost in detector.Status() and lost_energy in detector.Status()
    assert detector.Status().startswith("Ready. ")
    assert unit.box.box.settings["photon_energy"] == detector.Energy == 8047.78, "nothing is written"
    answer = json.loads(detector.Check())
    assert (answer["ok"], answer["kind"]) == (False, "settings_lost")
    assert lost in answer["sentence"] and lost_energy in answer["sentence"]
    detector.Energy = 9000.0
    wait_state(detector, ON)
    assert detector.Status() == f"Ready. {lost}."
    detector.AutoSummation = False
    wait_state(detector, ON)
    assert detector.Status() == "Ready."
    unit.take_series()


@pytest.mark.slow
def test_a_power_cut_so_short_that_nobody_saw_it(unit: EigerUnit) -> None:
    unit.box.power(on=False)
    unit.box.power(on=True)
    wait_state(unit.detector, FAULT)
    assert unit.detector.Status() == (
        "the detector was switched on, and is not initialised; Reset initialises it."
    )
    unit.reset()
    unit.take_series()


def test_a_power_cut_in_a_series_leaves_the_frames_before_it(unit: EigerUnit) -> None:
    file = unit.arm("SOFTWARE", 5)
    unit.trigger()
    unit.box.power(on=False)
    unit.box.power(on=True)
    wait_state(unit.detector, FAULT)
    status = unit.detector.Status()
    assert "not initialised" in status and "1 of 5 frames stored" in status
    until(lambda: unit.receiver.client.status().state == "idle", "the receiver has ended it")
    assert unit.last()["file"] == str(file)
    unit.calm()
    unit.take_series()


# Other clients --------------------------------------------------------------------------------------


def test_somebody_elses_series_is_a_fault_that_only_reset_ends(unit: EigerUnit) -> None:
    unit.box.arm_by_somebody_else()
    wait_state(unit.detector, FAULT)
    said = "the detector was armed by somebody else; Reset disarms it, and ends that series."
    assert unit.detector.Status() == said
    assert said in refusal(unit.detector.Arm)
    assert unit.state == "ready"
    unit.detector.Abort()
    assert unit.state == "ready", "only Reset disarms"
    unit.detector.Reset()
    wait_state(unit.detector, ON)
    assert unit.state == "idle"
    until(lambda: unit.receiver.client.status().state == "idle", "idle")
    unit.take_series()


def test_a_box_found_armed_at_start(unit: EigerUnit) -> None:
    unit.box.arm_by_somebody_else()
    unit.detector.Init()
    wait_state(unit.detector, FAULT)
    assert "armed by somebody else; Reset disarms it" in unit.detector.Status()
    assert unit.state == "ready"
    unit.detector.Reset()
    wait_state(unit.detector, ON)
    assert unit.state == "idle"
    unit.take_series()


def test_another_client_ends_our_series_and_then_arms_its_own(unit: EigerUnit) -> None:
    unit.arm("SOFTWARE", 5)
    unit.trigger()
    unit.box.box.command("disarm")
    wait_state(unit.detector, ON)
    unit.box.arm_by_somebody_else()
    wait_state(unit.detector, FAULT)
    assert "armed by somebody else" in unit.detector.Status()
    assert unit.state == "ready"
    unit.calm()
    unit.take_series()


@pytest.mark.parametrize(
    ("mode", "command", "taken"),
    [("SOFTWARE", "disarm", 1), ("INTERNAL", "abort", 0), ("EXTERNAL_MULTI", "disarm", 1)],
)
def test_another_client_that_ends_our_series_is_named_and_the_rest_was_never_exposed(
    unit: EigerUnit, mode: str, command: str, taken: int
) -> None:
    file = unit.arm(mode, 5, ExposureTime=0.002 if taken else 20.0)
    if mode == "SOFTWARE":
        unit.trigger()
    elif mode == "EXTERNAL_MULTI":
        source = TriggerSource(("127.0.0.1", int(unit.box.trigger_address.rpartition(":")[2])))
        source.pulse(moment=0.0)
        source.close()
        until(lambda: unit.detector.nFramesAcquired == 1, "acquired")
    else:
        until(lambda: unit.state == "acquire", "exposing")
    unit.box.box.command(command)
    wait_state(unit.detector, ON)
    by = "another client has ended this series at the detector"
    assert unit.detector.Status() == (
        f"Ready. A{by[1:]}. Last series: {taken} of 5 frames stored in {file}, {5 - taken} not triggered."
    )
    assert by in str(unit.last()["verdict"])
    with h5py.File(file) as written:
        assert by in " ".join(str(value) for value in texts(written))
    unit.calm()


def texts(file: h5py.File) -> list[str]:
    found: list[str] = []

    def look(name: str, item: h5py.Group | h5py.Dataset) -> None:
        found.extend(str(value) for value in item.attrs.values())
        if isinstance(item, h5py.Dataset) and h5py.check_string_dtype(item.dtype) and item.shape == ():
            found.append(item.asstr()[()])

    file.visititems(look)
    return found


@pytest.mark.slow
def test_another_client_arms_so_fast_that_only_the_receiver_sees_it(unit: EigerUnit) -> None:
    unit.arm("SOFTWARE", 5)
    unit.trigger()
    unit.box.box.command("disarm")
    unit.box.arm_by_somebody_else()
    wait_state(unit.detector, FAULT)
    status = unit.detector.Status()
    assert "another client has ended this series" in status or "armed by somebody else" in status
    assert "1 of 5 frames stored" in str(unit.last()["verdict"])
    unit.calm()
    unit.take_series()


def test_a_parameter_that_a_put_changes_too_is_shown_and_is_in_the_file(unit: EigerUnit) -> None:
    unit.box.faults.changed = {"threshold/1/energy": 6543.0}
    unit.detector.Energy = unit.detector.Energy + 10.0
    wait_state(unit.detector, ON)
    assert unit.detector.Threshold == 6543.0
    file = unit.arm("INTERNAL", 2)
    wait_state(unit.detector, ON)
    with h5py.File(file) as written:
        (name,) = [key for key in written["entry/instrument"] if key not in ("beam", "detector")]
        assert written[f"entry/instrument/{name}/threshold_energy"][()] == 6543.0


# Receiver, stream -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_receiver_that_is_restarted_in_a_series_is_noticed_and_the_box_aborted(unit: EigerUnit) -> None:
    unit.arm("SOFTWARE", 5)
    unit.trigger()
    restart_receiver(unit.receiver, unit.station.process.pid)
    wait_state(unit.detector, FAULT, deadline=20.0)
    assert "the receiver was killed" in unit.detector.Status()
    assert unit.state == "idle"
    unit.calm()
    unit.take_series()


def test_frames_that_the_stream_drops_are_missing_and_said(unit: EigerUnit) -> None:
    unit.arm("SOFTWARE", 3)
    unit.trigger()
    until(lambda: unit.detector.ReadyForSwTrigger, "ready")
    unit.box.faults.drop_stream = True
    unit.detector.SoftwareTrigger()
    until(lambda: unit.detector.ReadyForSwTrigger, "ready")
    unit.box.faults.drop_stream = False
    unit.detector.SoftwareTrigger()
    wait_state(unit.detector, ON)
    assert "2 of 3 frames stored" in unit.detector.Status() and "1 missing" in unit.detector.Status()
    assert unit.last()["lost"] == [[1, 1, "missing"]]


@pytest.mark.slow
def test_an_end_message_that_is_dropped(unit: EigerUnit) -> None:
    unit.arm("SOFTWARE", 3)
    unit.trigger()
    unit.trigger()
    until(lambda: unit.detector.ReadyForSwTrigger, "ready")
    unit.box.faults.drop_stream = True
    unit.detector.SoftwareTrigger()
    wait_state(unit.detector, ON)
    assert "2 of 3 frames stored" in unit.detector.Status()
    assert "end message lost" in unit.detector.Status()


@pytest.mark.slow
def test_a_start_message_that_is_dropped_is_refused(unit: EigerUnit) -> None:
    unit.box.faults.drop_stream = True
    unit.arm("SOFTWARE", 3)
    assert unit.detector.State() == MOVING
    wait_state(unit.detector, FAULT, deadline=40.0)
    said, sends = unit.detector.Status(), unit.box.stream_endpoint
    assert "has not begun the series although the start message was sent" in said
    assert f"sends at {sends}, the receiver connects to {sends}: check that these are the same" in said
    assert "File:" not in said
    assert unit.state == "idle"
    unit.calm()
    unit.take_series()


@pytest.mark.parametrize("mode", ["SOFTWARE", "EXTERNAL_MULTI"])
def test_a_box_that_stays_armed_after_its_last_frame(unit: EigerUnit, mode: str) -> None:
    unit.box.faults.stays_armed = True
    unit.arm(mode, 2)
    if mode == "SOFTWARE":
        unit.trigger()
        unit.trigger()
    if mode == "EXTERNAL_MULTI":
        host, _, port = unit.box.trigger_address.rpartition(":")
        source = TriggerSource((host, int(port)))
        for moment in (0.0, 0.1):
            source.pulse(moment=moment)
        source.close()
    wait_state(unit.detector, ON)
    assert "Last series: 2 of 2 frames stored" in unit.detector.Status()
    assert unit.last()["complete"]
    assert unit.state == "idle"


# The wrong stream, a box that hangs ------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "receiver"), [pytest.param("v1", "v2", marks=pytest.mark.slow), ("v2", "v1")]
)
def test_a_receiver_of_the_other_stream_version(beamline: Beamline, device: str, receiver: str) -> None:
    with ControlUnit(sensor=(16, 24)) as box:
        box.box.command("initialize")
        port = int(box.stream_endpoint.rpartition(":")[2])
        server, name = f"Eiger/mixed-{device}", f"mixed-{device}"
        source = {"type": f"dectris-{receiver}", "endpoints": [f"tcp://127.0.0.1:{port}"]}
        process = beamline.receiver(name, port, source=source)
        beamline.register(
            server, "Eiger", f"{name}/det/1", ReceiverUrl=process.url, Host="127.0.0.1",
            Port=box.http_port, Stream=device, StreamPort=port,
        )  # fmt: skip
        beamline.serve(server)
        detector = beamline.device(f"{name}/det/1")
        wait_state(detector, ON)
        assert box.wait_receivers(1, 10.0)
        said = refusal(detector.Arm)
        assert (
            f"expects a stream of type dectris-{receiver}, and this detector sends dectris-{device}" in said
        )
        assert json.loads(detector.Check())["kind"] == "wrong_source"
        assert box.box.settings.state == "idle"
        beamline.end(server)
        process.stop()


@pytest.mark.slow
def test_a_box_that_hangs_and_goes_on(beamline: Beamline) -> None:
    """As a network that is gone: connections stay, and nothing answers."""
    http, stream = free_port(), free_port()
    command = [
        *PENSTOCK, "simplon", "--http", f"127.0.0.1:{http}", "--stream-port", str(stream),
        "--sensor", "16x24", "--json",
    ]  # fmt: skip
    box = Child("simplon", command, json_line)
    station = EigerStation(beamline, "hanging", http, "v1", stream)
    detector = station.detector
    wait_state(detector, FAULT)
    detector.Reset()
    wait_state(detector, ON)
    file = station.root / "hanging.h5"
    station.set(TriggerMode="SOFTWARE", nTriggers=5, ExposureTime=0.002, DestinationFilename=str(file))
    detector.Arm()
    until(lambda: detector.ReadyForSwTrigger, "ready")
    detector.SoftwareTrigger()
    until(lambda: detector.nFramesAcquired == 1, "acquired")
    os.kill(box.pid, signal.SIGSTOP)
    try:
        wait_state(detector, FAULT, deadline=30.0)
        status = detector.Status()
        assert "did not answer GET detector/api/1.8.0/status/state within" in status
        assert "1 of 5 frames stored" in status
        detector.Reset()
        assert detector.State() == MOVING
        wait_state(detector, FAULT, deadline=20.0)
        assert "did not answer" in detector.Status()
    finally:
        os.kill(box.pid, signal.SIGCONT)
    detector.Reset()
    wait_state(detector, ON, deadline=20.0)
    station.set(TriggerMode="INTERNAL", nTriggers=3, DestinationFilename="")
    detector.Arm()
    wait_state(detector, ON)
    assert json.loads(detector.LastSeries)["complete"]
    beamline.end(station.server)
    station.receiver.stop()
    box.stop()
