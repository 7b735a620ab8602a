"""Either side dies or fails in the middle of a series: it ends in bounded time, counted, with a sentence."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import h5py
import pytest
import tango

from tests.system.accounts import check_account, check_tango_sum, file_counts
from tests.system.beamline import (
    FAULT,
    INIT,
    ON,
    RUNNING,
    Beamline,
    Station,
    children,
    restart_receiver,
    until,
    wait_state,
)

RECEIVER_CONFIG: dict[str, object] = {}
"""It restarts receiver and server, and starts further ones beside them."""


def check_works_again(station: Station) -> None:
    """Reset is all that is needed."""
    station.detector.Reset()
    wait_state(station.detector, ON)
    file = station.new_file()
    station.set(Faults="", TriggerMode="INTERNAL", nTriggers=3, DestinationFilename=str(file))
    station.detector.Arm()
    wait_state(station.detector, ON)
    check_account(station, file, 3, stored=3)


def reason_of(file: Path) -> str:
    with h5py.File(file) as opened:
        (detector,) = [g for g in opened["entry/instrument"].values() if "frame_status" in g]
        assert detector["series/state"].asstr()[()] == "incomplete"
        return str(detector["series/reason"].asstr()[()])


def test_a_killed_streamer_ends_its_series_within_five_seconds(station: Station) -> None:
    file = station.software_series(10)
    for _ in range(4):
        station.trigger()
    os.kill(station.streamer_pid(), signal.SIGKILL)
    begun = time.monotonic()
    wait_state(station.detector, FAULT, deadline=5.0)
    until(
        lambda: station.receiver.client.status().state == "idle",
        "file closed",
        5.0 - (time.monotonic() - begun),
    )
    check_account(station, file, 10, stored=4)
    status = station.detector.Status()
    assert "killed by signal 9" in status
    assert "4 of 10 frames stored" in status
    assert str(file) in status
    assert "signal 9" in reason_of(file)
    check_works_again(station)


def test_a_streamer_that_dies_between_frames_loses_nothing_that_was_sent(station: Station) -> None:
    file = station.new_file()
    station.set(nTriggers=50, Faults="die_at=20", DestinationFilename=str(file))
    station.detector.Arm()
    wait_state(station.detector, FAULT, deadline=6.0)
    counts = check_account(station, file, 50)
    assert counts["stored"] <= 20
    check_works_again(station)


def test_a_streamer_that_dies_while_idle_is_a_fault_that_reset_mends(station: Station) -> None:
    os.kill(station.streamer_pid(), signal.SIGKILL)
    wait_state(station.detector, FAULT, deadline=5.0)
    assert "killed by signal 9" in station.detector.Status()
    begun = time.monotonic()
    station.detector.Reset()
    assert time.monotonic() - begun < 1.0
    assert station.detector.State() in (INIT, ON)
    wait_state(station.detector, ON)
    check_works_again(station)


def test_a_killed_receiver_aborts_the_acquisition(station: Station) -> None:
    file = station.software_series(10)
    station.trigger()
    station.trigger()
    until(lambda: station.detector.nFramesReceived == 2, "frames received")
    # What has been flushed must survive.
    until(lambda: station.receiver.client.status().counts.flushed == 2, "frames flushed")
    station.receiver.kill()
    wait_state(station.detector, FAULT, deadline=6.0)
    assert station.receiver.url in station.detector.Status()
    assert "2 acquired" in station.detector.Status()
    check_tango_sum(station, 10)
    with h5py.File(file) as opened:
        assert opened["entry/data/data"].shape[0] >= 2
    station.receiver.start()
    check_works_again(station)


@pytest.mark.slow
def test_reset_ends_the_series_that_a_restarted_receiver_waits_for(station: Station) -> None:
    station.software_series(10)
    station.trigger()
    until(lambda: station.receiver.client.status().counts.flushed == 1, "frame flushed")
    station.receiver.kill()
    wait_state(station.detector, FAULT, deadline=6.0)
    station.receiver.start()
    station.detector.Reset()
    until(lambda: station.receiver.client.status().state == "idle", "receiver idle", deadline=3.0)
    series = station.receiver.client.status().series
    assert series is not None and "the detector was reset" in series.reason


def test_a_drained_receiver_refuses_arm_in_words_until_it_takes_series_again(
    station: Station,
) -> None:
    station.receiver.client.drain()
    try:
        station.set(DestinationFilename=str(station.new_file()))
        with pytest.raises(tango.DevFailed, match="takes no new series, since it is about to be stopped"):
            station.detector.Arm()
        until(lambda: "about to be stopped" in station.receiver_device.Status(), "its device says so")
    finally:
        station.receiver.client.drain(False)
    file = station.new_file()
    station.set(nTriggers=3, DestinationFilename=str(file))
    until(lambda: station.receiver.client.status().connections[0].connections, "it is connected again")
    station.detector.Arm()
    wait_state(station.detector, ON)
    check_account(station, file, 3, stored=3)


@pytest.mark.slow
def test_a_receiver_that_is_updated_in_a_series_is_waited_for_and_goes_on_with_it(beamline: Beamline) -> None:
    station = Station(beamline, "updated", unit={"ReceiverAway": 60.0}, on_terminate="resume")
    try:
        file = station.software_series(10)
        for _ in range(3):
            station.trigger()
        until(lambda: station.detector.nFramesReceived == 3, "frames received")
        station.receiver.stop()
        until(lambda: "it is given up after 60 s" in station.detector.Status(), "who is waited for is said")
        assert station.detector.State() == RUNNING
        station.trigger()
        station.receiver.start()
        for _ in range(6):
            station.trigger()
        wait_state(station.detector, ON)
        check_account(station, file, 10, stored=10)
        with h5py.File(file) as opened:
            said = opened["entry/instrument/updated/series/reason"].asstr()[()]
        assert "the receiver was restarted in the series: no frame was lost" in said
    finally:
        beamline.end(station.server)


def test_a_receiver_that_is_restarted_in_a_series_goes_on_with_it(station: Station) -> None:
    file = station.software_series(10)
    station.trigger()
    until(lambda: station.receiver.client.status().counts.flushed == 1, "frame flushed")
    restart_receiver(station.receiver, station.process.pid)
    for _ in range(9):
        station.trigger()
    wait_state(station.detector, ON)
    check_account(station, file, 10, stored=10)


def test_a_killed_data_process_costs_the_series_only_what_was_not_flushed(station: Station) -> None:
    file = station.new_file()
    station.set(nTriggers=300, ExposureTime=0.01, DestinationFilename=str(file))
    station.detector.Arm()
    until(lambda: station.receiver.client.status().counts.flushed > 10, "first frames flushed")
    assert station.receiver.child is not None
    (data_process,) = children(station.receiver.child.pid)
    os.kill(data_process, signal.SIGSTOP)
    acquired = station.detector.nFramesAcquired
    until(lambda: station.detector.nFramesAcquired > acquired + 10, "frames sent that nobody reads")
    os.kill(data_process, signal.SIGKILL)
    wait_state(station.detector, ON)
    counts = check_account(station, file, 300)
    assert 100 < counts["stored"] < 300
    assert "the receiver was killed and restarted in the series" in station.detector.Status()


@pytest.mark.slow
def test_without_resume_a_restarted_receiver_is_noticed(beamline: Beamline) -> None:
    station = Station(beamline, "ends", resume=False)
    try:
        file = station.software_series(10)
        station.trigger()
        restart_receiver(station.receiver, station.process.pid)
        wait_state(station.detector, FAULT, deadline=6.0)
        assert "the receiver ended the series: the receiver was killed" in station.detector.Status()
        assert "the receiver was killed" in reason_of(file)
        check_tango_sum(station, 10)
        check_works_again(station)
    finally:
        beamline.end(station.server)


def test_a_lost_end_message_does_not_hold_the_detector(station: Station) -> None:
    file = station.new_file()
    station.set(nTriggers=5, Faults="lose_end", DestinationFilename=str(file))
    station.detector.Arm()
    wait_state(station.detector, ON, deadline=8.0)
    check_account(station, file, 5, stored=5)
    station.set(Faults="")
    check_works_again(station)


@pytest.mark.slow
def test_a_lost_end_message_of_a_stopped_series_is_told_to_the_file(station: Station) -> None:
    file = station.software_series(5, Faults="lose_end")
    station.trigger()
    station.detector.Stop()
    wait_state(station.detector, ON, deadline=8.0)
    check_account(station, file, 5, stored=1)
    assert "end message" in reason_of(file)


@pytest.mark.parametrize("fault", ["fail_at=3", "overrun_at=3"])
def test_failing_hardware_is_a_fault_with_its_sentence(station: Station, fault: str) -> None:
    file = station.new_file()
    station.set(nTriggers=10, Faults=fault, DestinationFilename=str(file))
    station.detector.Arm()
    wait_state(station.detector, FAULT, deadline=6.0)
    check_account(station, file, 10, stored=3)
    assert "the detector failed" in station.detector.Status()
    check_works_again(station)


@pytest.mark.parametrize("fault", ["stall_at=3", "hang_at=3"])
def test_hardware_that_gives_nothing_more_can_be_aborted(station: Station, fault: str) -> None:
    file = station.new_file()
    station.set(nTriggers=10, Faults=fault, DestinationFilename=str(file))
    station.detector.Arm()
    until(
        lambda: station.detector.nFramesReceived == 3 or station.detector.State() != RUNNING, "three frames"
    )
    station.detector.Abort()
    wait_state(station.detector, ON, FAULT, deadline=8.0)
    check_account(station, file, 10, stored=3)


def test_dropped_frames_are_counted_missing(station: Station) -> None:
    file = station.new_file()
    station.set(nTriggers=10, Faults="drop=2,7", DestinationFilename=str(file))
    station.detector.Arm()
    wait_state(station.detector, ON)
    check_account(station, file, 10, stored=8, missing=2)
    assert "2 missing" in station.detector.Status()


def test_a_killed_device_server_ends_its_series(station: Station) -> None:
    file = station.software_series(10)
    for _ in range(3):
        station.trigger()
    until(lambda: station.receiver.client.status().counts.received == 3, "frames received")
    streamer = station.streamer_pid()
    station.process.kill()
    until(lambda: station.receiver.client.status().state == "idle", "file closed", 5.0)
    assert file_counts(file, 10)["stored"] == 3
    assert "fault" in reason_of(file)
    until(lambda: not Path(f"/proc/{streamer}").exists(), "the streamer ends with its parent")
    station.restart_server()
    check_works_again(station)


def kill_both(station: Station) -> Path:
    """Device server and streamer at once, in a series of which three frames were taken."""
    file = station.software_series(10)
    for _ in range(3):
        station.trigger()
    until(lambda: station.receiver.client.status().counts.received == 3, "frames received")
    for pid in (station.streamer_pid(), station.process.pid):
        os.kill(pid, signal.SIGKILL)
    return file


@pytest.mark.slow
def test_a_device_server_and_its_streamer_killed_together_end_their_series(station: Station) -> None:
    file = kill_both(station)
    until(lambda: station.receiver.client.status().state == "idle", "file closed", 5.0)
    assert file_counts(file, 10)["stored"] == 3
    assert "no connection for" in reason_of(file)
    station.restart_server()
    check_works_again(station)


@pytest.mark.slow
def test_where_both_are_back_at_once_the_device_ends_their_series(beamline: Beamline) -> None:
    """The receiver cannot tell the streamer from the one of before, whose triggered series may pause."""
    station = Station(beamline, "back", peer_gone=30.0)  # however long the restart takes
    try:
        file = kill_both(station)
        station.restart_server()
        until(lambda: station.receiver.client.status().state == "idle", "file closed", 10.0)
        assert file_counts(file, 10)["stored"] == 3
        assert "the device server was restarted during the series" in reason_of(file)
        check_works_again(station)
    finally:
        beamline.end(station.server)


@pytest.mark.slow
def test_where_both_are_back_at_once_the_next_series_may_be_armed_at_once(beamline: Beamline) -> None:
    station = Station(beamline, "again", peer_gone=30.0)
    try:
        file = kill_both(station)
        station.restart_server()
        client = station.receiver.client
        until(
            lambda: (series := client.status().series) is not None and series.unconfirmed, "suspended", 10.0
        )
        check_works_again(station)
        assert file_counts(file, 10)["stored"] == 3
    finally:
        beamline.end(station.server)


@pytest.mark.slow
def test_a_receiver_that_hangs_for_a_while_is_said_and_nothing_is_lost(station: Station) -> None:
    file = station.new_file()
    station.set(nTriggers=400, ExposureTime=0.01, DestinationFilename=str(file))
    station.detector.Arm()
    until(lambda: station.detector.nFramesReceived > 10, "first frames")
    assert station.receiver.child is not None
    (data_process,) = children(station.receiver.child.pid)
    os.kill(data_process, signal.SIGSTOP)
    until(lambda: "has not answered for" in station.detector.Status(), "the stall is said")
    assert station.detector.State() == RUNNING
    os.kill(data_process, signal.SIGCONT)
    wait_state(station.detector, ON)
    check_account(station, file, 400, stored=400)


@pytest.mark.slow
def test_a_receiver_whose_http_is_silent_ends_no_series_whose_frames_arrive(station: Station) -> None:
    """Its frames take much longer than the silence: on a busy machine that is noticed late."""
    file = station.new_file()
    station.set(nTriggers=2000, ExposureTime=0.01, DestinationFilename=str(file))
    station.detector.Arm()
    until(lambda: station.detector.nFramesReceived > 10, "first frames")
    assert station.receiver.child is not None

    def silent() -> float:
        said = r"The receiver has not answered for (\d+) s\. It is still connected to the streamer"
        found = re.search(said, station.detector.Status())
        return float(found[1]) if found else 0.0

    station.detector.set_timeout_millis(30_000)  # a busy machine may take longer than Tango's 3 s
    os.kill(station.receiver.child.pid, signal.SIGSTOP)
    try:
        until(lambda: silent() >= 7.0, "it is said")
        assert station.detector.State() == RUNNING
    finally:
        os.kill(station.receiver.child.pid, signal.SIGCONT)
        station.detector.set_timeout_millis(3000)
    wait_state(station.detector, ON, deadline=60.0)
    check_account(station, file, 2000, stored=2000)


@pytest.mark.parametrize("command", ["Stop", "Abort"])
def test_a_command_that_comes_while_the_file_is_being_closed_takes_nothing_from_it(
    station: Station, command: str
) -> None:
    file = station.software_series(3)
    assert station.receiver.child is not None
    (data_process,) = children(station.receiver.child.pid)
    os.kill(data_process, signal.SIGSTOP)
    for _ in range(3):
        station.trigger()
    until(lambda: "is closing the file" in station.detector.Status(), "the last frame has been sent")
    assert station.detector.State() == RUNNING
    station.detector.command_inout(command)
    os.kill(data_process, signal.SIGCONT)
    wait_state(station.detector, ON)
    check_account(station, file, 3, stored=3)
    assert json.loads(station.detector.LastSeries)["complete"] is True


def test_stop_during_the_last_exposure_leaves_a_complete_file(station: Station) -> None:
    file = station.software_series(2, ExposureTime=0.2)
    station.trigger()
    until(lambda: station.detector.ReadyForSwTrigger, "ready")
    station.detector.SoftwareTrigger()
    station.detector.Stop()
    wait_state(station.detector, ON)
    check_account(station, file, 2, stored=2)
    assert json.loads(station.detector.LastSeries)["complete"] is True
    assert station.detector.Status() == f"Ready. Last series: 2 of 2 frames stored in {file}."


@pytest.mark.slow
def test_a_file_that_is_removed_while_it_is_written_is_a_fault_that_says_so(station: Station) -> None:
    file = station.software_series(10)
    station.trigger()
    until(lambda: station.receiver.client.status().counts.flushed == 1, "flushed")
    file.unlink()
    station.trigger()
    wait_state(station.detector, FAULT)
    assert "was removed, moved or replaced" in station.detector.Status()
    station.receiver.client.reset()
    check_works_again(station)


@pytest.mark.slow
def test_a_paused_software_series_is_ended_by_nobody(station: Station) -> None:
    """Longer than the gap clock, the peer clock and every limit of the device; a held clock tries hours."""
    file = station.software_series(3)
    station.trigger()
    deadline = time.monotonic() + 4.5
    until(lambda: time.monotonic() > deadline or station.detector.State() != RUNNING, "pause")
    assert station.detector.State() == RUNNING
    station.trigger()
    station.trigger()
    wait_state(station.detector, ON)
    check_account(station, file, 3, stored=3, missing=0)


def test_a_server_that_crashes_leaves_in_its_log_where_each_thread_was(beamline: Beamline) -> None:
    away = {"ReceiverUrl": "http://127.0.0.1:1", "DataPort": 0}
    beamline.register("Simulator/crash", "Simulator", "crash/det/1", **away)
    lines: list[str] = []  # all of them: those of all threads are more than a child's `tail` keeps
    server = beamline.serve("Simulator/crash", lines.append)
    os.kill(server.pid, signal.SIGSEGV)
    assert server.wait(30.0) == -signal.SIGSEGV
    until(lambda: any("publisher.py" in line for line in lines), "its threads are in the log")
    assert any("Fatal Python error: Segmentation fault" in line for line in lines)
