"""The page of a pipeline in a real browser, behind a real receiver: states that want a person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests import browser
from tests.browser import Browser
from tests.processing.test_process import ENTRY, Start, running
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.CHROMIUM is None, reason="Chromium is missing: apt-get install chromium"),
]


@pytest.fixture
def chromium(tmp_path: Path) -> Iterator[Browser]:
    with closing(Browser(tmp_path / "profile")) as made:
        yield made


def test_without_workers_the_page_says_how_to_start_one(
    receiver: ReceiverProcess, tmp_path: Path, chromium: Browser
) -> None:
    with running(tmp_path, receiver, workers=0, listen="tcp://127.0.0.1:0") as made:
        chromium.open(f"{made.client.url}/")
        chromium.shows("spots", "idle", "Waits for a worker; `penstock worker ", "none")
        chromium.shows(f"penstock worker {made.ready['listen']}")


def test_a_worker_that_refuses_says_why(receiver: ReceiverProcess, tmp_path: Path, chromium: Browser) -> None:
    with running(tmp_path, receiver, listen="tcp://127.0.0.1:0", parameters={"treshold": 3}) as made:
        chromium.open(f"{made.client.url}/")
        chromium.shows("Waits for a worker that takes the code; ", "says: there is no parameter treshold")
        chromium.shows("refused\t0", "\nthere is no parameter treshold: Spots has threshold")


def test_an_unplanned_series_and_a_receiver_that_is_gone_within_it(
    start_receiver: Start, streamer: Streamer, tmp_path: Path, chromium: Browser
) -> None:
    receiver = start_receiver(forward=[ENTRY])
    receiver.connected()
    with running(tmp_path, receiver) as made:
        made.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
        streamer.start(str(receiver.root / "a.h5"), frames=None)
        for number in range(25):
            streamer.frame(number)
        chromium.open(f"{made.client.url}/")
        chromium.shows("running", "A series is being processed.", "frames\t25", "done\t25")
        chromium.shows("nobody knows how many will come", "frames 0 to 24; the value is that of frame 24")
        receiver.process.kill()
        chromium.shows("running", f"Receiver at {receiver.client.url} does not answer", "done\t25")
