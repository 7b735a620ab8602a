"""A device whose streamer is behind an interrupted network: the series goes on, and Status says so."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.network import SERVER as RECEIVER_HOST
from tests.network import UNIT, Computers, Switch, unavailable
from tests.system.beamline import FAULT, ON, RUNNING, Beamline, until, wait_state

pytestmark = pytest.mark.slow

SERVER, DEVICE = "Simulator/cut", "cut/det/1"
FRAMES = 2000


def test_a_cut_of_eight_seconds_ends_nothing_and_is_said(beamline: Beamline, tmp_path: Path) -> None:
    if why := unavailable():
        pytest.skip(why)
    with Switch(UNIT, RECEIVER_HOST) as switch, ExitStack() as stack:
        computers = Computers(switch, tmp_path, stack)
        receiver = computers.receiver
        beamline.register(
            SERVER, "Simulator", DEVICE, ReceiverUrl=receiver.client.url, StreamerControl=computers.control
        )
        beamline.serve(SERVER)
        stack.callback(beamline.end, SERVER)
        detector = beamline.device(DEVICE)
        wait_state(detector, ON)
        file = receiver.root / "cut.h5"
        for name, value in {
            "TriggerMode": "INTERNAL", "nTriggers": 1, "nFramesPerTrigger": FRAMES, "ExposureTime": 0.01,
            "DestinationFilename": str(file),
        }.items():  # fmt: skip
            detector.write_attribute(name, value)
        detector.Arm()
        receiver.received(100)
        switch.cut(UNIT)
        stack.callback(switch.mend, UNIT)
        until(lambda: "The streamer has not answered for 3 s" in detector.Status(), "it is said", 15.0)
        receiver.wait(lambda now: now.connections[0].silent_seconds >= 8)
        assert detector.State() == RUNNING
        switch.mend(UNIT)
        wait_state(detector, ON, FAULT, deadline=60.0)
        assert detector.Status() == f"Ready. Last series: {FRAMES:,} of {FRAMES:,} frames stored in {file}."
        assert json.loads(detector.LastSeries)["complete"] is True
