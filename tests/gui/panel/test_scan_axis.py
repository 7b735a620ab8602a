"""The picture's curves over the motor of the scan that has armed the detector."""

from __future__ import annotations

import json

from tests.gui.panel.conftest import OpenedPanel

METADATA = json.dumps(
    {
        "title": "ascan mot01 0.0 4.0 4 0.1",
        "scan": {"macro": "ascan", "motors": ["mot01"], "points": 5, "entries": ["title", "scan"]},
    }
)


def test_a_running_scan_offers_its_motor(opened: OpenedPanel) -> None:
    axis = opened.panel.live.regions.curves.axis
    opened.appear(Metadata=METADATA, nFramesPlanned=5)
    assert axis.findText("by mot01") < 0, "nothing runs"
    opened.device.say(State="RUNNING")
    opened.until(lambda: axis.findText("by mot01") >= 0)
    opened.device.say(State="ON", Metadata="")
    opened.until(lambda: not opened.panel.model.view().running)
    assert axis.findText("by mot01") >= 0, "of the series on show, until the next one"
