"""Bad messages: all are counted by kind, the first few are logged, the last is shown."""

from __future__ import annotations

import logging
from collections import Counter

from penstock.receiver.files.contents.nexus import WHOLE
from penstock.stins.errors import RemoteError, StinsError
from penstock.stins.metadata import MOST_KEYS
from penstock.stins.texts import of_series

log = logging.getLogger(__name__)

LOGGED_PER_KIND = 5
"""Number of bad messages of one kind that are logged; more are only counted."""


def many_keys(name: str, series: str) -> RemoteError:
    """Return the error to be counted for metadata of too many keys, with which a series is taken.

    Args:
        name: name of the series for people.
        series: its id.
    """
    return RemoteError(
        "unusable_metadata",
        f"{name}: the metadata have more than {MOST_KEYS:,} keys; they are kept whole, as one JSON text "
        f"(`{WHOLE}` of the detector's group); send fewer, or lists of numbers{of_series(series)}",
    )


class BadMessages:
    """The messages to one receiver that violate the protocol.

    Args:
        name: name of the receiver, for the log.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.counts: Counter[str] = Counter()
        """Counts by kind, including the kinds of errors that ended a series in Error."""
        self.last = ""
        """Kind and sentence of the last bad message."""
        self.refused = ""
        """Why the last start message was refused; cleared when a series begins. This is no Error: otherwise
        anybody who can connect could keep the receiver from taking series."""

    def take(self, error: StinsError) -> None:
        """Count a bad message, and log it if it is one of the first of its kind."""
        self.counts[error.kind] += 1
        self.last = f"{error.kind}: {error}"
        count = self.counts[error.kind]
        if count <= LOGGED_PER_KIND:
            more = "; more of this kind are only counted" if count == LOGGED_PER_KIND else ""
            log.warning("%s: bad message, %s%s", self._name, self.last, more)
