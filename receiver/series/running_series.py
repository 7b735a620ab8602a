"""One running series: what was announced, where each frame belongs, and how it went."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.connection.numbering import Numbering
from penstock.receiver.models import FrameStatus
from penstock.receiver.processing.joined import Joined
from penstock.receiver.regions.series import RegionSeries
from penstock.receiver.series.account import Account
from penstock.receiver.series.module_status import ModuleStatus
from penstock.stins import modules
from penstock.stins.checksums import ALGORITHMS
from penstock.stins.messages import (
    Buffer,
    EndReason,
    Header,
    IndexSource,
    SeriesEnd,
    Start,
)
from penstock.stins.texts import named, plural, quoted

MAX_MESSAGE = 1000
"""Characters of the sender's own sentence that are kept."""
MAX_REASON = 2000
"""Characters of all that is said of the end of a series, in a datagram, in logs and in the file."""


class Outcome(msgspec.Struct, frozen=True):
    """How a series ended."""

    complete: bool
    reason: str
    """One sentence: what is missing and what the user can do, or that all is well."""


class Interruption(msgspec.Struct, frozen=True):
    """One death of the receiver within a series that it resumed."""

    first: int
    """First index of which the file knew nothing."""
    highest: int
    """Highest index that it knew of."""


@dataclass(frozen=True)
class ResumedSeries:
    """What is known of a series whose receiver was killed and resumes it."""

    account: Account
    interruptions: tuple[Interruption, ...]
    filename: str
    started: float
    """Seconds since 1970 (UTC)."""
    rois: Mapping[str, Rectangle] = field(default_factory=dict)
    """Its regions of interest."""
    roi_values: Mapping[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    """Their values, by index: float64, (regions, values)."""


class RunningSeries:
    """The account of one series and the rule that gives a frame its index.

    Args:
        start: the start message.
        origin: number of the first frame, if it is configured.
        resumed: where it began before this process did.
    """

    def __init__(self, start: Start, origin: int | None = None, resumed: ResumedSeries | None = None) -> None:
        self.header: Header = start.header
        self.metadata: Mapping[str, Any] = start.metadata
        self.id = start.header.series or uuid.uuid4().hex
        self.resumed = resumed
        self.account = Account(start.header.frames) if resumed is None else resumed.account
        self.end: SeriesEnd | None = None
        self.stopping = ""
        """Why its sender ends it before its plan, in words, where its end message cannot say that."""
        self.numbering = Numbering(start.header, origin, resumed=resumed is not None)
        """Gives each frame its index."""
        self.joined: Joined | None = None
        """What its modules' streams have in common, where it is joined of several."""
        self.modules: ModuleStatus | None = None
        """What became of each module then."""
        self.rois: RegionSeries | None = None
        """Its regions of interest, once it has begun."""
        self.sent = start
        """The start message as it was sent: `header` and `metadata` are what the transforms make of it."""
        self.interruptions = () if resumed is None else resumed.interruptions
        """Deaths of the receiver within this series."""

    @property
    def name(self) -> str:
        """What a person knows it by: its file as the sender names it."""
        return named(self.header.filename)

    @property
    def sent_part(self) -> Buffer | None:
        """The metadata as they were sent, for consumers; `None` if they were not JSON, or were changed."""
        return self.sent.part if self.metadata is self.sent.metadata else None

    @property
    def writes(self) -> bool:
        """Whether the frames go into a file."""
        return bool(self.header.filename) and self.metadata.get("save_raw", True) is not False

    @property
    def described(self) -> Mapping[str, Any]:
        """The metadata that the file has as fields: where modules sit stands in groups of their own there."""
        if self.joined is None or not self.joined.places:
            return self.metadata
        return {key: value for key, value in self.metadata.items() if key not in modules.KEYS}

    @property
    def checksum(self) -> str:
        """Algorithm of the checksums; "unchecked: …" when it is not known, "" when none was announced."""
        name = self.header.checksum or ""
        return name if not name or name in ALGORITHMS else f"unchecked: {name}"

    @property
    def unconfirmed(self) -> bool:
        """Whether it was resumed after a death of the receiver, and nothing of it was received since."""
        return bool(self.interruptions) and self.numbering.messages == 0

    @property
    def index_source(self) -> str:
        """How frames are known to be of their triggers."""
        return self.numbering.index_source

    def _is_whole(self) -> bool:
        """Whether the end message was received, and every frame message before it."""
        return self.end is not None and self.numbering.is_whole(self.end, self.account.duplicate)

    def close(self, cause: str | None) -> Outcome:
        """Settle the account.

        Args:
            cause: why the series ends without all of its messages; `None` after its end message.
        """
        end = self.end
        triggered = None if end is None else end.triggered
        if triggered is None and cause is None and (self.stopping or self._is_whole()):
            # Every message that the peer sent is here, so what it did not send was not triggered; or the peer
            # has ended it before its plan, and its end message comes behind its last frame.
            triggered = self.account.highest + 1
        announced = self.account.planned is not None
        self.account.close(triggered)
        if self.joined is not None:
            self.joined.is_over = True
        counts = self.account.counts()
        planned = counts.planned or 0
        good = counts.stored + counts.delivered + counts.discarded
        complete = good == planned and (announced or cause is None)
        if self.index_source == IndexSource.ARRIVAL and good != planned:
            self.numbering.index_source = "arrival, uncertain"
        return Outcome(complete, quoted(self._reason(complete, cause, announced), MAX_REASON))

    def _reason(self, complete: bool, cause: str | None, announced: bool) -> str:
        counts = self.account.counts()
        planned = counts.planned
        sentences = []
        if complete:
            sentences.append(
                "its 1 frame is there" if planned == 1 else f"all {plural(planned, 'frame')} are there"
            )
        else:
            parts = {
                "partial": counts.partial, "missing": counts.missing, "corrupt": counts.corrupt,
                "not triggered": counts.not_triggered,
            }  # fmt: skip
            what = ", ".join(f"{n} {name}" for name, n in parts.items() if n)
            good = counts.stored + counts.delivered + counts.discarded
            said = f"{good} of {plural(planned, 'frame')}: {what}" if what else plural(good, "frame")
            unknown = not announced and cause is not None
            sentences.append(said + ", how many more were to come is not known" * unknown)
        if cause is not None:
            sentences.append(cause)
        elif self.end is not None and self.end.reason not in (None, EndReason.COMPLETE):
            said = f"ended by {self.end.reason}"
            message = quoted(self.end.message or "", MAX_MESSAGE)
            sentences.append(f"{said}: {message}" if message else said)
        elif self.stopping:
            sentences.append(self.stopping)
        return "; ".join(sentences + self._lost_by_deaths())

    def _lost_by_deaths(self) -> list[str]:
        """Which frames each death of the receiver has cost, in words: at least those that are missing from
        where the file knew nothing up to the first that came after it. One that was under way, behind
        others that had arrived, may be missing further on."""
        sentences: list[str] = []
        if not self.interruptions:
            return sentences
        statuses = self.account.statuses(self.account.highest + 1)
        for death in self.interruptions:
            after = death.highest + 1
            while after < len(statuses) and statuses[after] == FrameStatus.MISSING:
                after += 1
            lost = int(np.count_nonzero(statuses[death.first : after] == FrameStatus.MISSING))
            if after == len(statuses):
                which = "no frame came after that"
            elif lost:
                from_there = f"from index {death.first} on"
                which = (
                    f"at least {plural(lost, f'frame {from_there} was', f'frames {from_there} were')} lost"
                )
            elif self.account.planned is not None and not self.account.counts().missing:
                which = "no frame was lost"
            else:
                which = "which frames that cost is not known"
            sentences.append(f"the receiver was killed and restarted in the series: {which}")
        return sentences
