"""One series as a detector device shows it: what the streamer and the receiver say, put together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from penstock.devices._base.series_settings import ENDLESS
from penstock.devices._base.states import ACTIVE, SeriesState
from penstock.receiver.models import Counts, Status
from penstock.stins.texts import plural
from penstock.streamer.client import StreamerStatus
from penstock.streamer.settings import Value


@dataclass(frozen=True, kw_only=True)
class SeriesView:
    """A consistent snapshot: its counts belong to the series that it names."""

    state: SeriesState = SeriesState.OFFLINE
    sentence: str = ""
    """What a beamline scientist needs to know about the state."""
    warning: str = ""
    """What is wrong although the series goes on; "" when nothing is."""
    series: str = ""
    filename: str = ""
    """File as the receiver sees it; "" when nothing is written."""
    planned: int = 0
    acquired: int = 0
    """Frames out of the hardware."""
    counts_frames: bool = True
    """`acquired` is the hardware's own count; otherwise it is the highest index at the receiver + 1."""
    ready_for_trigger: bool = False
    triggered: int = 0
    """Least frames that the SoftwareTriggers so far have started; an older snapshot has fewer."""
    armed_by: str = ""
    """Who armed the running, or the last, series; "" when nobody knows."""
    frame_bytes: int = 0
    """Of the running series, or else of the next; 0 when nobody knows."""
    frame_shape: tuple[int, ...] = ()
    """Likewise, of one frame as it will be stored; empty when nobody knows."""
    frame_type: str = ""
    """NumPy name of its pixels; "" when nobody knows."""
    dataset: str = ""
    """Path of the frames inside the file of the running, or the last, series; "" when nothing is written."""
    index_source: str = ""
    """How the camera knows to which trigger a frame belongs; "" until the streamer is there."""
    last_series: str = ""
    """How the last series ended, as JSON; "" before the first."""
    counts: Counts = field(default_factory=Counts)
    """The receiver's account; all 0 until it has begun the series."""
    readings: dict[str, Value] = field(default_factory=dict)
    """Read-only parameters of the camera; only those that the streamer knows now."""
    receiver_answers: bool = False
    frame_rate: float | None = None
    """Frames of this series that the receiver took over the last second; `None` while it does not answer."""
    receiver_queue: float | None = None
    """Share of what may wait in the receiver that does, in %; `None` while it does not answer."""
    ring_fill: float | None = None
    """Share of the streamer's buffers that is used, in %; `None` while it does not answer, and where
    frames do not pass it."""
    latest_frame: int | None = None

    @property
    def endless(self) -> bool:
        """Whether the series is for looking only, and runs until it is stopped."""
        return not self.filename and self.planned == ENDLESS

    def with_streamer(self, status: StreamerStatus) -> SeriesView:
        """The view after a snapshot of the streamer."""
        # A detector that sends by itself has no ring that anybody sees.
        ring = None if status.peers is None else percent(status.ring_used, status.ring_total)
        view = replace(
            self, readings=status.readings, ring_fill=ring, counts_frames=status.acquired is not None
        )
        if not self.series or status.series != self.series:
            return view
        ready = status.ready_for_trigger and status.triggered >= view.triggered
        # Where the box's counter came after the receiver's first frames, it must not go back.
        acquired = max(view.acquired, status.acquired or 0) if status.peers is None else status.acquired or 0
        return replace(view, acquired=acquired, ready_for_trigger=ready)

    def with_receiver(self, status: Status) -> SeriesView:
        """The view after a snapshot of the receiver."""
        queue = percent(status.queue_bytes, status.queue_limit_bytes)
        view = replace(self, receiver_answers=True, frame_rate=0.0, receiver_queue=queue)
        if not self.series or status.series is None or status.series.id != self.series:
            return view
        rate = rounded(status.frame_rate) if status.state == "running" else 0.0
        series = status.series
        if self.state in ACTIVE:  # else they are of the next series already
            view = replace(
                view,
                dataset=series.dataset or self.dataset,
                frame_shape=tuple(series.shape) or self.frame_shape,
                frame_type=series.dtype or self.frame_type,
            )
        if not self.counts_frames and status.latest_frame is not None:
            view = replace(view, acquired=max(self.acquired, status.latest_frame + 1))
        return replace(view, counts=status.counts, latest_frame=status.latest_frame, frame_rate=rate)

    def without_streamer(self) -> SeriesView:
        """The view once no snapshot of the streamer comes any more."""
        return replace(self, readings={}, ring_fill=None)

    def without_receiver(self) -> SeriesView:
        """The view once the receiver does not answer any more."""
        return replace(self, receiver_answers=False, frame_rate=None, receiver_queue=None)


def percent(part: int, whole: int) -> float:
    """A share in whole percent: finer steps are no news to anybody."""
    return float(round(100 * part / whole)) if whole else 0.0


def rounded(rate: float) -> float:
    """A rate to three digits, so that its jitter is no news."""
    return float(f"{rate:.3g}")


def lossless(counts: Counts) -> bool:
    """Whether every frame that was acquired came whole, once and where it was expected."""
    wrong = (counts.discarded, counts.partial, counts.corrupt, counts.missing)
    return not any((*wrong, counts.duplicate, counts.out_of_range))


def without_pending(counts: Counts) -> Counts:
    """The account of a series that no receiver has begun."""
    return replace(counts, not_triggered=counts.not_triggered + counts.pending, pending=0)


def account_sentence(view: SeriesView, where: str = "") -> str:
    """The counts in words, naming only what is there: "5 of 10 frames stored in x.h5, 5 not triggered"."""
    counts = view.counts
    if view.endless:
        first = f"{plural(counts.delivered, 'frame')} for live view"
        counts = replace(counts, delivered=0, not_triggered=0, pending=0)  # none of them is due
    elif counts.delivered and not counts.stored:
        first = f"{counts.delivered} of {plural(view.planned, 'frame')} delivered without storing"
        counts = replace(counts, delivered=0)
    else:
        first = f"{counts.stored} of {plural(view.planned, 'frame')} stored"
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
    ):
        if number:
            parts.append(f"{number} {words}")
    return ", ".join(parts)
