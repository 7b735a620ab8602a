"""Protocol errors, each with a kind for counters, and a class that tells whose error it is.

They follow h11's split into local and remote errors: whoever reads the log has to know at once whether to
look at the sender or at the caller.
"""

from __future__ import annotations

from penstock.stins.texts import quoted

MAX_SENTENCE = 500
"""Most characters of a sentence, which is used in logs, counters and status."""


class StinsError(Exception):
    """Something is wrong with a message.

    `kind` is a short snake_case name, stable over releases: counters and metrics use it.
    """

    addressee = "unknown"

    def __init__(self, kind: str, message: str) -> None:
        # Sentences quote the peer's data, which may be megabytes, or a forged log line.
        super().__init__(quoted(message, MAX_SENTENCE))
        self.kind = kind


class RemoteError(StinsError):
    """The peer sent what STINS does not allow: look at the sender."""

    addressee = "peer"


class BlobError(RemoteError):
    """The image header is sound but its blob is not: this frame is corrupt."""


class LocalError(StinsError):
    """The caller requested an illegal message (wrong order, wrong type): look at the code."""

    addressee = "caller"
