"""What was measured, as stored in results.json: the machine, every run, and the bars."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from penstock.bench.contenders import BARE, NAIVE, PENSTOCK_RECEIVER, WRITE_LIMIT
from penstock.bench.files import Cpu, ratio
from penstock.bench.load import Case, Run
from penstock.bench.machine import Machine

MOST_ARM = 0.15
"""Maximum median of the seconds from Arm to RUNNING."""
MOST_END = 0.2
"""Maximum median of the seconds from the last frame to ON, without the sync of the file."""


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """One case and its runs."""

    case: Case
    runs: list[Run]

    @property
    def rate(self) -> tuple[float, float]:
        """Frames per second: mean and its standard error."""
        return mean(run.rate for run in self.runs)

    @property
    def thread_us(self) -> tuple[float, float]:
        """Microseconds per frame of the receiving thread: mean and its standard error."""
        return mean(run.thread_us for run in self.runs)

    @property
    def cpu_us(self) -> tuple[float, float]:
        """Microseconds per frame of all threads that receive: mean and its standard error."""
        return mean(run.cpu_us for run in self.runs)

    def share_us(self, name: str) -> float:
        """Return the microseconds per frame of one of `load.THREADS`: mean."""
        return statistics.fmean(run.cpu.get(name, 0.0) / run.frames * 1e6 for run in self.runs)


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Series over a Tango device: seconds, one value per series."""

    storage: str
    synced: bool
    arm: list[float]
    """From the call of Arm to the state RUNNING."""
    end: list[float]
    """From the last frame's timestamp to the state ON."""
    sync: list[float]
    """Of an fsync of a file of the same size in the same folder; empty unless synced."""

    @property
    def reached(self) -> bool:
        """True if the medians are short enough."""
        sync = statistics.median(self.sync) if self.sync else 0.0
        return statistics.median(self.arm) <= MOST_ARM and statistics.median(self.end) <= MOST_END + sync


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """Two files beside one, see `bench.files`."""

    load: str
    bar: float
    """Maximum ratio."""
    cpu_us: Cpu
    """At the load's rate."""
    flat_out_us: Cpu
    """As fast as possible."""
    equal: bool
    """True if both series held the same bytes."""

    @property
    def ratio(self) -> float:
        """The ratio that the bar limits."""
        return ratio(self.cpu_us)

    @property
    def reached(self) -> bool:
        """True if they are cheap enough, and their content is right."""
        return self.equal and self.ratio <= self.bar


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """Where the processor time of one contender goes."""

    contender: str
    frame_bytes: int
    frames: int
    shares: dict[str, float]
    """Shares of the process's processor time, by "thread: kind", see `profile.KINDS`; empty without perf."""
    top: list[tuple[str, float]]
    """The functions that take most: "function (file:line)", and their share of the loop's own time."""


class Results(msgspec.Struct, kw_only=True):
    """Everything measured so far."""

    machine: Machine
    repeats: int
    measurements: dict[str, list[Measurement]] = {}
    """By part: see `campaign.parts`."""
    files: list[Files] = []
    latency: list[Latency] = []
    profiles: list[Profile] = []

    def of(self, part: str, **wanted: object) -> list[Measurement]:
        """Return the measurements of a part whose cases have these values."""
        return [
            found
            for found in self.measurements.get(part, [])
            if all(getattr(found.case, name) == value for name, value in wanted.items())
        ]

    @property
    def reached(self) -> bool:
        """True if every bar that was measured is reached."""
        return (
            all(verdict.reached for verdict in verdicts_on(self.of("contenders")))
            and all(found.reached for found in self.files)
            and all(latency.reached for latency in self.latency)
        )

    def save(self, file: Path) -> None:
        """Write the file, whole or not at all: it stays readable whenever this process dies."""
        partial = file.with_suffix(".part")
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=0) + b"\n")
        os.replace(partial, file)


def load(file: Path) -> Results:
    """Return what `Results.save` wrote.

    Raises:
        ValueError: it is something else; the sentence names the file.
    """
    try:
        return msgspec.json.decode(file.read_bytes(), type=Results)
    except msgspec.DecodeError as error:
        raise ValueError(f"{file} has no results of this version ({error}); remove it") from error


def mean(values: Iterable[float]) -> tuple[float, float]:
    """Return the mean and its standard error (0 for a single value)."""
    found = list(values)
    error = statistics.stdev(found) / len(found) ** 0.5 if len(found) > 1 else 0.0
    return statistics.fmean(found), error


UNANNOUNCED = f"{PENSTOCK_RECEIVER}, unannounced"
"""The receiver, taking a series whose number of frames was not announced."""
LIVE = f"{PENSTOCK_RECEIVER}, live only"
"""The receiver, without a file."""


def name_of(case: Case) -> str:
    """Return the contender's name; the receiver has one for each kind of series."""
    if case.contender != PENSTOCK_RECEIVER:
        return case.contender
    return LIVE if case.storage == "live" else PENSTOCK_RECEIVER if case.announced else UNANNOUNCED


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement on the receiver, with one socket and one worker, relative to a rival."""

    frame_bytes: int
    of: str = PENSTOCK_RECEIVER
    """As in `name_of`."""
    rival: str
    least_rate: float | None = None
    """Minimum ratio of its frame rate to the rival's."""
    most_thread: float | None = None
    """Maximum ratio of its receiving thread's processor time per frame to the rival's."""


BARS = (
    Bar(frame_bytes=20_000, rival=WRITE_LIMIT, least_rate=1.0),
    Bar(frame_bytes=200_000, rival=WRITE_LIMIT, least_rate=1.2),
    Bar(frame_bytes=2_000_000, rival=WRITE_LIMIT, least_rate=1.0),
    Bar(frame_bytes=20_000_000, rival=WRITE_LIMIT, least_rate=1.0),
    Bar(frame_bytes=20_000, of=UNANNOUNCED, rival=PENSTOCK_RECEIVER, least_rate=0.85),
    Bar(frame_bytes=200_000, of=UNANNOUNCED, rival=PENSTOCK_RECEIVER, least_rate=0.85),
    Bar(frame_bytes=2_000_000, of=UNANNOUNCED, rival=PENSTOCK_RECEIVER, least_rate=0.85),
    Bar(frame_bytes=20_000_000, of=UNANNOUNCED, rival=PENSTOCK_RECEIVER, least_rate=0.85),
    Bar(frame_bytes=20_000, rival=NAIVE, least_rate=15.0),
    Bar(frame_bytes=200_000, rival=NAIVE, least_rate=4.0),
    Bar(frame_bytes=20_000_000, rival=NAIVE, least_rate=1.2),
    Bar(frame_bytes=20_000, rival=BARE, most_thread=1.25),
    Bar(frame_bytes=200_000, rival=BARE, most_thread=1.25),
    Bar(frame_bytes=2_000_000, rival=BARE, most_thread=1.25),
    Bar(frame_bytes=20_000_000, rival=BARE, most_thread=1.25),
)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A bar, and where the receiver stands."""

    bar: Bar
    ratio: float

    @property
    def reached(self) -> bool:
        """True if the ratio meets the bar."""
        if self.bar.least_rate is not None:
            return self.ratio >= self.bar.least_rate
        assert self.bar.most_thread is not None
        return self.ratio <= self.bar.most_thread

    @property
    def required(self) -> str:
        """The bar as text, such as "≥ 0.9"."""
        bar = self.bar
        return f"≥ {bar.least_rate:g}" if bar.least_rate is not None else f"≤ {bar.most_thread:g}"


def verdicts_on(measured: Sequence[Measurement]) -> list[Verdict]:
    """Return every bar whose two contenders were measured in turn.

    A ratio is the median over the rounds of the ratio of neighbouring turns: what disturbs one round
    disturbs both.
    """
    by_name = {(found.case.frame_bytes, name_of(found.case)): found.runs for found in measured}
    verdicts = []
    for bar in BARS:
        ours = by_name.get((bar.frame_bytes, bar.of))
        theirs = by_name.get((bar.frame_bytes, bar.rival))
        if not ours or not theirs:
            continue
        pairs = list(zip(ours, theirs, strict=False))
        if bar.least_rate is not None:
            ratios = [our.rate / their.rate for our, their in pairs]
        else:
            ratios = [our.thread_us / their.thread_us for our, their in pairs]
        verdicts.append(Verdict(bar=bar, ratio=statistics.median(ratios)))
    return verdicts
