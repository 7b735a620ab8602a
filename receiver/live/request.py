"""What the HTTP process asks its data process for: a frame of the running series, or facts of a series; and
reasons why that cannot be shown: a short stable name and a sentence."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from penstock.receiver.models import FrameStatus
from penstock.stins.texts import of_series, plural

What = Literal["frame", "geometry", "mask", "lost", "scan"]


class Request(msgspec.Struct, frozen=True):
    """One request; the answer is put into the shared memory of requested frames."""

    what: What = "frame"
    index: int = 0
    """Index of the frame; of "lost", of the first one."""
    limit: int = 0
    """Most ranges, for "lost"."""
    series: str | None = None
    """Id of the series that is meant; `None` for the running, or else the last one. Not for a frame."""
    channel: str | None = None
    """Name of the channel, for "mask"; `None` for the first one."""


class FrameAnswer(msgspec.Struct, frozen=True):
    """The answer to a request: what it asks for is in the shared memory, or `message` says why it is not."""

    ticket: int
    kind: str = ""
    message: str = ""
    pause: float = 0.0
    """Seconds until the next request is served."""


HTTP_STATUS = {
    "not_yet": 409, "live_only": 409, "too_large": 409, "no_geometry": 409, "in_error": 409, "busy": 503,
    "not_unpacked": 500, "not_read": 500,
}  # fmt: skip
"""HTTP status by kind; 404 for every other kind."""
NOT_IN_FILE = {
    FrameStatus.DISCARDED: ("discarded", "was marked by the sender as not to be written"),
    FrameStatus.CORRUPT: ("corrupt", "arrived damaged and was not written; see the receiver's log"),
    FrameStatus.NOT_TRIGGERED: ("not_triggered", "was never triggered"),
    FrameStatus.MISSING: ("missing", "is missing: it did not arrive"),
    FrameStatus.PENDING: ("not_yet", "has not arrived yet; ask again, or look at the last frame"),
}
"""Kind and sentence by status."""


class FrameRefused(Exception):
    """A requested frame, or fact of a series, cannot be shown; `kind` is stable, the sentence says why.

    Args:
        kind: short stable name.
        message: the sentence.
        retry_after: seconds after which to ask again, if that may help.
    """

    def __init__(self, kind: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = None if retry_after is None else max(1, math.ceil(retry_after))
        """Seconds after which to ask again, a whole number of at least 1."""

    @property
    def http_status(self) -> int:
        """The status of the HTTP answer."""
        return HTTP_STATUS.get(self.kind, 404)


def check_status(index: int, status: FrameStatus, series: str) -> None:
    """Refuse a frame that is not in the file.

    Raises:
        FrameRefused: frames of this status are not in the file.
    """
    if status is FrameStatus.DELIVERED:
        raise live_only(series)
    if status in NOT_IN_FILE:
        kind, why = NOT_IN_FILE[status]
        raise FrameRefused(kind, f"frame {index} {why}{of_series(series)}")


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
