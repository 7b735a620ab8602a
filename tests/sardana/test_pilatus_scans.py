"""Scans with a Pilatus, whose frames a light streamer sends: as with any other detector."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tango

from penstock.sardana.laboratory.laboratory import Laboratory, Unit
from tests.sardana.scan_file import ScanFile

pytestmark = pytest.mark.slow  # it needs a Sardana of its own

PILATUS = Unit("pilatus", model="Pilatus", options={"sensor": (32, 64), "pattern": "gradient"})


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """A Pilatus over a simulated camserver and a light streamer."""
    with Laboratory(tmp_path_factory.mktemp("pilatus"), [PILATUS]) as laboratory:
        yield laboratory


@pytest.mark.parametrize(
    ("group", "command", "points"),
    [("step", "ascan mot01 0 1 20 0.01", 21), ("fly", "ascanct mot01 0 1 100 0.01", 101)],
)
def test_every_point_has_its_own_frame(laboratory: Laboratory, group: str, command: str, points: int) -> None:
    laboratory.define(
        "senv", "ActiveMntGrp", {"step": laboratory.step_group, "fly": laboratory.fly_group}[group]
    )
    for _ in range(2):  # a second scan right after
        run = laboratory.run(*command.split())
        assert run.ending == "finish", (run.error, run.said())
        assert ScanFile(laboratory.scan_file).frame_numbers("pilatus") == list(range(points))
    assert laboratory.detector("pilatus").State() is tango.DevState.ON


@pytest.mark.parametrize("how", ["stop", "abort"])
def test_a_scan_that_is_ended_leaves_detector_and_receiver_idle(laboratory: Laboratory, how: str) -> None:
    laboratory.define("senv", "ActiveMntGrp", laboratory.step_group)
    detector = laboratory.detector("pilatus")
    before = detector.SeriesId
    run = laboratory.door.start("ascan", "mot01", "0", "10", "100", "0.02")
    laboratory.door.wait(run, until=lambda: detector.SeriesId != before and detector.nFramesAcquired >= 3)
    getattr(laboratory.door, how)()
    laboratory.end(run)
    laboratory.wait_idle("pilatus")
    run = laboratory.run("ct", "0.01")
    assert run.ending == "finish", (run.error, run.said())


def test_det_setup_sets_its_energy(laboratory: Laboratory) -> None:
    run = laboratory.run("det_setup", "pilatus", "Energy", "10000")
    assert run.ending == "finish", (run.error, run.said())
    laboratory.wait_idle("pilatus")
    assert laboratory.detector("pilatus").Energy == pytest.approx(10000.0)
    assert laboratory.detector("pilatus").Threshold == pytest.approx(5000.0), "it follows the energy"
