"""The demonstration of a GenICam camera, and the file that comes of it."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import h5py
import pytest

from penstock.beamline.demonstration import Demonstration
from penstock.beamline.stage import genicam
from penstock.hosts.child import PENSTOCK, Child
from tests.devices._genicam.turns import turn
from tests.pages import run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", autouse=True)
def _turn() -> Iterator[None]:
    with turn():
        yield


@pytest.mark.slow
def test_the_demonstration_takes_a_series_whose_file_is_clean(tmp_path: Path) -> None:
    argv = [*PENSTOCK, "demo", "--detector", "genicam", "--frames", "20", "--out", str(tmp_path), "--json"]

    ended = subprocess.run(argv, capture_output=True, text=True, timeout=90)

    assert ended.returncode == 0, ended.stderr
    summary = json.loads(ended.stdout)
    checked = subprocess.run(
        [*PENSTOCK, "check", summary["file"]], capture_output=True, text=True, timeout=60
    )
    assert (checked.returncode, "clean" in checked.stdout) == (0, True), checked.stdout
    with h5py.File(summary["file"]) as written:
        assert written["entry/data/data"].shape == (20, 256, 256)
        detector = written["entry/instrument/genicam"]
        assert detector["description"].asstr()[()] == "Aravis Fake"
        assert detector["serial_number"].asstr()[()] == "GV01"
        assert detector["saturation_value"][()] == 255
        assert "index 0 is the first frame that arrived" in detector["frame_id_start"].asstr()[()]
    assert "penstock demo --detector genicam --panel" in ended.stderr


@pytest.mark.slow
def test_the_page_works_as_it_is_written(tmp_path: Path) -> None:
    run(ROOT / "docs/how-to/connect-your-genicam-camera.md", tmp_path, {})


@pytest.mark.slow
def test_the_panel_opens_it(tmp_path: Path) -> None:
    with Demonstration(tmp_path, staged=genicam()) as beamline:
        beamline.take(1, lambda written: None)
        with Child(
            "the panel", [*PENSTOCK, "panel", beamline.detector],
            lambda line: line.startswith("following ") or None, deadline=60.0,
            environment={"TANGO_HOST": beamline.tango_host},
        ) as panel:  # fmt: skip
            assert panel.exit_status() is None
            assert not any("Traceback" in line for line in panel.tail), list(panel.tail)
        assert panel.exit_status() in (0, -signal.SIGKILL), "it crashed"  # killed where the machine is slow
