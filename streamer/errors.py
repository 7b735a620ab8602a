"""What the engine refuses, as one exception with a kind to act on and a sentence to show."""

from __future__ import annotations


class Refused(Exception):
    """The engine will not do what its caller asks; nothing has changed.

    `kind` is a short snake_case name, stable over releases; the text is one sentence with the
    component, the value and the remedy.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
