"""Modules whose images a transform assembles, written as the frames of one detector are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401 (registers the filters)
import msgspec
import numpy as np
import pytest

from penstock.receiver.merge import messages
from penstock.receiver.models import FrameStatus, View
from penstock.receiver.transforms.module_processor import ModuleProcessor
from penstock.receiver.transforms.steps import Transform
from penstock.stins.errors import BlobError
from penstock.stins.messages import Header, Start
from tests.receiver.merge.streams import ModuleBench, end, frame, start
from tests.receiver.merge.test_receiver import Detector
from tests.streams import image

PACKED = [{"type": "assemble"}, {"type": "bslz4"}]
PLAIN = [{"type": "assemble"}]
FRAMES = 12


@pytest.mark.parametrize(
    ("keys", "files"),
    [
        pytest.param(
            # A block has all of so small frames.
            {"transforms": PACKED, "files": 2},
            ["a.h5", "a_part1.h5"],
            id="several files",
        ),
        pytest.param(
            {"transforms": PLAIN, "frames_per_file": 5},
            ["a.h5", *(f"a_00000{n}.h5" for n in (1, 2, 3))],
            id="segments",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_assembled_images_go_to_several_files_or_segments(
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


@pytest.mark.parametrize("first", ["assemble", "dark_flat"])
def test_a_missing_module_and_what_a_module_says_has_no_value_are_none_behind_dark_flat(
    tmp_path: Path, first: str
) -> None:
    shape = (1, 4) if first == "assemble" else (1, 2)
    np.save(tmp_path / "dark.npy", np.full(shape, 10, "float32"))
    dark = {"type": "dark_flat", "dark": str(tmp_path / "dark.npy")}
    steps = [{"type": "assemble"}, dark] if first == "assemble" else [dark, {"type": "assemble"}]
    made = ModuleProcessor(msgspec.convert(steps, list[Transform]))
    starts = [
        Start(Header(filename=""), {"x": x, "y": 0, "underload_value": -5, "saturation_value": 50})
        for x in (0, 2)
    ]
    joined = messages.start(["tcp://a:1", "tcp://b:1"], starts, "s")[0].joined
    pixels = [np.array([[12, -6]], "int32"), np.array([[50, 49]], "int32")]
    arrived = {n: (image(0, array), [array.tobytes()]) for n, array in enumerate(pixels)}
    nan = np.nan
    for modules, left in (({0, 1}, [2, nan, nan, 39]), ({0}, [2, nan, nan, nan])):
        here = {n: arrived[n] for n in modules}
        found = made.process(messages.frame(joined, "s", 0, here))
        np.testing.assert_array_equal(np.frombuffer(found.blobs[0], "<f4"), np.array(left, "float32"))


def test_limits_in_which_modules_differ_are_each_ones_own(tmp_path: Path) -> None:
    np.save(tmp_path / "dark.npy", np.full((1, 2), 10, "float32"))
    steps = [{"type": "dark_flat", "dark": str(tmp_path / "dark.npy")}]
    made = ModuleProcessor(msgspec.convert(steps, list[Transform]))
    starts = [Start(Header(filename=""), {"saturation_value": value}) for value in (50, 60)]
    joined = messages.start(["tcp://a:1", "tcp://b:1"], starts, "s")[0].joined
    array = np.array([[12, 55]], "int32")
    arrived = {n: (image(0, array), [array.tobytes()]) for n in (0, 1)}
    found = made.process(messages.frame(joined, "s", 0, arrived))
    left = [np.frombuffer(blob, "<f4").tolist() for blob in found.blobs]
    np.testing.assert_array_equal(left, [[2, np.nan], [2, 45]])
