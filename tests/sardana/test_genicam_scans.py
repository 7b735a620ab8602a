"""Scans with a GenICam camera, the fake one of libaravis: as with any other detector."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tango

from penstock.sardana.laboratory.laboratory import Laboratory, Unit
from tests.devices._genicam.turns import turn
from tests.sardana.scan_file import ScanFile

pytestmark = pytest.mark.slow  # it needs a Sardana of its own

CAMERA = Unit("genicam", model="GenICam")


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with turn(), Laboratory(tmp_path_factory.mktemp("genicam"), [CAMERA]) as laboratory:
        detector = laboratory.detector("genicam")
        detector.AOIWidth, detector.AOIHeight = 64, 48
        yield laboratory


@pytest.mark.parametrize("points", [6, 21])
def test_every_point_of_a_step_scan_has_its_own_frame(laboratory: Laboratory, points: int) -> None:
    laboratory.define("senv", "ActiveMntGrp", laboratory.step_group)
    run = laboratory.run("ascan", "mot01", "0", "1", str(points - 1), "0.01")
    assert run.ending == "finish", (run.error, run.said())
    pixels = ScanFile(laboratory.scan_file).first_pixels("genicam")  # each the frame id modulo 255
    assert [(pixel - pixels[0]) % 255 for pixel in pixels] == list(range(points))
    assert laboratory.detector("genicam").State() is tango.DevState.ON


def test_a_scan_that_is_stopped_leaves_detector_and_receiver_idle(laboratory: Laboratory) -> None:
    laboratory.define("senv", "ActiveMntGrp", laboratory.step_group)
    detector = laboratory.detector("genicam")
    before = detector.SeriesId
    run = laboratory.door.start("ascan", "mot01", "0", "10", "100", "0.02")
    laboratory.door.wait(run, until=lambda: detector.SeriesId != before and detector.nFramesAcquired >= 3)
    laboratory.door.stop()
    laboratory.end(run)
    laboratory.wait_idle("genicam")
    run = laboratory.run("ct", "0.01")
    assert run.ending == "finish", (run.error, run.said())
