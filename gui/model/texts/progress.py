"""How far a series is, and how full the buffers between detector and file are, in words."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.gui.model.series.outcome import THIS_PANEL
from penstock.gui.model.series.plan import PACED_BY_DETECTOR
from penstock.gui.model.view import DetectorView
from penstock.gui.words import clock, duration
from penstock.stins.texts import plural


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Texts of a line; each may be ""."""

    frames: str = ""
    """"412 of 1,000 frames"."""
    percent: str = ""
    rate: str = ""
    left: str = ""
    """"12 s left", or why there is no such time."""
    file: str = ""
    """Path that is written, or was, or that nothing is."""
    armed_by: str = ""


def progress(view: DetectorView) -> Progress:
    """Return the line of the running series, or of the last one, whose counts stay until the next."""
    if not view.values:
        return Progress(frames="Not known yet")
    account = view.account
    if not account.planned:
        return Progress(frames="Being armed" if view.running and not view.configuring else "No series yet")
    by = f"armed by {THIS_PANEL if view.own else view.armed_by}" if view.own or view.armed_by else ""
    file = str(view.values.get("FileWritten") or "") or "Live view only: nothing is written"
    count, percent = plural(account.whole, "frame"), ""
    if not account.endless:
        # What is lost does not count: of a series whose frames are all missing this is 0.
        count = f"{account.whole:,} of {plural(account.planned, 'frame')}"
        percent = f"{100 * account.whole // account.planned} %"  # rounded down: 100 % is all of them
    return Progress(frames=count, percent=percent, rate=_rate(view), left=_left(view), file=file, armed_by=by)


def _rate(view: DetectorView) -> str:
    rate = view.values.get("FrameRateMeasured")
    if not (view.here and view.running) or not isinstance(rate, (int, float)):
        return ""
    return f"{rate:,.0f} frames/s" if rate >= 100 else f"{rate:.3g} frames/s"


def _left(view: DetectorView) -> str:
    if not view.here and view.since:
        return f"as of {clock(view.since)}"
    if view.account.endless:
        return "until stopped" if view.running else "stopped"
    if not view.running or view.configuring:
        return "ended"
    if view.state == "MOVING" and not view.account.done:
        return "being armed"
    if view.values.get("TriggerMode") == "SOFTWARE" and not view.account.endless:
        return "waits for triggers" if view.values.get("ReadyForSwTrigger") else ""
    period = view.values.get("FrameTime")
    paced = view.values.get("TriggerMode") in PACED_BY_DETECTOR
    seconds = view.account.seconds_left(float(period) if paced and isinstance(period, (int, float)) else 0.0)
    return "" if seconds is None else f"{duration(seconds)} left"


NOTICE_FROM = 75.0
"""Percent above which it is said."""


@dataclass(frozen=True, kw_only=True)
class Fill:
    """One meter."""

    title: str
    percent: float | None
    """`None` while unknown."""
    meaning: str
    """What waits there, for a tool tip."""
    trouble: str
    """Why it is full; shown above `NOTICE_FROM` only."""
    exists: bool = True

    @property
    def text(self) -> str:
        """The figure; "–" where there is none."""
        return "–" if self.percent is None else f"{self.percent:.0f} %"

    @property
    def notice(self) -> str:
        """What to say about it; "" while all is well."""
        return self.trouble if self.percent is not None and self.percent > NOTICE_FROM else ""


def fills(view: DetectorView) -> tuple[Fill, Fill]:
    """Return the control unit's ring and the receiver's queue."""

    def percent(name: str) -> float | None:
        value = view.values.get(name)
        if not view.here or isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return min(100.0, max(0.0, float(value)))

    return (
        Fill(
            title="Control unit's ring",
            percent=percent("RingFill"),
            meaning="Frames that wait at the control unit to be sent to the receiver (RingFill).",
            trouble="The receiver is slower than the detector: frames wait at the control unit.",
            # A detector that streams by itself has none, and its device does not report it.
            exists=not view.here or view.values.get("RingFill") is not None,
        ),
        Fill(
            title="Receiver's queue",
            percent=percent("ReceiverQueue"),
            meaning="Frames that wait in the receiver to be transformed or written (ReceiverQueue).",
            trouble="Transforming or writing is slower than the detector: frames wait in the receiver.",
        ),
    )


def notice(view: DetectorView) -> str:
    """Return where frames wait and why, in one sentence; "" while all is well.

    A receiver that is slow holds the control unit up too, so its own queue goes first.
    """
    ring, queue = fills(view)
    return queue.notice or ring.notice
