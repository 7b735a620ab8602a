"""A server may die at each of its requests to the database: the next one has the facility's rows."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest
import tango

from penstock.devices._tango import own_configuration
from penstock.devices._tango.own_configuration import UNFINISHED, OwnConfiguration, Rows

FACILITY = {"Low": {"max_value": ["7"]}, "Both": {"min_value": ["2"], "max_value": ["9.50"]}, "None": {}}
WANTED = {
    "Low": {"max_value": "5"},
    "Both": {"min_value": "3", "max_value": "8"},
    "None": {"min_value": "0", "max_value": "1"},
}


class Killed(BaseException):
    """The server has died."""


class Database:
    """Of one device; answers `requests` requests, and none after."""

    def __init__(self) -> None:
        self.rows: Rows = {name: dict(row) for name, row in FACILITY.items()}
        self.properties: dict[str, list[str]] = {}
        self.requests = 1000

    def _request(self) -> None:
        if self.requests == 0:
            raise Killed
        self.requests -= 1

    def get_device_property(self, _: str, name: str) -> dict[str, list[str]]:
        self._request()
        return {name: self.properties.get(name, [])}

    def put_device_property(self, _: str, values: dict[str, list[str]]) -> None:
        self._request()
        self.properties |= values

    def delete_device_property(self, _: str, name: str) -> None:
        self._request()
        del self.properties[name]

    def get_class_attribute_property(self, _: str, names: list[str]) -> Rows:
        self._request()
        return {name: {} for name in names}

    def get_device_attribute_property(self, _: str, names: list[str]) -> Rows:
        self._request()
        return {name: dict(self.rows[name]) for name in names}

    def put_device_attribute_property(self, _: str, rows: Rows) -> None:
        self._request()
        for name, row in rows.items():
            self.rows[name] |= row

    def delete_device_attribute_property(self, _: str, names: dict[str, list[str]]) -> None:
        self._request()
        for name, properties in names.items():
            for each in properties:
                self.rows[name].pop(each, None)


class Attribute:
    """Writes what is set into the database, as Tango does."""

    def __init__(self, database: Database, name: str) -> None:
        self._database, self._name = database, name

    def get_properties(self) -> Any:
        return SimpleNamespace()

    def set_properties(self, properties: Any) -> None:
        row = {each: [text] for each, text in vars(properties).items()}
        self._database.put_device_attribute_property("", {self._name: row})


def device(database: Database) -> Any:
    attributes = SimpleNamespace(get_attr_by_name=lambda name: Attribute(database, name))
    return SimpleNamespace(
        get_name=lambda: "a/b/c", get_device_attr=lambda: attributes,
        get_device_class=lambda: SimpleNamespace(get_name=lambda: "Class"),
    )  # fmt: skip


def test_a_server_may_die_at_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tango, "AutoTangoMonitor", lambda _: contextlib.nullcontext())
    foreign = 0
    for requests in range(1000):
        database = Database()
        monkeypatch.setattr(own_configuration, "_database", lambda database=database: database)
        database.requests = requests
        try:
            refused = OwnConfiguration(device(database)).set(list(WANTED), lambda _: WANTED)
        except Killed:
            foreign += database.rows != FACILITY
            database.requests = 1000
            OwnConfiguration(device(database)).begin()
            assert (database.rows, database.properties) == (FACILITY, {}), requests
        else:
            break
    assert (refused, database.rows, database.properties) == ({}, FACILITY, {})
    assert foreign >= 4, "the database has had limits of the unit"
    assert UNFINISHED not in database.properties


@pytest.mark.parametrize(
    "note", ["null", "junk", "[1, 2]", '"x"', '{"Low": 5}', '{"Low": {"max_value": null}}']
)
def test_a_note_that_cannot_be_read_is_ignored(monkeypatch: pytest.MonkeyPatch, note: str) -> None:
    monkeypatch.setattr(tango, "AutoTangoMonitor", lambda _: contextlib.nullcontext())
    database = Database()
    monkeypatch.setattr(own_configuration, "_database", lambda: database)
    database.properties = {UNFINISHED: [note]}
    assert OwnConfiguration(device(database)).begin() == set()
    assert (database.rows, database.properties) == (FACILITY, {})


def test_what_the_facility_has_written_since_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tango, "AutoTangoMonitor", lambda _: contextlib.nullcontext())
    database = Database()
    monkeypatch.setattr(own_configuration, "_database", lambda: database)
    note = '{"Low": {"max_value": [["7"], "5"]}, "Both": {"max_value": [["9.50"], "8"], "unit": [null, "m"]}}'
    database.properties = {UNFINISHED: [note]}
    database.rows = {
        "Low": {"max_value": ["6"]}, "Both": {"max_value": ["8.0"], "unit": ["m"]}, "None": {}
    }  # fmt: skip
    OwnConfiguration(device(database)).begin()
    assert database.rows == {"Low": {"max_value": ["6"]}, "Both": {"max_value": ["9.50"]}, "None": {}}
