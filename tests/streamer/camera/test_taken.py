from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.streamer.camera.checks import differences
from tests.streamer.rig import settings

ASKED = settings(exposure_time=0.0126, latency_time=0.0, camera={"Gain": 3.5, "Mode": "fast", "Rows": 0})


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({}, ""),
        ({"exposure_time": 0.01265}, ""),
        ({"exposure_time": 0.012}, "ExposureTime 0.012 of 0.0126, FrameTime 0.022 of 0.0226"),
        ({"latency_time": 0.009}, ""),
        ({"latency_time": 0.02}, "FrameTime 0.0326 of 0.0226"),
        ({"camera": {"Gain": 3.0, "Mode": "fast", "Rows": 0}}, "Gain 3 of 3.5"),
        ({"camera": {"Gain": 3.5, "Mode": "slow", "Rows": 1}}, "Mode slow of fast, Rows 1 of 0"),
        ({"camera": {}}, ""),
    ],
)
def test_what_is_more_than_a_hundredth_off_is_said(made: dict[str, Any], said: str) -> None:
    taken = msgspec.structs.replace(ASKED, **made)
    sentence = f"The detector has made {said}; the file says what it has taken." if said else ""
    assert differences(ASKED, taken, readout=0.01) == sentence
