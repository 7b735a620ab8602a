"""What the receiver says over HTTP, as plain dataclasses.

Used by the HTTP API (which makes its OpenAPI document from them), by the client, and by the data
process that fills them in. No dependency, so that any host can import the client.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

StateName = Literal["idle", "running", "error"]
Ending = Literal["", "draining", "drained"]
Method = Literal["nth", "mean", "max", "max_valid"]
Scale = Literal["lin", "log"]
Colormap = Literal["gray", "viridis"]
Fate = Literal["missing", "corrupt", "partial", "discarded", "not_triggered"]
"""What became of a frame that is not, or not as a whole, in the file."""
Verdict = Literal["complete", "incomplete", "not taken", "ended"]
"""How a series ended; "ended": a live view without a fixed length that was stopped, so nothing is missing."""
Lost = tuple[int, int, Fate]
"""First and last index of frames with one fate."""


class FrameStatus(IntEnum):
    """What became of a planned frame; the numbers are those in the file."""

    MISSING = 0
    """Never arrived. 0, so that an index nobody wrote to reads as missing."""
    STORED = 1
    DELIVERED = 2
    """Delivered to live view and consumers only, as requested."""
    DISCARDED = 3
    """The sender marked it as not to be written."""
    CORRUPT = 4
    NOT_TRIGGERED = 5
    PARTIAL = 6
    """Some of its modules, or of its pixels, are missing or corrupt; the others are stored."""
    PENDING = 255
    """Its fate is not known yet; occurs only in the account of a running series."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The account of the running series, or of the last one if none is running.

    While `planned` is known, stored + partial + delivered + discarded + corrupt + missing
    + not_triggered + pending == planned, always; pending is 0 once the series has ended.
    """

    planned: int | None = None
    """Frames announced; `None` while unknown."""
    received: int = 0
    """Frame messages that were counted in the account, whatever their status."""
    stored: int = 0
    """Frames in the file."""
    partial: int = 0
    """Frames with some modules missing or corrupt; the other modules are in the file."""
    delivered: int = 0
    """Frames for live view and consumers only, as requested."""
    discarded: int = 0
    """Frames that the sender marked as not to be written."""
    corrupt: int = 0
    missing: int = 0
    not_triggered: int = 0
    pending: int = 0
    """Planned frames whose fate is not known yet."""
    flushed: int = 0
    """Stored and partial frames that survive the death of the receiver."""
    duplicate: int = 0
    late: int = 0
    """Frames that arrived after the gap clock had declared them missing; they are stored all the same."""
    out_of_range: int = 0
    stale: int = 0
    """Messages that belong to an older series or to none; they are dropped."""
    dropped: int = 0
    """Frames of a series that was not taken; they are nowhere."""
    undecodable: int = 0
    """Messages that arrived during the series and could not be read; they are dropped."""
    lost_messages: int = 0
    """Messages of the series that never arrived, as `msg_number`, or the sender's count of frames, shows."""

    @property
    def has_losses(self) -> bool:
        """True if a message of the series was dropped or lost, so that it is incomplete even if every planned
        frame is there."""
        return bool(self.out_of_range or self.undecodable or self.lost_messages)


@dataclass(frozen=True, kw_only=True)
class Series:
    """The running series, or the last one if none is running."""

    id: str
    filename: str | None
    """File as the receiver sees it; `None` when nothing is written."""
    active: bool
    complete: bool | None = None
    """`None` while the series is running."""
    reason: str = ""
    """Why the series ended, or what it is waiting for."""
    taken: bool = True
    """False if the series was announced but could not begin; `reason` says why."""
    started: float = 0.0
    """Start of the series, in seconds since 1970 (UTC)."""
    ended: float = 0.0
    """End of the series, likewise; 0 while it is running; of a killed receiver, when its file was
    finalized."""
    lost: list[Lost] = field(default_factory=list)
    """Frames that are not, or not completely, in the file, once the series has ended; the first 100
    ranges."""
    memory_bytes: int | None = None
    """Most memory that the data process takes with frames of this size; `None` if not announced."""
    checksum: str = ""
    """Algorithm of the blobs' checksums, such as "crc32", each verified on receipt; "unchecked: …" if the
    algorithm is unknown; "" if none was announced."""
    restarts: int = 0
    """How often the receiver was killed or ended during this series, and resumed it."""
    unconfirmed: bool = False
    """The series was resumed, or its streamer was lost and is connected again, and none of its messages has
    arrived since: the next one may take its place."""
    shape: list[int] = field(default_factory=list)
    """Shape of one frame as stored, after the transforms: rows and columns last; empty while unknown."""
    dtype: str = ""
    """NumPy name of the pixel type, such as "uint16"; "" while unknown."""
    dataset: str = ""
    """Path of the frames in the file, such as "entry/instrument/eiger/data"; "" without a file."""


@dataclass(frozen=True, kw_only=True)
class ReadyLine:
    """The line that `penstock receiver --json` prints once the receiver answers requests."""

    name: str
    http: str
    """Address of the HTTP API."""
    pid: int


@dataclass(frozen=True, kw_only=True)
class Connection:
    """One endpoint that the receiver connects to."""

    endpoint: str
    connections: int
    """Sockets that are connected now."""
    silent_seconds: int = 0
    """Seconds for which the streamer's host has not answered although it is connected; 0 while it does."""


@dataclass(frozen=True, kw_only=True)
class Holder:
    """The distributor that holds the memory of a consumer with `shared: true`."""

    pid: int
    host: str
    user: str


@dataclass(frozen=True, kw_only=True)
class ConsumerStatus:
    """One named consumer of the forwarded stream."""

    name: str
    endpoint: str
    sent: int
    """Messages sent since the receiver started."""
    dropped: int
    """Frames dropped because the consumer was too slow or not connected; counted before the send."""
    skipped: int = 0
    """Frames left out as configured (`every`)."""
    connected: int = 0
    """Consumers connected to this port."""
    waiting_bytes: int = 0
    """Bytes that wait in its queue; with `shared`, also those of the slots that it has not freed yet."""
    when_full: str = "drop_newest"
    """What a full queue leads to: "drop_newest", "drop_oldest", or "block", which may stall the series."""
    stalls: bool = False
    """True while the series waits for this consumer."""
    shared: str | None = None
    """Path of the memory in which frames are put for it; `None` if it gets them as messages."""
    holder: Holder | None = None
    """Who holds this memory; `None` if nobody does."""
    page: str = ""
    """Address of its own page, as configured; "" if it has none."""


@dataclass(frozen=True, kw_only=True)
class Roi:
    """A region of interest of the running or last series, with its newest values."""

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
    """Sum of the pixels that have a value: not of masked ones, gaps, and NaN; `None` if none has."""
    mean: float | None = None
    max: float | None = None
    saturated: float | None = None
    """How many of these pixels are saturated: their counts are at least as high as the values say."""


@dataclass(frozen=True, kw_only=True)
class Rectangle:
    """A rectangle of pixels of a stored frame; the part beyond the frame's edge is cut off."""

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
    """Regions of interest, by name."""
    kept: bool = False
    """True if the receiver keeps them across a restart."""


@dataclass(frozen=True, kw_only=True)
class RoiSeries:
    """The values of one region, one per frame; `None` if the frame never arrived or has no values."""

    sum: list[float | None] = field(default_factory=list)
    mean: list[float | None] = field(default_factory=list)
    max: list[float | None] = field(default_factory=list)
    saturated: list[float | None] = field(default_factory=list)
    """Number of saturated pixels; `None` as well for frames from before a receiver that counted them."""


@dataclass(frozen=True, kw_only=True)
class RoiValues:
    """Values of consecutive frames of one series."""

    series: str
    """Id of the series."""
    first: int
    """Index of the first frame."""
    upto: int
    """Index after the last frame: request this one next."""
    ended: bool = False
    """True if the series has ended and no further values will follow."""
    time: list[float | None] = field(default_factory=list)
    """One per frame: its `timestamp` in the file, the end of its exposure as its sender says, in seconds
    since 1970 (UTC); `None` if the sender does not say, or the frame has no values."""
    values: dict[str, RoiSeries] = field(default_factory=dict)
    """Values by region."""


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """What the start message of a series says of detector and beam; `None` where it does not say it.

    For the image as it is stored and shown, after the receiver's transforms.
    """

    series: str
    """Id of the series."""
    beam_center_x: float | None = None
    """Column of the beam's centre, in pixels from the outer edge of the first column."""
    beam_center_y: float | None = None
    """Row of the beam's centre, likewise."""
    distance: float | None = None
    """Distance from the sample to the detector, in m."""
    x_pixel_size: float | None = None
    """Width of a pixel, in m."""
    y_pixel_size: float | None = None
    """Height of a pixel, in m."""
    wavelength: float | None = None
    """Wavelength in angstrom."""
    energy: float | None = None
    """Energy of a photon, in eV."""
    detector_orientation: list[float] | None = None
    """Directions in which columns and rows increase, each as (right, down, along the beam), seen along the
    beam: [1, 0, 0, 0, 1, 0] stands upright on it; all others are turned, tilted or mirrored. `None` as well
    if the receiver's transforms turn the image: what was sent is said of the image as sent."""
    sensor_thickness: float | None = None
    """Thickness of the sensor, in m."""
    sensor_material: str | None = None
    """Material of the sensor, such as "Si" or "CdTe"."""
    unknown: list[str] = field(default_factory=list)
    """Names of the values that are not known, and `None`."""
    remarks: list[str] = field(default_factory=list)
    """Why values that a file has are not known, such as one in an unknown unit: sentences. Of series of a
    receiver there are none."""


@dataclass(frozen=True, kw_only=True)
class Scan:
    """What the user's metadata of a series say of the scan that it belongs to; empty where they do not."""

    series: str
    """Id of the series."""
    title: str = ""
    """The command, such as "ascan mot01 0 10 20 0.1"."""
    macro: str = ""
    """Its name."""
    motors: list[str] = field(default_factory=list)
    """Names of the motors that it moves."""
    points: int | None = None
    """Number of its points."""


@dataclass(frozen=True)
class LostRange:
    """Consecutive frames with one fate."""

    first: int
    """Index of the first frame."""
    last: int
    fate: Fate


@dataclass(frozen=True, kw_only=True)
class LostFrames:
    """Ranges of frames of one series that are not, or not as a whole, in its file."""

    series: str
    """Id of the series."""
    so_far: bool
    """True while the series is running: more frames may be lost, and missing ones may still arrive."""
    upto: int
    """Index after the last frame that is looked at: of a running series, after the latest that arrived."""
    ranges: list[LostRange] = field(default_factory=list)
    """Ranges in ascending order. Frames that were meant for no file (live view), and delivered, are not
    lost."""
    next: int | None = None
    """Index to pass as `first` for the ranges that follow; `None` if these are all."""


@dataclass(frozen=True, kw_only=True)
class Status:
    """The complete state of a receiver, as one snapshot."""

    state: StateName
    error: str = ""
    """One sentence, while the state is "error"."""
    detector: str = ""
    penstock: str = ""
    """Version of Penstock that takes the series, with its commit where it is known: "0.1.0+g1a2b3c4d5e6f"."""
    version: int = 0
    """Grows with every change: `GET /status?seen=VERSION&wait=SECONDS` returns once it differs."""
    waits_for: str = ""
    """Modules whose start messages are still missing, while a detector's modules begin a series. Or another
    receiver of the same name and data root, until that one ends: a sentence."""
    ending: Ending = ""
    """"draining" once it takes no new series, "drained" when the one that ran has ended, and the receiver has
    disconnected from its streamers, where messages wait; "" while it takes series."""
    unguarded: str = ""
    """Why nothing keeps another receiver of the same name and data root away; "" where a lock does."""
    expected: str = ""
    """Id of the series that a device has announced (`PUT /expected/{arm}`) and that has not begun; "" for
    none."""
    series: Series | None = None
    counts: Counts = field(default_factory=Counts)
    connections: list[Connection] = field(default_factory=list)
    consumers: list[ConsumerStatus] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    """Bad messages since the receiver started, by kind."""
    last_error: str = ""
    """The latest bad message, in words; it is never cleared."""
    refused: str = ""
    """Why the last start message was refused, or that frames came without one; "" again with the next series,
    or `reset`."""
    drained: int = 0
    """Messages discarded while idle or in error."""
    frame_rate: float = 0.0
    """Frames per second over the last second."""
    byte_rate: float = 0.0
    """Bytes per second over the last second."""
    queue_bytes: int = 0
    """Bytes in the fullest of the data process' own queues: messages that wait for earlier ones or for other
    modules, frames waiting to be transformed, or frames waiting for the threads of several files."""
    queue_limit_bytes: int = 0
    """Capacity of that queue; 0 without one: one loop does all the work, and frames wait at the streamer."""
    free_bytes: int | None = None
    """Free space on the disk of the data root, in whole MiB, a few seconds old at most; `None` if its file
    system does not answer. A change of this value alone does not change `version`."""
    latest_frame: int | None = None
    """Index of the newest frame of this series."""
    downsample: int = 1
    """The live view's: every n-th row and column, for all who do not say what they want."""
    rois: list[Roi] = field(default_factory=list)
    """Regions of interest of this series, with the values of its newest frame; before the first series, the
    regions that it will have."""
    stalled: float = 0.0
    """Seconds for which the data process has not answered; 0 while it does. A series survives a short stall
    (a file system that hangs for a moment): frames wait at the streamer meanwhile."""
    cpu_seconds: float = 0.0
    """Processor time (user and system) of the data process since it started."""

    @property
    def lacks(self) -> bool:
        """True if the last series has ended incomplete. A live view that was stopped before its maximum
        number of frames is not incomplete."""
        return self.series is not None and _lacks(self.series, self.counts)


@dataclass(frozen=True, kw_only=True)
class PastSeries:
    """A series that has ended, as the status showed it at its end; asked for by its id, the running one, too,
    as far as it is."""

    series: Series
    counts: Counts

    @property
    def lacks(self) -> bool:
        """True if the series is incomplete; see `Status.lacks`."""
        return _lacks(self.series, self.counts)

    @property
    def verdict(self) -> Verdict:
        """How the series ended, in one or two words."""
        if not self.series.taken:
            return "not taken"
        return "complete" if self.series.complete else "incomplete" if self.lacks else "ended"

    @property
    def done(self) -> int:
        """The number of frames with the intended fate: stored, delivered or discarded."""
        return self.counts.stored + self.counts.delivered + self.counts.discarded

    @property
    def why(self) -> str:
        """Why the series is incomplete, in one sentence; "" if it is complete."""
        if self.series.complete:
            return ""
        reason, dropped = self.series.reason.removeprefix("not taken: "), self.counts.dropped
        return f"{reason}; {dropped} of its frames were dropped" if dropped else reason


@dataclass(frozen=True, kw_only=True)
class Folders:
    """The subfolders of one folder of the data root."""

    root: str
    """The data root as the receiver sees it."""
    under: str
    """The folder, relative to the data root; "" for the data root itself."""
    parent: str | None
    """Parent of the folder, relative to the data root; `None` for the data root."""
    folders: list[str]
    """Names of the subfolders, sorted; hidden folders are left out."""
    more: int = 0
    """Number of further subfolders that are not listed."""


@dataclass(frozen=True, kw_only=True)
class SeriesCheck:
    """The question of a device before it arms: could this series be taken now?"""

    filename: str | None
    """Path as the client sees it; "" for live view only; null for a series that comes without a name, which
    the receiver's `filename_template` names."""
    frames: int | None = None
    frame_bytes: int | None = None
    overwrite: bool = False
    endpoint: str | None = None
    """Data endpoint of the streamer that asks, as other hosts reach it."""
    shape: list[int] | None = None
    """Shape of one frame as it will be sent: (rows, cols), or (k, rows, cols) for k blobs."""
    dtype: str | None = None
    """NumPy name of the pixel type; given together with `shape`."""
    rotation: int | None = None
    """Degrees counter-clockwise, in steps of 90, by which the receiver's transforms shall rotate frames;
    `None` if the streamer has rotated them already."""
    fliplr: bool = False
    """True if frames shall be mirrored left-right after the rotation; given together with `rotation`."""
    flipud: bool = False
    source: str | None = None
    """The `type` that the receiver's `source` must have, such as "dectris-v2"."""
    series: str | None = None
    """Name of the series, for a template that contains it; without it, {series} stays in the answer."""


@dataclass(frozen=True, kw_only=True)
class SeriesCheckResult:
    """The series can be taken."""

    filename: str | None
    """Path as the receiver sees it."""
    free_bytes: int | None
    memory_bytes: int | None = None
    """Most memory that the receiver's data process takes for the series; `None` without `frame_bytes`."""
    connections: int
    """Number of the receiver's sockets that are connected to streamers."""
    shape: list[int] = field(default_factory=list)
    """Shape of one frame as it would be stored, for the given `shape` and `dtype`; empty if unknown."""
    creates: str = ""
    """Outermost of the folders that would be created for the file, as the receiver sees it; "" if its folder
    exists."""
    dtype: str = ""
    """NumPy name of the pixel type as stored; "" if unknown."""
    dataset: str = ""
    """Path that the frames would have in the file; "" if nothing is written."""


@dataclass(frozen=True)
class View:
    """The part of a frame to show: a region and a scale, in pixels of the whole frame."""

    x: int = 0
    """First column."""
    y: int = 0
    """First row."""
    width: int | None = None
    """Columns; up to the edge if not given. The part beyond the edge is cut off."""
    height: int | None = None
    downsample: int | None = None
    """Number of rows and columns that are reduced to one; the receiver's own setting if not given."""
    method: Method = "nth"
    """How pixels are reduced: the first of them, their mean (float32), their maximum, or the maximum of those
    that have a count."""
    channel: str | None = None
    """Name of one channel of the frame, such as a threshold; all channels if not given."""


@dataclass(frozen=True)
class Contrast:
    """How values become shades in a picture."""

    scale: Scale = "lin"
    low: float | None = None
    """Value shown as black; the `low_percentile` of the pixels if not given."""
    high: float | None = None
    low_percentile: float = 0.5
    high_percentile: float = 99.5
    colormap: Colormap = "gray"


def _lacks(series: Series, counts: Counts) -> bool:
    if series.complete is not False:
        return False
    whole = counts.delivered + counts.not_triggered == counts.planned and not counts.has_losses
    return bool(series.filename) or not whole
