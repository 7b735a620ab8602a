"""Refusals of requests: a short stable name and a sentence."""

from __future__ import annotations


class Refused(Exception):
    """A service refuses a request; `kind` is stable, the sentence says what to change."""

    http_status = 409

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
