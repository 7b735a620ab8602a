"""Rows of bridges, and how they follow what their pages say."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.gui.model.fleet import bridges as module
from penstock.gui.model.fleet.bridges import Bridges, bridge_row
from penstock.gui.model.fleet.pages import Known, PipelineRow
from penstock.gui.model.fleet.row import Row, faults_first, row, summary
from penstock.gui.model.tango.directory import DirectoryEntry
from tests.system.beamline import until

NOW = 1_795_370_000.0
FIRST, SECOND = "http://daq-1:5000", "http://daq-2:5000"
PAGE = "http://daq-1:5200/"
GONE = f"bridge at {PAGE} does not answer; is `penstock epics` running?"
RECEIVER = DirectoryEntry("p09/receiver/1", "receiver", "PenstockReceiver", "Simulator/p09", True)


def said(**keys: Any) -> PipelineRow:
    """What the page of a bridge has said."""
    keys = {"kind": "bridge", "name": "epics", "state": "IDLE", "url": PAGE, "receiver_url": FIRST} | keys
    return PipelineRow(**keys)


def away(**keys: Any) -> PipelineRow:
    """What is known of one that does not answer."""
    return said(name=PAGE, state="AWAY", problem=GONE, **keys)


def bridge(**keys: Any) -> Row:
    return bridge_row(said(**keys), None, NOW)


def test_a_bridge_shows_its_series_its_frames_and_its_clients() -> None:
    assert (bridge().frames, bridge().series, bridge().says) == ("", "", "no client connected.")
    found = bridge(state="RUNNING", file="/data/a.h5", done=1412, workers=2)
    assert (found.kind, found.series, found.frames, found.says) == (
        "bridge", "a.h5", "1,412", "2 clients connected.",
    )  # fmt: skip
    assert found.page == PAGE and found.running and found.gravity == 3


def test_one_that_waits_says_for_what_and_is_no_alarm() -> None:
    found = bridge(state="WAITING", problem="receiver at http://daq-1:5000 does not answer")
    assert found.says == "receiver at http://daq-1:5000 does not answer"
    assert not found.ill and found.gravity == 4


def test_one_that_is_away_keeps_its_name_and_series_and_says_since_when() -> None:
    here = bridge(state="RUNNING", file="/data/a.h5", done=3)
    gone = bridge_row(away(), here, NOW)
    assert (gone.name, gone.state, gone.says, gone.away_since) == ("epics", "AWAY", GONE, NOW)
    assert (gone.series, gone.frames, gone.page, gone.ill) == ("a.h5", "3", PAGE, True)
    assert bridge_row(away(), gone, NOW + 60.0) == gone
    assert bridge_row(said(), gone, NOW + 90.0) == bridge()


def test_one_that_has_never_answered_is_named_by_its_page() -> None:
    found = bridge_row(away(), None, NOW)
    assert (found.name, found.state, found.says, found.away_since) == (PAGE, "AWAY", GONE, None)


def test_bridges_are_counted_where_there_are_some_and_sorted_last_of_those_that_are_well() -> None:
    receiver = row(RECEIVER, {"State": "ON", "Status": "Idle."}, FIRST)
    gone = bridge_row(away(url=f"{PAGE}2"), None, NOW)
    waits, runs = bridge(state="WAITING", problem="no"), bridge(state="RUNNING")
    assert summary([receiver, gone]) == "0 detectors; 1 receiver; 1 bridge, 1 away"
    assert summary([receiver, waits, runs]) == "0 detectors; 1 receiver; 2 bridges, 1 waiting, 1 running"
    rows = faults_first([bridge(), receiver, gone])
    assert [(each.kind, each.state) for each in rows] == [
        ("bridge", "AWAY"), ("receiver", "ON"), ("bridge", "IDLE"),
    ]  # fmt: skip


class Behind:
    """What is behind each receiver; one that `hangs` answers once that is over."""

    def __init__(self) -> None:
        self.rows: dict[str, list[PipelineRow]] = {FIRST: [said()], SECOND: []}
        self.hangs: dict[str, threading.Event] = {}
        self.asked = threading.Semaphore(0)

    def read(self, receiver: str, known: Known) -> list[PipelineRow]:
        self.asked.release()
        if receiver in self.hangs:
            assert self.hangs[receiver].wait(10.0)
        return self.rows[receiver]


@pytest.fixture
def behind(monkeypatch: pytest.MonkeyPatch) -> Behind:
    monkeypatch.setattr(module, "ASK_EVERY", 0.01)
    return Behind()


@pytest.fixture
def changes() -> threading.Semaphore:
    return threading.Semaphore(0)


@pytest.fixture
def bridges(behind: Behind, changes: threading.Semaphore) -> Iterator[Bridges]:
    one = Bridges(behind.read, changes.release, lambda: NOW)
    yield one
    one.stop()


def names(bridges: Bridges) -> list[tuple[str, str]]:
    return [(each.name, each.state) for each in bridges.rows()]


def test_pipelines_are_not_shown_and_nothing_is_told_without_a_change(
    bridges: Bridges, behind: Behind, changes: threading.Semaphore
) -> None:
    behind.rows[FIRST] = [said(), said(kind="pipeline", name="spots", url="http://daq-1:5100")]
    bridges.follow([FIRST, "", f"{FIRST}/"])
    assert changes.acquire(timeout=5.0)
    assert names(bridges) == [("epics", "IDLE")]
    assert all(behind.asked.acquire(timeout=5.0) for _ in range(5)), "it is asked again and again"
    assert not changes.acquire(blocking=False)
    behind.rows[FIRST] = [away()]
    assert changes.acquire(timeout=5.0)
    assert names(bridges) == [("epics", "AWAY")]
    behind.rows[FIRST] = []
    assert changes.acquire(timeout=5.0)
    assert bridges.rows() == []


def test_a_bridge_that_two_name_is_one_row_and_two_of_one_name_are_two(
    bridges: Bridges, behind: Behind
) -> None:
    behind.rows[FIRST] = [said(), said(url=PAGE.rstrip("/"))]
    behind.rows[SECOND] = [said(), said(url="http://daq-2:5200")]
    bridges.follow([FIRST, SECOND])
    until(lambda: names(bridges) == [("epics", "IDLE")] * 2, "there are two")
    assert len({each.key for each in bridges.rows()}) == 2


def test_a_receiver_that_hangs_holds_up_no_other(bridges: Bridges, behind: Behind) -> None:
    behind.rows[SECOND] = [said(name="second", url="http://daq-2:5200")]
    behind.hangs[FIRST] = threading.Event()
    bridges.follow([FIRST, SECOND])
    until(lambda: names(bridges) == [("second", "IDLE")], "the second answers")
    behind.hangs.pop(FIRST).set()
    until(lambda: names(bridges) == [("epics", "IDLE"), ("second", "IDLE")], "the first, too")


def test_what_is_behind_a_receiver_goes_with_it(bridges: Bridges, behind: Behind) -> None:
    bridges.follow([FIRST])
    until(bridges.rows, "it is there")
    hangs = behind.hangs[FIRST] = threading.Event()
    bridges.follow([SECOND])
    assert bridges.rows() == []
    hangs.set()
    assert until(lambda: _threads() == [SECOND], "its thread ends")
    assert bridges.rows() == [], "an answer that comes late counts for nothing"


def test_it_asks_at_once_when_it_is_told_to(
    bridges: Bridges, behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ASK_EVERY", 3600.0)
    bridges.follow([FIRST])
    until(bridges.rows, "it has been asked")
    behind.rows[FIRST] = [away()]

    def looked() -> bool:
        bridges.look()
        return names(bridges) == [("epics", "AWAY")]

    until(looked, "it is asked again")


def test_after_the_end_nobody_is_followed(bridges: Bridges, behind: Behind) -> None:
    bridges.follow([FIRST])
    until(bridges.rows, "it is there")
    bridges.stop()
    bridges.follow([SECOND])  # a device that is reached a moment too late
    until(lambda: not _threads(), "all threads end")


def _threads() -> list[str]:
    return [each.name.split()[1] for each in threading.enumerate() if each.name.startswith("penstock-behind")]
