"""What a series has lost, and why: the causes that its reason names."""

from __future__ import annotations

from penstock.receiver.models import FrameStatus
from penstock.receiver.series.account import Account
from penstock.stins.errors import StinsError
from penstock.stins.texts import plural

MOST_INDICES = 100
"""Most frames remembered per kind of error: one that is replaced by a sound copy no longer counts."""
MOST_CAUSES = 4
"""Most causes in one reason."""
DROPPED = {
    "out_of_range": ("frame was out of range", "frames were out of range"),
    "undecodable": ("message could not be read", "messages could not be read"),
}
"""Words for the counts of dropped messages."""


class Losses:
    """The causes of frames that arrived and are not, or not completely, in the file."""

    def __init__(self) -> None:
        self._frames: dict[str, dict[int, str]] = {}
        """Sentences by kind of error and index."""
        self._dropped: dict[str, str] = {}
        """First sentence by count, see `DROPPED`."""

    def note(self, index: int, error: StinsError) -> None:
        """Note why a frame is corrupt or partial."""
        known = self._frames.setdefault(error.kind, {})
        if len(known) < MOST_INDICES:
            known.setdefault(index, str(error))

    def note_dropped(self, count: str, why: str) -> None:
        """Note why a message was dropped.

        Args:
            count: the count of the account that it went into, one of `DROPPED`.
            why: the reason in a sentence.
        """
        self._dropped.setdefault(count, why)

    def sentences(self, account: Account) -> list[str]:
        """Return the causes in words, each with the first index or message that it concerns.

        Args:
            account: the closed account of the series.
        """
        return [*self._of_frames(account), *self._of_dropped(account)][:MOST_CAUSES]

    def _of_frames(self, account: Account) -> list[str]:
        found: list[tuple[int, str]] = []
        for known in self._frames.values():
            for index, sentence in sorted(known.items()):
                status = account.status(index)
                if status in (FrameStatus.CORRUPT, FrameStatus.PARTIAL):
                    found.append((index, f"{status.name.lower()} at index {index}: {sentence}"))
                    break
        return [sentence for _, sentence in sorted(found)]

    def _of_dropped(self, account: Account) -> list[str]:
        told: list[str] = []
        for count, why in self._dropped.items():
            number = getattr(account, count)
            first = "" if number == 1 else "the first: "
            told.append(f"{plural(number, *DROPPED[count])} ({first}{why})")
        return told
