"""What became known in a series only, in the file and behind transforms."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.receiver.transforms.frame_processor import FrameProcessor
from penstock.receiver.transforms.steps.chain import Chain
from penstock.receiver.transforms.steps.dark_flat import DarkFlat
from penstock.receiver.transforms.steps.orientation import Flip
from penstock.stins.messages import Header, Start
from tests.receiver.files.stores.written import DETECTOR, Written, frame

AT_START = {
    "saturation_value": 1048574, "count_time": 0.004, "description": "PILATUS",
    "camserver": {"tau": 1e-7, "trim_file": "a.bin"},
}  # fmt: skip
AT_END = {
    "saturation_value": 1009797, "count_time": 0.004, "sensor_material": "Si",
    "camserver": {"trim_file": "b.bin", "n_excluded_pixels": 852},
}  # fmt: skip


def opening(metadata: dict[str, Any]) -> Start:
    return Start(Header(filename="/data/x.h5", series="a", frames=2), metadata)


@pytest.mark.parametrize("swmr", [False, True])
def test_what_became_known_in_the_series_completes_and_replaces_what_was_said_before(
    path: Path, caplog: pytest.LogCaptureFixture, swmr: bool
) -> None:
    written = Written(path, opening(AT_START), swmr=swmr)
    written.add(frame(0), frame(1))
    written.series.learned = AT_END
    with caplog.at_level(logging.WARNING):
        written.close()
    with h5py.File(path) as file:
        group = file[DETECTOR]
        assert group["saturation_value"][()] == 1009797 and group["count_time"][()] == 0.004
        assert group["count_time"].attrs["units"] == "s"
        assert group["sensor_material"].asstr()[()] == "Si"
        assert group["description"].asstr()[()] == "PILATUS"
        own = group["camserver"]
        assert (own["tau"][()], own["tau"].attrs["units"]) == (1e-7, "s")
        assert (own["trim_file"].asstr()[()], own["n_excluded_pixels"][()]) == ("b.bin", 852)
        assert group["series/state"].asstr()[()] == "complete"
    assert [
        line.partition(f"{DETECTOR.removeprefix('entry/')}/")[2].split(" in the ")[0]
        for line in caplog.messages
        if " in the start message, and is " in line
    ] == ["saturation_value was 1048574", "camserver/trim_file was a.bin"]


def test_what_the_writer_has_made_is_never_replaced(path: Path) -> None:
    """Names of its own, and of what stands where an object would have to be."""
    written = Written(path, opening({"camserver": 5}))
    written.add(frame(0), frame(1))
    written.series.learned = {
        "data": 1, "data_000001": 2, "frame_status": 3, "series": {"state": "x"}, "camserver": {"tau": 4.0},
    }  # fmt: skip
    written.close()
    with h5py.File(path) as file:
        group = file[DETECTOR]
        assert group["data"].shape[0] == 2 and group["frame_status"][()].tolist() == [1, 1]
        assert group["series/state"].asstr()[()] == "complete"
        assert group["camserver"][()] == 5


def test_what_became_known_goes_through_the_transforms_too(tmp_path: Path) -> None:
    np.save(tmp_path / "dark.npy", np.ones((4, 6), "<f4"))
    header = Header(filename="", shape=(4, 6), type="int32", compression="none")
    start = Start(header, {"underload_value": 0, "label": "s1"})
    turns = FrameProcessor(Chain([Flip(direction="left-right")]))
    assert turns.learned(start, {"beam_center_x": 1.0, "beam_center_y": 1.5}) == {
        "beam_center_x": 5.0, "beam_center_y": 1.5,
    }  # fmt: skip
    corrects = FrameProcessor(Chain([DarkFlat(dark=str(tmp_path / "dark.npy"))]))
    assert corrects.learned(start, {"saturation_value": 9, "sensor_material": "Si"}) == {
        "sensor_material": "Si", "before_transforms": {"saturation_value": 9, "underload_value": 0},
    }  # fmt: skip
    assert FrameProcessor().learned(start, {"saturation_value": 9}) == {"saturation_value": 9}
