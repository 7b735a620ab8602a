"""Scans with a Jungfrau: PSI's own virtual one, whose slsReceiver sends the frames."""

from __future__ import annotations

from collections.abc import Iterator

import h5py
import hdf5plugin  # noqa: F401
import pytest
import tango

from penstock.sardana.laboratory.laboratory import Laboratory, Unit
from tests.sardana.scan_file import ScanFile
from tests.third_party import program_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]  # it needs a Sardana of its own


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """A Jungfrau over PSI's virtual detector."""
    program_of("slsdet", "slsReceiver")
    with Laboratory(tmp_path_factory.mktemp("jungfrau"), [Unit("jungfrau", model="Jungfrau")]) as laboratory:
        yield laboratory


def test_every_point_of_a_step_scan_has_its_own_frame(laboratory: Laboratory) -> None:
    laboratory.define("senv", "ActiveMntGrp", laboratory.step_group)
    for _ in range(2):  # a second scan right after
        run = laboratory.run("ascan", "mot01", "0", "1", "10", "0.01")
        assert run.ending == "finish", (run.error, run.said())
        scan = ScanFile(laboratory.scan_file)
        assert scan.column("jungfrau").shape == (11, 512, 1024)
        assert scan.column("jungfrau_status").tolist() == [1] * 11
        (source,) = scan.sources("jungfrau")
        with h5py.File(laboratory.scan_file.parent / source) as file:
            # All its pictures are the same, but each frame has the trigger that it was taken for.
            assert file["entry/instrument/jungfrau/trigger"][:].tolist() == list(range(11))
    assert laboratory.detector("jungfrau").State() is tango.DevState.ON


def test_a_scan_that_is_stopped_leaves_detector_and_receiver_idle(laboratory: Laboratory) -> None:
    laboratory.define("senv", "ActiveMntGrp", laboratory.step_group)
    detector = laboratory.detector("jungfrau")
    before = detector.SeriesId
    run = laboratory.door.start("ascan", "mot01", "0", "10", "100", "0.02")
    laboratory.door.wait(run, until=lambda: detector.SeriesId != before and detector.nFramesAcquired >= 3)
    laboratory.door.stop()
    laboratory.end(run)
    laboratory.wait_idle("jungfrau")
    run = laboratory.run("ct", "0.01")
    assert run.ending == "finish", (run.error, run.said())
