"""A device server tells the database what its classes are; nothing that goes wrong with that stops it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

import tango

from penstock.devices._server.interface import PROPERTY
from penstock.hosts.child import PYTHON, Child
from penstock.hosts.tango_database import FILE_NAME
from tests.system.beamline import Beamline

SERVER = (*PYTHON, "-m", "penstock.devices._server.server", "Simulator")


def _ready(line: str) -> bool | None:
    return True if "Ready to accept request" in line else None


def _classes(beamline: Beamline) -> dict[str, list[str]]:
    host, _, port = beamline.tango_host.partition(":")
    database = tango.Database(host, int(port))
    kinds = ("Simulator", "PenstockReceiver")
    return {kind: list(database.get_class_property(kind, PROPERTY)[PROPERTY]) for kind in kinds}


def test_a_server_announces_its_classes_as_it_starts(tmp_path: Path) -> None:
    with Beamline(tmp_path) as beamline:
        beamline.register("Simulator/a", "Simulator", "a/det/1", ReceiverUrl="http://127.0.0.1:1", DataPort=0)
        assert _classes(beamline) == {"Simulator": [], "PenstockReceiver": []}
        beamline.serve("Simulator/a")
        assert _classes(beamline) == {"Simulator": ["detector"], "PenstockReceiver": ["receiver"]}


def test_a_database_that_refuses_is_logged_and_the_device_runs(tmp_path: Path) -> None:
    with Beamline(tmp_path) as beamline:
        beamline.register("Simulator/a", "Simulator", "a/det/1", ReceiverUrl="http://127.0.0.1:1", DataPort=0)
        with contextlib.closing(sqlite3.connect(tmp_path / "tango" / FILE_NAME)) as file:
            file.execute(
                "CREATE TRIGGER full BEFORE INSERT ON property_class BEGIN SELECT RAISE(FAIL, 'full'); END"
            )
        said: list[str] = []
        with Child(
            "Simulator/a", [*SERVER, "a", "-ORBendPoint", "giop:tcp:127.0.0.1:0"], _ready,
            deadline=30.0, environment={"TANGO_HOST": beamline.tango_host}, relay=said.append,
        ):  # fmt: skip
            assert beamline.device("a/det/1").ping() >= 0
        warning = "the fleet page will not list the devices of class Simulator, PenstockReceiver: "
        assert any(warning in line for line in said), json.dumps(said)


def test_without_a_database_nothing_is_announced(tmp_path: Path) -> None:
    file = tmp_path / "properties"
    file.write_text(
        'Simulator/a/DEVICE/Simulator: "a/det/1"\n'
        'Simulator/a/DEVICE/PenstockReceiver: "a/receiver/1"\n'
        'a/receiver/1->ReceiverUrl: "http://127.0.0.1:1"\n'
    )
    said: list[str] = []
    with Child(
        "Simulator", [*SERVER, "a", f"-file={file}", "-ORBendPoint", "giop:tcp:127.0.0.1:0"], _ready,
        deadline=30.0, environment={"TANGO_HOST": "127.0.0.1:1"}, relay=said.append,
    ):  # fmt: skip
        assert not any("fleet" in line for line in said)
