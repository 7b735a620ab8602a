"""What the receiver says over HTTP, as plain dataclasses.

Used by the HTTP API (which makes its OpenAPI document from them), by the client, and by the data
process that fills them in. No dependency, so that any host can import the client.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

StateName = Literal["idle", "running", "error"]
Method = Literal["nth", "mean", "max"]
Scale = Literal["lin", "log"]
Colormap = Literal["gray", "viridis"]
Fate = Literal["missing", "corrupt", "partial", "discarded", "not_triggered"]
"""What became of a frame that is not, or not as a whole, in the file."""
Verdict = Literal["complete", "incomplete", "not taken", "ended"]
"""How a series ended; "ended": for looking only, and stopped, so that nothing lacks."""
Lost = tuple[int, int, Fate]
"""First and last index of frames with one fate."""


class FrameStatus(IntEnum):
    """What became of a planned frame; the numbers stand in the file."""

    MISSING = 0
    """Never arrived. 0, so that an index nobody wrote to reads as missing."""
    STORED = 1
    DELIVERED = 2
    """Live view and consumers only, as asked for."""
    DISCARDED = 3
    """Marked by the sender as not to be written."""
    CORRUPT = 4
    NOT_TRIGGERED = 5
    PARTIAL = 6
    """Some of its modules, or pixels, are missing or corrupt; the rest is where the frame was meant to go."""
    PENDING = 255
    """Nothing is known yet; stands only in the account of a running series."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The account of the running, or else of the last, series.

    While `planned` is known, stored + partial + delivered + discarded + corrupt + missing
    + not_triggered + pending == planned, always; pending is 0 once the series has ended.
    """

    planned: int | None = None
    """Frames announced; `None` while unknown."""
    received: int = 0
    """Frame messages that were taken into the account, of whatever status."""
    stored: int = 0
    """In the file."""
    partial: int = 0
    """Frames of several modules of which some are missing or corrupt; the others are in the file."""
    delivered: int = 0
    """Live view and consumers only, as asked for."""
    discarded: int = 0
    """Marked by the sender as not to be written."""
    corrupt: int = 0
    missing: int = 0
    not_triggered: int = 0
    pending: int = 0
    """Planned frames of which nothing is known yet."""
    flushed: int = 0
    """Stored frames that survive the death of the receiver."""
    duplicate: int = 0
    late: int = 0
    """Arrived after the gap clock had called them missing; stored all the same."""
    out_of_range: int = 0
    stale: int = 0
    """Messages of an older series, or of none; dropped."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """The running, or else the last, series."""

    id: str
    filename: str | None
    """File as the receiver sees it; `None` when nothing is written."""
    active: bool
    complete: bool | None = None
    """`None` while it runs."""
    reason: str = ""
    """Why it ended, or what it waits for."""
    taken: bool = True
    """False: it was announced and could not be begun; `reason` says why not."""
    started: float = 0.0
    """Seconds since 1970 (UTC)."""
    ended: float = 0.0
    """The same; 0 while it runs. Of a series whose receiver was killed: when its file was put in order."""
    lost: list[Lost] = field(default_factory=list)
    """After the end: which frames are not, or not as a whole, in the file; the first 100 ranges."""
    memory_bytes: int | None = None
    """Most memory that the data process takes with frames of this size; `None` where it is not announced."""
    checksum: str = ""
    """Algorithm of the blobs' checksums, "crc32" or the like, each checked on receipt; "unchecked: …" where
    it is not known; "" when none was announced."""
    restarts: int = 0
    """How often the receiver was killed in this series and went on with it."""
    unconfirmed: bool = False
    """It did so, and nothing of the series has come since: the next one may take its place."""
    shape: list[int] = field(default_factory=list)
    """Of one frame as it is stored, behind the transforms: rows, columns last; empty while nobody knows."""
    dtype: str = ""
    """NumPy name of its pixels, "uint16" or the like; "" while nobody knows."""
    dataset: str = ""
    """Path of the frames inside the file, as "entry/instrument/eiger/data"; "" when nothing is written."""


@dataclass(frozen=True, kw_only=True)
class ReadyLine:
    """What `penstock receiver --json` prints once it answers."""

    name: str
    http: str
    """Address of the HTTP API."""
    pid: int


@dataclass(frozen=True, kw_only=True)
class Connection:
    """One endpoint that the receiver connects to."""

    endpoint: str
    connections: int
    """Sockets connected now."""


@dataclass(frozen=True, kw_only=True)
class ConsumerStatus:
    """One named consumer of the forwarded stream."""

    name: str
    endpoint: str
    sent: int
    """Messages, since the receiver started."""
    dropped: int
    """Frames that it was too slow, or not there, to take; counted before the send."""
    skipped: int = 0
    """Frames left out as configured (`every`)."""
    connected: int = 0
    """Consumers connected to this port."""
    waiting_bytes: int = 0
    """Of what waits in its queue."""
    when_full: str = "drop_newest"
    """What happens then: "drop_newest", "drop_oldest", or "block", which may stall the series."""
    stalls: bool = False
    """The series waits for this consumer now."""


@dataclass(frozen=True, kw_only=True)
class Roi:
    """A region of interest of the running, or else the last, series, with its newest values."""

    name: str
    x: int
    """First column of the stored frame."""
    y: int
    """First row."""
    width: int
    height: int
    frame: int | None = None
    """Index of the newest frame that has values; `None` before the first."""
    sum: float | None = None
    """Of the pixels that count: not those that the pixel mask marks, nor those that are not a number; `None`
    where there is none."""
    mean: float | None = None
    max: float | None = None


@dataclass(frozen=True, kw_only=True)
class Rectangle:
    """Pixels of a stored frame; what reaches over its edge is cut off."""

    x: int
    """First column."""
    y: int
    """First row."""
    width: int
    """Columns, 1 at least."""
    height: int
    """Rows, 1 at least."""


@dataclass(frozen=True, kw_only=True)
class Rois:
    """The regions of interest of the next series."""

    rois: dict[str, Rectangle] = field(default_factory=dict)
    """By name."""
    kept: bool = False
    """Whether the receiver has them again after a restart."""


@dataclass(frozen=True, kw_only=True)
class RoiSeries:
    """The values of one region: one per frame; `None` where the frame never came, or has none."""

    sum: list[float | None] = field(default_factory=list)
    mean: list[float | None] = field(default_factory=list)
    max: list[float | None] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class RoiValues:
    """Values of consecutive frames of one series."""

    series: str
    """Its id."""
    first: int
    """Index of the first frame."""
    upto: int
    """Index behind the last one: ask for this one next."""
    ended: bool = False
    """Whether the series has ended: then nothing follows on what is known by now."""
    values: dict[str, RoiSeries] = field(default_factory=dict)
    """By region."""


@dataclass(frozen=True, kw_only=True)
class Status:
    """Everything there is to say about a receiver, as one snapshot."""

    state: StateName
    error: str = ""
    """One sentence, while the state is "error"."""
    detector: str = ""
    version: int = 0
    """Grows with every change: `GET /status?seen=VERSION&wait=SECONDS` returns once it differs."""
    waits_for: str = ""
    """While a detector of several modules begins a series: whose start messages are still to come."""
    series: Series | None = None
    counts: Counts = field(default_factory=Counts)
    connections: list[Connection] = field(default_factory=list)
    consumers: list[ConsumerStatus] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    """Bad messages since the receiver started, by kind."""
    last_error: str = ""
    """The latest bad message, in words; cleared by nothing, it is history."""
    refused: str = ""
    """Why the last series was not taken, where its start message was at fault; until the next one begins, or
    `reset`."""
    drained: int = 0
    """Messages discarded while idle or in error."""
    frame_rate: float = 0.0
    """Frames a second over the last second."""
    byte_rate: float = 0.0
    """Bytes a second over the last second."""
    queue_bytes: int = 0
    """Bytes that wait in the fullest of the data process' own queues: for messages before them or for other
    modules, for threads that transform frames, or for several writers."""
    queue_limit_bytes: int = 0
    """What may wait in that queue; 0 where there is none: one loop does it all, and frames wait at the
    streamer."""
    free_bytes: int | None = None
    """Free space on the disk of the data root, in whole MiB, a few seconds old at most; `None` where its file
    system does not answer. It alone wakes nobody who waits for a new version."""
    latest_frame: int | None = None
    """Index of the newest frame of this series."""
    rois: list[Roi] = field(default_factory=list)
    """Regions of interest of this series, with the values of its newest frame; before the first series, those
    that it will have."""
    stalled: float = 0.0
    """Seconds for which the data process has not said anything; 0 while it does. A series goes on after a
    short stall (a file system that hangs for a moment): frames wait at the streamer meanwhile."""
    cpu_seconds: float = 0.0
    """Processor time of the data process since it started: user and system."""

    @property
    def lacks(self) -> bool:
        """Whether something lacks of the last series, which has ended. A live view of so many frames at most
        that somebody stopped lacks nothing."""
        return self.series is not None and _lacks(self.series, self.counts)


@dataclass(frozen=True, kw_only=True)
class PastSeries:
    """A series that has ended, as it was the last one in the status then."""

    series: Series
    counts: Counts

    @property
    def lacks(self) -> bool:
        """Whether something lacks of it; see `Status.lacks`."""
        return _lacks(self.series, self.counts)

    @property
    def verdict(self) -> Verdict:
        """How it ended, in one word or two."""
        if not self.series.taken:
            return "not taken"
        return "complete" if self.series.complete else "incomplete" if self.lacks else "ended"

    @property
    def done(self) -> int:
        """Frames that went where they were to go: stored, delivered or discarded."""
        return self.counts.stored + self.counts.delivered + self.counts.discarded

    @property
    def why(self) -> str:
        """Why it is not complete, in a sentence; "" where it is."""
        return "" if self.series.complete else self.series.reason.removeprefix("not taken: ")


@dataclass(frozen=True, kw_only=True)
class Folders:
    """The folders in one folder of the data root."""

    root: str
    """The data root as the receiver sees it."""
    under: str
    """The folder, relative to it; "" for the data root itself."""
    parent: str | None
    """Of the folder, likewise; `None` for the data root."""
    folders: list[str]
    """Names, sorted; hidden folders are left out."""
    more: int = 0
    """Further folders, which are not listed."""


@dataclass(frozen=True, kw_only=True)
class Health:
    """For a supervisor: restart what is not alive, send nobody to what is not ready."""

    alive: bool
    """The data process runs and answers, or has a series and hangs for no longer than a file system may."""
    ready: bool
    """Besides, it answers now and is not in Error: a series can be taken, or is being taken."""
    message: str = ""
    """Why not, in one sentence."""


@dataclass(frozen=True, kw_only=True)
class SeriesCheck:
    """What a device asks before it arms: could this series be taken now?"""

    filename: str
    """Path as the client sees it; "" for live view only."""
    frames: int | None = None
    frame_bytes: int | None = None
    overwrite: bool = False
    endpoint: str | None = None
    """Data endpoint of the streamer that asks, as it is reached from elsewhere."""
    shape: list[int] | None = None
    """Of one frame as it will be sent: (rows, cols), or (k, rows, cols) for k blobs."""
    dtype: str | None = None
    """NumPy name of its pixels; asked together with `shape`."""
    rotation: int | None = None
    """Degrees counter-clockwise, in steps of 90, that the receiver's transforms shall turn frames by; `None`
    where the streamer has turned them already."""
    fliplr: bool = False
    """Likewise, mirrored left and right after that; asked together with `rotation`."""
    flipud: bool = False
    source: str | None = None
    """What the frames come as: the `type` that the receiver's `source` must have, as "dectris-v2"."""


@dataclass(frozen=True, kw_only=True)
class SeriesCheckResult:
    """The series can be taken."""

    filename: str | None
    """Path as the receiver sees it."""
    free_bytes: int | None
    memory_bytes: int | None = None
    """Most memory that the receiver's data process takes for it; `None` without `frame_bytes`."""
    connections: int
    """Receiver sockets that are connected to its streamers."""
    shape: list[int] = field(default_factory=list)
    """Of one frame as it would be stored, for the `shape` and `dtype` that were asked; empty when unknown."""
    dtype: str = ""
    """NumPy name of its pixels; "" when unknown."""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why not: the body of every answer with a status of 400 or above."""

    kind: str
    """Stable short name: "busy", "in_error", "file_exists", "outside_data_root" …"""
    message: str
    """One sentence with the component, the value and the remedy."""


@dataclass(frozen=True)
class View:
    """What of a frame is to be shown: a region and a scale, in pixels of the whole frame."""

    x: int = 0
    """First column."""
    y: int = 0
    """First row."""
    width: int | None = None
    """Columns; up to the edge where not given. What reaches over the edge is cut off."""
    height: int | None = None
    downsample: int | None = None
    """Rows and columns that become one; the receiver's own setting where not given."""
    method: Method = "nth"
    """The first of them, their mean (float32), or their greatest."""
    channel: str | None = None
    """One of the images that make a frame, as a threshold, by its name; all of them where not given."""


@dataclass(frozen=True)
class Contrast:
    """How values become shades in a picture."""

    scale: Scale = "lin"
    low: float | None = None
    """Value that is black; that of `low_percentile` where not given."""
    high: float | None = None
    low_percentile: float = 0.5
    high_percentile: float = 99.5
    colormap: Colormap = "gray"


def _lacks(series: Series, counts: Counts) -> bool:
    if series.complete is not False:
        return False
    return bool(series.filename) or counts.delivered + counts.not_triggered != counts.planned
