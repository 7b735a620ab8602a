"""How a series of a Pilatus ends: stopped, killed, or by a fault of camserver or the light streamer."""

from __future__ import annotations

import pytest

from penstock.devices._camserver import client as client_module
from penstock.devices._camserver import readings
from penstock.devices._camserver import series as series_module
from penstock.devices.pilatus import Pilatus
from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.own_stream import BoxState
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.camera.unit import CameraError
from penstock.streamer.simulated.camserver.faults import Faults
from penstock.streamer.simulated.camserver.server import SimulatedCamserver
from penstock.streamer.simulated.triggers import TriggerSource
from tests.devices.pilatus.units import address_of, series
from tests.streamer.own_stream.rig import Rig, done
from tests.streamer.simulated.camserver.light_process import LightReady
from tests.system.beamline import until

LONG = 3600.0


def test_a_refusal_of_camserver_is_passed_on_unchanged_and_nothing_is_left_behind(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    simulated.faults = Faults(refuse={"ExtTrigger": "no high voltage on bank 2"})
    box.prepare(0.01, trigger_mode=TriggerMode.EXTERNAL)
    with pytest.raises(Refused, match="15 ERR no high voltage on bank 2"):
        done(box.engine.start())
    _, frames, end = box.series()
    assert frames == [] and end.reason == "abort" and "no high voltage on bank 2" in str(end.message)
    assert "no high voltage" in box.until_state("idle").message  # ready for the next
    simulated.faults = Faults()
    box.arm(0.01, n_triggers=2)
    assert len(box.series()[1]) == 2


@pytest.mark.parametrize("mode", [TriggerMode.INTERNAL, TriggerMode.SOFTWARE])
def test_a_disk_that_becomes_full_ends_the_series_with_camservers_words_and_the_counts(
    box: Rig, simulated: SimulatedCamserver, mode: TriggerMode
) -> None:
    box.arm(0.05, trigger_mode=mode, n_triggers=1, n_frames_per_trigger=100)
    if mode is TriggerMode.SOFTWARE:
        box.engine.trigger()
    box.until(lambda status: (status.acquired or 0) >= 2)
    simulated.faults = Faults(disk_full=True)
    message = box.until_state("fault").message
    assert "Cannot write penstock-" in message and "No space left on device" in message
    assert "of 100 frames taken" in message
    _, frames, end = box.series()
    assert end.reason == "fault" and "No space left on device" in str(end.message)
    assert len(frames) >= 2 and end.sent == len(frames)
    simulated.faults = Faults()
    done(box.engine.reset())
    box.until_state("idle")
    box.arm(0.01, n_triggers=2)
    assert len(box.series()[1]) == 2


def test_an_exposure_that_is_refused_in_a_series_ends_it_with_the_words(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    simulated.faults = Faults(refuse={"Exposure": "no high voltage"})
    box.arm(0.01, n_triggers=3)
    assert "15 ERR no high voltage" in box.until_state("fault").message
    _, frames, end = box.series()
    assert (frames, end.reason) == ([], "fault")
    assert "no high voltage" in str(end.message)
    done(box.engine.reset())
    box.until_state("idle")


def test_an_error_in_a_series_is_a_fault_in_camservers_words(box: Rig, simulated: SimulatedCamserver) -> None:
    box.arm(0.05, trigger_mode=TriggerMode.EXTERNAL, n_triggers=100)
    simulated.faults = Faults(error="bank 2 does not answer")
    triggers = TriggerSource(address_of(simulated.trigger_address))
    triggers.pulse()
    triggers.close()
    message = box.until_state("fault").message
    assert "has ended the series: 7 ERR bank 2 does not answer (0 of 100 frames taken, 0 sent)" in message
    assert "7 ERR bank 2 does not answer" in str(box.series()[2].message)


def test_two_answers_to_a_kill_are_one_end(box: Rig, simulated: SimulatedCamserver) -> None:
    simulated.faults = Faults(both_ends=True)
    box.arm(LONG, n_triggers=3)
    done(box.engine.abort())
    assert "aborted" in box.until_state("idle").message
    assert box.series()[2].reason == "abort"
    box.arm(0.05, n_triggers=2)
    assert len(box.series()[1]) == 2
    assert "2 of 2 frames triggered" in box.until_state("idle").message


@pytest.mark.parametrize("how", ["abort", "stop", "typed K"])
def test_a_killed_series_has_ended_once_camserver_takes_the_next_one(
    box: Rig, simulated: SimulatedCamserver, how: str
) -> None:
    simulated.faults = Faults(both_ends=True, slow_kill=0.5)
    box.arm(0.05, trigger_mode=TriggerMode.EXTERNAL_MULTI, n_triggers=3)
    if how == "typed K":
        simulated.type_at_window("K")
    else:
        done(getattr(box.engine, how)())
    box.until_state("idle")
    assert not simulated.box.exposing
    assert box.series()[1] == []
    box.arm(0.01, n_triggers=2)
    assert [frame.image.frame for frame in box.series()[1]] == [0, 1]
    assert "2 of 2 frames triggered" in box.until_state("idle").message


def test_what_camserver_said_in_a_series_is_forgotten_after_it(
    box: Rig, simulated: SimulatedCamserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings, "STATE_EVERY", LONG)
    assert isinstance(box.unit, Pilatus)
    box.arm(0.3, n_triggers=1)
    until(lambda: simulated.box.exposing, "exposing")
    box.unit._readings.learn()  # as when the watcher asks while the series is being armed
    box.until_state("idle")
    assert box.unit.progress().state is BoxState.IDLE


def test_stop_ends_a_series_whose_exposures_are_long_with_what_there_is(box: Rig) -> None:
    box.arm(0.01, trigger_mode=TriggerMode.SOFTWARE, n_triggers=5)
    box.engine.trigger()
    box.until(lambda status: status.acquired == 1)
    done(box.engine.stop())
    box.until_state("idle")
    _, frames, end = box.series()
    assert (len(frames), end.reason, end.triggered, end.sent) == (1, "stop", 1, 1)


def test_a_file_that_does_not_come_is_a_lost_frame_at_its_place(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    simulated.faults = Faults(lost_files=(1,))
    box.arm(0.01, n_triggers=3)
    _, frames, end = box.series()
    assert [frame.image.frame for frame in frames] == [0, 2]
    assert (end.triggered, end.sent, end.lost) == (3, 2, {"camera": 1})
    box.until_state("idle")
    assert box.unit.dropped() == 1


def test_who_ends_it_at_camservers_window_has_ended_it_early(box: Rig, simulated: SimulatedCamserver) -> None:
    box.arm(0.05, n_triggers=1000)
    box.until(lambda status: (status.acquired or 0) >= 2)
    simulated.type_at_window("K")
    assert box.until_state("idle").ended_early
    _, _, end = box.series()
    assert end.reason == "stop" and "somebody has ended it at camserver" in str(end.message)


def test_who_ends_a_triggered_image_at_camservers_window_has_ended_the_series(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    box.arm(LONG, trigger_mode=TriggerMode.SOFTWARE, n_triggers=3)
    box.engine.trigger()
    until(lambda: simulated.box.exposing, "exposing")
    simulated.type_at_window("K")
    box.until_state("idle")
    _, frames, end = box.series()
    assert (frames, end.reason) == ([], "stop")
    assert "somebody has ended it at camserver" in str(end.message)
    box.arm(0.01, n_triggers=2)
    assert len(box.series()[1]) == 2


def test_a_process_that_ends_in_a_series_ends_it_at_camserver_and_light_streamer(
    box: Rig, simulated: SimulatedCamserver, light: LightReady
) -> None:
    box.arm(LONG, trigger_mode=TriggerMode.INTERNAL)
    light.until(lambda status: status.state == "acquiring")
    box.engine.close()
    light.until(lambda status: status.state == "idle")
    assert not simulated.box.exposing


@pytest.mark.parametrize("mode", [TriggerMode.INTERNAL, TriggerMode.SOFTWARE])
def test_an_exposure_whose_end_nobody_says_is_a_fault(
    box: Rig, simulated: SimulatedCamserver, mode: TriggerMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series_module, "LATE_BY", 0.3)
    monkeypatch.setattr(client_module, "KILLED_WITHIN", 0.2)
    simulated.faults = Faults(silent_ends=True)
    box.arm(0.01, trigger_mode=mode, n_triggers=1)
    if mode is TriggerMode.SOFTWARE:
        box.engine.trigger()
    assert "is idle, and has not said that an exposure of 0.01095 s has" in box.until_state("fault").message
    simulated.faults = Faults()
    done(box.engine.reset())
    box.until_state("idle")
    box.arm(0.01, n_triggers=2)
    box.until_state("idle")


def test_who_arms_it_at_camservers_window_is_noticed_and_killed_by_reset_only(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    simulated.type_at_window("ExpTime 3600")
    simulated.type_at_window("Exposure theirs.cbf")
    box.until_state("fault")
    done(box.engine.abort())
    assert simulated.box.exposing
    done(box.engine.reset())
    assert not simulated.box.exposing


def test_a_light_streamer_that_was_restarted_has_lost_the_series(
    box: Rig, simulated: SimulatedCamserver, light: LightReady
) -> None:
    box.arm(0.05, n_triggers=1000)
    light.reset()
    assert "has ended this series by itself" in box.until_state("fault").message
    done(box.engine.reset())
    box.until_state("idle")
    assert not simulated.box.exposing


def test_a_control_unit_that_fails_ends_the_file_and_is_a_fault(
    box: Rig, simulated: SimulatedCamserver
) -> None:
    box.arm(0.05, trigger_mode=TriggerMode.EXTERNAL, n_triggers=3)
    simulated.power(False)
    assert "broke off" in box.until_state("fault").message
    assert box.series()[2].reason == "fault"


def test_without_a_receiver_nothing_is_armed(
    pilatus: Pilatus, simulated: SimulatedCamserver, light: LightReady
) -> None:
    pilatus.prepare(series(pilatus))
    from penstock.stins.user_part import UserPart

    with pytest.raises(CameraError, match=r"the light streamer at .* refuses: .*no receiver"):
        pilatus.arm(UserPart(arm="0123456789abcdef", filename=""))
    assert pilatus.progress().state is BoxState.IDLE
