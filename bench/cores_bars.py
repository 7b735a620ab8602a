"""The bars of many cores, and what held each setup up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from penstock.bench.cores import MANY, Found, median
from penstock.bench.report import size

OF_C = 0.85
"""Share of the C program's rate that is enough where that is less than the bar."""
FILES_GBPS = {2_000_000: 8.0, 20_000_000: 10.0}
BAR_FILES = (4, 6)
"""Numbers of files, the better of which has to reach the bar."""
LIVE_GBPS = 10.0
OF_STREAMS = 0.8
"""Share of N times the rate of one stream that N of them have to reach."""
BUSY = 0.9
"""Share of its time from which on a thread, or a share of the sender's ceiling from which on that, is the
limit."""
NO_FASTER = 0.95
"""Ratio to the C program from which on that is no faster."""
LIMITS = (
    "cores: they are used up; sender: it sends no faster; loop: the thread that every frame passes through; "
    "ZeroMQ: its threads; files: the threads that write them; C: that program is no faster"
)
"""What the names of limits mean."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One bar."""

    name: str
    gbps: float
    """What was reached; not a number, if it could not be measured."""
    required: float
    c_gbps: float
    """Of the C program."""

    @property
    def least(self) -> float:
        """GB/s that are enough."""
        return min(self.required, OF_C * self.c_gbps)

    @property
    def reached(self) -> bool:
        """Whether they were reached."""
        return self.gbps >= self.least


def bars(found: Sequence[Found]) -> list[Bar]:
    """Return the bars that apply to what was measured with 16 cores or more."""
    return [*_of_files(found), *_of_modules(found), *_of_live(found)]


def apply(cores: int) -> bool:
    """Return whether the bars apply with so many cores."""
    return cores >= MANY


def ceiling(each: Found, found: Sequence[Found]) -> float:
    """Return the sender's rate, in GB/s, into a program that discards what as many sockets receive."""
    alone = replace(each.setup, files=0)
    return next((other.c_gbps for other in found if other.setup == alone and not other.wrong), float("nan"))


def limits(
    each: Found, found: Sequence[Found], sending: int | None, receiving: int | None, cores: int
) -> list[str]:
    """Return what held Penstock up, see `LIMITS`; nothing, if the figures do not tell.

    Args:
        each: the setup.
        found: all setups.
        sending: number of the sender's cores; `None`: sender and receiver share all.
        receiving: number of the receiver's.
        cores: number of all.
    """
    busy = median(take.cpu_seconds / take.seconds for take in each.penstock)
    sender = median(take.sender_seconds / take.seconds for take in each.penstock)
    loop = median(take.loop_seconds / take.seconds for take in each.penstock)
    io = median(take.io_seconds / take.seconds for take in each.penstock) / each.setup.io_threads
    others = busy - loop - io * each.setup.io_threads
    causes = {
        "cores": busy >= BUSY * receiving if receiving else busy + sender >= BUSY * cores,
        "sender": each.gbps >= BUSY * ceiling(each, found) or (sending and sender >= BUSY * sending),
        "loop": loop >= BUSY,
        "ZeroMQ": io >= BUSY,
        "files": each.setup.files > 1 and others >= BUSY * each.setup.files,
        "C": each.setup.files > 0 and each.ratio >= NO_FASTER,
    }
    return [cause for cause, holds in causes.items() if holds]


def _of_files(found: Sequence[Found]) -> Iterator[Bar]:
    for frame_bytes, required in FILES_GBPS.items():
        those = [
            each
            for each in found
            if each.setup.frame_bytes == frame_bytes and each.setup.files in BAR_FILES
            and each.setup.streams == 1
        ]  # fmt: skip
        if those:
            name = f"{size(frame_bytes)} into {' or '.join(map(str, BAR_FILES))} files"
            yield _best(name, those, required)


def _of_modules(found: Sequence[Found]) -> Iterator[Bar]:
    for each in found:
        setup = each.setup
        if setup.streams > 1 and setup.files:
            alone = replace(setup, streams=1, files=1)
            one = next((other for other in found if other.setup == alone and not other.wrong), None)
            required = OF_STREAMS * setup.streams * (one.gbps if one else float("nan"))
            yield _best(f"{setup.name} of {size(setup.frame_bytes)}", [each], required)


def _of_live(found: Sequence[Found]) -> Iterator[Bar]:
    for each in found:
        setup = each.setup
        if not setup.files and setup.streams == 1 and setup.sockets > 1 and setup.frame_bytes in FILES_GBPS:
            yield _best(f"{size(setup.frame_bytes)}, {setup.name}", [each], LIVE_GBPS)


def _best(name: str, those: Sequence[Found], required: float) -> Bar:
    sound = [each for each in those if not each.wrong]
    none = float("nan")
    return Bar(
        name=name, gbps=max((each.gbps for each in sound), default=none), required=required,
        c_gbps=max((each.c_gbps for each in sound), default=none),
    )  # fmt: skip
