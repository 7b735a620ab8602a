"""One device as a row of the fleet: pure functions, from what the device says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import msgspec

from penstock.gui.model.account import FATES, WRONG, Account, account
from penstock.gui.model.answers import read_last_series
from penstock.gui.model.attribute import Value
from penstock.gui.model.directory import DirectoryEntry, Kind
from penstock.gui.model.words import size
from penstock.stins.texts import plural

ASKING = "ASKING"
"""In place of the state: the device has not answered yet."""
AWAY = "AWAY"
"""In place of the state: the device does not answer."""
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
FOLLOWED = frozenset(
    {"State", "Status", "nFramesPlanned", "SeriesId", *(name for name, _ in FATES.values())}
    | {"FileWritten", "FrameRateMeasured", "LastSeries"}  # of detectors
    | {"FileName", "FrameRate", "SeriesReason", "FreeSpace"}  # of receivers
)
"""Attributes that a row is made from."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """What the table says of one device."""

    name: str
    kind: Kind
    tango_class: str
    """Name of the camera, or PenstockReceiver."""
    server: str
    state: str = ASKING
    """As Tango names it, or ASKING, or AWAY."""
    status: str = ""
    """The device's own sentence; while it is AWAY, why."""
    problem: str = ""
    """What is wrong now or was with the last series, in a sentence; "": nothing."""
    running: bool = False
    """A series runs."""
    file: str = ""
    """Of the running, or else of the last, series, as the receiver sees it; "" where nothing is written."""
    live: bool = False
    """That series is a live view."""
    done: int | None = None
    """Number of its whole frames: stored, or delivered live."""
    planned: int | None = None
    """Number of planned frames; `None` if unknown, or if the series runs until it is stopped."""
    rate: float | None = None
    """Frames per second that the receiver takes, while a series runs."""
    free_bytes: int | None = None
    """Of the disk that the receiver writes to."""
    away_since: float | None = None
    """Seconds since 1970 (UTC); `None` too where it has never been seen."""
    receiver_url: str = ""

    @property
    def ill(self) -> bool:
        """Whether no series can be taken with it."""
        return self.state in ILL

    @property
    def series(self) -> str:
        """What a person calls its series: the file's name, or "live view"."""
        return PurePath(self.file).name if self.file else "live view" if self.live else ""

    @property
    def says(self) -> str:
        """What is wrong or, where nothing is, what the device says."""
        return self.problem or self.status

    @property
    def frames(self) -> str:
        """ "412 of 1,000"; without an end "412"; "" before the first series."""
        if self.done is None:
            return ""
        return f"{self.done:,}" if self.planned is None else f"{self.done:,} of {self.planned:,}"

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
        runs well, 4 the last series was incomplete, 5 well."""
        if self.ill:
            return 0 if self.state == "FAULT" else 1
        return (2 if self.problem else 3) if self.running else (4 if self.problem else 5)


def row(found: DirectoryEntry, values: Mapping[str, Value | None], receiver_url: str = "") -> Row:
    """Return the row of a device that answers.

    Args:
        found: entry of the database.
        values: values by attribute, without attributes that the device does not have.
        receiver_url: property of the device.
    """
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
        receiver_url=receiver_url,
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
    """Return the rows sorted by gravity, detectors before receivers, then by name; a detector gets the free
    space of the receiver with the same address."""
    rows = list(rows)
    free = {_address(each.receiver_url): each.free_bytes for each in rows if each.kind == "receiver"}
    free.pop("", None)
    shared = [
        replace(each, free_bytes=free.get(_address(each.receiver_url))) if each.kind == "detector" else each
        for each in rows
    ]
    return sorted(shared, key=lambda each: (each.gravity, each.kind, each.name.lower()))


def summary(rows: Sequence[Row]) -> str:
    """Return the counts: "3 detectors, 1 in FAULT; 3 receivers"."""
    parts = []
    for kind in ("detector", "receiver"):
        states = Counter(each.state for each in rows if each.kind == kind)
        parts.append(", ".join([plural(states.total(), kind), *_noteworthy(states)]))
    return "; ".join(parts)


def _noteworthy(states: Mapping[str, int]) -> Iterable[str]:
    for state in ILL:
        if states.get(state):
            yield f"{states[state]} away" if state == AWAY else f"{states[state]} in {state}"
    if running := sum(states.get(state, 0) for state in RUNNING):
        yield f"{running} running"


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
        return f"{', '.join(_losses(frames))} so far."
    reason = str(values.get("SeriesReason") or "")
    counts = f"{', '.join(_losses(frames))} of {plural(frames.planned, 'frame')}."
    return f"{LAST}{reason or counts}"


def _losses(frames: Account) -> Iterable[str]:
    for fate, (_, word) in FATES.items():
        if fate in WRONG and frames.fates[fate]:
            yield f"{frames.fates[fate]:,} {word}"


def _free(value: Value | None) -> int | None:
    return int(value) if isinstance(value, (int, float)) and value >= 0 else None


def _address(url: str) -> str:
    return url.strip().rstrip("/").lower()
