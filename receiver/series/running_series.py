"""One running series: its announcement, the index of each frame, and its end."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.connection.expected_frames import Certainty, Expected, expected_frames
from penstock.receiver.connection.numbering import UNCERTAIN, Numbering, Origin
from penstock.receiver.models import Counts, FrameStatus
from penstock.receiver.regions.series import RegionSeries
from penstock.receiver.series.account import Account
from penstock.receiver.series.kills import Interruption, told
from penstock.receiver.series.module_status import ModuleStatus
from penstock.receiver.transforms.joined import Joined
from penstock.stins import modules
from penstock.stins.checksums import ALGORITHMS
from penstock.stins.errors import StinsError
from penstock.stins.messages import (
    Buffer,
    EndReason,
    Header,
    IndexSource,
    SeriesEnd,
    Start,
)
from penstock.stins.texts import named, plural, quoted

MOST_INDICES = 100
"""Most frames remembered per kind of error: one that is replaced by a sound copy no longer counts."""
MOST_CAUSES = 4
"""Most causes in one reason."""
MORE_UNKNOWN = ", how many more were to come is not known"
"""What follows the counts of a series whose number of frames nobody has said."""
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


MAX_MESSAGE = 1000
"""Most characters of the sender's own sentence that are kept."""
MAX_REASON = 2000
"""Most characters of the reason of a series, in snapshots, logs and the file."""


class Outcome(msgspec.Struct, frozen=True):
    """How a series ended."""

    complete: bool
    reason: str
    """One sentence: what is missing and what the user can do, or that everything is there."""
    is_all: bool = True
    """False if how many more frames were to come is not known."""


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
    times: np.ndarray[Any, Any] | None = None
    """Times of the frames by index, in seconds since 1970 (UTC), NaN where there is none."""


class RunningSeries:
    """The account of one series, and the rule that gives frames their index.

    Args:
        start: the start message.
        origin: number of the first frame, see `Origin`.
        resumed: the series according to its file, if it is resumed.
    """

    def __init__(self, start: Start, origin: Origin = 0, resumed: ResumedSeries | None = None) -> None:
        self.header: Header = start.header
        self.metadata: Mapping[str, Any] = start.metadata
        self.id = start.header.series or uuid.uuid4().hex
        self.resumed = resumed
        self.account = Account(start.header.frames) if resumed is None else resumed.account
        self.end: SeriesEnd | None = None
        self.stopping = ""
        """Why the sender ends the series early, in words, if its end message cannot say so."""
        self.failing = False
        """True if the sender ends it early because it has failed or was aborted, likewise."""
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
        self.learned: Mapping[str, Any] = {}
        """Metadata by the header of the first image, behind the transforms: what became known in the series
        only."""
        self.losses = Losses()
        """Why frames that have arrived are not, or not completely, in the file."""
        self.interruptions = () if resumed is None else resumed.interruptions
        """Kills of the receiver during this series."""
        self._frames_before = self.account.arrived
        self._messages_before = self._frames_before + self.account.duplicate

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
        """True if the frames go into a file."""
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
        """True if the series was resumed after a kill and nothing of it has been received since."""
        return bool(self.interruptions) and self.numbering.messages == 0

    @property
    def index_source(self) -> str:
        """How frames are assigned to triggers."""
        return self.numbering.index_source

    @property
    def awaits_reason(self) -> bool:
        """True if frames lack at its end message, and only the device that has armed the box knows why.

        Of a box's series only such a device gives the trigger mode, and a box's end message gives no counts.
        """
        end, account = self.end, self.account
        armed = self.header.trigger_mode is not None and self.header.series is not None
        if end is None or end.triggered is not None or not armed or self.stopping:
            return False
        is_known = self._expected(None).certainty is Certainty.EXACTLY
        return not is_known and account.planned is not None and not account.all_accounted()

    def _expected(self, cause: str | None) -> Expected:
        """Return how many frames the series must have had; `cause` as in `close`."""
        account, numbering = self.account, self.numbering
        facts = numbering.facts(
            self.end, account.arrived + account.out_of_range, planned=account.planned,
            highest=account.highest, absent=account.highest + 1 - account.arrived,
            absent_since=account.absent_since(numbering.first_index),
            frames_before=self._frames_before, messages_before=self._messages_before,
            as_sent=cause is None, early=bool(self.stopping),
        )  # fmt: skip
        return expected_frames(facts)

    def close(self, cause: str | None, *, stopped: bool = False) -> Outcome:
        """Close the account.

        Args:
            cause: why the series ends without all of its messages; `None` after its end message.
            stopped: a client has stopped it; without an announced number, nothing more was to come then.
        """
        account, expected = self.account, self._expected(cause)
        announced, lost = account.announced, expected.lost or 0
        # One that could not be read has arrived, but its number is not known.
        account.lost_messages = max(0, lost - account.undecodable)
        account.close(expected.triggered, expected.tail)
        if self.joined is not None:
            self.joined.is_over = True
        counts = account.counts()
        planned = counts.planned or 0
        good = counts.stored + counts.delivered + counts.discarded
        is_all = announced or self._is_all(cause, expected, stopped=stopped)
        complete = good == planned and is_all and not counts.has_losses
        if self.index_source == IndexSource.ARRIVAL and (good != planned or counts.has_losses):
            self.numbering.index_source = UNCERTAIN
        sentences = [
            _whole_sentence(planned) if complete else self._lacking(counts, announced, is_all),
            *self.losses.sentences(account),
            *self._lost_messages(counts, expected.tail),
            *self._counts_from_elsewhere(lost),
            *self._why_ended(cause),
            *told(self.interruptions, account),
        ]
        return Outcome(complete, quoted("; ".join(sentences), MAX_REASON), is_all)

    def _is_all(self, cause: str | None, expected: Expected, *, stopped: bool) -> bool:
        """Return whether nothing more was to come of a series without an announced number."""
        if self.unconfirmed and expected.certainty is not Certainty.EXACTLY and expected.triggered is None:
            return False  # what was under way when the receiver was killed, nobody has counted
        return stopped or self._ended_as_meant(cause)

    def _ended_as_meant(self, cause: str | None) -> bool:
        """Return whether the sender has ended the series, and neither aborted it nor failed."""
        reason = None if self.end is None else self.end.reason
        return cause is None and not self.failing and reason not in (EndReason.ABORT, EndReason.FAULT)

    def _lacking(self, counts: Counts, announced: bool, is_all: bool) -> str:
        parts = {
            "partial": counts.partial, "missing": counts.missing, "corrupt": counts.corrupt,
            "not triggered": counts.not_triggered,
        }  # fmt: skip
        what = ", ".join(f"{n:,} {name}" for name, n in parts.items() if n)
        good = counts.stored + counts.delivered + counts.discarded
        if what:
            said = f"{good:,} of {plural(counts.planned, 'frame')}: {what}"
        else:
            said = (
                f"{good:,} of {plural(counts.planned, 'planned frame')}"
                if announced
                else plural(good, "frame")
            )
        return said + MORE_UNKNOWN * (not is_all)

    def _lost_messages(self, counts: Counts, tail: int) -> list[str]:
        """Return, in words, which messages were lost, unless gaps between the frames show it."""
        if not tail or not counts.lost_messages:
            return []
        which = plural(counts.lost_messages, "message was lost", "messages were lost")
        first = self.numbering.first_lost
        sent = None if self.end is None else self.end.sent
        if first is not None:
            return [f"{which}: msg_number {first} is the first that did not arrive"]
        if sent is not None:
            return [f"{which}: {plural(sent, 'frame was', 'frames were')} sent, says the end message"]
        return [f"{which}, as the msg_number of the end message shows"]

    def _counts_from_elsewhere(self, lost: int) -> list[str]:
        """Return a remedy, in words, if the first frames are missing although no message was lost."""
        origin = self.numbering.origin
        if lost or self.header.series is not None or self.account.highest < 0 or origin is None:
            return []
        if self.account.status(0) is not FrameStatus.MISSING:
            return []
        return [
            f"index 0 is missing: source.frame_origin is {origin}; set it if this detector "
            "counts from elsewhere"
        ]

    def _why_ended(self, cause: str | None) -> list[str]:
        if cause is not None:
            return [cause]
        if self.end is not None and self.end.reason not in (None, EndReason.COMPLETE):
            said = f"ended by {self.end.reason}"
            message = quoted(self.end.message or "", MAX_MESSAGE)
            return [f"{said}: {message}" if message else said]
        return [self.stopping] if self.stopping else []


def _whole_sentence(planned: int) -> str:
    return "its 1 frame is there" if planned == 1 else f"all {plural(planned, 'frame')} are there"
