"""Step scans with real servers: every point of the scan refers to its own frame, as its pixels prove."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tango

from penstock.sardana.laboratory import Laboratory
from penstock.sardana.reference import parse
from tests.sardana.scan_files import frames_of, points


@pytest.fixture(autouse=True)
def _idle(laboratory: Laboratory) -> Iterator[None]:
    """A test finds the detector ready, and leaves it so."""
    yield
    detector = laboratory.detector()
    assert detector.State() is tango.DevState.ON, detector.Status()


def test_every_point_of_an_ascan_has_its_own_frame(laboratory: Laboratory) -> None:
    before = set(laboratory.data.glob("ct_*.h5"))
    run = laboratory.run("ascan", "mot01", "0", "1", "20", "0.01")
    assert run.ending == "finish", (run.error, run.said())
    references = points(laboratory.data / "scan.h5")
    assert [reference.index for reference in references] == list(range(21))
    assert frames_of(references) == list(range(21))
    assert len({reference.file for reference in references}) == 1, "one file per scan"
    assert set(laboratory.data.glob("ct_*.h5")) - before == {Path(references[0].file)}


@pytest.mark.parametrize(
    ("command", "planned"),
    [
        ("dscan mot01 -1 1 2 0.01", 3),
        ("mesh mot01 0 1 2 mot02 0 1 1 0.01 False", 6),
        ("timescan 3 0.01 0.3", 3),
    ],
)
def test_other_step_scans(laboratory: Laboratory, command: str, planned: int) -> None:
    run = laboratory.run(*command.split())
    assert run.ending == "finish", (run.error, run.said())
    references = points(laboratory.data / "scan.h5")[:planned]
    assert len(references) == planned
    assert frames_of(references) == [reference.index for reference in references]
    assert len({(reference.file, reference.index) for reference in references}) == planned


def test_a_single_count(laboratory: Laboratory) -> None:
    run = laboratory.run("ct", "0.01")
    assert run.ending == "finish", (run.error, run.said())
    channel = laboratory.device("sim")
    found = parse(channel.ValueRef)
    assert found is not None
    assert frames_of([found]) == [0]
    assert channel.LastFile == found.file
    assert channel.Warning == ""


def test_a_detector_in_fault_fails_the_scan_at_once_in_its_own_words(laboratory: Laboratory) -> None:
    detector = laboratory.detector()
    detector.Faults = "fail_at=1"
    run = laboratory.run("ascan", "mot01", "0", "1", "4", "0.01")
    assert run.ending == "exception"
    assert "the hardware failed at frame 1" in laboratory.device("sim").Warning
    detector.Faults = ""
    status = detector.Status()
    run = laboratory.run("ascan", "mot01", "0", "1", "4", "0.01")
    assert run.ending == "exception"
    assert status in run.error + run.said()
    detector.Reset()
    run = laboratory.run("ct", "0.01")
    assert run.ending == "finish", (run.error, run.said())
