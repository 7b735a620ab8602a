"""The 2D channel with hardware triggers: modes, references while a row is taken, triggers that are lost."""

from __future__ import annotations

import pytest

from penstock.sardana.channel.channel import READY_WITHIN, Channel
from penstock.sardana.channel.detector import Facts, Refused, Verdict
from penstock.sardana.channel.phases import Phase
from tests.sardana.stand_in_detector import Clock, StandIn, indices


@pytest.mark.parametrize(
    ("synchronization", "starts", "settings"),
    [
        ("HardwareTrigger", 1, {"TriggerMode": "EXTERNAL_MULTI", "nTriggers": 4, "nFramesPerTrigger": 1}),
        ("HardwareTrigger", 3, {"TriggerMode": "EXTERNAL_MULTI", "nTriggers": 12, "nFramesPerTrigger": 1}),
        ("HardwareGate", 1, {"TriggerMode": "EXTERNAL_MULTI_GATE", "nTriggers": 4, "nFramesPerTrigger": 1}),
        ("HardwareStart", 1, {"TriggerMode": "EXTERNAL", "nTriggers": 1, "nFramesPerTrigger": 4}),
        ("HardwareStart", 2, {"TriggerMode": "EXTERNAL_MULTI", "nTriggers": 2, "nFramesPerTrigger": 4}),
    ],
)
def test_the_trigger_mode_follows_sardanas_synchronization(
    channel: Channel, detector: StandIn, synchronization: str, starts: int, settings: dict[str, object]
) -> None:
    channel.prepare(synchronization, 0.1, 4, 0.02, starts)
    assert settings.items() <= detector.attributes.items()


def test_a_mode_that_the_camera_lacks_is_refused(channel: Channel, detector: StandIn) -> None:
    detector.known = Facts(modes=("INTERNAL", "SOFTWARE"))
    with pytest.raises(Refused, match="no TriggerMode EXTERNAL_MULTI_GATE.*it has INTERNAL, SOFTWARE"):
        channel.prepare("HardwareGate", 0.1, 4, 0.02, 1)
    assert "arm" not in detector.calls


def test_references_are_given_while_the_row_is_taken_and_by_index(
    channel: Channel, detector: StandIn
) -> None:
    channel.prepare("HardwareTrigger", 0.1, 4, 0.0, 1)
    channel.start()
    assert indices(channel.new_references()) == []
    detector.take(2)
    channel.state()
    assert indices(channel.new_references()) == [0, 1]
    detector.take(2)
    assert channel.state()[0] == "Moving"
    detector.close_file()
    assert channel.state()[0] == "On"
    assert indices(channel.new_references()) == [2, 3]
    assert indices(channel.new_references()) == []


def test_a_lost_trigger_ends_the_series_and_every_index_has_its_reference(
    channel: Channel, detector: StandIn, clock: Clock
) -> None:
    channel.missing_trigger_time = 2.0
    channel.prepare("HardwareTrigger", 0.1, 4, 0.4, 1)
    channel.start()
    clock.pause(100.0)
    assert channel.state()[0] == "Moving", "before the first frame nothing is overdue"
    detector.take(3)
    channel.state()
    clock.pause(2.4)
    channel.state()
    assert "stop" not in detector.calls, "the planned period of 0.5 s goes before"
    clock.pause(0.2)
    assert channel.state()[0] == "Moving"
    assert detector.calls.count("stop") == 1
    detector.close_file(complete=False, missing=1)
    detector.closes_at = None
    detector.ended = Verdict(
        detector.series, False, "3 of 4 frames stored, 1 missing.", 4, {"missing": 1}, ((1, 1, "missing"),)
    )
    assert channel.state()[0] == "On"
    assert channel.warning == f"sim: 1 of 4 frames is not in {channel.file}: index 1 missing"
    assert indices(channel.new_references()) == [0, 1, 2, 3]


def test_a_trigger_lost_between_hardware_steps_costs_its_point_alone(
    channel: Channel, detector: StandIn, clock: Clock
) -> None:
    channel.prepare("HardwareTrigger", 0.1, 1, 0.0, 4)
    for point in range(4):
        channel.start()
        detector.take(0 if point == 2 else 1)
        channel.state()
        clock.pause(0.01)
        if point == 2:
            assert channel.state()[0] == "Moving"
            clock.pause(10.2)
            channel.state()
        if point < 3:
            assert channel.state()[0] == "On"
        assert "stop" not in detector.calls
    assert channel.state()[0] == "Moving"
    detector.close_file(complete=False, missing=1)
    assert channel.state()[0] == "On"
    assert indices(channel.new_references()) == [0, 1, 2, 3]


def test_a_hardware_step_waits_for_the_read_out(channel: Channel, detector: StandIn, clock: Clock) -> None:
    detector.known = Facts(readout_time=0.3)
    channel.prepare("HardwareTrigger", 0.1, 1, 0.3, 2)
    channel.start()
    detector.take(1)
    assert channel.state()[0] == "Moving"
    clock.pause(0.29)
    assert channel.state()[0] == "Moving"
    clock.pause(0.02)
    assert channel.state()[0] == "On"


def test_an_acquisition_that_sardana_still_polls_sees_its_end(
    channel: Channel, detector: StandIn, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel.prepare("HardwareTrigger", 0.1, 4, 0.0, 1)
    channel.start()
    seen: list[object] = []

    def polled(seconds: float) -> None:
        clock.pause(seconds)
        if channel.phase is Phase.IDLE:
            seen.extend([channel.state()[0], channel.new_references()])

    monkeypatch.setattr(channel, "_pause", polled)
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    assert seen[0] == "On"
    assert isinstance(seen[1], list)
    assert channel.phase is Phase.ARMED


def test_a_missing_trigger_time_of_zero_waits_for_ever(
    channel: Channel, detector: StandIn, clock: Clock
) -> None:
    channel.missing_trigger_time = 0.0
    channel.prepare("HardwareTrigger", 0.1, 4, 0.0, 1)
    channel.start()
    detector.take(3)
    channel.state()
    clock.pause(1e6)
    assert channel.state()[0] == "Moving"


def test_without_a_trigger_counter_the_warning_says_that_indices_are_uncertain(
    channel: Channel, detector: StandIn
) -> None:
    detector.known = Facts(index_source="arrival")
    channel.prepare("HardwareTrigger", 0.1, 4, 0.0, 1)
    channel.start()
    detector.take(3)
    channel.state()
    detector.close_file(complete=False)
    detector.ended = Verdict(detector.series, False, "", 4, {"not_triggered": 1}, ((3, 3, "not_triggered"),))
    assert channel.state()[0] == "On"
    assert "indices of the frames after a lost trigger are uncertain" in channel.warning


def test_frames_lost_after_the_hardware_are_no_lost_triggers(channel: Channel, detector: StandIn) -> None:
    channel.prepare("HardwareTrigger", 0.1, 4, 0.0, 1)
    channel.start()
    detector.take(4)
    channel.state()
    detector.close_file(complete=False, missing=1, sentence="3 of 4 frames stored, 1 missing.")
    assert channel.state() == ("Fault", "sim: 3 of 4 frames stored, 1 missing.")


def test_a_row_without_a_single_frame_fails_the_scan(channel: Channel, detector: StandIn) -> None:
    channel.prepare("HardwareTrigger", 0.1, 4, 0.0, 1)
    channel.start()
    detector.close_file(complete=False, not_triggered=4, sentence="Ended by ArmedTimeLimit.")
    assert channel.state() == ("Fault", "sim: Ended by ArmedTimeLimit.")
    assert channel.new_references() == []


def test_a_software_trigger_without_a_frame_fails_the_scan(
    channel: Channel, detector: StandIn, clock: Clock
) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 2)
    channel.start()
    clock.pause(10.2)
    assert channel.state()[0] == "Moving"
    assert "stop" in detector.calls
    detector.closes_at = None
    detector.close_file(complete=False, missing=1, not_triggered=1, sentence="0 of 2 frames stored.")
    assert channel.state() == (
        "Fault", "sim: no frame came within 10 s of its trigger. 0 of 2 frames stored.",
    )  # fmt: skip


def test_a_hardware_start_waits_for_a_detector_that_arms_slowly(
    channel: Channel, detector: StandIn, clock: Clock
) -> None:
    detector.slow_arm = True
    channel.prepare("HardwareTrigger", 0.1, 4, 0.0, 1)
    began = clock()
    channel.start()
    assert clock() - began >= READY_WITHIN
    state, sentence = channel.state()
    assert state == "Fault"
    assert "still arming 2 s after the start" in sentence
    assert "stop" in detector.calls, "nothing stays armed"
