"""How full the buffers between detector and file are, in words."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.gui.model.view import DetectorView

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
