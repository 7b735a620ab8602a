"""One series in the distributor, from its start message to the completed result file.

| phase | waits for |
|---|---|
| beginning | what the receiver says of it: its file, its mask |
| live | its end message; or the receiver's word that it has ended, if the stream brings no more of it |
| ended | the receiver's word that its file is closed |
| rest | every frame to be in a final state, those of the file included |
| finishing | one worker to make the results of the series as a whole |
| over | – |

Each wait is for somebody who is alive, or whose death is noticed; none is for a time to pass.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np

from penstock.processing import models, wire
from penstock.processing.channels.joining import Joining
from penstock.processing.distributor.frames.account import REACH, Account, Event, Indices, State, rest_of
from penstock.processing.distributor.frames.bunches import Item
from penstock.processing.distributor.frames.schedule import Schedule
from penstock.processing.distributor.receiver.events import Over
from penstock.processing.distributor.series.from_files import FileRest
from penstock.processing.distributor.series.parts import Part
from penstock.processing.distributor.series.store import Store
from penstock.processing.results.errors import ResultError
from penstock.receiver.reading.reader import ReaderError
from penstock.stins.messages import SeriesEnd
from penstock.stins.texts import plural


class Phase(Enum):
    """See the table above."""

    BEGINNING = "beginning"
    LIVE = "live"
    ENDED = "ended"
    REST = "rest"
    FINISHING = "finishing"
    OVER = "over"


class Run:
    """One series.

    Args:
        name: its id.
        schedule: has its frames.
        planned: number of frames; `None` if nobody knows.
    """

    def __init__(self, name: str, schedule: Schedule, planned: int | None) -> None:
        self.name = name
        self.phase = Phase.BEGINNING
        self.account = Account(planned)
        self.announced: int | None = None
        """Number of frames that its sender has announced, if a start message has come."""
        self.parts: list[Part] = []
        self.mask: bytes | None = None
        """Pixel mask as .npy, if it is not in the metadata."""
        self.store = Store()
        self.file: str | None = None
        """The raw file."""
        self.started = 0.0
        """Start of the series, as the receiver says: seconds since 1970."""
        self.end: SeriesEnd | None = None
        self.over: Over | None = None
        self.broken = ""
        """Why none of its frames is processed any more; a sentence."""
        self.is_refused = False
        """True if workers have refused the class, its parameters, or the series."""
        self.is_stopped = False
        """True if it was stopped: only what workers have is processed."""
        self.said: list[str] = []
        """What is not as it should be; sentences."""
        self.refusals: list[str] = []
        """Why workers have refused to start it; sentences. Others may have processed all frames."""
        self.is_complete = False
        """True if its result file was completed here."""
        self.finished: str | None = None
        """Its result file, if an earlier distributor has finished it."""
        self.was_resumed = False
        """True if an earlier distributor had begun its result file."""
        self.next_frame = 0
        """Index behind the highest one that was given to a worker."""
        self.rest = FileRest(schedule)
        """Its frames that are taken from the raw file."""
        self.stream_is_over = False
        """True if the stream brings no more of it, although no end message has come."""
        self.finisher: int | None = None
        """Worker that makes the results of the series as a whole."""
        self.finish_attempts = 0
        self.whole: list[Any] = []
        self.whole_error = ""
        """Why there are no results of the series as a whole; a sentence."""
        self.joining: Joining | None = None
        """The join of values of channels to its frames; `None` without channels."""
        self.rest_after = 0.0
        """Monotonic time before which frames of the file are not joined to values that they need."""
        self._schedule = schedule

    @property
    def number(self) -> int:
        """Number of its last part."""
        return self.parts[-1].number

    @property
    def numbers(self) -> list[int]:
        """Numbers of all parts."""
        return [part.number for part in self.parts]

    def part(self, number: int) -> Part:
        """Return a part by its number."""
        return next(part for part in self.parts if part.number == number)

    def add(self, part: Part) -> None:
        """Take another start message of it."""
        self.parts.append(part)
        self._schedule.begin(part.number, self.account)
        self.stream_is_over = False

    def message(self, part: Part) -> tuple[wire.Begin, list[Any]]:
        """Return what workers are told of a part, with raw parts."""
        mask = [] if self.mask is None else [self.mask]
        return wire.Begin(series=part.number, header=part.header), [part.metadata, *mask]

    # -- what is said of it ----------------------------------------------------------------------------

    def waits_for(self, receiver: str) -> str:
        """Return what it waits for, in a sentence; "" for frames, or nothing."""
        if self.phase is Phase.BEGINNING:
            return f"the receiver at {receiver} to say where series {self.name} is kept"
        if self.phase is Phase.LIVE and self.stream_is_over and self.end is None and self.over is None:
            rest = "are dropped: it has no file" if self.file is None else f"are taken from {self.file} then"
            return (
                f"the end of series {self.name}: the connection to the receiver was lost within it, and "
                f"frames that did not come {rest}"
            )
        if self.phase is Phase.ENDED:
            return f"the receiver at {receiver} to close {self.file or 'its file'}"
        if (joining := self.joining) is not None and joining.needs and (held := joining.held):
            return (
                f"values of {', '.join(joining.needs)}, which {plural(held, 'frame')} need: is the device "
                f"running? After {joining.wait:g} s a frame goes without"
            )
        if self.phase is Phase.REST and self.is_settled and self.joining is not None and self.joining.waits:
            return f"late values of its channels, for {self.joining.wait:g} s at most"
        if self.phase is Phase.FINISHING:
            return "a worker, which makes the results of the series as a whole"
        return ""

    def status(self, receiver: str, prepares: str = "") -> models.Series:
        """Return its status.

        Args:
            receiver: whose series it is.
            prepares: what its workers prepare before its first frame; a sentence, or "".
        """
        waits = self.waits_for(receiver)
        is_open = self.phase is not Phase.OVER
        said = [*self.said, *(self.refusals if is_open else [])]
        reason = "; ".join(said[-3:]) or (f"waits for {waits}" if waits else prepares)
        return models.Series(
            id=self.name, active=is_open, file=self.file, planned=self.account.planned,
            rows=self.account.reach, counts=self.account.counts, from_file=self.rest.queued,
            reason=reason[:500], result_file=self.store.path or self.finished,
            whole_error=self.whole_error[:500],
            unmatched={} if self.joining is None else dict(self.joining.unmatched),
        )  # fmt: skip

    # -- frames ----------------------------------------------------------------------------------------

    def come(self, items: Sequence[Item], *, early: bool = False) -> list[Item]:
        """Take frames from the stream; return those that are not wanted. If they are early, they wait for
        values of channels."""
        if self.broken or self.phase not in (Phase.BEGINNING, Phase.LIVE):
            return list(items)
        return self._schedule.come(self.number, items, early=early)

    def take_back(self) -> None:
        """Let frames be pending again whose shared memory the receiver has taken back."""
        for part in self.parts:
            if part.is_stale:
                self._schedule.take_back(part.number)

    @property
    def expects_more(self) -> bool:
        """True if the stream may bring more of it."""
        is_stale = bool(self.parts) and self.parts[-1].is_stale
        return self.end is None and not self.stream_is_over and not is_stale

    # -- the end ---------------------------------------------------------------------------------------

    def settle(self) -> list[Any]:
        """Decide about all frames that have not come, once the receiver has closed the file.

        Returns:
            Indices and final states that are to be stored, as pairs.
        """
        over = self.over
        assert over is not None
        self.phase = Phase.REST
        account = self.account
        absent = list(over.absent)
        frames = over.frames
        if self.end is not None and self.end.absent is not None:
            absent += [(first, last) for first, last, _ in self.end.absent]
        if account.planned is None:
            account.extend(max(frames, *(last + 1 for _, last in absent)) if absent else frames)
        self.file = over.file
        self._open_file()
        stored = self.rest.stored
        if len(stored):
            end = int(stored[-1]) + 1
            account.keep(end if account.planned is None else min(end, account.frames))
        alike_from, is_rest_absent = rest_of(absent, account.frames)
        # No receiver tells frames apart that are so far beyond all that have come.
        account.keep(min(alike_from, account.reach + REACH))
        pending = account.indices(State.PENDING)
        has = np.isin(pending, stored, assume_unique=True)
        if not self.broken:
            self.rest.want(pending[has])
            pending, has = pending[~has], has[~has]
        is_absent = np.zeros(account.reach, bool)
        for first, last in absent:
            is_absent[first : last + 1] = True
        is_missing = is_absent[pending] & ~has  # what the file has is not absent, also if nobody processes it
        missing, others = pending[is_missing], pending[~is_missing]
        event, state = Event.DROPPED, State.DROPPED
        if self.was_resumed and over.file is None and not self.broken:
            event, state = Event.LOST, State.LOST
        account.happens(Event.ABSENT, missing)
        account.happens(event, others)
        account.close(Event.ABSENT if is_rest_absent else event)
        self.fill()
        return [(missing, State.ABSENT), (others, state)]

    def stop(self, why: str) -> Indices:
        """Expect no more frames, for a reason; those that workers have are processed. Return those that are
        dropped."""
        self.phase, self.is_stopped = Phase.REST, True
        self.said.append(why)
        self.rest.give_up()
        return self._drop_pending()

    def _drop_pending(self) -> Indices:
        gone = self.account.indices(State.PENDING)
        self.account.happens(Event.DROPPED, gone)
        self.account.close(Event.DROPPED)
        return gone

    def _open_file(self) -> None:
        if self.file is None:
            return
        try:
            self.rest.open(self.file)
        except ReaderError as error:
            self.said.append(f"frames that were not taken live cannot be taken from the file: {error}")

    def fill(self) -> None:
        """Queue more frames of the file.

        Raises:
            ResultError: the result file of a series that was stopped cannot be written.
        """
        if self.broken:
            gone = self.rest.give_up()
            self.account.happens(Event.DROPPED, gone)
            with contextlib.suppress(ResultError):  # that may be the reason
                self.store.file.status(gone, State.DROPPED)
        elif self.is_stopped:  # the receiver may have taken frames back that workers had
            self.store.file.status(self._drop_pending(), State.DROPPED)
        else:
            self.rest.fill(self.number)

    @property
    def is_settled(self) -> bool:
        """True if every frame is in a final state."""
        return self.phase is Phase.REST and not len(self.rest) and not self.account.open

    def has_no_whole(self, why: str) -> None:
        """Say that there are no results of the series as a whole, and why."""
        self.whole_error = why
        self.said.append(why)

    def finish(self, *, keep_refused: bool = True) -> str:
        """Complete the result file; return what is not as it should be.

        Args:
            keep_refused: whether there is a result file, too, if the class was refused and did no frame.
                An older file is not replaced by one of no frame that was processed.

        Raises:
            ResultError: it cannot be written.
        """
        counts, planned = self.account.counts, self.account.planned
        final = {name: getattr(counts, name) for name in models.FINAL}
        if planned is not None:
            final["planned"] = planned
        bad = [
            f"{plural(n, 'frame')} {name}"
            for name, n in final.items()
            if name not in ("done", "planned") and n
        ]
        lacks = "" if self.over is None else self.over.reason
        lacking: list[str] = []
        # Frames that only the raw file lacks have their results.
        if lacks and (bad or counts.done != self.announced):
            lacking = [f"the series is incomplete: {lacks}"]
        self.said += self.refusals if counts.failed or not counts.done else []
        reason = "; ".join([*self.said, *([", ".join(bad)] if bad else []), *lacking])
        self.phase = Phase.OVER
        is_vain = not counts.done and not counts.lost and (self.is_refused or not counts.failed)
        older = self.store.file.replaces
        if is_vain and (older or (self.is_refused and not keep_refused)) and not self.was_resumed:
            reason += f"; {older} is as it was before" if older else ""
            self.store.file.discard()
            self.store = Store()
            self.said = [reason]
            return reason
        if self.joining is not None:
            self.store.file.unmatched(self.joining.unmatched)
        beyond = self.account.without_rows()
        state, flags = "incomplete" if reason else "complete", self.rest.flags(beyond.first)
        said = self.store.file.finish(final, state, reason, flags, self.whole, beyond)
        if said:
            self.said.append(said)
        return reason

    def close(self) -> None:
        """Close what is open; the result file stays as it is, to be resumed, if it is not complete."""
        self.store.file.close()
        self.rest.close()


@contextlib.contextmanager
def storing(run: Run, break_off: Callable[[Run, str], None]) -> Iterator[None]:
    """Process no more of a series if its results cannot be stored."""
    try:
        yield
    except ResultError as error:
        break_off(run, str(error))
