"""The receiver's past series as a panel shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath

from penstock.gui.model.columns import Column
from penstock.gui.model.series.account import FATES
from penstock.gui.model.series.outcome import Outcome
from penstock.gui.model.tango.answers import lost_in_words
from penstock.gui.words import clock, date_and_clock, day, duration
from penstock.receiver.models import PastSeries, Verdict

MOST = 1_000
"""The most series that a receiver remembers."""
OUTCOMES: Mapping[Verdict, Outcome] = {
    "complete": Outcome.COMPLETE, "ended": Outcome.ENDED, "incomplete": Outcome.INCOMPLETE,
    "not taken": Outcome.NOT_TAKEN,
}  # fmt: skip
_GRAVITY = (Outcome.NOT_TAKEN, Outcome.INCOMPLETE, Outcome.ENDED, Outcome.COMPLETE)


@dataclass(frozen=True)
class PastRow:
    """One series.

    Args:
        past: as the receiver has it.
        now: s since 1970, for "today".
    """

    past: PastSeries
    now: float

    @property
    def begun(self) -> float:
        """When it began, s since 1970; the end of one that never did."""
        return self.past.series.started or self.past.series.ended

    @property
    def seconds(self) -> float:
        """How long it took."""
        return max(0.0, self.past.series.ended - self.begun)

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        return OUTCOMES[self.past.verdict]

    @property
    def file(self) -> str:
        """As the receiver sees it; "" if there is none."""
        return self.past.series.filename or ""

    @property
    def frames(self) -> str:
        """Frames that are there, of those planned: "99 of 1,000"."""
        planned = self.past.counts.planned
        return f"{self.past.done:,} of {'?' if planned is None else f'{planned:,}'}"

    @property
    def lost(self) -> str:
        """Frames that are not, or not as a whole, in the file; "" where all are."""
        lost = self.past.series.lost
        return lost_in_words([(first, last, fate) for first, last, fate in lost], most=len(lost))

    @property
    def counts(self) -> str:
        """Frames by status: "stored 98, missing 2"."""
        counts = asdict(self.past.counts)
        return ", ".join(f"{word} {counts[fate]:,}" for fate, (_, word) in FATES.items() if counts[fate])

    def fits(self, words: str) -> bool:
        """Return whether every word is somewhere in the row: day, date, file, verdict, reason, id."""
        searched = " ".join(
            (*(column.text(self) for column in COLUMNS), date_and_clock(self.begun), self.file,
             self.past.why, self.past.series.id)
        ).casefold()  # fmt: skip
        return all(word in searched for word in words.casefold().split())

    def details(self) -> list[tuple[str, str]]:
        """Label and text of what the row has no room for; what is empty is left out."""
        series = self.past.series
        span = date_and_clock(self.begun)
        if series.ended > self.begun:
            span += f" to {date_and_clock(series.ended)}"
        rows = (
            (
                "Verdict",
                f"{self.outcome.sign} {self.outcome.word}{f': {self.past.why}' if self.past.why else ''}",
            ),
            ("Lost frames", f"{self.lost} (counted from 0)" if self.lost else ""),
            ("Frames", f"{self.frames}: {self.counts}" if self.counts else self.frames),
            ("File", self.file or "none"),
            ("Time", span),
            ("Series", series.id),
        )
        return [(label, text) for label, text in rows if text]


COLUMNS = (
    Column("Day", lambda row: day(row.begun, row.now), lambda row: row.begun),
    Column("Time", lambda row: clock(row.begun), lambda row: row.begun, right=True),
    Column("Took", lambda row: duration(row.seconds), lambda row: row.seconds, right=True),
    Column("Frames", lambda row: row.frames, lambda row: (row.past.done, row.past.counts.planned or 0),
           right=True),
    Column("Verdict", lambda row: f"{row.outcome.sign} {row.outcome.word}",
           lambda row: _GRAVITY.index(row.outcome)),
    Column("File", lambda row: PurePosixPath(row.file).name or "no file", lambda row: row.file.casefold()),
    Column("Folder", lambda row: str(PurePosixPath(row.file).parent) if row.file else "",
           lambda row: row.file.casefold()),
)  # fmt: skip
DAY, TIME, TOOK, FRAMES, VERDICT, FILE, FOLDER = range(len(COLUMNS))


def filtered(rows: list[PastRow], words: str, column: int, *, falling: bool) -> list[PastRow]:
    """Return the rows that have all the words, sorted by a column, and among equals the newest first."""
    found = sorted((row for row in rows if row.fits(words)), key=lambda row: row.begun, reverse=True)
    return sorted(found, key=COLUMNS[column].key, reverse=falling)
