"""What the viewer knows at one moment, as one value that is handed from the feed to the window."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.gui.live.source import IMAGES, Content
from penstock.receiver.client import LastFrame
from penstock.receiver.models import Status


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The newest status and frame, and whether anybody answers."""

    url: str = ""
    """The source's address: a URL, or the path of a file."""
    is_file: bool = False
    """Whether the source is a file."""
    content: Content = IMAGES
    """What the source has."""
    frames: int | None = None
    """Of the series, planned ones too; `None` if that is not known."""
    choices: tuple[str, ...] = ()
    """What of a file can be shown, where there is a choice."""
    chosen: str = ""
    status: Status | None = None
    """The last that was received, also while the receiver is away; `None` before the first."""
    status_at: float | None = field(default=None, compare=False)
    """When `status` was received, seconds since 1970 (UTC)."""
    frame: LastFrame | None = None
    """The last that was received, also while the receiver is away or has restarted."""
    away_since: float | None = None
    """Seconds since 1970 (UTC); `None` while the receiver answers."""
    trouble: str = ""
    """One sentence: why it is away, or why it refuses to answer; "" while it answers."""
    kind: str = ""
    """Short stable name of what it refuses, if it does; see `Refused`."""
    fault: str = ""
    """One sentence: the feed has ended because of an internal error."""

    @property
    def is_old(self) -> bool:
        """Whether there is a status whose sender no longer answers."""
        return self.status is not None and bool(self.trouble or self.fault)
