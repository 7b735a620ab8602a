"""Scans with a detector behind an areaDetector IOC: as with any other detector."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tango

from penstock.sardana.laboratory.laboratory import Laboratory, Unit
from tests.sardana.scan_file import ScanFile

pytestmark = pytest.mark.slow  # it needs a Sardana of its own

CAMERA = Unit("areadetector", model="AreaDetector")


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with Laboratory(tmp_path_factory.mktemp("areadetector"), [CAMERA]) as laboratory:
        detector = laboratory.detector("areadetector")
        detector.AOIWidth, detector.AOIHeight = 64, 48
        yield laboratory


@pytest.mark.parametrize("points", [6, 21])
def test_every_point_of_a_step_scan_has_its_own_frame(laboratory: Laboratory, points: int) -> None:
    laboratory.define("senv", "ActiveMntGrp", laboratory.step_group)
    run = laboratory.run("ascan", "mot01", "0", "1", str(points - 1), "0.01")
    assert run.ending == "finish", (run.error, run.said())
    # The first pixel has a ramp; the last one the number of the array modulo 100, which runs on.
    pixels = ScanFile(laboratory.scan_file).pixels("areadetector", -1, -1)
    assert [(pixel - pixels[0]) % 100 for pixel in pixels] == list(range(points))
    assert laboratory.detector("areadetector").State() is tango.DevState.ON


def test_a_scan_that_is_stopped_leaves_detector_and_receiver_idle(laboratory: Laboratory) -> None:
    laboratory.define("senv", "ActiveMntGrp", laboratory.step_group)
    detector = laboratory.detector("areadetector")
    before = detector.SeriesId
    run = laboratory.door.start("ascan", "mot01", "0", "10", "100", "0.02")
    laboratory.door.wait(run, until=lambda: detector.SeriesId != before and detector.nFramesAcquired >= 3)
    laboratory.door.stop()
    laboratory.end(run)
    laboratory.wait_idle("areadetector")
    run = laboratory.run("ct", "0.01")
    assert run.ending == "finish", (run.error, run.said())
