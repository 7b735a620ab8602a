"""Errors: of the protocol, each with a kind for counters, and a class that tells whose it is; and those that
the user of a command can correct, which every room raises.

Those of the protocol follow h11's split into local and remote errors: whoever reads the log has to know at
once whether to look at the sender or at the caller.
"""

from __future__ import annotations

from penstock.stins.messages import Header
from penstock.stins.texts import quoted

MAX_SENTENCE = 500
"""Most characters of a sentence, which is used in logs, counters and status."""


class UserError(Exception):
    """An error that the user of a command can correct: the sentence, printed as it is, says how."""


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


class NotTaken(RemoteError):
    """A series cannot begin: its start message, or those of its modules, cannot be used, or one is missing.

    Args:
        kind: stable name of the reason.
        message: the reason in a sentence.
        header: what is known of the start message, or of one of them.
    """

    def __init__(self, kind: str, message: str, header: Header) -> None:
        super().__init__(kind, message)
        self.header = header


class BlobError(RemoteError):
    """The image header is sound but its blob is not: this frame is corrupt."""


class LocalError(StinsError):
    """The caller requested an illegal message (wrong order, wrong type): look at the code."""

    addressee = "caller"
