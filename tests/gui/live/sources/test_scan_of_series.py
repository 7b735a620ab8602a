"""A viewer, which has no device, draws curves over the motor of the scan that its series belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.gui.live.view import Viewer
from penstock.sardana.channel.metadata import of_scan
from tests.receiver.conftest import receiver, start_receiver, streamer
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

__all__ = ["receiver", "start_receiver", "streamer"]
DEADLINE = 20_000
SCAN = {
    "title": "ascan mot01 0.0 4.0 4 0.1", "scan_id": 17, "macro": "ascan", "motors": ["mot01"], "points": 5
}  # fmt: skip
"""The context of a scan, as Sardana's channel has it."""


def take(streamer: Streamer, user: dict[str, Any], frames: int = 5) -> str:
    """A series of a live view, with the user's metadata."""
    series = streamer.start("", {"user": user}, frames=frames)
    for number in range(frames):
        streamer.frame(number, np.full((60, 80), 10 * number, np.uint16))
    streamer.end(reason="complete", triggered=frames, sent=frames)
    return series


def test_the_curve_of_a_region_is_drawn_over_the_motor_that_the_series_metadata_name(
    qtbot: Any,
    start_receiver: Callable[..., ReceiverProcess],
    streamer: Streamer,
    show: Callable[..., Viewer],
) -> None:
    receiver = start_receiver(rois={"peak": {"x": 2, "y": 2, "width": 4, "height": 4}})
    receiver.connected()
    viewer = show(receiver.client.url)
    viewer.show()
    viewer.show_regions.setChecked(True)
    curves = viewer.regions.curves
    viewer.regions.show()

    receiver.ended(take(streamer, of_scan(SCAN)))

    qtbot.waitUntil(lambda: curves.axis.findText("by mot01") == 2, timeout=DEADLINE)
    curves.axis.setCurrentText("by mot01")
    qtbot.waitUntil(lambda: bool(curves.curve.curves()), timeout=DEADLINE)
    qtbot.waitUntil(lambda: len(curves.curve.curves()[0].x) == 5, timeout=DEADLINE)
    assert curves.curve.curves()[0].x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert curves.curve.getXAxis().getLabel() == "mot01 (planned)"

    receiver.ended(take(streamer, {"title": "no scan"}, frames=3))

    qtbot.waitUntil(lambda: curves.axis.count() == 2, timeout=DEADLINE)
    assert curves.axis.currentText() == "by frame"
