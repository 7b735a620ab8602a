"""What the 2D channel does before a series: settings, names of files, and who is in its way."""

from __future__ import annotations

import json

import pytest

from penstock.sardana.channel.arming import CLOSING_WITHIN
from penstock.sardana.channel.channel import ENDED_WITHIN, Channel
from penstock.sardana.channel.detector import Facts, Refused
from penstock.sardana.channel.phases import Phase
from tests.sardana.stand_in_detector import Clock, StandIn


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
