"""The session of one module, as far as the merge has to know it."""

from __future__ import annotations

from penstock.receiver.connection.numbering import Numbering
from penstock.stins.messages import Frame, Message, SeriesEnd, Start


class Stream:
    """What one module has sent of the running series and of the next, and when."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.last = 0.0
        """Moment of its last message."""
        self.gone_since: float | None = None
        """Moment since which nobody is connected."""

        self.start: Start | None = None
        """Its start message of the running series."""
        self.numbering: Numbering | None = None
        """Gives each of its frames the index in the running series."""
        self.end: SeriesEnd | None = None
        self.lost = ""
        """Why nothing more is expected of it in the running series."""
        self.absent = False
        """Whether it has let a frame wait for too long, and sent nothing since."""

        self.next: Start | None = None
        """The start message of the next series."""
        self.behind: list[Message] = []
        """Messages that came with it: the first frame of a detector that sends no start message."""

    @property
    def is_done(self) -> bool:
        """Whether nothing more of the running series is expected of it."""
        return self.end is not None or bool(self.lost)

    def is_running(self, message: Message) -> bool:
        """Whether a message is of the running series, for all that this stream says."""
        if self.start is None or self.next is not None or self.end is not None or isinstance(message, Start):
            return False
        name = series_of(message)
        return name is None or self.start.header.series in (None, name)

    def has_begun(self, start: Start) -> bool:
        """Whether this is the start message of the running series."""
        name = start.header.series
        return name is not None and self.start is not None and self.start.header == start.header

    def begin(self, start: Start, numbering: Numbering) -> None:
        """A series begins."""
        self.start, self.numbering, self.gone_since = start, numbering, None

    def leave(self) -> None:
        """The running series is over."""
        self.start, self.numbering, self.end, self.lost, self.absent = None, None, None, "", False


def series_of(message: Message) -> str | None:
    """The name of the series that a message is of; `None` where it says none."""
    if isinstance(message, Frame):
        return message.image.series
    return message.series if isinstance(message, SeriesEnd) else message.header.series
