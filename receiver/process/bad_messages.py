"""Bad messages: each is counted by its kind, the first few are logged, the last is shown."""

from __future__ import annotations

import logging
from collections import Counter

from penstock.stins.errors import StinsError

log = logging.getLogger(__name__)

LOGGED_PER_KIND = 5
"""Bad messages of one kind that are logged each; the rest is only counted."""


class BadMessages:
    """The messages to one receiver that are not what the protocol allows.

    Args:
        name: of the receiver; stands in the log.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.counts: Counter[str] = Counter()
        """By kind; the kinds of what ended a series in Error are counted here too."""
        self.last = ""
        """Kind and sentence of the last."""
        self.refused = ""
        """Why the last start message could not be taken; whoever begins a series clears it. No Error: whoever
        can connect could send such messages, and would keep the receiver from taking any series."""

    def take(self, error: StinsError) -> None:
        """Count a bad message, and log it if it is one of the first of its kind."""
        self.counts[error.kind] += 1
        self.last = f"{error.kind}: {error}"
        count = self.counts[error.kind]
        if count <= LOGGED_PER_KIND:
            more = "; more of this kind are only counted" if count == LOGGED_PER_KIND else ""
            log.warning("%s: bad message, %s%s", self._name, self.last, more)
