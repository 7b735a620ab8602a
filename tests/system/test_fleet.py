"""Every detector and receiver of a database, followed in a window's model and listed in a terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest
import tango

from penstock.gui.model.fleet.fleet import Fleet
from penstock.gui.model.fleet.row import Row, asked, summary
from penstock.gui.model.tango.directory import find_devices
from penstock.gui.model.tango.link import TangoDevice
from tests.system.beamline import ON, Beamline, Station, until, wait_state

RECEIVER_CONFIG: dict[str, object] = {}
"""It counts the devices of the database."""

DETECTOR, RECEIVER = "sim/det/1", "sim/receiver/1"


def fleet_of(beamline: Beamline) -> Fleet:
    host, _, port = beamline.tango_host.partition(":")
    database = tango.Database(host, int(port))
    # By their whole names: a process of many tests has met other databases.
    return Fleet(
        lambda: find_devices(database),
        lambda found: TangoDevice(
            f"tango://{beamline.tango_host}/{found.name}", **asked(found.kind)._asdict()
        ),
    )


@pytest.fixture
def fleet(beamline: Beamline, station: Station) -> Iterator[Fleet]:
    running = fleet_of(beamline)
    running.start()
    until(lambda: running.looked and all(row.state == "ON" for row in running.rows()), "all follow")
    yield running
    running.stop()


def of(fleet: Fleet, name: str) -> Row:
    (row,) = (row for row in fleet.rows() if row.name == name)
    return row


def status_all(beamline: Beamline, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["penstock", "status", "--all", *options], capture_output=True, text=True, timeout=60.0,
        env=os.environ | {"TANGO_HOST": beamline.tango_host, "PYTHONSAFEPATH": "1"},
    )  # fmt: skip


def test_a_series_is_followed_from_arm_to_its_end(fleet: Fleet, station: Station) -> None:
    told = threading.Event()
    fleet.on_change(told.set)
    file = station.software_series(2)
    until(lambda: of(fleet, DETECTOR).state == "RUNNING", "the series runs")
    assert told.is_set()
    station.trigger()
    until(lambda: of(fleet, DETECTOR).frames == "1 of 2", "one frame")
    assert of(fleet, DETECTOR).series == file.name
    assert summary(fleet.rows()) == "1 detector, 1 running; 1 receiver, 1 running"
    station.trigger()
    until(lambda: {row.state for row in fleet.rows()} == {"ON"}, "the series has ended")
    until(lambda: {row.frames for row in fleet.rows()} == {"2 of 2"}, "both count both frames")
    assert not any(row.problem for row in fleet.rows())


def test_a_series_that_was_aborted_comes_first_with_its_verdict(fleet: Fleet, station: Station) -> None:
    station.software_series(2)
    station.trigger()
    station.detector.Abort()
    wait_state(station.detector, ON)
    until(lambda: of(fleet, DETECTOR).problem, "the verdict")
    assert "1 of 2 frames" in of(fleet, DETECTOR).problem
    assert fleet.rows()[0].name == DETECTOR


def test_the_detector_has_its_receivers_free_space(fleet: Fleet) -> None:
    assert until(lambda: of(fleet, RECEIVER).free_bytes, "the free space") > 0
    assert of(fleet, DETECTOR).free_bytes == of(fleet, RECEIVER).free_bytes


@pytest.mark.slow
def test_a_device_that_is_killed_is_away_and_followed_again(
    fleet: Fleet, station: Station, beamline: Beamline
) -> None:
    before = time.time()
    os.kill(station.process.pid, signal.SIGKILL)
    until(lambda: {row.state for row in fleet.rows()} == {"AWAY"}, "both are away")
    row = of(fleet, DETECTOR)
    assert before <= (row.away_since or 0.0) <= time.time()
    assert "is not running" in row.problem
    listed = status_all(beamline)
    assert listed.returncode == 1
    assert listed.stdout.startswith("1 detector, 1 away; 1 receiver, 1 away\n")
    assert f"{DETECTOR}: The device server of {DETECTOR} is not running" in listed.stdout
    station.restart_server()
    until(lambda: {row.state for row in fleet.rows()} == {"ON"}, "both are back")
    assert of(fleet, DETECTOR).away_since is None


def test_a_device_that_is_registered_later_appears_and_one_that_is_taken_away_goes(
    fleet: Fleet, station: Station, beamline: Beamline
) -> None:
    name = "late/receiver/1"
    beamline.register("PenstockReceiver/late", "PenstockReceiver", name, ReceiverUrl=station.receiver.url)
    beamline.serve("PenstockReceiver/late")
    fleet.look()
    until(lambda: any(row.name == name and row.state == "ON" for row in fleet.rows()), "it is followed")
    beamline.end("PenstockReceiver/late")
    host, _, port = beamline.tango_host.partition(":")
    tango.Database(host, int(port)).delete_device(name)
    fleet.look()
    until(lambda: all(row.name != name for row in fleet.rows()), "it is gone")


def test_all_that_is_well_is_listed_with_0(station: Station, beamline: Beamline) -> None:
    station.set(DestinationFilename=str(station.new_file()), nTriggers=3)
    station.detector.Arm()
    wait_state(station.detector, ON)
    listed = status_all(beamline)
    assert (listed.returncode, listed.stderr) == (0, "")
    counts, titles, *rows = listed.stdout.splitlines()
    assert counts == "1 detector; 1 receiver"
    assert titles.split() == ["state", "device", "series", "frames", "rate", "free", "disk"]
    assert [row.split()[:6] for row in rows] == [
        ["ON", name, f"sim-{station._files:03d}.h5", "3", "of", "3"] for name in (DETECTOR, RECEIVER)
    ]


def test_json_is_a_list_of_the_rows(station: Station, beamline: Beamline) -> None:
    listed = status_all(beamline, "--json")
    assert listed.returncode == 0
    detector, receiver = json.loads(listed.stdout)
    assert (detector["name"], detector["kind"], detector["state"]) == (DETECTOR, "detector", "ON")
    assert (receiver["name"], receiver["tango_class"]) == (RECEIVER, "PenstockReceiver")
    assert detector["receiver_url"] == receiver["receiver_url"] == station.receiver.url


def test_a_receiver_that_is_gone_is_listed_with_1(station: Station, beamline: Beamline) -> None:
    station.receiver.stop()
    until(lambda: station.receiver_device.State() != ON, "the device has noticed")
    listed = status_all(beamline)
    assert listed.returncode == 1
    assert listed.stdout.startswith("1 detector; 1 receiver, 1 in UNKNOWN\n")
    assert f"{RECEIVER}: receiver at {station.receiver.url} does not answer" in listed.stdout


@pytest.mark.slow
def test_a_server_that_hangs_is_away_after_three_seconds(station: Station, beamline: Beamline) -> None:
    os.kill(station.process.pid, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        listed = status_all(beamline)
        took = time.monotonic() - begun
    finally:
        os.kill(station.process.pid, signal.SIGCONT)
    assert listed.returncode == 1
    assert listed.stderr == ""
    assert f"{DETECTOR}: It does not answer within 3 s" in listed.stdout
    assert took < 30.0, "the deadline of 3 s, and the start of Python and Tango on a busy machine"


@pytest.mark.slow
def test_fifty_devices_are_followed_within_seconds_by_a_thread_each(
    station: Station, beamline: Beamline
) -> None:
    names = [f"many/receiver/{number}" for number in range(50)]
    for name in names:
        beamline.register("PenstockReceiver/many", "PenstockReceiver", name, ReceiverUrl=station.receiver.url)
    beamline.serve("PenstockReceiver/many")
    before = threading.active_count()
    fleet = fleet_of(beamline)
    begun = time.monotonic()
    fleet.start()
    until(lambda: sum(row.state == "ON" for row in fleet.rows()) == 52, "all follow", 15.0)
    assert time.monotonic() - begun < 10.0
    assert threading.active_count() <= before + 1 + 52 + 1, "one asks their receiver for bridges"
    fleet.stop()
    beamline.end("PenstockReceiver/many")
    host, _, port = beamline.tango_host.partition(":")
    for name in names:
        tango.Database(host, int(port)).delete_device(name)


@pytest.mark.slow
def test_a_server_that_hangs_holds_up_no_other_thread(station: Station, beamline: Beamline) -> None:
    longest = 0.0
    fleet = fleet_of(beamline)
    os.kill(station.process.pid, signal.SIGSTOP)
    try:
        fleet.start()
        limit = time.monotonic() + 20.0
        while not any(row.state == "AWAY" for row in fleet.rows()):
            before = time.monotonic()
            assert before < limit, "nobody has noticed"
            threading.Event().wait(0.01)
            longest = max(longest, time.monotonic() - before)
    finally:
        begun = time.monotonic()
        fleet.stop()
        took = time.monotonic() - begun
        os.kill(station.process.pid, signal.SIGCONT)
    assert longest < 1.0, "a window would have been frozen for so long"
    assert took < 3.0, "the window would have stayed for so long after its end"


@pytest.mark.slow
def test_a_database_that_ends_is_said_and_the_devices_are_followed_on(
    fleet: Fleet, station: Station, beamline: Beamline
) -> None:
    beamline.database.stop()
    fleet.look()
    until(lambda: "no Tango database answers" in fleet.trouble, "the database is missed")
    listed = status_all(beamline)
    assert listed.returncode == 2
    assert f"no Tango database answers at {beamline.tango_host}" in listed.stderr
    station.software_series(1)
    until(lambda: of(fleet, DETECTOR).state == "RUNNING", "events still come")
    beamline.restart_database()
    fleet.look()
    until(lambda: not fleet.trouble, "the database is back", 15.0)
