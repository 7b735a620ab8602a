"""Recovery after a writer died: each file in the journal is marked as incomplete, or its series is resumed.

Called by the data process when it starts, and by the HTTP process when the data process has died. A file
that was moved, replaced or damaged, that may not be written, or that another receiver is writing, is left as
it is and logged once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files.contents.template import IN_PROGRESS
from penstock.receiver.files.recovery.interrupted import Untouched, look_at, mark_interrupted, there
from penstock.receiver.files.recovery.journal import Journal, Left, is_resumable
from penstock.receiver.files.remedies import is_no_space
from penstock.receiver.files.reopened import DAMAGED, Reopened, reopen_file
from penstock.receiver.files.stores.reopen import format_of
from penstock.receiver.models import PastSeries, Series
from penstock.receiver.regions import rows as region_rows
from penstock.receiver.series.account import Account
from penstock.receiver.series.kills import Interruption
from penstock.receiver.series.running_series import ResumedSeries
from penstock.stins.messages import Header, Start
from penstock.stins.texts import of_series, plural

log = logging.getLogger(__name__)

KILLED, LEFT = "the receiver was killed", "the receiver was ended"


@dataclass
class Resumable:
    """A series that may still be running, and its file, open again."""

    left: Left
    reopened: Reopened
    start: Start
    resumed: ResumedSeries


@dataclass
class Recovered:
    """The outcome for each file in the journal."""

    marked: list[PastSeries] = field(default_factory=list)
    resumable: Resumable | None = None


class SeriesLeft(NamedTuple):
    """The ids of the series in the journal."""

    all: frozenset[str]
    resumable: str | None
    """The last one if it can be resumed."""


def series_left(journal: Journal, config: ReceiverConfig) -> SeriesLeft:
    """Return which series are in the journal."""
    found, resumable = set(), None
    for left in journal.left():
        found.add(left.entry.series)
        resumable = left.entry.series if is_resumable(left.entry, config) else None
        left.release()
    return SeriesLeft(frozenset(found), resumable)


def recover(journal: Journal, config: ReceiverConfig) -> Recovered:
    """Resume the latest series if that is possible; mark the files of all others as incomplete."""
    recovered = Recovered()
    entries = list(journal.left())
    latest = entries.pop() if entries and is_resumable(entries[-1].entry, config) else None
    _mark(entries, KILLED, recovered)
    if latest is not None:
        try:
            recovered.resumable = _open(latest)
        except (Untouched, *DAMAGED) as error:
            entry = latest.entry
            log.warning("%s is not continued: %s%s", entry.filename, error, of_series(entry.series))
            _mark([latest], KILLED, recovered)
    return recovered


def finalize(entries: Iterable[Left], reason: str) -> Recovered:
    """Mark the files of series that are not resumed as incomplete."""
    recovered = Recovered()
    _mark(entries, reason, recovered)
    return recovered


def _open(left: Left) -> Resumable | None:
    entry = left.entry
    if look_at(entry) != IN_PROGRESS:
        left.remove()
        return None
    reopened = reopen_file(entry.filename)
    account, header = reopened.account, entry.header
    assert header is not None
    try:
        header = _formatted(header, reopened)
        rois = region_rows.found_in(reopened.detector)
        values = region_rows.read(reopened.detector, account.highest + 1)
        times = reopened.detector["timestamp"][: account.highest + 1] if values else None
    except BaseException:
        reopened.close()
        raise
    death = Interruption(account.gap_start, account.highest, was_left=entry.was_left)
    stored = plural(account.counts().stored, "frame was", "frames were")
    log.warning(
        "%s is continued: %s when %s in it%s",
        entry.filename, LEFT if entry.was_left else KILLED, stored, of_series(entry.series),
    )  # fmt: skip
    resumed = ResumedSeries(
        account, (*entry.interruptions, death), entry.filename, entry.started, rois, values, times
    )
    return Resumable(left, reopened, Start(header, entry.metadata), resumed)


def _formatted(header: Header, reopened: Reopened) -> Header:
    """Return the header with the frame format found in the file, if it was not announced."""
    known = format_of(reopened.detector, None)
    if known is None or None not in (header.shape, header.type, header.compression):
        return header
    return msgspec.structs.replace(header, shape=known.shape, type=known.dtype, compression=known.compression)


def _mark(entries: Iterable[Left], reason: str, recovered: Recovered) -> None:
    for left in entries:
        entry, account = left.entry, Account(None)
        sentence, stays = entry.failed or reason, False
        try:
            if look_at(entry) != IN_PROGRESS:
                left.remove()  # it was closed at the last moment
                continue
            account = mark_interrupted(entry.filename, sentence)
            sentence += f"; {there(account)}"
            log.warning("%s is marked as incomplete: %s", entry.filename, sentence)
        except Untouched as error:
            sentence = f"{sentence}; {error}"
            log.error("%s: %s%s", entry.filename, sentence, of_series(entry.series))
        except DAMAGED as error:
            sentence = f"{sentence}; {entry.filename} could not be marked as incomplete: {error}"
            if is_no_space(error):
                sentence += "; a receiver that is started when it can be written marks it"
                stays = True
            log.error("%s: %s%s", entry.filename, sentence, of_series(entry.series))
        if stays:
            left.release()
        else:
            left.remove()
        series = Series(
            id=entry.series,
            filename=entry.filename,
            active=False,
            complete=False,
            reason=sentence,
            started=entry.started,
            ended=time.time(),
            lost=account.lost(),
        )
        recovered.marked.append(PastSeries(series=series, counts=account.counts()))
