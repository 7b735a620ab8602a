"""The database is looked into again, whatever it says; with real devices: tests/system/test_fleet.py."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from penstock.gui.model.fleet import fleet as module
from penstock.gui.model.fleet.fleet import Fleet
from penstock.gui.model.tango.directory import DirectoryEntry, DirectoryError
from tests.gui.panel.fleet_of import StandInDevice
from tests.system.beamline import until

DETECTOR = DirectoryEntry("p09/det/1", "detector", "Simulator", "Simulator/p09", True)


class Database:
    """Raises what it is given, one after the other; then there is a detector."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.requests = threading.Semaphore(0)

    def find(self) -> list[DirectoryEntry]:
        self.requests.release()
        if self.errors:
            raise self.errors.pop(0)
        return [DETECTOR]


@pytest.fixture
def fleets() -> Iterator[list[Fleet]]:
    started: list[Fleet] = []
    yield started
    for fleet in started:
        fleet.stop()


def followed(database: Database, fleets: list[Fleet]) -> Fleet:
    fleet = Fleet(database.find, lambda found: StandInDevice({"State": "ON", "Status": "Ready."}))
    fleets.append(fleet)
    fleet.start()
    return fleet


def test_a_database_that_does_not_answer_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, fleets: list[Fleet]
) -> None:
    monkeypatch.setattr(module, "LOOK_AGAIN", 0.01)
    fleet = followed(Database(DirectoryError("nobody there"), DirectoryError("nobody there")), fleets)
    until(lambda: fleet.rows(), "the detector is found at the third time")
    assert (fleet.trouble, fleet.looked) == ("", True)


def test_it_is_looked_at_from_time_to_time(monkeypatch: pytest.MonkeyPatch, fleets: list[Fleet]) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY", 0.01)
    database = Database()
    followed(database, fleets)
    assert all(database.requests.acquire(timeout=5.0) for _ in range(3))


def test_an_answer_that_nobody_expected_is_said_and_does_not_end_it(fleets: list[Fleet]) -> None:
    fleet = followed(Database(ValueError("not enough values")), fleets)
    until(lambda: fleet.trouble, "it is said")
    assert fleet.trouble.endswith("(ValueError('not enough values')); please report this")
    assert not fleet.looked
    fleet.look()
    until(lambda: fleet.rows(), "it goes on")


def test_a_fleet_that_was_never_started_can_be_stopped() -> None:
    Fleet(Database().find).stop()
