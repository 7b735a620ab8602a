"""Module streams through a receiver's process: live view, consumers, deaths, and what the file holds then."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401 (registers the filters)
import numpy as np
import pytest
import zmq

from penstock.receiver.models import FrameStatus, View
from penstock.stins import codec
from penstock.stins.messages import Frame, Message
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer, pixels

pytestmark = pytest.mark.slow

GROUP = "entry/instrument/sim_1"
FILL = 2**16 - 1
STORED, PARTIAL, MISSING = FrameStatus.STORED, FrameStatus.PARTIAL, FrameStatus.MISSING


class Detector:
    """Two modules of 4 × 6 pixels, one above the other, and their receiver."""

    def __init__(self, folder: Path, rotation: float = 0, **keys: Any) -> None:
        self.streamers = [Streamer() for _ in range(2)]
        self.rotation = rotation
        source = {"endpoints": [streamer.endpoint for streamer in self.streamers], "join": "modules"}
        self.receiver = ReceiverProcess(folder, self.streamers[0].endpoint, source, **keys)
        self.receiver.connected()

    def start(self, name: str, frames: int = 4, **keys: Any) -> str:
        """Both begin a series; its id."""
        for number, streamer in enumerate(self.streamers):
            place = {"x": 0, "y": number * 10, "rotation": self.rotation}
            streamer.start(
                str(self.receiver.root / name) if name else "", place, series=name or "live", frames=frames,
                trigger_mode="SOFTWARE", **keys,
            )  # fmt: skip
        return name or "live"

    def frame(self, number: int, *modules: int) -> None:
        """These modules send a frame."""
        for module in modules or (0, 1):
            self.streamers[module].frame(number, pixels(2 * number + module))

    def end(self, *modules: int) -> None:
        """These modules end the series."""
        for module in modules or (0, 1):
            self.streamers[module].end(reason="complete")

    def image(self, number: int, *modules: int) -> np.ndarray[Any, Any]:
        """The assembled image of these modules."""
        whole = np.full((14, 6), FILL, np.uint16)
        for module in modules or (0, 1):
            whole[module * 10 :][:4] = pixels(2 * number + module)
        return whole

    def close(self) -> None:
        """End everything."""
        self.receiver.close()
        for streamer in self.streamers:
            streamer.close()


@pytest.fixture
def detector(tmp_path: Path) -> Iterator[Callable[..., Detector]]:
    """Starts a detector; keys are those of the receiver's entry."""
    started: list[Detector] = []

    def start(**keys: Any) -> Detector:
        started.append(Detector(tmp_path / str(len(started)), **keys))
        return started[-1]

    yield start
    for running in started:
        running.close()


def statuses(path: Path) -> tuple[list[int], list[list[int]]]:
    """Of the frames and of their modules."""
    with h5py.File(path) as file:
        return file[f"{GROUP}/frame_status"][:].tolist(), file[f"{GROUP}/module_status"][:].tolist()


def test_the_live_view_shows_the_assembled_image_with_gaps_and_missing_modules(
    detector: Callable[..., Detector],
) -> None:
    sim = detector()
    sim.start("a.h5")
    sim.frame(0)
    sim.frame(1, 1)
    sim.receiver.wait(lambda status: status.counts.partial == 1)
    sim.receiver.flushed(2)
    client = sim.receiver.client
    np.testing.assert_array_equal(client.frame(0, View()).array, sim.image(0))
    np.testing.assert_array_equal(client.frame(1, View()).array, sim.image(1, 1))
    sim.frame(1, 0)
    sim.receiver.wait(lambda status: status.counts.stored == 2)
    np.testing.assert_array_equal(client.frame(1, View()).array, sim.image(1))
    sim.frame(2)
    sim.end()
    sim.receiver.ended("a.h5")
    shown = client.last_frame()
    assert shown is not None
    np.testing.assert_array_equal(shown.array, sim.image(2))
    assert shown.modules == ((0, 0, 4, 6), (10, 0, 4, 6))


@pytest.mark.parametrize("announced", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("rotation", "assembled", "shape"),
    [
        pytest.param(0, False, [14, 6], id="virtual"),
        pytest.param(90, False, [2, 4, 6], id="turned", marks=pytest.mark.slow),
        pytest.param(90, True, [16, 4], id="assembled", marks=pytest.mark.slow),
    ],
)
def test_the_shape_of_a_stored_frame_is_said_at_the_beginning_or_with_the_first(
    detector: Callable[..., Detector], rotation: float, assembled: bool, shape: list[int], announced: bool
) -> None:
    sim = detector(rotation=rotation, transforms=[{"type": "assemble"}] if assembled else [])
    keys = {"shape": (4, 6), "type": "uint16", "compression": "none"} if announced else {}
    sim.start("a.h5", **keys)
    said = sim.receiver.wait(lambda status: status.state == "running").series
    assert said is not None
    assert (said.shape, said.dtype) == ((shape, "uint16") if announced else ([], ""))
    sim.frame(0)
    sim.end()
    ended = sim.receiver.ended("a.h5").series
    assert ended is not None
    assert (ended.shape, ended.dtype) == (shape, "uint16")
    with h5py.File(sim.receiver.root / "a.h5") as file:
        assert list(file[ended.dataset].shape[1:]) == shape
        assert file[ended.dataset].dtype == "uint16"
        frames = [ended.dataset, *([f"{GROUP}/modules"] if f"{GROUP}/modules" in file else [])]
        assert [file[name].attrs["interpretation"] for name in frames] == ["image"] * len(frames)


@pytest.mark.parametrize("assembled", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_live_view_says_where_modules_stand_so_that_gaps_are_no_saturated_pixels(
    detector: Callable[..., Detector], assembled: bool
) -> None:
    sim = detector(transforms=[{"type": "assemble"}] if assembled else [])
    sim.start("")
    sim.frame(0, 1)
    sim.receiver.wait(lambda status: status.counts.partial == 1)
    sim.end()
    sim.receiver.ended("live")
    shown = sim.receiver.client.last_frame()
    assert shown is not None
    np.testing.assert_array_equal(shown.array, sim.image(0, 1))
    assert shown.modules == ((10, 0, 4, 6),), "module 0 is missing"


@pytest.mark.slow
@pytest.mark.parametrize("files", [1, 2])
def test_a_late_module_is_in_the_file_with_its_checksum(
    files: int, detector: Callable[..., Detector]
) -> None:
    sim = detector(files=files)
    sim.start("a.h5", frames=1)
    sim.frame(0, 0)
    sim.receiver.wait(lambda status: status.counts.partial == 1)
    sim.receiver.flushed(1)
    assert statuses(sim.receiver.root / "a.h5") == ([PARTIAL], [[STORED, MISSING]])
    sim.frame(0, 1)
    sim.end()
    status = sim.receiver.ended("a.h5")
    assert (status.counts.stored, status.counts.partial, status.counts.late) == (1, 0, 1)
    assert statuses(sim.receiver.root / "a.h5") == ([STORED], [[STORED, STORED]])
    with h5py.File(sim.receiver.root / "a.h5") as file:
        np.testing.assert_array_equal(file["entry/data/data"][0], sim.image(0))


@pytest.mark.slow
@pytest.mark.parametrize("files", [1, 2])
def test_kill_9_leaves_a_file_that_opens_and_says_which_modules_are_there(
    files: int, detector: Callable[..., Detector]
) -> None:
    sim = detector(files=files)
    sim.start("a.h5", frames=9)
    sim.frame(0)
    sim.frame(1, 1)
    sim.frame(2)
    sim.receiver.wait(lambda status: status.counts.partial == 1)
    sim.receiver.flushed(3)
    os.kill(sim.receiver.data_process(), signal.SIGKILL)
    status = sim.receiver.wait(lambda status: status.state == "idle" and status.counts.pending == 0)
    assert (status.counts.stored, status.counts.partial, status.counts.missing) == (2, 1, 6)
    path = sim.receiver.root / "a.h5"
    assert statuses(path) == ([STORED, PARTIAL, STORED], [[STORED] * 2, [MISSING, STORED], [STORED] * 2])
    with h5py.File(path) as file:
        whole = file["entry/data/data"][:]
        assert file[f"{GROUP}/series/state"].asstr()[()] == "incomplete"
    np.testing.assert_array_equal(whole, [sim.image(0), sim.image(1, 1), sim.image(2)])


def test_a_dead_module_is_named_within_seconds_and_the_others_go_on(
    detector: Callable[..., Detector],
) -> None:
    sim = detector(peer_gone=0.5)
    sim.start("a.h5", frames=3)
    sim.frame(0)
    sim.streamers[1].close()
    status = sim.receiver.wait(lambda status: "module_gone" in status.errors)
    assert status.state == "running" and status.series is not None
    assert f"frames are partial: {sim.streamers[1].endpoint}: its streamer is gone" in status.series.reason
    sim.frame(1, 0)
    sim.frame(2, 0)
    sim.end(0)
    status = sim.receiver.ended("a.h5")
    assert status.series is not None and not status.series.complete
    assert status.series.reason.startswith("1 of 3 frames: 2 partial")
    assert "its streamer is gone" in status.series.reason
    assert statuses(sim.receiver.root / "a.h5")[1] == [[STORED] * 2, [STORED, MISSING], [STORED, MISSING]]


@pytest.mark.slow
def test_stop_keeps_what_waits_for_other_modules(detector: Callable[..., Detector]) -> None:
    sim = detector(gap={"seconds": 60})
    sim.start("a.h5", frames=3)
    sim.frame(0)
    sim.frame(1, 0)
    sim.frame(2)
    sim.receiver.received(2)
    sim.receiver.client.stop()
    status = sim.receiver.ended("a.h5")
    assert (status.counts.stored, status.counts.partial) == (2, 1)
    assert statuses(sim.receiver.root / "a.h5")[1][1] == [STORED, MISSING]


@pytest.mark.slow
def test_the_policy_fail_ends_in_error_and_a_reset_takes_the_next_series(
    detector: Callable[..., Detector],
) -> None:
    sim = detector(gap={"seconds": 0.2, "policy": "fail"})
    sim.start("a.h5", frames=2)
    sim.frame(0, 0)
    status = sim.receiver.wait(lambda status: status.state == "error")
    assert f"frame 0 has come without {sim.streamers[1].endpoint}" in status.error
    sim.frame(1)
    sim.end()
    sim.receiver.wait(lambda status: status.drained == 4)
    sim.start("dropped.h5", frames=1)
    sim.end()
    sim.receiver.wait(lambda status: status.drained == 8)
    assert sim.receiver.log.read_text().count("is dropped: the receiver is in Error") == 1
    sim.receiver.client.reset()
    sim.start("b.h5", frames=1)
    sim.frame(0)
    sim.end()
    assert sim.receiver.ended("b.h5").counts.stored == 1


@pytest.mark.slow
@pytest.mark.parametrize("files", [1, 2])
def test_turned_modules_are_stored_and_the_missing_image_is_said(
    files: int, detector: Callable[..., Detector]
) -> None:
    sim = detector(rotation=90, files=files)
    sim.start("a.h5", frames=1)
    sim.frame(0)
    sim.end()
    status = sim.receiver.ended("a.h5")
    assert status.errors == {"not_assembled": 1}
    assert "put {type: assemble} into the transforms" in status.last_error
    with h5py.File(sim.receiver.root / "a.h5") as file:
        np.testing.assert_array_equal(file["entry/data/data"][0], [pixels(0), pixels(1)])


@pytest.mark.slow
def test_the_transform_turns_them_and_a_late_module_is_counted(detector: Callable[..., Detector]) -> None:
    sim = detector(rotation=90, transforms=[{"type": "assemble"}, {"type": "bslz4"}], workers=2)
    sim.start("a.h5", frames=2)
    sim.frame(0)
    sim.frame(1, 0)
    sim.receiver.wait(lambda status: status.counts.partial == 1)
    sim.frame(1, 1)
    sim.end()
    status = sim.receiver.ended("a.h5")
    assert status.errors == {"late_module": 1}
    with h5py.File(sim.receiver.root / "a.h5") as file:
        whole = file["entry/data/data"][:]
        assert file["entry/data/data"].chunks == (1, 16, 4)
    np.testing.assert_array_equal(whole[0][:6], np.rot90(pixels(0)))
    np.testing.assert_array_equal(whole[0][10:], np.rot90(pixels(1)))
    assert (whole[1][6:] == FILL).all()
    assert statuses(sim.receiver.root / "a.h5") == ([STORED, PARTIAL], [[STORED] * 2, [STORED, MISSING]])


@pytest.mark.slow
def test_a_series_that_is_live_only_is_joined_too(detector: Callable[..., Detector]) -> None:
    sim = detector()
    sim.start("", frames=2)
    sim.frame(0)
    sim.frame(1, 0)
    sim.end()
    status = sim.receiver.ended("live")
    assert (status.counts.delivered, status.counts.partial) == (1, 1)


def test_consumers_get_the_blobs_of_all_modules_and_are_told_of_a_missing_one(
    detector: Callable[..., Detector],
) -> None:
    sim = detector(forward=[{"name": "reduction", "endpoint": "tcp://127.0.0.1:*"}])
    (consumer,) = sim.receiver.client.status().consumers
    with zmq.Context() as context, context.socket(zmq.PULL) as pull:
        pull.set(zmq.LINGER, 0)
        pull.connect(consumer.endpoint)
        sim.receiver.wait(lambda status: status.consumers[0].connected == 1)
        sim.start("a.h5", frames=2)
        sim.frame(0)
        sim.frame(1, 1)
        sim.end()
        messages: list[Message] = []
        heads: list[dict[str, Any]] = []
        for _ in range(4):
            assert pull.poll(int(DEADLINE * 1000))
            parts = pull.recv_multipart()
            messages.append(codec.decode(parts))
            heads.append(json.loads(parts[0]))
    for head in heads[1:3]:
        assert (head["x"], head["y"], head["rotation"], head["full_shape"]) == (
            [0, 0],
            [0, 10],
            [0, 0],
            [14, 6],
        )
    whole, partial = (message for message in messages if isinstance(message, Frame))
    assert whole.image.shape == (2, 4, 6) and whole.image.partial is None
    assert [bytes(blob) for blob in whole.blobs] == [pixels(0).tobytes(), pixels(1).tobytes()]
    assert partial.image.partial == f"without {sim.streamers[0].endpoint}"
    assert [bytes(blob) for blob in partial.blobs] == [b"", pixels(3).tobytes()]


def test_check_says_which_module_is_missing_in_which_frames(detector: Callable[..., Detector]) -> None:
    sim = detector()
    sim.start("a.h5", frames=4)
    for number in range(4):
        sim.frame(number, *([0] if number in (1, 2) else [0, 1]))
    sim.end()
    sim.receiver.ended("a.h5")
    path = sim.receiver.root / "a.h5"
    done = subprocess.run(["penstock", "check", str(path)], capture_output=True, text=True, timeout=DEADLINE)
    assert "note: module 1 is missing or corrupt in frames 1-2" in done.stdout
    assert "problem: the series is incomplete: 2 of 4 frames: 2 partial" in done.stdout
