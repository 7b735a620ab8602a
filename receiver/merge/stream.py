"""The session of one module, as the merge sees it."""

from __future__ import annotations

from penstock.receiver.connection.events import NoHeader
from penstock.receiver.connection.numbering import Numbering
from penstock.stins.messages import Frame, Message, SeriesEnd, Start


class Stream:
    """The messages of one module in the running and the next series, and their times."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.last = 0.0
        """Time of its last message."""
        self.gone_since: float | None = None
        """Time since which it has had no connection."""

        self.start: Start | None = None
        """Its start message of the running series."""
        self.numbering: Numbering | None = None
        """Gives its frames their index in the running series."""
        self.end: SeriesEnd | None = None
        self.lost = ""
        """Why nothing more is expected of it in the running series."""
        self.absent = False
        """True if a frame has waited for it too long, and it has sent nothing since."""

        self.expects_start = True
        """True if its next message is a start message, unless that is lost."""
        self.next: Start | None = None
        """Its start message of the next series."""
        self.behind: list[Message] = []
        """Messages received after it: the first frame, where the source makes the start message from it."""

    @property
    def is_done(self) -> bool:
        """True if nothing more of the running series is expected of it."""
        return self.end is not None or bool(self.lost)

    def is_running(self, message: Message) -> bool:
        """Return whether a message may belong to the running series, as far as this stream tells."""
        if self.start is None or self.next is not None or self.end is not None or isinstance(message, Start):
            return False
        name = series_of(message)
        return name is None or self.start.header.series in (None, name)

    def without_start(self, message: Message) -> list[NoHeader]:
        """Return an error for the first frame of a series whose start message was not received."""
        if isinstance(message, SeriesEnd):
            self.expects_start = True
        elif self.expects_start:
            self.expects_start = False
            return [NoHeader(series_of(message), self.endpoint)]
        return []

    def has_begun(self, start: Start) -> bool:
        """Return whether this is the start message of the running series."""
        name = start.header.series
        return name is not None and self.start is not None and self.start.header == start.header

    def begin(self, start: Start, numbering: Numbering) -> None:
        """Begin a series."""
        self.start, self.numbering, self.gone_since = start, numbering, None

    def leave(self) -> None:
        """End the running series."""
        self.start, self.numbering, self.end, self.lost, self.absent = None, None, None, "", False


def series_of(message: Message) -> str | None:
    """Return the name of the series of a message; `None` without one."""
    if isinstance(message, Frame):
        return message.image.series
    return message.series if isinstance(message, SeriesEnd) else message.header.series
