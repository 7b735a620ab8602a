"""The view of one series on a detector device: the status of streamer and receiver in one, and in words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from penstock.devices._series.machine.states import ACTIVE, SeriesState
from penstock.receiver.models import Counts, Status
from penstock.stins.texts import plural
from penstock.streamer.camera.driver import StreamerStatus
from penstock.streamer.camera.settings import Value

MENTIONS_RESET = re.compile(r"(?<![\w/.-])Reset(?![\w./-]*[\w/])")
"""The command, and not part of a file name."""
READY = "Ready."
"""Beginning of the sentence of a detector at rest."""


@dataclass(frozen=True, kw_only=True)
class SeriesView:
    """A consistent snapshot: its counts belong to the series that it names."""

    state: SeriesState = SeriesState.OFFLINE
    sentence: str = ""
    """Explanation of the state for a beamline scientist."""
    note: str = ""
    """How the last series ended, if a restart of the device, or of its server, has ended it; "" otherwise,
    and from the next Arm on."""
    waiting: str = ""
    """How long the series has waited for a trigger; "" if it has not."""
    warning: str = ""
    """Warning while the series continues; "" if there is none."""
    reservation: str = ""
    """Why Arm would be refused although the detector is ready, for a sentence "Ready, but ..."; "" if
    nothing is known."""
    series: str = ""
    filename: str = ""
    """File as the receiver sees it; "" if nothing is written."""
    planned: int = 0
    unplanned: bool = False
    """True if the series has frames until Stop: `planned` is 0, and the receiver counts the planned frames at
    its end."""
    acquired: int = 0
    """Frames that the hardware has delivered."""
    counts_frames: bool = True
    """True if `acquired` is the hardware's own count; otherwise it is the receiver's highest index + 1."""
    ready_for_trigger: bool = False
    triggered: int = 0
    """Frames that the SoftwareTriggers so far have started at least; an older snapshot has fewer."""
    armed_by: str = ""
    """Client that armed the running or last series; "" if unknown."""
    frame_bytes: int = 0
    """Bytes per frame of the running or else the next series; 0 if unknown."""
    frame_shape: tuple[int, ...] = ()
    """Shape of one frame as stored, of the same series; empty if unknown."""
    frame_type: str = ""
    """NumPy name of the pixel type; "" if unknown."""
    dataset: str = ""
    """Path of the frames inside the file of the running or last series; "" if nothing is written."""
    index_source: str = ""
    """How the camera assigns frames to triggers; "" until the streamer is connected."""
    last_series: str = ""
    """How the last series ended, as JSON; "" before the first."""
    counts: Counts = field(default_factory=Counts)
    """The receiver's account; all 0 until it has begun the series."""
    readings: dict[str, Value] = field(default_factory=dict)
    """Values of the camera's read-only parameters, as far as the streamer knows them."""
    receiver_answers: bool = False
    frame_rate: float | None = None
    """Frames per second of this series at the receiver; `None` while it does not answer."""
    receiver_queue: float | None = None
    """Fill of the receiver's queue in %; `None` while it does not answer."""
    ring_fill: float | None = None
    """Share of the streamer's buffers that is used, in %; `None` while it does not answer, or if no frames
    pass through it."""
    latest_frame: int | None = None

    @property
    def status(self) -> str:
        """The whole text for the user."""
        before = self.sentence  # a refusal ends as its author ended it
        if self.reservation and before.startswith(READY):
            more = before[len(READY) :]
            before = f"{READY[:-1]}, but {sentence(self.reservation) if more else self.reservation}{more}"
        if (self.note or self.waiting or self.warning) and before:
            before = sentence(before)
        return " ".join(filter(None, (before, self.note, self.waiting, self.warning)))

    @property
    def planned_now(self) -> int:
        """Number of planned frames as far as it is known; -1 while nobody knows it."""
        if not self.unplanned:
            return self.planned
        return -1 if self.counts.planned is None else self.counts.planned

    def with_streamer(self, status: StreamerStatus) -> SeriesView:
        """Return the view after a snapshot of the streamer."""
        # A detector that streams by itself has no visible ring.
        ring = None if status.peers is None else percent(status.ring_used, status.ring_total)
        view = replace(
            self, readings=status.readings, ring_fill=ring, counts_frames=status.acquired is not None
        )
        if not self.series or status.series != self.series:
            return view
        ready = status.ready_for_trigger and status.triggered >= view.triggered
        # The count must not decrease when the hardware's arrives after the receiver's first frames.
        acquired = max(view.acquired, status.acquired or 0)
        return replace(view, acquired=acquired, ready_for_trigger=ready)

    def with_receiver(self, status: Status) -> SeriesView:
        """Return the view after a snapshot of the receiver."""
        queue = percent(status.queue_bytes, status.queue_limit_bytes)
        view = replace(self, receiver_answers=True, frame_rate=0.0, receiver_queue=queue)
        if not self.series or status.series is None or status.series.id != self.series:
            return view
        rate = rounded(status.frame_rate) if status.state == "running" else 0.0
        series = status.series
        if self.state in ACTIVE:  # otherwise they belong to the next series already
            view = replace(
                view,
                dataset=series.dataset or self.dataset,
                frame_shape=tuple(series.shape) or self.frame_shape,
                frame_type=series.dtype or self.frame_type,
            )
        # What is stored was acquired, also when the hardware is gone and its last count is older.
        acquired = max(self.acquired, status.counts.stored)
        if not self.counts_frames and status.latest_frame is not None:
            acquired = max(acquired, status.latest_frame + 1)
        view = replace(view, acquired=acquired)
        return replace(view, counts=status.counts, latest_frame=status.latest_frame, frame_rate=rate)

    def without_streamer(self) -> SeriesView:
        """Return the view without a streamer, once its snapshots have stopped."""
        return replace(self, readings={}, ring_fill=None)

    def without_receiver(self) -> SeriesView:
        """Return the view without a receiver, once it no longer answers."""
        return replace(self, receiver_answers=False, frame_rate=None, receiver_queue=None)


def percent(part: int, whole: int) -> float:
    """Return a share in whole percent: finer steps would only cause events."""
    return float(round(100 * part / whole)) if whole else 0.0


def rounded(rate: float) -> float:
    """Return a rate rounded to three digits, so that its jitter causes no events."""
    return float(f"{rate:.3g}")


def without_pending(counts: Counts) -> Counts:
    """Return the account of a series that no receiver has begun."""
    return replace(counts, not_triggered=counts.not_triggered + counts.pending, pending=0)


def account_sentence(view: SeriesView, where: str = "") -> str:
    """Return the non-zero counts in words: "5 of 10 frames stored in x.h5, 5 not triggered"."""
    counts = view.counts
    if view.unplanned and not view.filename:
        first = f"{plural(counts.delivered, 'frame')} for live view"
        counts = replace(counts, delivered=0)
    elif view.unplanned:
        first = f"{plural(counts.stored, 'frame')} stored"
        if counts.delivered and not counts.stored:
            first = f"{plural(counts.delivered, 'frame')} delivered without storing"
            counts = replace(counts, delivered=0)
    elif counts.delivered and not counts.stored:
        first = f"{counts.delivered:,} of {plural(view.planned, 'frame')} delivered without storing"
        counts = replace(counts, delivered=0)
    else:
        first = f"{counts.stored:,} of {plural(view.planned, 'frame')} stored"
    parts = [first + where]
    for number, words in (
        (counts.delivered, "delivered without storing"),
        (counts.discarded, "discarded"),
        (counts.partial, "partial: modules missing or corrupt"),
        (counts.corrupt, "corrupt"),
        (counts.missing, "missing"),
        (counts.not_triggered, "not triggered"),
        (counts.pending, "pending"),
        (counts.duplicate, "duplicates"),
        (counts.out_of_range, "out of range"),
        (counts.undecodable, "messages not readable"),
        (counts.lost_messages, "messages lost"),
    ):
        if number:
            parts.append(f"{number:,} {words}")
    return ", ".join(parts)


def beyond_counts(reason: str, view: SeriesView) -> str:
    """Return the receiver's reason without the counts with which it begins."""
    counts = view.counts
    good = counts.stored + counts.delivered + counts.discarded
    if reason.startswith(f"{good:,} of {plural(view.planned_now, 'frame')}: "):
        return reason.partition("; ")[2]
    return reason


def sentence(text: str) -> str:
    """Return the text with a full stop."""
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else text + "."


def capital(text: str) -> str:
    """Return the text with a capital letter."""
    return text[:1].upper() + text[1:]


def remedied(text: str) -> str:
    """Return the text with the remedy for FAULT, unless it mentions Reset itself."""
    text = sentence(text)
    return text if MENTIONS_RESET.search(text) else f"{text} Call Reset."


def warning_of(status: StreamerStatus | None) -> str:
    """Return what the streamer warns of, as a sentence; "" for nothing."""
    return sentence(status.warning) if status is not None and status.warning else ""
