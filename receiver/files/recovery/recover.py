"""After the death of a writer: what the journal names is marked as incomplete, or taken up again.

Both processes come here: the data process at its start, the HTTP process when the data process has died.
A file that was moved, replaced, damaged, may not be written, or is written by another receiver is left as
it is; that is said once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files.recovery.interrupted import Untouched, drop_draft, look_at, mark_interrupted
from penstock.receiver.files.recovery.journal import Journal, Left, is_resumable
from penstock.receiver.files.reopened import DAMAGED, Reopened, reopen_file
from penstock.receiver.files.stores.reopen import format_of
from penstock.receiver.files.structure import IN_PROGRESS
from penstock.receiver.models import Counts, PastSeries, Series
from penstock.receiver.regions import rows as region_rows
from penstock.receiver.series.account import Account
from penstock.receiver.series.running_series import Interruption, ResumedSeries
from penstock.stins.messages import Header, Start
from penstock.stins.texts import of_series, plural

log = logging.getLogger(__name__)

KILLED = "the receiver was killed"


@dataclass
class Resumable:
    """A series that may still run: its file, open again."""

    left: Left
    reopened: Reopened
    start: Start
    resumed: ResumedSeries


@dataclass
class Recovered:
    """What became of the files that the journal names."""

    marked: list[PastSeries] = field(default_factory=list)
    resumable: Resumable | None = None


def resumable_series(journal: Journal, config: ReceiverConfig) -> str | None:
    """Id of the series that the journal names last, if it can be taken up again."""
    found = None
    for left in journal.left():
        found = left.entry.series if is_resumable(left.entry, config) else None
        left.release()
    return found


def recover(journal: Journal, config: ReceiverConfig) -> Recovered:
    """Deal with every file that was left open: the latest series goes on, if it can; the others cannot."""
    recovered = Recovered()
    entries = list(_named(journal.left(), KILLED, recovered))
    latest = entries.pop() if entries and is_resumable(entries[-1].entry, config) else None
    _mark(entries, KILLED, recovered)
    if latest is not None:
        try:
            recovered.resumable = _open(latest)
        except (Untouched, *DAMAGED) as error:
            entry = latest.entry
            log.warning("%s does not go on: %s%s", entry.filename, error, of_series(entry.series))
            _mark([latest], KILLED, recovered)
    return recovered


def give_up(left: Left, reason: str) -> Recovered:
    """Mark the file of a series that was to go on, and could not, as incomplete."""
    recovered = Recovered()
    _mark([left], reason, recovered)
    return recovered


def finalize(journal: Journal, reason: str) -> Recovered:
    """Mark every file that was left open as incomplete."""
    recovered = Recovered()
    _mark(_named(journal.left(), reason, recovered), reason, recovered)
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
    except BaseException:
        reopened.close()
        raise
    death = Interruption(account.gap_start, account.highest)
    log.warning(
        "%s goes on: %s when %s in it%s",
        entry.filename, KILLED, plural(account.counts().stored, "frame was", "frames were"),
        of_series(entry.series),
    )  # fmt: skip
    resumed = ResumedSeries(
        account, (*entry.interruptions, death), entry.filename, entry.started, rois, values
    )
    return Resumable(left, reopened, Start(header, entry.metadata), resumed)


def _formatted(header: Header, reopened: Reopened) -> Header:
    """With the format of the frames that are in the file, where it was not announced."""
    known = format_of(reopened.detector, None)
    if known is None or None not in (header.shape, header.type, header.compression):
        return header
    return msgspec.structs.replace(header, shape=known.shape, type=known.dtype, compression=known.compression)


def _mark(entries: Iterable[Left], reason: str, recovered: Recovered) -> None:
    for left in entries:
        entry, account = left.entry, None
        sentence = entry.failed or reason
        try:
            if look_at(entry) != IN_PROGRESS:
                left.remove()  # it was closed in the last moment
                continue
            account = mark_interrupted(entry.filename, sentence)
            counts = account.counts()
            sentence += f"; {counts.stored} of {plural(counts.planned, 'frame is', 'frames are')} in the file"
            log.warning("%s is marked as incomplete: %s", entry.filename, sentence)
        except Untouched as error:
            sentence = f"{sentence}; {error}"
            log.error("%s: %s%s", entry.filename, sentence, of_series(entry.series))
        except DAMAGED as error:
            sentence = f"{sentence}; {entry.filename} could not be marked as incomplete: {error}"
            log.error("%s: %s%s", entry.filename, sentence, of_series(entry.series))
        _report(left, sentence, account, recovered)


def _named(entries: Iterable[Left], reason: str, recovered: Recovered) -> Iterator[Left]:
    """Those whose files are there under their names; others were killed before, and leave nothing."""
    for left in entries:
        if drop_draft(left.entry):
            sentence = f"{reason} before {left.entry.filename} was there; nothing is left of it"
            log.warning("%s%s", sentence, of_series(left.entry.series))
            _report(left, sentence, None, recovered)
        else:
            yield left


def _report(left: Left, sentence: str, account: Account | None, recovered: Recovered) -> None:
    entry = left.entry
    left.remove()
    series = Series(
        id=entry.series,
        filename=entry.filename,
        active=False,
        complete=False,
        reason=sentence,
        started=entry.started,
        ended=time.time(),
        lost=[] if account is None else account.lost(),
    )
    counts = Counts() if account is None else account.counts()
    recovered.marked.append(PastSeries(series=series, counts=counts))
