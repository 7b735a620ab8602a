"""Protocol errors, each with a kind to count it by and an addressee who must mend it.

After h11's split into local and remote errors: whoever reads the log at night has to know at
once whether to look at the sender's machine or at our own call.
"""

from __future__ import annotations

from penstock.stins.texts import quoted

MAX_SENTENCE = 500
"""Characters of a sentence that are kept: it goes into logs, counters and status."""


class StinsError(Exception):
    """Something is wrong with a message.

    `kind` is a short snake_case name, stable over releases: counters and metrics use it.
    """

    addressee = "unknown"

    def __init__(self, kind: str, message: str) -> None:
        # Sentences quote what the peer sent, which may be megabytes, or a forged line of a log.
        super().__init__(quoted(message, MAX_SENTENCE))
        self.kind = kind


class RemoteError(StinsError):
    """The peer sent what STINS does not allow: look at the sender."""

    addressee = "peer"


class BlobError(RemoteError):
    """The image header is sound, its blob is not: this one frame is corrupt."""


class LocalError(StinsError):
    """Our own caller asked for an illegal message (wrong order, wrong type): look at the code."""

    addressee = "caller"
