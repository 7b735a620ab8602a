"""One running series: its announcement, the index of each frame, and its end."""

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
"""Most characters of the sender's own sentence that are kept."""
MAX_REASON = 2000
"""Most characters of the reason of a series, in snapshots, logs and the file."""


class Outcome(msgspec.Struct, frozen=True):
    """How a series ended."""

    complete: bool
    reason: str
    """One sentence: what is missing and what the user can do, or that everything is there."""


class Interruption(msgspec.Struct, frozen=True):
    """A kill of the receiver during a series that was then resumed."""

    first: int
    """First index unknown to the file."""
    highest: int
    """Highest index known to the file."""


@dataclass(frozen=True)
class ResumedSeries:
    """A series whose receiver was killed, according to its file."""

    account: Account
    interruptions: tuple[Interruption, ...]
    filename: str
    started: float
    """Seconds since 1970 (UTC)."""
    rois: Mapping[str, Rectangle] = field(default_factory=dict)
    """Regions of interest of the series."""
    roi_values: Mapping[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    """Values of the regions by index: float64, (regions, values)."""


class RunningSeries:
    """The account of one series, and the rule that gives frames their index.

    Args:
        start: the start message.
        origin: number of the first frame, if configured.
        resumed: the series according to its file, if it is resumed.
    """

    def __init__(self, start: Start, origin: int | None = None, resumed: ResumedSeries | None = None) -> None:
        self.header: Header = start.header
        self.metadata: Mapping[str, Any] = start.metadata
        self.id = start.header.series or uuid.uuid4().hex
        self.resumed = resumed
        self.account = Account(start.header.frames) if resumed is None else resumed.account
        self.end: SeriesEnd | None = None
        self.stopping = ""
        """Why the sender ends the series early, in words, if its end message cannot say so."""
        self.numbering = Numbering(start.header, origin, resumed=resumed is not None)
        """Gives each frame its index."""
        self.joined: Joined | None = None
        """Common properties of the modules' streams, if they are joined."""
        self.modules: ModuleStatus | None = None
        """Status of each module, if modules are joined."""
        self.rois: RegionSeries | None = None
        """Regions of interest, once the series has begun."""
        self.sent = start
        """Start message as sent: `header` and `metadata` are those behind the transforms."""
        self.interruptions = () if resumed is None else resumed.interruptions
        """Kills of the receiver during this series."""

    @property
    def name(self) -> str:
        """Name of the series for people: its file as named by the sender."""
        return named(self.header.filename)

    @property
    def sent_part(self) -> Buffer | None:
        """The metadata as sent, for consumers; `None` if they were not JSON, or were changed."""
        return self.sent.part if self.metadata is self.sent.metadata else None

    @property
    def writes(self) -> bool:
        """Whether the frames go into a file."""
        return bool(self.header.filename) and self.metadata.get("save_raw", True) is not False

    @property
    def described(self) -> Mapping[str, Any]:
        """Metadata for fields of the file: positions of modules are in groups of their own there."""
        if self.joined is None or not self.joined.places:
            return self.metadata
        return {key: value for key, value in self.metadata.items() if key not in modules.KEYS}

    @property
    def checksum(self) -> str:
        """Algorithm of the checksums; "unchecked: …" if it is unknown, "" without checksums."""
        name = self.header.checksum or ""
        return name if not name or name in ALGORITHMS else f"unchecked: {name}"

    @property
    def unconfirmed(self) -> bool:
        """Whether the series was resumed after a kill and nothing of it has been received since."""
        return bool(self.interruptions) and self.numbering.messages == 0

    @property
    def index_source(self) -> str:
        """How frames are assigned to triggers."""
        return self.numbering.index_source

    def _is_whole(self) -> bool:
        """Whether the end message and all frame messages before it were received."""
        return self.end is not None and self.numbering.is_whole(self.end, self.account.duplicate)

    def close(self, cause: str | None) -> Outcome:
        """Close the account.

        Args:
            cause: why the series ends without all of its messages; `None` after its end message.
        """
        end = self.end
        triggered = None if end is None else end.triggered
        if triggered is None and cause is None and (self.stopping or self._is_whole()):
            # All messages of the sender have arrived, so what it did not send was not triggered; or the
            # sender has ended the series early, and its end message follows the last frame.
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
        """Return, in words, how many frames each kill of the receiver has cost: at least those missing
        between the first index unknown to the file and the first frame that arrived after it.

        A frame that was under way, but arrived behind others, may be missing at a higher index.
        """
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
