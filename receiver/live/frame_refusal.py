"""Reasons why a frame of a series cannot be shown: a short stable name and a sentence."""

from __future__ import annotations

from penstock.receiver.models import FrameStatus
from penstock.stins.texts import of_series, plural

HTTP_STATUS = {"not_yet": 409, "live_only": 409, "too_large": 409, "busy": 503, "not_unpacked": 500}
"""HTTP status by kind; 404 for every other kind."""


class FrameRefused(Exception):
    """A requested frame cannot be shown; `kind` is stable, the sentence says why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind

    @property
    def http_status(self) -> int:
        """Return the status of the HTTP answer."""
        return HTTP_STATUS.get(self.kind, 404)


def check_status(index: int, status: FrameStatus, series: str) -> None:
    """Refuse a frame that is not in the file.

    Raises:
        FrameRefused: frames of this status are not in the file.
    """
    frame, of = f"frame {index}", of_series(series)
    match status:
        case FrameStatus.STORED | FrameStatus.PARTIAL:
            return
        case FrameStatus.PENDING:
            raise FrameRefused(
                "not_yet", f"{frame} has not arrived yet; ask again, or look at the last frame{of}"
            )
        case FrameStatus.DELIVERED:
            raise live_only(series)
        case FrameStatus.DISCARDED:
            raise FrameRefused("discarded", f"{frame} was marked by the sender as not to be written{of}")
        case FrameStatus.CORRUPT:
            raise FrameRefused(
                "corrupt", f"{frame} came damaged and was not written; see the receiver's log{of}"
            )
        case FrameStatus.NOT_TRIGGERED:
            raise FrameRefused("not_triggered", f"{frame} was never triggered{of}")
        case FrameStatus.MISSING:
            raise FrameRefused("missing", f"{frame} is missing: it did not arrive{of}")


def live_only(series: str) -> FrameRefused:
    """Return the refusal for a series of which nothing is written."""
    return FrameRefused(
        "live_only",
        f"the series is live only, none of its frames is kept; look at the last frame{of_series(series)}",
    )


def out_of_range(index: int, frames: int, series: str) -> FrameRefused:
    """Return the refusal for an index that the series does not have."""
    return FrameRefused(
        "out_of_range", f"there is no frame {index}, but {plural(frames, 'frame')}{of_series(series)}"
    )
