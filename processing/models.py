"""What a pipeline says over HTTP, as plain dataclasses.

Used by the HTTP API (which makes its OpenAPI document from them), by the client, and by the distributor,
which fills them in. No dependency, so that any host can import the client.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

StateName = Literal["idle", "running", "error"]
Ending = Literal["", "draining", "drained"]
WorkerState = Literal["starting", "ready", "preparing", "working", "refused"]
FINAL = ("done", "failed", "lost", "dropped", "absent")
"""States in which a frame ends."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The account of a series: done + failed + lost + dropped + absent + held + in_work + queued + pending
    == frames, at every moment; the last four are 0 once the series is over."""

    frames: int = 0
    """Frames that are planned; if that is unknown, the highest index + 1."""
    pending: int = 0
    """Frames that have not arrived yet."""
    queued: int = 0
    """Waiting for a worker."""
    in_work: int = 0
    held: int = 0
    """Frames in an accumulated value that is still in its worker."""
    done: int = 0
    failed: int = 0
    """The user's code has raised."""
    lost: int = 0
    """Their workers died with them."""
    dropped: int = 0
    """The receiver had them, and nobody took them."""
    absent: int = 0
    """The receiver does not have them."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """One series of frames."""

    id: str
    active: bool
    """False once every frame is in a final state and the result file is closed."""
    file: str | None = None
    """Raw file; `None` if there is none, or it is not known yet."""
    planned: int | None = None
    rows: int | None = None
    """Frames of which each is told apart: all, or of very many planned ones those up to the highest that has
    come, the others being pending, or absent, together. `None`: of an earlier version, all."""
    counts: Counts = field(default_factory=Counts)
    from_file: int = 0
    """Frames that were taken from the raw file after the end, since they were not taken live."""
    reason: str = ""
    """What it waits for, or why it is not as it should be; a sentence."""
    result_file: str | None = None
    """`None` if the results are not stored."""
    unmatched: dict[str, int] = field(default_factory=dict)
    """Number of frames that have come and have no value of a channel so far, by channel."""
    whole_error: str = ""
    """Why there are no results of the series as a whole, which `finish` of the class makes; a sentence."""

    @property
    def lacks(self) -> bool:
        """True if the series is over, but not all of it is done."""
        counts = self.counts
        return not self.active and (counts.done + counts.absent != counts.frames or bool(self.whole_error))


@dataclass(frozen=True, kw_only=True)
class Worker:
    """One worker process."""

    name: str
    host: str
    pid: int
    state: WorkerState
    doing: str = ""
    """What it prepares for a series that has begun, while the state is "preparing": such as "preparing
    geometry"; "" if the class does not say so."""
    frames: int = 0
    """Processed since it joined."""
    seconds_per_frame: float | None = None
    """Seconds per frame of the user's code, smoothed; `None` before the first frame."""
    last_error: str = ""
    shares: bool = False
    """True if it reads frames from the shared memory; else they are sent to it."""


@dataclass(frozen=True, kw_only=True)
class Gone:
    """A worker that was gone without saying goodbye."""

    name: str
    host: str
    noticed: float
    """Time at which it was noticed, in seconds since 1970."""
    frames: int
    """Number of frames that it had in work, and that are tried again."""
    seconds: float | None
    """Seconds from then until the last of these was with another worker; `None` as long as one is not."""


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A channel, whose values are joined to the frames."""

    name: str
    attribute: str
    how: str = ""
    """How it is read, such as "events"; "" as long as it is not."""
    problem: str = ""
    """Why there are no values of it now; a sentence."""
    values: int = 0
    """Recorded since the pipeline was started."""


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters in use."""

    version: int = 1
    """Grows by one with every change."""
    values: dict[str, Any] = field(default_factory=dict)
    """Parameters that differ from the defaults of the classes."""
    from_frame: int = 0
    """First frame of the newest series that is processed with them; a frame that had to be tried again, or
    comes late, has newer ones than its index says."""


@dataclass(frozen=True, kw_only=True)
class Changed:
    """What became of a change of the parameters."""

    taken: bool
    version: int
    """Version in use now."""
    from_frame: int = 0
    """First frame that is processed with it."""
    acknowledged: list[str] = field(default_factory=list)
    """Names of the workers that have prepared it."""
    refused: dict[str, str] = field(default_factory=dict)
    """Sentences by worker: one of them is enough, and the old parameters hold."""


@dataclass(frozen=True, kw_only=True)
class Status:
    """The complete state of a pipeline, as one snapshot."""

    state: StateName
    error: str = ""
    """One sentence, while the state is "error"."""
    pipeline: str = ""
    series: Series | None = None
    """The newest one."""
    others: list[Series] = field(default_factory=list)
    """Earlier ones that are not over, and the last ones that are, newest first."""
    workers: list[Worker] = field(default_factory=list)
    """The first 200."""
    address: str = ""
    """Endpoint for workers on this machine."""
    listen: str = ""
    """Endpoint for all other workers; "" if there is none."""
    parameters: Parameters = field(default_factory=Parameters)
    channels: list[Channel] = field(default_factory=list)
    waits_for: str = ""
    """What the pipeline waits for, such as a receiver that does not answer; a sentence."""
    ending: Ending = ""
    """"draining" once it takes no new series, "drained" when the last one is over; "" while it takes some."""
    deaths: int = 0
    """Workers that were lost since the distributor started, without having said goodbye."""
    gone: list[Gone] = field(default_factory=list)
    """The last 20 of them, newest first."""
    refused_connections: int = 0
    """Connections that were refused, for want of the right key."""
    stray: int = 0
    """Frames of results of workers that did not have them any more; they change nothing."""
    duplicates: int = 0
    """Frames that came twice, or that nobody had planned."""
    totals: dict[str, int] = field(default_factory=dict)
    """Frames that have come into each final state since the distributor started, of all series."""
    longest_pause: float = 0.0
    """Longest time in seconds between two bunches that were given, while frames waited and there was a
    worker, since the distributor started: where all are busy, as long as they need for a bunch."""
    queue_bytes: int = 0
    """Bytes of frames that wait or are in work in the distributor's own memory, not in shared memory."""
    pages: list[str] = field(default_factory=list)
    """Addresses of pages of those that take the results, as configured."""
    penstock: str = ""
    """Version of Penstock."""
    version: int = 0
    """Grows with every change: `GET /status?seen=VERSION&wait=SECONDS` returns once it differs."""


@dataclass(frozen=True, kw_only=True)
class ParametersRefused:
    """New parameters were refused, and nothing has changed."""

    kind: str
    """"refused_parameters"."""
    message: str
    """A sentence: who has refused, and why."""
    changed: Changed


@dataclass(frozen=True, kw_only=True)
class Result:
    """A result of the newest series."""

    name: str
    kind: Literal["value", "events", "accumulated", "whole", "axis"]
    """"value" and "events" are per frame; "whole" is of the series, made at its end; an "axis" is what others
    are drawn over, and does not change within a series."""
    dtype: str
    """NumPy name, such as "float64"."""
    shape: list[int]
    """Shape of one value, or of one event."""
    unit: str = ""
    """Unit, such as "1/nm"; "" if it is unknown, or has none."""
    label: str = ""
    """Label for a plot, such as "intensity"."""
    errors: str = ""
    """Name of the result that has its standard deviations; it may not be there yet."""
    axes: list[str] = field(default_factory=list)
    """Names of results of kind "axis", one per dimension of a value; or none."""


@dataclass(frozen=True, kw_only=True)
class Values:
    """Values of consecutive frames."""

    name: str
    series: str
    """Id of the series."""
    first: int
    """Index of the first frame."""
    step: int = 1
    """Each next one is so many further on."""
    states: list[str]
    """State of each frame as it is stored: "done", "failed", "lost", "dropped", "absent", or "pending" until
    then."""
    values: list[Any]
    """One per frame, null where there is none; NaN and infinity are null too. Of events: a list per frame."""


@dataclass(frozen=True, kw_only=True)
class Latest:
    """The newest value of a result."""

    name: str
    series: str
    """Id of the series."""
    frame: int | None = None
    """The highest frame that is done and has one; null for an accumulated value."""
    n: int | None = None
    """Number of frames in an accumulated value; null for any other."""
    value: Any = None
    """null if there is none yet."""
