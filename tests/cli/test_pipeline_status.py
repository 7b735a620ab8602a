"""What `penstock status --pipeline` says of a status, in lines."""

from __future__ import annotations

from penstock.cli._status.pipeline import lines
from penstock.processing.models import Parameters, Status


def test_parameters_are_one_line_whatever_text_they_have() -> None:
    poni = "# Calibration\nponi_version: 2.1\nDistance: 0.2\n"
    status = Status(
        state="idle",
        pipeline="azim",
        parameters=Parameters(version=3, values={"points": 500, "poni": poni, "flat": ""}, from_frame=7),
    )

    said = list(lines(status))

    assert '  points = 500, poni = text of 3 lines, flat = "" (version 3, from frame 7)' in said
