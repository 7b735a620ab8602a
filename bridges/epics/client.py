"""Client of a bridge's HTTP API; every call answers or raises within its time-out."""

from __future__ import annotations

from penstock.bridges.epics.models import Status
from penstock.service.http_client import HttpClient
from penstock.service.models import NoAnswer, RefusedCall, Unavailable

__all__ = ["BridgeClient", "NoAnswer", "RefusedCall", "Unavailable", "read_status"]


class BridgeClient(HttpClient[Status]):
    """One bridge, reached at `url` (such as "http://127.0.0.1:5200").

    Args:
        url: base address of the HTTP API.
        timeout: seconds for one call; a call that waits adds that time.
    """

    model, what, program = Status, "bridge", "penstock epics"


def read_status(url: str, timeout: float = 5.0) -> Status | None:
    """Return the status of the bridge at an address; `None` if none answers in so many seconds."""
    try:
        return BridgeClient(url, timeout).status()
    except NoAnswer:
        return None
