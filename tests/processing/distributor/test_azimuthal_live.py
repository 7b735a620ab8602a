"""Azimuthal integration behind a receiver: frames wait for the geometry, and for nothing after that.

The matrices are made before, in another folder; a lock that the test holds stands for the time that it takes
to make one.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.processing.azimuthal import kept
from penstock.processing.models import Status
from penstock.receiver import geometry
from penstock.receiver.geometry import NEEDED
from tests.processing.azimuthal.compared import make_here
from tests.processing.distributor.pipelines import Pipeline, column, kill, pipeline, results
from tests.processing.processors.built_in import begun
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

SOURCE = "from penstock.processing.processors.azimuthal import Azimuthal as Mine\n"
SHAPE = (40, 50)
GEOMETRY = {
    "distance": 0.1, "beam_center_x": 24.5, "beam_center_y": 18.5, "x_pixel_size": 172e-6,
    "y_pixel_size": 172e-6, "incident_energy": 12_400.0,
}  # fmt: skip
PARAMETERS: dict[str, Any] = {"points": 20, "splitting": "no"}
HEADER: dict[str, Any] = {"shape": SHAPE, "type": "uint16", "compression": "none"}
IMAGE = np.full(SHAPE, 7, np.uint16)


def poni(distance: float) -> str:
    """The text of another geometry."""
    found = geometry.find(GEOMETRY | {"distance": distance})
    assert found is not None
    keys = geometry.poni(found, SHAPE)
    return f"""poni_version: 2.1
Detector: Detector
Detector_config: {{"pixel1": 172e-6, "pixel2": 172e-6, "orientation": 2}}
Distance: {keys["dist"]}
Poni1: {keys["poni1"]}
Poni2: {keys["poni2"]}
Rot1: 0
Rot2: 0
Rot3: 0
Wavelength: {keys["wavelength"]}
"""


class Matrices:
    """Two matrices that were made, and the folder of the pipeline, which has none yet."""

    def __init__(self, made: Path, folder: Path) -> None:
        self._made = made
        self.folder = folder
        self.names: list[str] = []

    def note(self) -> None:
        """Remember the name of one that was made just now."""
        (name,) = {path.name for path in self._made.glob("*.matrix")} - set(self.names)
        self.names.append(name)

    @contextmanager
    def making(self, which: int) -> Iterator[None]:
        """One of them is being made by another process, and there at the end."""
        name = self.names[which]
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = self.folder / f".{name.removesuffix('.matrix')}.lock"
        with lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
            shutil.copy(self._made / name, self.folder / name)
            lock.unlink()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Matrices:
    """The matrix of the series, and one of another geometry over its axis."""
    folder = tmp_path_factory.mktemp("made")
    matrices = Matrices(folder / "azimuthal", Path())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_CACHE", os.fspath(folder))
        patch.setattr(kept, "_make", make_here)
        run = begun("azimuthal", PARAMETERS, GEOMETRY, **HEADER)
        matrices.note()
        run.change(**PARAMETERS, poni=poni(0.12))
        matrices.note()
    return matrices


@pytest.fixture
def matrices(made: Matrices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Matrices:
    monkeypatch.setenv("PENSTOCK_CACHE", os.fspath(tmp_path))
    made.folder = tmp_path / "azimuthal"
    return made


def done(frames: int, status: Status) -> bool:
    return status.series is not None and status.series.counts.done >= frames


def reason(status: Status) -> str:
    return "" if status.series is None else status.series.reason


def send(sender: Streamer, first: int, end: int) -> None:
    for number in range(first, end):
        sender.frame(number, IMAGE)


def start(sender: Streamer, receiver: ReceiverProcess, frames: int, metadata: Any = GEOMETRY) -> str:
    return sender.start(str(receiver.root / "a.h5"), metadata, frames=frames, **HEADER)


def finish(made: Pipeline, sender: Streamer, name: str, frames: int) -> Any:
    sender.end(reason="complete", triggered=frames, sent=frames)
    return made.over(name)


@pytest.mark.slow
def test_frames_wait_for_the_geometry_and_none_is_dropped(
    receiver: ReceiverProcess, sender: Streamer, matrices: Matrices
) -> None:
    with pipeline(SOURCE, receiver, workers=2, parameters=PARAMETERS) as made:
        with matrices.making(0):
            name = start(sender, receiver, 30)
            send(sender, 0, 20)
            status = made.wait(lambda status: "20 frames wait" in reason(status))
            assert reason(status) == "preparing geometry, 20 frames wait" and status.series is not None
            assert {(each.state, each.doing) for each in status.workers} == {
                ("preparing", "preparing geometry")
            }
            assert status.series.counts.queued == 20
        made.wait(lambda status: done(20, status))
        kill(made.workers[0])
        made.wait(lambda status: status.deaths == 1)
        made.work()
        made.wait(lambda status: all(each.state == "ready" for each in status.workers))
        send(sender, 20, 30)
        series = finish(made, sender, name, 30)
    assert series.counts.done == 30 and series.reason == ""
    assert [path.name for path in matrices.folder.iterdir()] == [matrices.names[0]]
    with results(series) as file:
        np.testing.assert_allclose(column(file, "I"), column(file, "I")[:1].repeat(30, 0))
        assert file["entry/azint1d/data"].attrs["axes"].tolist() == [".", "radial_axis"]


@pytest.mark.slow
def test_frames_go_on_while_another_geometry_is_prepared(
    receiver: ReceiverProcess, sender: Streamer, matrices: Matrices
) -> None:
    with pipeline(SOURCE, receiver, workers=2, parameters=PARAMETERS) as made:
        with matrices.making(0):
            name = start(sender, receiver, 60)
        send(sender, 0, 20)
        made.wait(lambda status: done(20, status))
        with matrices.making(1):
            number = made.say("parameters", parameters={"poni": poni(0.12)})
            send(sender, 20, 40)
            made.wait(lambda status: done(40, status))
            assert made.snapshot.handled < number and made.snapshot.changed is None
        made.until(number)
        changed = made.snapshot.changed
        send(sender, 40, 60)
        series = finish(made, sender, name, 60)
    assert changed is not None and changed.taken and changed.from_frame == 40
    assert series.counts.done == 60
    with results(series) as file:
        assert np.asarray(file["entry/account/parameters_version"]).tolist() == [1] * 40 + [2] * 20
        curves = column(file, "I")
        assert not np.allclose(curves[39], curves[40], equal_nan=True)


@pytest.mark.slow
def test_a_series_without_geometry_is_refused_when_it_begins(
    receiver: ReceiverProcess, sender: Streamer, matrices: Matrices
) -> None:
    with pipeline(SOURCE, receiver, workers=1, parameters=PARAMETERS) as made:
        name = start(sender, receiver, 5, {})
        refused = f"has no geometry: {NEEDED}"
        made.wait(lambda status: refused in reason(status))
        assert made.status.series is not None and made.status.series.counts.pending == 5
        send(sender, 0, 5)
        series = finish(made, sender, name, 5)
    assert series.counts.failed == 5 and re.search(re.escape(refused), series.reason)


@pytest.mark.slow
def test_a_matrix_that_cannot_be_kept_is_made_all_the_same_and_the_status_says_so(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("file").touch()
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "file/folder"))
    with pipeline(SOURCE, receiver, workers=1, parameters=PARAMETERS) as made:
        name = start(sender, receiver, 5, GEOMETRY)
        send(sender, 0, 5)
        series = finish(made, sender, name, 5)
        (worker,) = made.status.workers
    assert series.counts.done == 5 and series.reason == ""
    assert "let PENSTOCK_CACHE name a folder that workers can write. Until then" in worker.last_error
