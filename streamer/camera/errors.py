"""Refusals of the engine: one exception with a kind for programs and a sentence for people."""

from __future__ import annotations


class Refused(Exception):
    """The engine refused a request; nothing has changed.

    `kind` is a short snake_case name, stable over releases; the text is one sentence with the component, the
    value and the remedy.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
