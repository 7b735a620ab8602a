"""Modules whose images a transform assembles, written as the frames of one detector are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401 (registers the filters)
import numpy as np
import pytest

from penstock.receiver.models import View
from tests.receiver.modules.test_receiver import Detector

PACKED = [{"type": "assemble"}, {"type": "bslz4"}]
PLAIN = [{"type": "assemble"}]
FRAMES = 12


@pytest.mark.parametrize(
    ("keys", "files"),
    [
        ({"transforms": PACKED, "writers": 2}, ["a.h5", "a_data_0001.h5", "a_data_0002.h5"]),
        ({"transforms": PLAIN, "frames_per_file": 5}, ["a.h5", *(f"a_00000{n}.h5" for n in (1, 2, 3))]),
    ],
    ids=["several writers", "segments"],
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
