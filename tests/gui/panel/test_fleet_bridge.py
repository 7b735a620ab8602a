"""A real bridge behind a real receiver, as the page of all detectors shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("silx.gui.qt", reason="the panel needs the extra gui")
pytest.importorskip("p4p", reason="a bridge needs the extra epics")

from penstock.gui.model.fleet import bridges
from penstock.gui.model.fleet.fleet import Fleet
from penstock.gui.model.tango.directory import DirectoryEntry
from penstock.gui.panel.fleet.page import FleetPage
from penstock.hosts.child import free_port
from tests.bridges.epics.bridge_process import BridgeProcess
from tests.gui.panel.fleet_of import StandInDevice
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

RECEIVER = DirectoryEntry("sim/receiver/1", "receiver", "PenstockReceiver", "Simulator/sim", True)
ENTRY = {"name": "epics", "endpoint": "tcp://127.0.0.1:0"}
DEADLINE = 20_000
"""Milliseconds."""


@pytest.fixture
def streamer() -> Iterator[Streamer]:
    one = Streamer()
    yield one
    one.close()


class Stage:
    """A receiver and a bridge at fixed addresses, and the page. The receiver's device is not real.

    Args:
        folder: for their files.
        streamer: of the receiver.
        qtbot: pytest-qt's.
    """

    def __init__(self, folder: Path, streamer: Streamer, qtbot: Any) -> None:
        self.folder, self.streamer, self.qtbot = folder, streamer, qtbot
        self.http, self.bridge_http = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self.page_url = f"http://{self.bridge_http}/"
        self.receiver = self.start_receiver(page=self.page_url)
        self.bridge = self.start_bridge()
        device = {"State": "ON", "Status": "Ready."}
        fleet = Fleet(lambda: [RECEIVER], lambda found: StandInDevice(device, url=f"http://{self.http}"))
        self.page = FleetPage(fleet)
        qtbot.addWidget(self.page)
        self.page.show()

    def start_receiver(self, **entry: str) -> ReceiverProcess:
        """Start one at its address, with these further keys of its forward entry."""
        forward = [ENTRY | entry]
        one = ReceiverProcess(self.folder, self.streamer.endpoint, http=self.http, forward=forward)
        one.connected()
        return one

    def start_bridge(self) -> BridgeProcess:
        """Start one at its address."""
        keys = {"receiver": f"http://{self.http}", "consumer": "epics", "http": self.bridge_http}
        one = BridgeProcess(self.folder, **keys)
        self.receiver.wait(lambda status: status.consumers[0].connected > 0)
        return one

    def until(self, **wanted: str) -> dict[str, str]:
        """Wait until the bridge's row has these cells; the whole row."""
        self.qtbot.waitUntil(lambda: wanted.items() <= self.cells().items(), timeout=DEADLINE)
        return self.cells()

    def cells(self) -> dict[str, str]:
        """The cells of the bridge's row by their titles; empty: there is none."""
        lines = [line.split("\t") for line in self.page.text().splitlines()]
        rows = [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]
        return next((row for row in rows if row["Kind"] == "bridge"), {})

    def close(self) -> None:
        """End them all."""
        self.page.close()
        self.bridge.close()
        self.receiver.close()


@pytest.fixture
def stage(tmp_path: Path, streamer: Streamer, qtbot: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(bridges, "ASK_EVERY", 0.1)
    one = Stage(tmp_path, streamer, qtbot)
    yield one
    one.close()


@pytest.mark.slow
def test_a_bridge_that_is_killed_is_away_and_comes_back_and_goes_with_its_forward_entry(
    stage: Stage, streamer: Streamer
) -> None:
    row = stage.until(Device="epics", State="IDLE")
    assert (row["Frames"], row["What it says"]) == ("", "No client connected.")
    series = streamer.series_of(f"{stage.receiver.root}/a.h5", 5)
    stage.until(Device="epics", State="IDLE", Series="a.h5", Frames="5")
    stage.receiver.ended(series)

    stage.bridge.kill()
    row = stage.until(Device="epics", State="AWAY", Series="a.h5", Frames="5")
    assert row["What it says"] == (
        f"Bridge at {stage.page_url} does not answer; is `penstock epics` running?"
    )
    assert row["Away since"]
    assert stage.page.head().endswith("; 1 bridge, 1 away")

    stage.bridge = stage.start_bridge()
    row = stage.until(Device="epics", State="IDLE")
    assert row["Away since"] == ""
    assert stage.page.head().endswith("; 1 bridge")

    stage.receiver.close()
    row = stage.until(Device="epics", State="WAITING")
    assert f"http://{stage.http} does not answer" in row["What it says"]
    assert stage.page.head().endswith("; 1 bridge, 1 waiting")

    stage.receiver = stage.start_receiver()
    stage.qtbot.waitUntil(lambda: not stage.cells(), timeout=DEADLINE)
    assert stage.page.names() == [RECEIVER.name]
