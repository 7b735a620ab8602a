"""The page of a bridge in a real browser, which finds no host but this one."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from tests import browser
from tests.bridges.epics.bridge_process import BridgeProcess, Updates
from tests.browser import Browser
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.CHROMIUM is None, reason="Chromium is missing: apt-get install chromium"),
]
ENTRY = {"name": "epics", "endpoint": "tcp://127.0.0.1:0"}
PICTURES = os.environ.get("PENSTOCK_PICTURES")


def test_the_page_shows_records_and_clients_and_follows_a_series_and_who_goes_away(tmp_path: Path) -> None:
    with closing(Streamer()) as streamer, closing(Browser(tmp_path / "profile")) as chromium:
        receiver = ReceiverProcess(tmp_path, streamer.endpoint, forward=[ENTRY])
        images = [{}, {"record": "THIRD", "every": 3}]
        bridge = BridgeProcess(tmp_path, receiver=receiver.client.url, consumer="epics", images=images)
        try:
            receiver.wait(lambda status: status.consumers[0].connected > 0)
            receiver.connected()
            chromium.open(f"{bridge.client.url}/")
            chromium.shows("idle", "No series yet.", "T:IMAGE", "is connected")
            with closing(bridge.context()) as context, closing(Updates(context, "T:IMAGE")) as updates:
                updates.wait(bool)
                chromium.shows("T:IMAGE\t\t0", "127.0.0.1:")
                file = f"{receiver.root}/seen.h5"
                streamer.start(file, frames=10)
                for number in range(5):
                    streamer.frame(number, pixels(number))
                chromium.shows("running", "Frames of a series are posted.", file, "T:IMAGE\t4\t5")
                for number in range(5, 10):
                    streamer.frame(number, pixels(number))
                streamer.end(reason="complete", triggered=10, sent=10)
                chromium.shows("The last series has ended.", "T:IMAGE\t9\t10", "T:THIRD\t9\t4\t6 (every)")
                if PICTURES:
                    chromium.show_as(1000, 700)
                    chromium.picture(Path(PICTURES) / "bridge.png", whole=True)
                    chromium.show_as(400, 800, dark=True, phone=True)
                    chromium.picture(Path(PICTURES) / "bridge_phone.png", whole=True)
            receiver.close()
            chromium.shows("waiting", f"{receiver.client.url} does not answer")
            if PICTURES:
                chromium.show_as(1000, 700)
                chromium.picture(Path(PICTURES) / "bridge_waits.png", whole=True)
        finally:
            bridge.close()
            receiver.close()
        chromium.shows("away", "Bridge away since", "What stands below is what it said last.")
        address = bridge.client.url
        assert all(url.startswith((f"{address}/", "data:")) for url in chromium.requested)
