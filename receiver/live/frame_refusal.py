"""Why one frame of a series cannot be shown: a short stable name and a sentence."""

from __future__ import annotations

from penstock.receiver.models import FrameStatus
from penstock.stins.texts import of_series, plural

HTTP_STATUS = {"not_yet": 409, "live_only": 409, "too_large": 409, "busy": 503, "not_unpacked": 500}
"""By kind; every other frame is simply not there (404)."""


class FrameRefused(Exception):
    """A frame that was asked for cannot be shown; `kind` is stable, the sentence says why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind

    @property
    def http_status(self) -> int:
        """Status of the HTTP answer."""
        return HTTP_STATUS.get(self.kind, 404)


def check_status(index: int, status: FrameStatus, series: str) -> None:
    """Let pass what is in the file.

    Raises:
        FrameRefused: the frame of this status is not.
    """
    frame, of = f"frame {index}", of_series(series)
    match status:
        case FrameStatus.STORED | FrameStatus.PARTIAL:
            return
        case FrameStatus.PENDING:
            raise FrameRefused(
                "not_yet", f"{frame} has not come yet; ask again, or look at the last frame{of}"
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
    """Nothing of this series is written."""
    return FrameRefused(
        "live_only", f"it is live only, none of its frames is kept; look at the last frame{of_series(series)}"
    )


def out_of_range(index: int, frames: int, series: str) -> FrameRefused:
    """The series has no such index."""
    return FrameRefused(
        "out_of_range", f"there is no frame {index}, but {plural(frames, 'frame')}{of_series(series)}"
    )
