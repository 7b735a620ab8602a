"""Arm fails as an exception, in time, with a sentence that says what to do; then all is as before."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import tango
import zmq

from tests.system.accounts import check_account
from tests.system.beamline import ON, Station, refusal, until, wait_state

DEADLINE_MS = 10_000
RECEIVER_CONFIG = {"gap": {"policy": "fail", "seconds": 0.2}}
"""A missing frame is an Error: how a receiver gets there without a broken disk."""


def check_refused_and_intact(station: Station, kind: str, *words: str, foreseen: bool = True) -> str:
    """Arm is refused so, with these words, and is as before; Check has said the same before."""
    before = station.detector.Status()
    check = json.loads(station.detector.Check())
    assert station.detector.Status() == before
    with pytest.raises(tango.DevFailed) as refused:
        station.detector.Arm()
    sentence, reason = str(refused.value.args[0].desc), refused.value.args[0].reason
    assert reason == f"Penstock_{kind}"
    for word in words:
        assert word in sentence, sentence
    if foreseen:
        assert check["ok"] is False and check["kind"] == kind
        assert without_numbers(check["sentence"]) == without_numbers(sentence)
    else:
        assert check["ok"] is True and check["sentence"] == ""
    assert station.detector.State() == ON
    assert sentence in station.detector.Status()
    return sentence


def without_numbers(sentence: str) -> str:
    """The sentence for comparison: free space changes all the time."""
    return re.sub(r"\d[\d.,]*", "#", sentence)


def check_next_series(station: Station) -> None:
    """A good series after whatever was refused."""
    file = station.new_file()
    station.set(TriggerMode="INTERNAL", nTriggers=3, nFramesPerTrigger=1, DestinationFilename=str(file))
    station.detector.Arm()
    wait_state(station.detector, ON)
    check_account(station, file, 3, stored=3)


def test_receiver_away(station: Station) -> None:
    station.receiver.stop()
    check_refused_and_intact(station, "unavailable", station.receiver.url, "is `penstock receiver` running")
    station.receiver.start()
    check_next_series(station)


def test_receiver_in_error(station: Station) -> None:
    station.set(nTriggers=40, ExposureTime=0.02, Faults="drop=3", DestinationFilename=str(station.new_file()))
    station.detector.Arm()
    until(lambda: station.receiver.client.status().state == "error", "receiver in Error")
    wait_state(station.detector, tango.DevState.FAULT)
    station.detector.Reset()
    wait_state(station.detector, ON)
    station.set(Faults="")
    until(lambda: "the receiver is in error" in station.detector.Status(), "the device knows of it")
    check_refused_and_intact(station, "in_error", "Error", "reset")
    station.detector.RestartReceiver()
    check_next_series(station)


@pytest.mark.slow
def test_receiver_busy_with_a_series_that_the_device_does_not_know(station: Station) -> None:
    file = station.new_file()
    source = zmq.Context.instance().socket(zmq.PUSH)
    source.bind("tcp://127.0.0.1:*")
    other = station.beamline.receiver(
        "busy", int(source.getsockopt_string(zmq.LAST_ENDPOINT).rpartition(":")[2])
    )
    try:
        header = {"htype": "header", "msg_number": 0, "filename": str(other.root / "theirs.h5")}
        source.send_json(header)
        until(lambda: other.client.status().state == "running", "receiver busy")
        station.beamline.register(
            "Simulator/busy", "Simulator", "busy/det/1", ReceiverUrl=other.url, DataPort=0
        )
        station.beamline.serve("Simulator/busy")
        detector = station.beamline.device("busy/det/1")
        wait_state(detector, ON)
        detector.DestinationFilename = str(file)
        sentence = refusal(detector.Arm)
        assert "theirs.h5" in sentence and "busy" in sentence
        check = json.loads(detector.Check())
        assert (check["kind"], check["sentence"]) == ("busy", sentence)
        assert detector.State() == ON
    finally:
        station.beamline.end("Simulator/busy")
        other.stop()
        source.close(0)


def test_a_series_runs_already(station: Station) -> None:
    file = station.software_series(2)
    with pytest.raises(tango.DevFailed, match="state ON") as refused:
        station.detector.Arm()
    assert refused.value.args[0].reason == "Penstock_not_idle"
    with pytest.raises(tango.DevFailed) as refused:
        station.detector.nTriggers = 3
    assert refused.value.args[0].reason == "Penstock_running"
    station.detector.Abort()
    wait_state(station.detector, ON)
    check_account(station, file, 2)


def test_file_exists(station: Station) -> None:
    file = station.new_file()
    file.write_bytes(b"somebody's data")
    station.set(DestinationFilename=str(file))
    check_refused_and_intact(station, "file_exists", str(file), "exists")
    assert file.read_bytes() == b"somebody's data"
    station.set(DestinationFileOverwritable=True)
    station.detector.Arm()
    wait_state(station.detector, ON)
    check_account(station, file, 1, stored=1)


def test_folder_outside_the_data_root(station: Station, tmp_path: Path) -> None:
    station.set(DestinationFilename=str(tmp_path / "x.h5"))
    check_refused_and_intact(station, "outside_data_root", str(tmp_path), str(station.root))
    check_next_series(station)


def test_path_that_leaves_the_data_root_by_a_link(station: Station, tmp_path: Path) -> None:
    (station.root / "link").symlink_to(tmp_path)
    station.set(DestinationFilename=str(station.root / "link" / "x.h5"))
    check_refused_and_intact(station, "outside_data_root", str(station.root))
    assert not list(tmp_path.iterdir())


def test_folder_that_cannot_be_written(station: Station) -> None:
    # Root may write everywhere, so not a matter of permissions: a regular file is in the way.
    (station.root / "plain").write_text("not a folder")
    station.set(DestinationFilename=str(station.root / "plain" / "x.h5"))
    check_refused_and_intact(station, "not_a_folder", "plain")
    check_next_series(station)


def test_relative_file_name(station: Station) -> None:
    station.set(DestinationFilename="x.h5")
    check_refused_and_intact(station, "not_absolute", "x.h5")


def test_no_recording_to_replay(station: Station) -> None:
    station.set(Pattern="recording", Recording="/nowhere/x.npy")
    try:
        check_refused_and_intact(station, "camera", "/nowhere/x.npy", "no such file")
    finally:
        station.set(Pattern="gradient", Recording="")


def test_an_area_outside_the_sensor(station: Station) -> None:
    station.set(AOIWidth=64, AOILeft=10)
    try:
        check_refused_and_intact(station, "out_of_range", "AOIWidth 64 pixel; the greatest is 54")
    finally:
        station.set(AOILeft=0, AOIWidth=0)


def test_compressed_frames_cannot_be_turned(station: Station) -> None:
    station.set(Compression="bslz4", Rotation=90)
    try:
        check_refused_and_intact(station, "out_of_range", "Rotation", "set Compression to none")
    finally:
        station.set(Compression="none")


def test_more_frames_than_can_be_counted(station: Station) -> None:
    station.set(nTriggers=2**31 - 1, nFramesPerTrigger=2**18)
    check = json.loads(station.detector.Check())
    assert check["kind"] == "refused" and check["frames"] == (2**31 - 1) * 2**18 and check["ok"] is False
    assert check["sentence"] == refusal(station.detector.Arm)


def test_disk_too_full(station: Station) -> None:
    # More than any disk: 2 billion frames of 1 MB.
    station.set(nTriggers=2**31 - 1, DestinationFilename=str(station.new_file()))
    sentence = check_refused_and_intact(station, "disk_full")
    assert "free" in sentence or "disk" in sentence, sentence
    check_next_series(station)


def test_parameter_out_of_range(station: Station) -> None:
    sentence = refusal(lambda: station.detector.write_attribute("nTriggers", -1))
    assert "nTriggers" in sentence
    station.set(TriggerMode="EXTERNAL_MULTI_GATE", nFramesPerTrigger=2)
    check_refused_and_intact(station, "camera", "nFramesPerTrigger")
    check_next_series(station)


def test_hardware_that_refuses(station: Station) -> None:
    station.set(Faults="fail_prepare")
    check_refused_and_intact(station, "camera", "hardware refuses", foreseen=False)
    station.set(Faults="")
    check_next_series(station)


def test_another_consumer_that_would_steal_frames(station: Station) -> None:
    context = zmq.Context()
    thief = context.socket(zmq.PULL)
    shaken_hands = thief.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
    thief.connect(f"tcp://127.0.0.1:{station.port}")
    try:
        assert shaken_hands.poll(DEADLINE_MS), "the thief is not connected"
        station.set(DestinationFilename=str(station.new_file()))
        sentence = check_refused_and_intact(station, "other_consumer", "2 consumers", "another program")
        assert "accounts for 1" in sentence
    finally:
        thief.disable_monitor()
        shaken_hands.close(0)
        thief.close(0)
        context.term()
    check_next_series(station)


@pytest.mark.slow
def test_receiver_of_another_streamer(station: Station) -> None:
    """Told the wrong address, it never connects: Arm waits for a moment, then names both addresses."""
    other = station.beamline.receiver("wrong", 1)
    try:
        station.beamline.register(
            "Simulator/wrong", "Simulator", "wrong/det/1", ReceiverUrl=other.url, DataPort=0
        )
        station.beamline.serve("Simulator/wrong")
        detector = station.beamline.device("wrong/det/1")
        wait_state(detector, ON)
        sentence = refusal(detector.Arm)
        assert "tcp://127.0.0.1:1" in sentence and "connected" in sentence
        check = json.loads(detector.Check())
        assert (check["kind"], check["sentence"]) == ("not_connected", sentence)
        assert detector.State() == ON
    finally:
        station.beamline.end("Simulator/wrong")
        other.stop()


def test_software_trigger_without_a_series(station: Station) -> None:
    assert "armed" in refusal(station.detector.SoftwareTrigger)
    station.set(TriggerMode="EXTERNAL_MULTI", nTriggers=2)
    station.detector.Arm()
    assert "SOFTWARE" in refusal(station.detector.SoftwareTrigger)
    station.detector.Abort()
    wait_state(station.detector, ON)
