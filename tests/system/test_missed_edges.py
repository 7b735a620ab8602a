"""Edges that reach no detector, in a series of EXTERNAL_MULTI: what comes of it, and what is said of it.

One camera counts edges, so it knows which one was missed; the other counts its frames only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import pytest

from penstock.streamer.simulated import patterns
from penstock.streamer.simulated.triggers import TriggerSource
from tests.system.accounts import check_account
from tests.system.beamline import ON, RUNNING, Beamline, Station, until, wait_state

pytestmark = pytest.mark.slow

RECEIVER_CONFIG: dict[str, object] = {}
"""It has two detectors on one beamline."""


@pytest.fixture(scope="module")
def without_counter(beamline: Beamline) -> Station:
    return Station(beamline, "blind", unit={"TriggerCounter": False})


@pytest.fixture
def blind(without_counter: Station) -> Station:
    """A detector without a trigger counter."""
    without_counter.calm()
    return without_counter


def arm(station: Station, triggers: int) -> Path:
    file = station.new_file()
    station.set(TriggerMode="EXTERNAL_MULTI", nTriggers=triggers, DestinationFilename=str(file))
    station.detector.Arm()
    return file


@pytest.fixture
def pulse(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Give a station edges of these numbers, one after the other."""
    sources: dict[str, TriggerSource] = {}

    def give(station: Station, *numbers: int) -> None:
        host, port = station.detector.TriggerAddress.split(":")
        source = sources.setdefault(port, TriggerSource((host, int(port))))
        for number in numbers:
            before = station.detector.nFramesAcquired
            source.miss(number - source.counter)
            source.pulse()
            until(lambda before=before: station.detector.nFramesAcquired > before, f"frame of edge {number}")

    yield give
    for source in sources.values():
        source.close()


def last(station: Station) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(station.detector.LastSeries)
    return said


def seen(file: Path) -> tuple[list[int], str]:
    """Status of each frame, and how the file says that they were numbered."""
    with h5py.File(file) as opened:
        (detector,) = [g for g in opened["entry/instrument"].values() if "frame_status" in g]
        return detector["frame_status"][()].tolist(), detector["series/index_source"].asstr()[()]


def test_a_counted_edge_in_the_middle_is_missing_at_its_place_and_the_series_ends(
    station: Station, pulse: Any
) -> None:
    file = arm(station, 5)
    pulse(station, 0, 1, 3, 4)
    wait_state(station.detector, ON)
    check_account(station, file, 5, stored=4, missing=1, not_triggered=0)
    assert last(station)["lost"] == [[2, 2, "missing"]]
    assert last(station)["complete"] is False
    statuses, source = seen(file)
    assert source == "hardware counter" == station.detector.IndexSource
    with h5py.File(file) as opened:
        frames = opened[station.detector.FileDataset][()]
    assert [index for index, frame in enumerate(frames) if patterns.frame_number(frame) == index] == [
        0,
        1,
        3,
        4,
    ]
    assert statuses[2] != statuses[0]


def test_a_counted_edge_at_the_end_is_waited_for_and_then_was_not_triggered(
    station: Station, pulse: Any
) -> None:
    file = arm(station, 5)
    pulse(station, 0, 1, 2)
    assert station.detector.State() == RUNNING
    station.detector.Stop()
    wait_state(station.detector, ON)
    check_account(station, file, 5, stored=3, missing=0, not_triggered=2)
    assert last(station)["lost"] == [[3, 4, "not_triggered"]]


def test_an_edge_that_nobody_counts_shifts_the_others_and_the_series_waits_for_one_more(
    blind: Station, pulse: Any
) -> None:
    assert blind.detector.IndexSource == "arrival"
    file = arm(blind, 5)
    pulse(blind, 0, 1, 3, 4)
    assert blind.detector.State() == RUNNING
    blind.detector.Stop()
    wait_state(blind.detector, ON)
    check_account(blind, file, 5, stored=4, missing=0, not_triggered=1)
    assert last(blind)["lost"] == [[4, 4, "not_triggered"]]
    assert seen(file)[1] == "arrival, uncertain"


def test_a_series_without_a_counter_that_lacks_nothing_is_certain(blind: Station, pulse: Any) -> None:
    file = arm(blind, 2)
    pulse(blind, 0, 1)
    wait_state(blind.detector, ON)
    check_account(blind, file, 2, stored=2)
    assert last(blind)["lost"] == [] and seen(file)[1] == "arrival"
