"""What every service says over HTTP beside its own status, as plain dataclasses; refusals of requests, and
calls without an answer."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.stins.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Health:
    """Liveness and readiness, for a service manager: restart a receiver that is not alive."""

    alive: bool
    """The data process answers, or is taking a series and has hung for no longer than a file system may."""
    ready: bool
    """The data process answers now and is not in Error: a series can be taken, or is being taken."""
    message: str = ""
    """Why it is not alive or not ready, in one sentence."""


class Refused(Exception):
    """A service refuses a request; `kind` is stable, the sentence says what to change (`Refusal`)."""

    http_status = 409

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why a request was refused: the body of every answer with a status of 400 or above."""

    kind: str
    """Stable short name: "busy", "in_error", "file_exists", "outside_data_root" …"""
    message: str
    """One sentence with the component, the value and the remedy."""


class NoAnswer(UserError):
    """A call has no result: `Unavailable` or `RefusedCall`."""


class Unavailable(NoAnswer):
    """Nobody answered in time; the sentence names the address and what to check.

    Args:
        message: the sentence.
        refused: whether nobody listens at that address, on a host that answers.
        foreign: whether somebody answers there, but not what was asked for.
    """

    kind = "unavailable"

    def __init__(self, message: str, *, refused: bool = False, foreign: bool = False) -> None:
        super().__init__(message)
        self.refused = refused
        self.foreign = foreign


class RefusedCall(NoAnswer):
    """The service refused the request; `kind` is stable, the sentence says what to change.

    Args:
        kind: short stable name.
        message: the sentence.
        retry_after: seconds after which to ask again; `None` if the service gives no such hint.
    """

    def __init__(self, kind: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
