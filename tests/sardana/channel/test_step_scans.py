"""Step scans of the 2D channel: one series, and each point waits for its frame."""

from __future__ import annotations

import pytest

from penstock.sardana.channel.channel import Channel
from penstock.sardana.channel.detector import Refused
from penstock.sardana.channel.phases import Phase
from penstock.sardana.reference import parse
from tests.sardana.stand_in_detector import StandIn, indices


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
