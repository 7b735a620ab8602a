"""Scans with an Eiger, whose control unit sends the frames: as with any other detector."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import tango

from penstock.sardana.laboratory.laboratory import Laboratory, Unit
from tests.sardana.scan_file import ScanFile

pytestmark = pytest.mark.slow  # it needs a Sardana of its own

EIGER = Unit("eiger", model="Eiger", options={"sensor": (32, 64), "pattern": "gradient"})


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """An Eiger over a simulated control unit."""
    with Laboratory(tmp_path_factory.mktemp("eiger"), [EIGER]) as laboratory:
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
        assert ScanFile(laboratory.scan_file).frame_numbers("eiger") == list(range(points))
    assert laboratory.detector("eiger").State() is tango.DevState.ON


@contextmanager
def fault(laboratory: Laboratory, **fault: float) -> Iterator[None]:
    """Let the control unit do this wrong."""
    host, port = (laboratory.detector("eiger").get_property(name)[name][0] for name in ("Host", "Port"))

    def put(faults: dict[str, float]) -> None:
        urllib.request.urlopen(
            urllib.request.Request(
                f"http://{host}:{port}/simulator/faults", json.dumps(faults).encode(), method="PUT"
            ),
            timeout=10.0,
        ).close()

    put(fault)
    try:
        yield
    finally:
        put(dict.fromkeys(fault, 0.0))


@pytest.mark.parametrize(
    "wrong", [pytest.param({"slow_put": 0.8}, marks=pytest.mark.slow), {"slow_arm": 3.0}]
)
def test_a_control_unit_that_is_slow(laboratory: Laboratory, wrong: dict[str, float]) -> None:
    laboratory.define("senv", "ActiveMntGrp", laboratory.step_group)
    with fault(laboratory, **wrong):
        run = laboratory.run("ascan", "mot01", "0", "1", "3", "0.03")
    assert run.ending == "finish", (run.error, run.said())
    assert ScanFile(laboratory.scan_file).frame_numbers("eiger") == list(range(4))


@pytest.mark.parametrize("how", ["stop", "abort"])
def test_a_scan_that_is_ended_leaves_detector_and_receiver_idle(laboratory: Laboratory, how: str) -> None:
    laboratory.define("senv", "ActiveMntGrp", laboratory.step_group)
    detector = laboratory.detector("eiger")
    before = detector.SeriesId
    run = laboratory.door.start("ascan", "mot01", "0", "10", "100", "0.02")
    laboratory.door.wait(run, until=lambda: detector.SeriesId != before and detector.nFramesAcquired >= 3)
    getattr(laboratory.door, how)()
    laboratory.end(run)
    laboratory.wait_idle("eiger")
    run = laboratory.run("ct", "0.01")
    assert run.ending == "finish", (run.error, run.said())


def test_det_setup_sets_its_energy(laboratory: Laboratory) -> None:
    run = laboratory.run("det_setup", "eiger", "Energy", "10000")
    assert run.ending == "finish", (run.error, run.said())
    laboratory.wait_idle("eiger")
    assert laboratory.detector("eiger").Energy == pytest.approx(10000.0)
    assert laboratory.detector("eiger").Threshold == pytest.approx(5000.0), "it follows the energy"
