"""The 2D channel with a detector that the test moves by hand: every phase, every way to end."""

from __future__ import annotations

import ctypes
import json
import threading
import time
from dataclasses import replace

import pytest

from penstock.sardana.channel import metadata
from penstock.sardana.channel.arming import CLOSING_WITHIN
from penstock.sardana.channel.channel import ENDED_WITHIN, READY_WITHIN, Channel
from penstock.sardana.channel.detector import Facts, Refused, Verdict
from penstock.sardana.channel.phases import TABLE, Event, IllegalEvent, Phase, next_phase
from penstock.sardana.reference import parse
from tests.sardana.stand_in_detector import Clock, StandIn


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def detector(clock: Clock) -> StandIn:
    return StandIn(clock)


@pytest.fixture
def channel(clock: Clock, detector: StandIn) -> Channel:
    return Channel(detector, lambda: "sim", clock=clock, pause=clock.pause)


def indices(references: list[str]) -> list[int]:
    found = [parse(text) for text in references]
    return [reference.index for reference in found if reference is not None]


# A step scan ----------------------------------------------------------------------------------


def test_a_step_scan_is_one_series_and_each_point_waits_for_its_frame(
    channel: Channel, detector: StandIn
) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    assert detector.attributes["TriggerMode"] == "SOFTWARE"
    assert (detector.attributes["nTriggers"], detector.attributes["nFramesPerTrigger"]) == (3, 1)
    for point in range(2):
        channel.start()
        assert channel.state()[0] == "Moving"
        detector.take(1)
        assert channel.state()[0] == "On", "the device stays RUNNING between the points"
        found = parse(channel.reference())
        assert found is not None
        assert found.index == point
        assert (found.file, found.dataset) == (channel.file, "entry/instrument/sim_1/data")
    assert detector.calls.count("arm") == 1
    assert detector.calls.count("trigger") == 2


def test_the_last_point_waits_until_the_file_is_closed(channel: Channel, detector: StandIn) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    channel.start()
    detector.take(1)
    assert channel.state()[0] == "Moving"
    assert channel.phase is Phase.CLOSING
    assert channel.state()[0] == "Moving"
    detector.close_file()
    assert channel.state() == ("On", "Ready.")
    assert channel.warning == ""


def test_an_error_while_the_file_is_closed_fails_the_scan(channel: Channel, detector: StandIn) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    channel.start()
    detector.take(1)
    channel.state()
    detector.fail("The disk is full. Call Reset.")
    assert channel.state() == ("Fault", "The disk is full. Call Reset.")
    assert channel.state()[0] == "Fault", "Sardana asks more than once"
    assert channel.warning == "The disk is full. Call Reset."


def test_a_frame_that_is_not_in_the_file_fails_the_scan(channel: Channel, detector: StandIn) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    channel.start()
    detector.take(1)
    channel.state()
    detector.close_file(complete=False, missing=1, sentence="0 of 1 frame stored, 1 missing.")
    assert channel.state() == ("Fault", "sim: 0 of 1 frame stored, 1 missing.")


def test_a_trigger_that_comes_too_early_is_given_when_the_detector_is_ready(
    channel: Channel, detector: StandIn
) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 2)
    detector.ready = False
    channel.start()
    assert channel.state()[0] == "Moving"
    assert detector.calls.count("trigger") == 1
    detector.ready = True
    assert channel.state()[0] == "Moving"
    assert detector.calls.count("trigger") == 2
    channel.state()
    assert detector.calls.count("trigger") == 2, "it is given once"


def test_a_start_that_fails_does_not_raise(channel: Channel, detector: StandIn) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 2)
    detector.refuses["trigger"] = Refused("unavailable", "the streamer died")
    channel.start()
    assert channel.state() == ("Fault", "the streamer died")


def test_a_refusal_after_a_failed_series_has_its_own_cause(channel: Channel, detector: StandIn) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    detector.fail("The disk is full. Call Reset.")
    assert channel.state() == ("Fault", "The disk is full. Call Reset.")
    detector.status = "The receiver does not answer. Call Reset."
    with pytest.raises(Refused, match="receiver does not answer"):
        channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    assert channel.state() == ("Fault", "The receiver does not answer. Call Reset.")
    assert channel.warning == "", "what det_end would show as a warning of this scan"


@pytest.mark.parametrize("synchronization", ["SoftwareTrigger", "HardwareTrigger"])
def test_a_detector_that_fails_between_two_points_fails_the_next_one(
    channel: Channel, detector: StandIn, synchronization: str
) -> None:
    channel.prepare(synchronization, 0.1, 1, 0.0, 3)
    channel.start()
    detector.take(1)
    channel.state()
    detector.clock.now += 1.0  # the readout after an electrical trigger
    assert channel.state()[0] == "On"
    detector.fail("The receiver is gone. Call Reset.")
    detector.refuses["trigger"] = Refused("not_running", "the device is in FAULT")
    channel.start()
    assert channel.state() == ("Fault", "The receiver is gone. Call Reset.")


def test_bursts_with_a_software_start(channel: Channel, detector: StandIn) -> None:
    channel.prepare("SoftwareStart", 0.1, 5, 0.02, 2)
    wanted = {"TriggerMode": "SOFTWARE", "nTriggers": 2, "nFramesPerTrigger": 5, "LatencyTime": 0.02}
    assert wanted.items() <= detector.attributes.items()
    channel.start()
    detector.take(3)
    channel.state()
    assert indices(channel.new_references()) == [0, 1, 2]
    detector.take(2)
    assert channel.state()[0] == "On"
    assert indices(channel.new_references()) == [3, 4]
    channel.start()
    assert channel.state()[0] == "Moving"
    detector.take(5)
    channel.state()
    detector.close_file()
    assert channel.state()[0] == "On"
    assert indices(channel.new_references()) == [5, 6, 7, 8, 9]


# Hardware -------------------------------------------------------------------------------------


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


# Preparing ------------------------------------------------------------------------------------


def test_only_what_differs_is_written(channel: Channel, detector: StandIn, clock: Clock) -> None:
    for _ in range(2):
        channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
        channel.start()
        detector.take(1)
        channel.state()
        detector.close_file()
        channel.state()
    assert detector.written[-1].keys() == {"DestinationFilename"}


@pytest.mark.parametrize("planned", [1_000_000, -1], ids=["live", "until Stop, into a file"])
def test_a_series_of_somebody_else_is_not_touched(planned: int, channel: Channel, detector: StandIn) -> None:
    detector.state, detector.series, detector.status = "RUNNING", "theirs", "Taking frames until Stop."
    detector.known = Facts(armed_by="Java client, PID 7 on daq-1", planned=planned)
    with pytest.raises(
        Refused,
        match=r"or one from before a restart of the Pool, armed by Java client, PID 7 on daq-1: "
        r"Taking frames until Stop\. Stop it there, or send the command Stop to sim/det/1, and",
    ):
        channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    assert not {"stop", "abort", "arm", "write"} & set(detector.calls)


def test_a_series_that_has_no_name_yet_is_somebody_elses(channel: Channel, detector: StandIn) -> None:
    detector.state, detector.known = "MOVING", Facts(planned=5)
    with pytest.raises(Refused, match="somebody else"):
        channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)


def test_a_stale_series_of_its_own_is_stopped(channel: Channel, detector: StandIn) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 5)
    channel.start()
    detector.take(1)
    channel.state()
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 5)
    assert detector.calls.count("stop") == 1
    assert channel.phase is Phase.ARMED
    assert channel.file.endswith("_0002.h5")


def test_a_file_that_is_being_closed_is_waited_for(channel: Channel, detector: StandIn, clock: Clock) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    channel.start()
    detector.closes_at = clock() + 1.0
    channel.stop()
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    assert clock() == pytest.approx(1.0, abs=0.05)


def test_the_wait_for_a_file_ends_with_a_sentence(channel: Channel, detector: StandIn, clock: Clock) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    channel.start()
    detector.closes_at, detector.status = 1e9, "The receiver closes the file."
    channel.stop()
    with pytest.raises(Refused, match=r"has not ended within 2 s: The receiver closes the file\."):
        channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    assert clock() <= ENDED_WITHIN + CLOSING_WITHIN + 0.05


def test_a_fault_is_passed_on_in_the_devices_own_words(channel: Channel, detector: StandIn) -> None:
    detector.fail("The camera is not cooled. Call Reset.")
    with pytest.raises(Refused) as caught:
        channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    assert str(caught.value) == "The camera is not cooled. Call Reset."


def test_an_arm_without_an_answer_leaves_nothing_armed(channel: Channel, detector: StandIn) -> None:
    detector.refuses["arm"] = Refused("lost", "the detector device does not answer")
    with pytest.raises(Refused, match="does not answer"):
        channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    assert detector.calls[-1] == "stop"


def test_names_that_exist_are_skipped(channel: Channel, detector: StandIn) -> None:
    detector.files = {f"/data/ct_00000_sim_{number:04d}.h5" for number in range(1, 1000)}
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    assert channel.file == "/data/ct_00000_sim_1000.h5"
    assert detector.calls.count("check") < 25
    assert detector.calls.count("arm") == 2


def test_files_are_numbered_within_a_scan_and_named_after_it(
    channel: Channel, detector: StandIn, clock: Clock
) -> None:
    def series(scan: int) -> str:
        context = {"scan_dir": "/data/visit", "scan_file": "ceo2", "scan_id": scan, "user": "ada"}
        channel.arming.context = json.dumps(context)
        channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
        return channel.file

    assert series(7) == "/data/visit/ceo2_00007_sim_0001.h5"
    assert series(7) == "/data/visit/ceo2_00007_sim_0002.h5"
    assert series(8) == "/data/visit/ceo2_00008_sim_0001.h5"
    channel.arming.context = ""
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    assert channel.file == "/data/visit/ct_00000_sim_0001.h5", "ct goes where the last scan went"


def test_the_pattern_of_the_measurement_group_goes_before_the_template(
    channel: Channel, detector: StandIn
) -> None:
    channel.arming.pattern = "h5file:///data/mine_{index}"
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    assert detector.attributes["DestinationFilename"] == "/data/mine_1.h5"


def test_without_references_no_file_is_written(channel: Channel, detector: StandIn) -> None:
    channel.arming.references = False
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 2)
    assert detector.attributes["DestinationFilename"] == ""
    channel.start()
    assert channel.image()[0, 0] == 0
    with pytest.raises(Refused, match="only step scans and ct"):
        channel.prepare("HardwareTrigger", 0.1, 5, 0.0, 1)


def test_a_detector_that_saves_nothing_is_refused(channel: Channel, detector: StandIn) -> None:
    detector.attributes["SaveRaw"] = False
    with pytest.raises(
        Refused, match=r"set it to true \(det_setup sim SaveRaw true\), or switch value references off"
    ):
        channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)


# Ends -----------------------------------------------------------------------------------------


def test_an_abort_ends_the_context_of_the_scan(channel: Channel) -> None:
    """Sardana runs no hook then, and the next count does not belong to the scan."""
    channel.arming.context = '{"scan_id": 7}'
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    channel.stop()
    assert channel.arming.context
    channel.abort()
    assert channel.arming.context == ""


def test_what_the_context_leaves_open_is_as_outside_a_scan(channel: Channel) -> None:
    channel.arming.context = '{"scan_dir": "", "scan_file": "", "scan_id": 7}'
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    assert channel.file.endswith("/ct_00007_sim_0001.h5"), channel.file


@pytest.mark.parametrize("how", ["stop", "abort"])
@pytest.mark.parametrize("phase", [Phase.ARMED, Phase.EXPOSING, Phase.CLOSING])
def test_stop_and_abort_in_every_phase(
    channel: Channel, detector: StandIn, clock: Clock, phase: Phase, how: str
) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    if phase is not Phase.ARMED:
        channel.start()
    if phase is Phase.CLOSING:
        detector.take(1)
        channel.state()
    assert channel.phase is phase
    getattr(channel, how)()
    assert how in detector.calls
    assert channel.state()[0] == "On", "the series has ended within a moment"
    getattr(channel, how)()
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    assert channel.phase is Phase.ARMED


def test_stop_does_not_wait_for_a_long_exposure(channel: Channel, detector: StandIn, clock: Clock) -> None:
    channel.prepare("SoftwareTrigger", 30.0, 1, 0.0, 1)
    channel.start()
    detector.closes_at = 30.0
    channel.stop()
    assert clock() == pytest.approx(ENDED_WITHIN, abs=0.05)
    assert channel.state()[0] == "Moving"
    channel.stop()
    clock.now = 30.0
    assert channel.state()[0] == "On"


def test_nothing_is_stopped_that_is_not_its_own(channel: Channel, detector: StandIn) -> None:
    channel.stop()
    channel.abort()
    assert not {"stop", "abort"} & set(detector.calls)


@pytest.mark.parametrize("how", ["stop", "abort"])
@pytest.mark.parametrize("phase", [Phase.ARMED, Phase.EXPOSING, Phase.CLOSING, Phase.ENDING, Phase.FAILED])
def test_a_series_that_somebody_has_armed_meanwhile_is_not_stopped(
    channel: Channel, detector: StandIn, phase: Phase, how: str
) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    if phase is not Phase.ARMED:
        channel.start()
    channel.phase = phase
    detector.state, detector.series, detector.status = "RUNNING", "theirs", "Taking frames until Stop."
    getattr(channel, how)()
    assert not {"stop", "abort"} & set(detector.calls)
    assert channel.state()[0] == "Fault"
    if phase is not Phase.FAILED:
        assert "somebody else has armed it since" in channel.warning


def test_a_series_that_got_its_id_after_arm_is_stopped(channel: Channel, detector: StandIn) -> None:
    detector.slow_arm = True
    plain = detector.arm

    def unnamed() -> None:
        plain()
        detector.series = ""

    detector.arm = unnamed  # type: ignore[method-assign]
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    detector.series = "named since"
    channel.stop()
    assert "stop" in detector.calls


def test_hardware_that_is_set_up_slowly_gets_its_id_and_its_dataset_later(
    channel: Channel, detector: StandIn
) -> None:
    whole, plain = detector.known, detector.arm

    def unnamed() -> None:
        plain()
        detector.series, detector.ready, detector.state = "", False, "MOVING"
        detector.known = replace(detector.known, dataset="")

    detector.arm = unnamed  # type: ignore[method-assign]
    detector.refuses["trigger"] = Refused("not_ready", "SoftwareTrigger refused: Arm first")
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 2)
    channel.start()
    assert channel.state()[0] == "Moving"
    detector.series = "named since"
    assert channel.state()[0] == "Moving"
    detector.refuses.clear()
    detector.state, detector.ready = "RUNNING", True
    detector.known = replace(detector.known, dataset=whole.dataset)
    assert channel.state()[0] == "Moving"
    detector.take(1)
    assert channel.state()[0] == "On"
    found = parse(channel.reference())
    assert found is not None
    assert found.dataset == whole.dataset
    detector.series = "theirs"
    assert "somebody else has armed it since" in channel.state()[1]


def test_a_series_that_somebody_arms_slowly_meanwhile_is_not_stopped(
    channel: Channel, detector: StandIn, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    detector.slow_arm = True
    channel.prepare("HardwareTrigger", 0.1, 4, 0.0, 1)

    def rearmed(seconds: float) -> None:
        clock.pause(seconds)
        detector.series = "theirs"

    monkeypatch.setattr(channel, "_pause", rearmed)
    channel.start()
    assert "stop" not in detector.calls
    assert "somebody else has armed it since" in channel.state()[1]


def test_a_server_that_dies_is_a_fault_with_a_sentence(channel: Channel, detector: StandIn) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    channel.start()
    detector.vanish()
    state, sentence = channel.state()
    assert (state, sentence) == (
        "Fault", "the detector device sim/det/1 does not answer; is its server running?",
    )  # fmt: skip
    channel.stop()
    channel.abort()
    channel.start()
    assert channel.state()[0] == "Fault"


def test_a_server_that_was_restarted_is_a_fault(channel: Channel, detector: StandIn) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    channel.start()
    detector.state, detector.series, detector.acquired = "ON", "", 0
    state, sentence = channel.state()
    assert state == "Fault"
    assert "has lost the series" in sentence


def test_somebody_who_stops_a_step_scan_at_the_panel_fails_it(channel: Channel, detector: StandIn) -> None:
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    channel.start()
    detector.close_file(complete=False, not_triggered=3, sentence="0 of 3 frames stored: stopped.")
    assert channel.state() == ("Fault", "sim: 0 of 3 frames stored: stopped.")


def test_an_idle_channel_shows_what_the_device_says(channel: Channel, detector: StandIn) -> None:
    assert channel.state() == ("On", "Ready.")
    detector.fail("The camera is not cooled.")
    assert channel.state() == ("Fault", "The camera is not cooled.")


@pytest.mark.parametrize("how", ["stop", "abort"])
@pytest.mark.parametrize("call", ["settings", "arm", "write", "snapshot"])
def test_what_is_armed_while_stop_comes_is_stopped(
    channel: Channel, detector: StandIn, clock: Clock, monkeypatch: pytest.MonkeyPatch, call: str, how: str
) -> None:
    """Sardana's threads: one prepares, another one stops."""
    channel.arming.context = '{"scan_id": 7}'
    stopper = threading.Thread(target=getattr(channel, how))
    plain = getattr(detector, call)

    def interrupted(*arguments: object) -> object:
        answer = plain(*arguments)
        if stopper.ident is None:
            stopper.start()
            deadline = time.monotonic() + 5.0
            while not channel._cancelled:
                assert time.monotonic() < deadline
        return answer

    monkeypatch.setattr(detector, call, interrupted)
    with pytest.raises(Refused, match="sim: stopped while the series was being armed"):
        channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    stopper.join(5.0)
    assert not stopper.is_alive()
    assert (channel.arming.context == "") == (how == "abort")
    if "arm" in detector.calls:
        assert "stop" in detector.calls[detector.calls.index("arm") :]
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    assert channel.phase is Phase.ARMED, "it does not cancel the next one"


def test_an_exception_in_the_waiting_thread_leaves_nothing_armed(
    channel: Channel, detector: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AbortMacro, where Pool and MacroServer are one process."""

    class AbortException(Exception):
        pass

    plain, macro = detector.arm, threading.get_ident()

    def aborted() -> None:
        plain()
        # A library of its own: Sardana declares other types for the function of `ctypes.pythonapi`.
        ctypes.PyDLL(None).PyThreadState_SetAsyncExc(ctypes.c_ulong(macro), ctypes.py_object(AbortException))

    monkeypatch.setattr(detector, "arm", aborted)
    with pytest.raises(AbortException):
        channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    assert "stop" in detector.calls[detector.calls.index("arm") :]
    monkeypatch.undo()
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    assert channel.phase is Phase.ARMED


def test_a_device_that_answers_nonsense_after_arm_is_not_left_armed(
    channel: Channel, detector: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = detector.arm

    def broken() -> None:
        plain()
        monkeypatch.setattr(detector, "facts", lambda: int("nonsense"))

    monkeypatch.setattr(detector, "arm", broken)
    with pytest.raises(ValueError, match="nonsense"):
        channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 3)
    assert detector.calls[-1] == "stop"


# Metadata -------------------------------------------------------------------------------------


def test_the_scan_is_told_to_the_file_and_the_users_own_stays(channel: Channel, detector: StandIn) -> None:
    detector.attributes["Metadata"] = '{"sample": "CeO2", "title": "mine"}'
    channel.arming.context = json.dumps(
        {"scan_dir": "/data", "scan_file": "s", "scan_id": 3, "title": "ascan mot01", "user": "ada"}
    )
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    merged = json.loads(detector.attributes["Metadata"])
    assert merged["sample"] == "CeO2"
    assert merged["title"] == "mine"
    assert (merged["entry_identifier"], merged["user"]) == ("3", {"name": "ada"})
    channel.arming.context = ""
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    assert json.loads(detector.attributes["Metadata"]) == {"sample": "CeO2", "title": "mine"}


def test_what_the_user_writes_between_two_scans_stays(channel: Channel, detector: StandIn) -> None:
    scan = {"scan_dir": "/data", "scan_file": "s", "user": "ada"}
    channel.arming.context = json.dumps({**scan, "scan_id": 3})
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    present = json.loads(detector.attributes["Metadata"])
    present["user"]["role"] = "principal investigator"
    detector.attributes["Metadata"] = json.dumps(present)
    channel.arming.context = json.dumps({**scan, "scan_id": 4, "user": "bob"})
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    merged = json.loads(detector.attributes["Metadata"])
    assert merged["user"] == {"name": "bob", "role": "principal investigator"}
    assert merged["entry_identifier"] == "4"


def test_what_a_scan_has_put_there_goes_without_a_memory_of_it(channel: Channel, detector: StandIn) -> None:
    own = {"sample": "CeO2", "title": "mine", "user": {"name": "ada"}, "scan": {"macro": "theirs"}}
    detector.attributes["Metadata"] = json.dumps(own)
    channel.arming.context = json.dumps(
        {"scan_dir": "/data", "scan_file": "s", "scan_id": 3, "title": "t", "user": "ada", "macro": "ascan",
         "motors": ["mot01"]}
    )  # fmt: skip
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    merged = detector.attributes["Metadata"]
    assert json.loads(merged)["scan"]["motors"] == ["mot01"]
    assert json.loads(metadata.without_scan(merged)) == own
    assert metadata.without_scan("") == ""
    assert metadata.without_scan('{"title": "mine"}') == '{"title": "mine"}'
    assert metadata.ScanMetadata().merged(merged, {}) == json.dumps(own), "after a restart of the Pool"


# The table ------------------------------------------------------------------------------------


def test_an_illegal_event_raises_and_every_phase_can_be_left() -> None:
    with pytest.raises(IllegalEvent, match="LAST while idle"):
        next_phase(Phase.IDLE, Event.LAST)
    for phase in Phase:
        assert {after for (before, _), after in TABLE.items() if before is phase} - {phase}
