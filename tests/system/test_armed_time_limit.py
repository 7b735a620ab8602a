"""A series that nobody triggers any more ends by itself, and says so; real processes, short limits."""

from __future__ import annotations

import json
from typing import Any

import h5py
import pytest
import tango

from tests.system.accounts import check_account
from tests.system.beamline import ON, RUNNING, Station, wait_state

pytestmark = pytest.mark.slow

WHY = "no trigger came within 0.2 s of Arm (ArmedTimeLimit); the series was stopped"


@pytest.fixture(autouse=True)
def _as_before(station: Station) -> Any:
    yield
    station.detector.ArmedTimeLimit = 3600.0
    station.detector.TriggerTimeLimit = 0.0


def test_it_ends_without_a_fault_and_status_last_series_and_file_say_why(station: Station) -> None:
    station.detector.ArmedTimeLimit = 0.2
    file = station.software_series(3)
    wait_state(station.detector, ON)
    assert station.detector.Status().startswith(
        f"Ready. N{WHY[1:]}. Last series: 0 of 3 frames stored in {file}"
    )
    check_account(station, file, 3, stored=0, not_triggered=3)
    last = json.loads(station.detector.LastSeries)
    assert last["complete"] is False and WHY in last["verdict"]
    with h5py.File(file) as opened:
        record = opened["entry/instrument/sim/series"]
        assert record["state"].asstr()[()] == "incomplete"
        assert f"ended by stop: {WHY}" in record["reason"].asstr()[()]
    station.set(TriggerMode="INTERNAL", DestinationFilename="")
    station.detector.Arm()
    wait_state(station.detector, ON)


def test_a_live_view_that_waits_for_triggers_ends_too_and_lacks_nothing(station: Station) -> None:
    station.set(TriggerMode="SOFTWARE")
    station.detector.ArmedTimeLimit = 0.2
    station.detector.Live()
    wait_state(station.detector, ON)
    assert station.detector.Status() == f"Ready. N{WHY[1:]}. Last series: 0 frames for live view."
    assert json.loads(station.detector.LastSeries)["complete"] is True


def test_it_may_be_written_while_a_series_waits_and_is_remembered(station: Station) -> None:
    assert station.detector.ArmedTimeLimit == 3600.0
    station.software_series(2)
    station.detector.ArmedTimeLimit = 0.0
    assert station.detector.State() == RUNNING
    station.trigger()
    station.detector.ArmedTimeLimit = 0.2
    station.trigger()
    wait_state(station.detector, ON)
    assert json.loads(station.detector.LastSeries)["complete"] is True
    with pytest.raises(tango.DevFailed):
        station.detector.ArmedTimeLimit = -1.0
    station.restart_server()
    assert station.detector.ArmedTimeLimit == 0.2


def test_one_whose_next_trigger_does_not_come_ends_likewise(station: Station) -> None:
    file = station.software_series(3)
    station.trigger()
    station.detector.TriggerTimeLimit = 0.2
    wait_state(station.detector, ON)
    why = (
        "no trigger came within 0.2 s of the last trigger or frame (TriggerTimeLimit); the series was stopped"
    )
    assert station.detector.Status().startswith(
        f"Ready. N{why[1:]}. Last series: 1 of 3 frames stored in {file}"
    )
    check_account(station, file, 3, stored=1, not_triggered=2)
    last = json.loads(station.detector.LastSeries)
    assert last["complete"] is False and why in last["verdict"]
    with h5py.File(file) as opened:
        record = opened["entry/instrument/sim/series"]
        assert record["state"].asstr()[()] == "incomplete"
        assert f"ended by stop: {why}" in record["reason"].asstr()[()]
