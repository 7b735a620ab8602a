"""One device as a row of the fleet: what it is asked for, by its kind, and pure functions that make the row.

Rows of bridges are made in `bridges`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Literal, NamedTuple

import msgspec

from penstock.gui.model.attributes.attribute import Value
from penstock.gui.model.series.account import FATES, Account, account, losses
from penstock.gui.model.tango.answers import read_last_series
from penstock.gui.model.tango.directory import DirectoryEntry, Kind
from penstock.gui.words import size
from penstock.stins.texts import plural

FOLLOWED = frozenset(
    {"State", "Status", "nFramesPlanned", "SeriesId", *(name for name, _ in FATES.values())}
    | {"FileWritten", "FrameRateMeasured", "LastSeries"}  # of detectors
    | {"FileName", "FrameRate", "SeriesReason", "FreeSpace"}  # of receivers
)
"""Attributes that the row of a detector or receiver is made from."""
UNDONE = ("Failed", "Lost", "Dropped", "Absent")
"""Frames of a pipeline that are not done, and never will be."""


class Asked(NamedTuple):
    """What a device of one kind is asked for; see `link.TangoDevice`."""

    only: frozenset[str]
    """Attributes that its row is made from."""
    needs: str
    address: str
    """Its property."""


def asked(kind: Kind) -> Asked:
    """Return what a device of this kind is asked for."""
    return PIPELINES if kind == "pipeline" else DEVICES


DEVICES = Asked(FOLLOWED, "nFramesPlanned", "ReceiverUrl")
PIPELINES = Asked(
    frozenset({"State", "Status", "SeriesId", "RawFile", "Planned", "Done", "Rate", "WaitsFor", *UNDONE})
    | {"LastError"},
    "WorkerDeaths", "PipelineUrl",
)  # fmt: skip


ASKING = "ASKING"
"""In place of the state: the device has not answered yet."""
AWAY = "AWAY"
"""In place of the state: the device does not answer."""
OFF = "OFF"
"""A receiver has a place for a pipeline, and nobody has its frames."""
WAITING = "WAITING"
"""A bridge lacks its receiver, its pipeline, or the begin of the series."""
ILL = ("FAULT", "UNKNOWN", AWAY)
"""States in which no series can be taken; the device of a receiver is UNKNOWN while its receiver is away."""
RUNNING = frozenset({"RUNNING", "MOVING"})
TROUBLED = frozenset({"FAULT", "UNKNOWN", "ALARM"})
"""States whose Status says what is wrong."""

REGISTER = "penstock device Simulator sim --register sim/det/1 --property ReceiverUrl=http://127.0.0.1:5000"
"""How to register a first detector."""
START = "penstock device Simulator sim"
"""And how its server is started, which makes it known here."""
NOBODY = (
    "this Tango database knows no detector and no receiver of Penstock; a device is known once "
    f"its server has been started. Register one with: {REGISTER} ; start it with: {START}"
)

LAST = "Last series: "
"""What stands before a problem that is over."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """What a table says of a device, or of a pipeline or bridge whose page a receiver knows."""

    kind: Kind | Literal["bridge"]
    name: str
    state: str = ASKING
    """As Tango names it, or ASKING, or AWAY; of a pipeline or bridge IDLE, RUNNING, FAULT, WAITING, AWAY or,
    where its receiver has a place for it and it does not run, OFF."""
    problem: str = ""
    """What is wrong now or was with the last series, in a sentence; "": nothing."""
    file: str = ""
    """File of the running, or else the last, series, as the receiver sees it; "" where nothing is written."""
    done: int | None = None
    """Number of its whole frames: stored, or delivered live; of a pipeline, those that are done; of a bridge,
    those that have come."""
    planned: int | None = None
    """Number of planned frames; `None` if unknown, or if the series runs until it is stopped."""
    receiver_url: str = ""

    @property
    def ill(self) -> bool:
        """True if no series can be taken with it."""
        return self.state in ILL

    @property
    def series(self) -> str:
        """What a person calls its series: the file's name."""
        return PurePath(self.file).name

    @property
    def frames(self) -> str:
        """ "412 of 1,000"; without an end "412"; "" before the first series."""
        if self.done is None:
            return ""
        return f"{self.done:,}" if self.planned is None else f"{self.done:,} of {self.planned:,}"


@dataclass(frozen=True, kw_only=True)
class Row(Source):
    """What the table says of one device, or bridge."""

    tango_class: str
    """Name of the camera, PenstockReceiver or PenstockPipeline; "": a bridge."""
    server: str
    """Server and instance; of a bridge, its program."""
    status: str = ""
    """The device's own sentence; while it is AWAY, why."""
    running: bool = False
    """A series runs."""
    live: bool = False
    """True if that series is a live view."""
    rate: float | None = None
    """Frames per second that the receiver takes, or that the pipeline does, while a series runs."""
    free_bytes: int | None = None
    """Free space on the disk that the receiver writes to."""
    away_since: float | None = None
    """Seconds since 1970 (UTC); `None` too where it has never been seen."""
    pipeline_url: str = ""
    last_error: str = ""
    """Last error of a pipeline, or of one of its workers, since it was started."""

    @property
    def key(self) -> str:
        """What no other row has: a device's name."""
        return self.name.lower()

    @property
    def series(self) -> str:
        """What a person calls its series: the file's name, or "live view"."""
        return super().series or ("live view" if self.live else "")

    @property
    def page(self) -> str:
        """Address of the page of a receiver or pipeline; "" for a detector, which has a panel."""
        return "" if self.kind == "detector" else self.pipeline_url or self.receiver_url

    @property
    def says(self) -> str:
        """What is wrong or, where nothing is, what the device says."""
        return self.problem or self.status

    @property
    def hertz(self) -> str:
        """The rate in words."""
        return (
            "" if self.rate is None else f"{self.rate:,.0f} Hz" if self.rate >= 100 else f"{self.rate:.3g} Hz"
        )

    @property
    def free(self) -> str:
        """The free space in words."""
        return "" if self.free_bytes is None else size(self.free_bytes)

    @property
    def gravity(self) -> int:
        """Place in a list with faults first: 0 in FAULT, 1 away, 2 a series that loses frames, 3 one that
        runs well, 4 the last series was incomplete, or it waits for something, 5 well."""
        if self.ill:
            return 0 if self.state == "FAULT" else 1
        return (2 if self.problem else 3) if self.running else (4 if self.problem else 5)

    @property
    def place(self) -> tuple[int, bool, str]:
        """What rows are sorted by: gravity, then the kind, bridges last."""
        return self.gravity, self.kind == "bridge", self.kind


def row(found: DirectoryEntry, values: Mapping[str, Value | None], url: str = "") -> Row:
    """Return the row of a device that answers.

    Args:
        found: entry of the database.
        values: values by attribute, without attributes that the device does not have.
        url: of its receiver, or of its pipeline.
    """
    if found.kind == "pipeline":
        return _pipeline(found, values, url)
    detector = found.kind == "detector"
    state = str(values.get("State") or ASKING)
    status = " ".join(str(values.get("Status") or "").split())
    file = str(values.get("FileWritten" if detector else "FileName") or "")
    frames = account(values)
    known = bool(values.get("SeriesId"))
    rate = values.get("FrameRateMeasured" if detector else "FrameRate")
    # MOVING without a series: a detector's own box takes settings, or is being reset.
    running = state in RUNNING and not (state == "MOVING" and known and not frames.fates["pending"])
    return Row(
        name=found.name, kind=found.kind, tango_class=found.cls, server=found.server,
        state=state,
        status=status,
        problem=status if state in TROUBLED else _problem(values, frames, running=running),
        running=running,
        file=file,
        live=known and not file,
        done=frames.whole if known else None,
        planned=frames.planned if known and frames.planned >= 0 and not frames.endless else None,
        rate=float(rate) if running and isinstance(rate, (int, float)) else None,
        # A receiver that is away leaves its device with the figures of before.
        free_bytes=None if state == "UNKNOWN" else _free(values.get("FreeSpace")),
        receiver_url=url,
    )  # fmt: skip


def _pipeline(found: DirectoryEntry, values: Mapping[str, Value | None], url: str) -> Row:
    """Return the row of the device of a pipeline."""
    state = str(values.get("State") or ASKING)
    status = " ".join(str(values.get("Status") or "").split())
    known, running = bool(values.get("SeriesId")), state in RUNNING
    planned, rate = values.get("Planned"), values.get("Rate")
    error = " ".join(str(values.get("LastError") or "").split())
    undone = [f"{count:,} {name.lower()}" for name in UNDONE if (count := _number(values.get(name)))]
    problem = ""
    if state in TROUBLED:
        problem = status
    elif undone:
        problem = f"{', '.join(undone)} so far." if running else f"{LAST}{', '.join(undone)}."
        problem += f" Last error: {error}" if error else ""
    elif waits := str(values.get("WaitsFor") or ""):
        problem = waits
    return Row(
        name=found.name, kind=found.kind, tango_class=found.cls, server=found.server,
        state=state, status=status, problem=problem, running=running,
        file=str(values.get("RawFile") or ""),
        done=_number(values.get("Done")) if known else None,
        planned=int(planned) if known and isinstance(planned, (int, float)) and planned >= 0 else None,
        rate=float(rate) if running and isinstance(rate, (int, float)) else None,
        pipeline_url=url, last_error=error,
    )  # fmt: skip


def away(last: Row, why: str, since: float | None = None) -> Row:
    """Return the row of a device that does not answer, with the last series that it reported.

    Args:
        last: row from when it answered.
        why: reason in a sentence.
        since: seconds since 1970 (UTC); `None` if it has never answered.
    """
    return replace(last, state=AWAY, status=why, problem=why, rate=None, free_bytes=None, away_since=since)


def faults_first(rows: Iterable[Row]) -> list[Row]:
    """Return the rows sorted by gravity, by kind (detectors, pipelines, receivers, bridges), then by name; a
    detector gets the free space of the receiver with the same address."""
    rows = list(rows)
    free = {address(each.receiver_url): each.free_bytes for each in rows if each.kind == "receiver"}
    free.pop("", None)
    shared = [
        replace(each, free_bytes=free.get(address(each.receiver_url))) if each.kind == "detector" else each
        for each in rows
    ]
    return sorted(shared, key=lambda each: (each.place, each.name.lower()))


def summary(rows: Sequence[Row]) -> str:
    """Return the counts: "3 detectors, 1 in FAULT; 3 receivers"; pipelines, bridges if there are some."""
    parts = []
    for kind in ("detector", "receiver", "pipeline", "bridge"):
        states = Counter(each.state for each in rows if each.kind == kind)
        if states or kind in ("detector", "receiver"):
            parts.append(counts(kind, states))
    return "; ".join(parts)


def counts(kind: str, states: Counter[str], which: str = "") -> str:
    """Return how many there are, and the states that are worth a word: "2 pipelines, 1 in FAULT".

    Args:
        kind: of all.
        states: how many are in each.
        which: says which ones these are.
    """
    words = {state: f"in {state}" for state in ILL} | {AWAY: "away", WAITING: "waiting", OFF: "off"}
    parts = [f"{states[state]} {word}" for state, word in words.items() if states[state]]
    if running := sum(states[state] for state in RUNNING):
        parts.append(f"{running} running")
    return ", ".join([f"{plural(states.total(), kind)} {which}".strip(), *parts])


def _problem(values: Mapping[str, Value | None], frames: Account, *, running: bool) -> str:
    if text := ("" if running else str(values.get("LastSeries") or "")):
        try:
            last = read_last_series(text)
        except msgspec.MsgspecError as error:
            return f"The account of the last series cannot be read here: {error}."
        return "" if last is None or last.complete else f"{LAST}{last.verdict}"
    if not frames.lost:
        return ""
    if running:
        return f"{', '.join(losses(frames))} so far."
    reason = str(values.get("SeriesReason") or "")
    counts = f"{', '.join(losses(frames))} of {plural(frames.planned, 'frame')}."
    return f"{LAST}{reason or counts}"


def _number(value: Value | None) -> int:
    return int(value) if isinstance(value, (int, float)) else 0


def _free(value: Value | None) -> int | None:
    return int(value) if isinstance(value, (int, float)) and value >= 0 else None


def address(url: str) -> str:
    """Return an address as it is compared."""
    return url.strip().rstrip("/").lower()
