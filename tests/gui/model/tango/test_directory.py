"""Every detector and receiver of a Tango database is found, and nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import tango

from penstock.beamline.registration import register
from penstock.devices._server.interface import PROPERTY as WRITTEN
from penstock.devices._server.interface import announce
from penstock.devices._server.server import server_classes
from penstock.devices._services.pipeline import PenstockPipeline
from penstock.gui.model.tango import directory
from penstock.gui.model.tango.directory import (
    PROPERTY,
    DirectoryEntry,
    DirectoryError,
    find_devices,
    open_database,
)
from penstock.hosts.child import Child, free_port
from penstock.hosts.tango_database import start_database
from tests.system.beamline import until


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Child[int]]:
    with start_database(tmp_path) as child:
        monkeypatch.setenv("TANGO_HOST", f"127.0.0.1:{child.answer}")
        yield child


@pytest.fixture
def database(server: Child[int]) -> tango.Database:
    return open_database()


def test_the_property_is_the_one_that_servers_write() -> None:
    assert PROPERTY == WRITTEN


def test_detectors_receivers_and_pipelines_are_found_and_nothing_else(database: tango.Database) -> None:
    announce([*server_classes("Simulator"), PenstockPipeline], database)
    register(database, "Simulator/lab", "Simulator", "lab/det/2", {})
    register(database, "Simulator/lab", "Simulator", "lab/Det/1", {})
    register(database, "PenstockReceiver/lab", "PenstockReceiver", "lab/receiver/1", {})
    register(database, "PenstockPipeline/lab", "PenstockPipeline", "lab/pipeline/1", {})
    register(database, "Motor/lab", "Motor", "lab/motor/1", {})
    register(database, "LimaCCDs/lab", "Simulator", "lab/lima/1", {})  # another program's class of this name
    register(database, "Eiger/lab", "PenstockReceiver", "lab/receiver/2", {})
    announce(server_classes("Eiger"), database)
    database.put_class_property("Motor", {PROPERTY: ["something of a later version"]})
    found = find_devices(database)
    assert [(device.name.lower(), device.kind) for device in found] == [
        ("lab/det/1", "detector"), ("lab/det/2", "detector"), ("lab/pipeline/1", "pipeline"),
        ("lab/receiver/1", "receiver"), ("lab/receiver/2", "receiver"),
    ]  # fmt: skip
    assert found[1] == DirectoryEntry("lab/det/2", "detector", "Simulator", "Simulator/lab", False)


def test_who_has_registered_nothing_finds_nothing(database: tango.Database) -> None:
    assert find_devices(database) == []


@pytest.mark.slow
def test_five_hundred_classes_cost_one_call(
    database: tango.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    announce(server_classes("Simulator"), database)
    register(database, "Simulator/lab", "Simulator", "lab/det/1", {})
    for number in range(500):
        register(database, f"Other/{number}", f"Other{number}", f"lab/other/{number}", {})
    calls: list[str] = []
    ask = tango.Database.command_inout
    monkeypatch.setattr(
        tango.Database, "command_inout", lambda self, *words: calls.append(words[0]) or ask(self, *words)
    )
    assert [device.name for device in find_devices(database)] == ["lab/det/1"]
    assert calls == ["DbMySqlSelect"]


def test_announcing_again_writes_nothing(database: tango.Database) -> None:
    announce(server_classes("Simulator"), database)
    announce(server_classes("Simulator"), database)
    assert len(database.get_class_property_history("Simulator", PROPERTY)) == 1


def test_a_name_of_old_is_corrected(database: tango.Database) -> None:
    database.put_class_property("Simulator", {PROPERTY: ["camera"]})
    announce(server_classes("Simulator"), database)
    assert list(database.get_class_property("Simulator", PROPERTY)[PROPERTY]) == ["detector"]


def test_without_a_database_named_the_error_says_how_to_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANGO_HOST", "")
    with pytest.raises(DirectoryError, match="TANGO_HOST is not set, .*export TANGO_HOST="):
        open_database()


def test_a_database_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("TANGO_HOST", address)
    with pytest.raises(DirectoryError, match=f"no Tango database answers at {address} .*is it started"):
        open_database()


def test_a_database_that_ends_is_named_and_found_again_when_it_is_back(
    server: Child[int], database: tango.Database, tmp_path: Path
) -> None:
    announce(server_classes("Simulator"), database)
    register(database, "Simulator/lab", "Simulator", "lab/det/1", {})
    server.stop()
    with pytest.raises(DirectoryError, match=f"no Tango database answers at .*:{server.answer} "):
        find_devices(database)
    with start_database(tmp_path, port=server.answer):

        def again() -> list[str]:
            with contextlib.suppress(DirectoryError):  # Tango connects again once a second
                return [device.name for device in find_devices(database)]
            return []

        assert until(again, "the database is asked again") == ["lab/det/1"]


def test_a_database_that_takes_no_select_says_so(
    database: tango.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory, "QUERY", "SELECT something FROM nowhere")
    with pytest.raises(
        DirectoryError, match=r"does not say which .*no such table.*; name the device instead"
    ):
        find_devices(database)
