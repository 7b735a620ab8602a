"""Client of a control's HTTP API; every call answers or raises within its time-out."""

from __future__ import annotations

from penstock.cluster.models import Status
from penstock.service.http_client import HttpClient
from penstock.service.models import NoAnswer, RefusedCall, Unavailable

__all__ = ["ControlClient", "NoAnswer", "RefusedCall", "Unavailable"]
PATIENCE = 10.0
"""Additional seconds for what Kubernetes is asked for."""


class ControlClient(HttpClient[Status]):
    """One control, reached at `url` (such as "http://eiger-control:5300").

    Args:
        url: base address of the HTTP API.
        timeout: seconds for one call; a call that waits adds that time.
    """

    model, what, program = Status, "control", "penstock pipeline-control"

    def start(self, part: str) -> Status:
        """Start a part, such as "receiver", "spots" or "spots/workers".

        Raises:
            RefusedCall: there is no such part, or Kubernetes refuses; the sentence says why.
        """
        return self._do("/start", part)

    def stop(self, part: str) -> Status:
        """Stop a part; the workers of a pipeline stay.

        Raises:
            RefusedCall: there is no such part, or Kubernetes refuses; the sentence says why.
        """
        return self._do("/stop", part)

    def restart(self, part: str) -> Status:
        """Stop a part, and start it once its pod has ended; returns when it is being stopped.

        Raises:
            RefusedCall: there is no such part, or Kubernetes refuses; the sentence says why.
        """
        return self._do("/restart", part)

    def scale(self, part: str, count: int) -> Status:
        """Let workers be so many.

        Raises:
            RefusedCall: the part cannot have this number, or Kubernetes refuses; the sentence says why.
        """
        return self._json(Status, "POST", "/scale", body={"part": part, "count": count}, wait=PATIENCE)

    def wake(self) -> Status:
        """Let workers come back that were taken away while no series ran; returns at once."""
        return self._json(Status, "POST", "/wake")

    def _do(self, path: str, part: str) -> Status:
        return self._json(Status, "POST", path, body={"part": part}, wait=PATIENCE)
