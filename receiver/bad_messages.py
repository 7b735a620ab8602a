"""Bad messages: each is counted by its kind, the first few are logged, the last is shown."""

from __future__ import annotations

import logging
from collections import Counter

from penstock.stins.errors import StinsError

log = logging.getLogger(__name__)

LOGGED_PER_KIND = 5
"""Bad messages of one kind that are logged each; the rest is only counted."""
REFUSALS = ("over_memory",)
"""Of start messages that are sound, but ask for more than the configuration allows. No Error: whoever can
connect could send such messages, and would keep the receiver from taking any series."""


class BadMessages:
    """What came to one receiver and is not what the protocol allows.

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
        """Why the last start message was refused; whoever begins a series clears it."""

    def take(self, error: StinsError, *, in_series: bool) -> None:
        """Count a bad message, and log it if it is one of the first of its kind.

        Args:
            error: what is wrong with it.
            in_series: whether a series is running: then no start message has been refused.
        """
        self.counts[error.kind] += 1
        self.last = f"{error.kind}: {error}"
        if error.kind in REFUSALS and not in_series:
            self.refused = str(error)
        count = self.counts[error.kind]
        if count <= LOGGED_PER_KIND:
            more = "; more of this kind are only counted" if count == LOGGED_PER_KIND else ""
            log.warning("%s: bad message, %s%s", self._name, self.last, more)
