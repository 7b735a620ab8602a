"""A streamer and a receiver that the tests of a file share."""

from __future__ import annotations

from pathlib import Path

import urllib3

from penstock.receiver.client import ReceiverClient
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer


class Pair:
    """A streamer and the receiver that these tests share; each test leaves it idle."""

    def __init__(self, folder: Path) -> None:
        self.streamer = Streamer()
        self.receiver = ReceiverProcess(folder, self.streamer.endpoint, min_free_mb=1)
        self.receiver.connected()
        self._http = urllib3.PoolManager(retries=False, timeout=DEADLINE)

    @property
    def client(self) -> ReceiverClient:
        return self.receiver.client

    def ask(self, method: str, path: str, body: bytes | None = None) -> urllib3.BaseHTTPResponse:
        """One bare request."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        return self._http.request(method, self.client.url + path, body=body, headers=headers)

    def running(self, frames: int = 1, filename: str = "", planned: int = 9) -> str:
        """Start a series and let some frames come."""
        series = self.streamer.start(filename, frames=planned, trigger_mode="SOFTWARE")
        for number in range(frames):
            self.streamer.frame(number)
        self.receiver.wait(
            lambda status: (
                status.series is not None and status.series.id == series and status.counts.received == frames
            )
        )
        return series

    def end(self) -> None:
        """End it."""
        series = self.streamer.series
        self.streamer.end()
        self.receiver.ended(series)
