"""The device server of `SenderBox`: `python -m tests.system.own_stream_server INSTANCE`."""

from __future__ import annotations

import sys

import tango.server

from penstock.devices._detector.detector_class import detector_class
from tests.system.sender_box import SenderBox

if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    tango.server.run((detector_class(SenderBox),), args=["SenderBox", *sys.argv[1:]], raises=True)
