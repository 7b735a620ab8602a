"""What became of a series at its receiver."""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import Status
from penstock.stins.errors import UserError

BEGIN_SECONDS = 20.0
"""Time in which a receiver must begin or refuse a series once everything was handed to the network; modules
wait for each other."""
SLICE = 0.5
"""Seconds of one request, so that an interrupt is noticed."""


class Receiver:
    """A receiver that is asked about a series.

    Args:
        client: of its HTTP API.
    """

    def __init__(self, client: ReceiverClient) -> None:
        self._client = client

    def verdict(self, series: str, stopping: Callable[[], bool]) -> str:
        """Wait until the receiver is done with a series; return "" if it has all of it, else why not.

        Args:
            series: its id.
            stopping: returns true to stop waiting.

        Raises:
            UserError: the receiver does not answer.
        """
        due = time.monotonic() + BEGIN_SECONDS
        try:
            status = self._client.status()
            while not _is_over(status, series):
                known = status.series is not None and status.series.id == series
                if stopping() or (not known and time.monotonic() > due):
                    return (
                        f"the receiver at {self._client.url} has not begun the series; "
                        "is it this stream's receiver?"
                    )
                status = self._client.status(seen=status.version, wait=SLICE)
        except (ReceiverRefused, ReceiverUnavailable) as error:
            raise UserError(str(error)) from error
        if status.error:
            return f"the receiver is in Error: {status.error}"
        assert status.series is not None
        return f"the receiver does not have all of it: {status.series.reason}" if status.lacks else ""


def ask(url: str) -> Receiver:
    """Return the receiver at an address.

    Raises:
        UserError: it does not answer, or is in Error, in which it takes no series.
    """
    client = ReceiverClient(url, timeout=5.0)
    try:
        status = client.status()
    except (ReceiverRefused, ReceiverUnavailable) as error:
        raise UserError(str(error)) from error
    if status.error:
        raise UserError(
            f"the receiver at {url} is in Error: {status.error}; reset it first: penstock reset {url}"
        )
    return Receiver(client)


def _is_over(status: Status, series: str) -> bool:
    own = status.series is not None and status.series.id == series
    return bool(status.error) or (own and status.series is not None and not status.series.active)
