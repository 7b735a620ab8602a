"""Modules whose images a transform assembles, written as the frames of one detector are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401 (registers the filters)
import numpy as np
import pytest

from penstock.receiver.models import FrameStatus, View
from penstock.stins.errors import BlobError
from tests.receiver.merge.streams import ModuleBench, end, frame, start
from tests.receiver.merge.test_receiver import Detector

PACKED = [{"type": "assemble"}, {"type": "bslz4"}]
PLAIN = [{"type": "assemble"}]
FRAMES = 12


@pytest.mark.parametrize(
    ("keys", "files"),
    [
        pytest.param({"transforms": PACKED, "writers": 2}, ["a.h5"], id="several writers"),
        pytest.param(
            {"transforms": PLAIN, "frames_per_file": 5},
            ["a.h5", *(f"a_00000{n}.h5" for n in (1, 2, 3))],
            id="segments",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_assembled_images_go_to_several_writers_or_segments(
    tmp_path: Path, keys: dict[str, Any], files: list[str]
) -> None:
    sim = Detector(tmp_path, **keys)
    try:
        sim.start("a.h5", frames=FRAMES)
        for number in range(FRAMES):
            sim.frame(number)
        sim.receiver.flushed(FRAMES)
        for number in (0, 7):
            np.testing.assert_array_equal(sim.receiver.client.frame(number, View()).array, sim.image(number))
        sim.end()
        assert sim.receiver.ended("a.h5").series.complete
        root = sim.receiver.root
        assert sorted(path.name for path in root.glob("*.h5")) == files
        with h5py.File(root / "a.h5") as file:
            np.testing.assert_array_equal(file["entry/data/data"][()], [sim.image(n) for n in range(FRAMES)])
    finally:
        sim.close()


def test_frames_whose_modules_overlap_cannot_be_assembled_and_are_corrupt() -> None:
    bench = ModuleBench(2, transforms=[{"type": "assemble"}])
    bench.say_all(start(frames=1, metadata={"x": 0, "y": 0}), frame(0), end())
    assert (bench.sink.counts.corrupt, bench.sink.errors) == (1, ["not_assembled"])
    assert bench.sink.modules(1).tolist() == [[FrameStatus.CORRUPT, FrameStatus.CORRUPT]]


def test_a_series_whose_modules_are_announced_and_overlap_is_not_taken_by_assemble() -> None:
    bench = ModuleBench(2, transforms=[{"type": "assemble"}])
    known = {"shape": (4, 6), "type": "uint16", "compression": "none"}
    bench.say(0, start(metadata={"x": 0, "y": 0}, **known))
    with pytest.raises(BlobError, match="modules 0 and 1 overlap"):
        bench.say(1, start(metadata={"x": 0, "y": 0}, **known))
    assert not bench.running
