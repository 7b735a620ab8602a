"""Scans go on through an update of the receiver: they wait, say for whom, and have all their frames."""

from __future__ import annotations

from collections.abc import Iterator

import h5py
import pytest

from penstock.sardana.laboratory.laboratory import Laboratory, Unit
from tests.sardana.scan_files import frames_of, points, statuses
from tests.system.beamline import until

pytestmark = pytest.mark.slow  # its detector needs a Sardana of its own

AWAY = 90.0
SAID = f"Nobody listens at its address; it is given up after {AWAY:g} s (property ReceiverAway)."
POINTS = 41
STEP = ("ascan", "mot01", "0", "1", str(POINTS - 1), "0.02")
FLY = ("ascanct", "mot01", "0", "1", str(POINTS - 1), "0.1", "0.05")


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    properties = {"SensorWidth": 64, "SensorHeight": 32, "ReceiverAway": AWAY}
    with Laboratory(
        tmp_path_factory.mktemp("update"), [Unit("sim", properties, {"on_terminate": "resume"})]
    ) as laboratory:
        yield laboratory


@pytest.mark.parametrize(("group", "command"), [("step_group", STEP), ("fly_group", FLY)])
def test_a_scan_goes_on_while_its_receiver_is_updated_and_has_every_frame(
    laboratory: Laboratory, group: str, command: tuple[str, ...]
) -> None:
    laboratory.define("senv", "ActiveMntGrp", getattr(laboratory, group))
    detector, channel = laboratory.detector(), laboratory.device("sim")
    before = detector.SeriesId
    run = laboratory.door.start(*command)
    laboratory.door.wait(run, until=lambda: detector.SeriesId != before and detector.nFramesAcquired >= 5)
    receiver = laboratory.process("receiver sim")
    receiver.stop()
    assert receiver.exit_status() == 0
    until(lambda: SAID in channel.Status(), "the channel says for whom it waits")
    until(lambda: detector.nFramesAcquired == POINTS, "the detector goes on", deadline=30.0)
    until(lambda: SAID in channel.Status(), "the last point waits")
    assert str(channel.State()) == "MOVING"
    laboratory.restart("receiver sim")
    laboratory.door.wait(run, timeout=60.0)
    assert run.ending == "finish", (run.error, run.said())
    references = points(laboratory.data / "scan.h5")
    assert frames_of(references) == [reference.index for reference in references] == list(range(POINTS))
    (file,) = {reference.file for reference in references}
    assert statuses(file, references[0].dataset) == [1] * POINTS
    with h5py.File(file, locking=False) as opened:
        reason = opened["entry/instrument/sim/series/reason"].asstr()[()]
    assert "the receiver was restarted in the series: no frame was lost" in reason
