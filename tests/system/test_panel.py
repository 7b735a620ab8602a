"""A Taurus device panel shows limits, units and live counts."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.hosts.child import Child
from tests.system.beamline import ON, Station, until, wait_state

PANEL = Path(__file__).with_name("taurus_panel.py")


def parse(line: str) -> dict[str, Any] | None:
    return json.loads(line) if line.startswith('{"rows"') else None


@pytest.mark.slow
def test_the_panel_shows_limits_units_and_live_counts(station: Station, tmp_path: Path) -> None:
    snapshots: list[dict[str, Any]] = []

    def relay(line: str) -> None:
        if (snapshot := parse(line)) is not None:
            snapshots.append(snapshot)

    def until_rows(condition: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
        until(lambda: snapshots and condition(snapshots[-1]["rows"]), what, 20.0)
        return snapshots[-1]["rows"]

    screenshot = tmp_path / "panel.png"
    device = f"tango://{station.beamline.tango_host}/sim/det/1"
    environment = {
        "TANGO_HOST": station.beamline.tango_host,
        "QT_QPA_PLATFORM": "offscreen",
        "QT_API": "pyqt5",
    }
    command = [sys.executable, "-P", str(PANEL), device, str(screenshot)]
    with Child("the panel", command, parse, deadline=40.0, environment=environment, relay=relay):
        rows = until_rows(lambda rows: rows["Energy"]["read"] == "12400.000000000", "values")
        assert rows["Energy"] == {
            "read": "12400.000000000", "write": "12400.000000000", "unit": "eV",
            "range": "[1000.0 eV, 200000.0 eV]",
        }  # fmt: skip
        assert rows["ExposureTime"]["unit"] == "s"
        assert rows["ExposureTime"]["range"] == "[1e-05 s, 3600.0 s]"
        assert rows["AOIWidth"]["range"] == "[0 pixel, 64 pixel]"
        assert rows["Compression"]["write"] == "none"

        station.set(ExposureTime=0.25)
        until_rows(
            lambda rows: rows["ExposureTime"]["read"] == "0.250000000", "a value that somebody else has set"
        )
        station.set(ExposureTime=0.001)
        station.software_series(3)
        for number in (1, 2, 3):
            station.trigger()
            until_rows(lambda rows, text=str(number): rows["nFramesAcquired"]["read"] == text, "live count")
        wait_state(station.detector, ON)
        until_rows(lambda rows: rows["nFramesWritten"]["read"] == "3", "frames written")
        until_rows(lambda rows: rows["nFramesPending"]["read"] == "0", "nothing pending")
    assert screenshot.stat().st_size > 10_000
