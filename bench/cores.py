"""One detector on many cores: one receiver into several files, of several modules, and live only.

Beside it, with the same sockets and as many files, a C program; and the sender's own ceiling, which the same
program shows when it discards what it receives. All take the same series from a sender in C, in turn.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from penstock.bench.cores_content import wrong_in_raw_files, wrong_in_series
from penstock.bench.cores_series import FILE, RAW, Limit, Ours, Place, Setup, Take
from penstock.bench.report import size
from penstock.bench.warm import warm

SIZES = (200_000, 2_000_000, 20_000_000)
FILES = (1, 2, 4, 6)
STREAMS = (1, 2, 4)
MODULE_BYTES = 2_000_000
"""Size of a module's frames, if it is among those that are measured."""
MANY = 16
"""Cores from which on the figures say something about the bars."""
SERIES_BYTES, FEW_CORES_BYTES = 4e9, 4e8
"""Of a series, and with fewer cores: a second or two."""
ROUND_SECONDS = 45.0
"""Longest time of a round with frames of one size, on average: on a slow machine there are fewer rounds."""
FEWEST = 8
"""Frames of a series that can be measured."""
SPARE_BYTES = 2e9
"""Of the available memory, for what else is running."""
PROCESS_BYTES = 2.5e8
"""Memory of a process besides its queues."""
MEMINFO = Path("/proc/meminfo")
PENSTOCK, C = "penstock", "C"


@dataclass(kw_only=True)
class Found:
    """One setup, all rounds."""

    setup: Setup
    frames: int
    """Of each stream."""
    penstock: list[Take] = field(default_factory=list)
    """None, where it is only about the sender's ceiling."""
    c: list[Take] = field(default_factory=list)
    """By the C program."""
    wrong: str = ""
    """Why the figures say nothing, in a sentence."""

    @property
    def gbps(self) -> float:
        """GB/s of Penstock, median."""
        return median(take.gbps for take in self.penstock)

    @property
    def c_gbps(self) -> float:
        """GB/s of the C program, median."""
        return median(take.gbps for take in self.c)

    @property
    def ratio(self) -> float:
        """Median, over the rounds, of Penstock's rate to the C program's."""
        return median(ours.gbps / c.gbps for ours, c in zip(self.penstock, self.c, strict=True))


def median(values: Iterator[float]) -> float:
    """Return the median; not a number, if there are no values."""
    return statistics.median(found) if (found := list(values)) else float("nan")


def setups(frame_bytes: int, cores: int, *, modules: bool) -> list[Setup]:
    """Return what is measured with frames of one size: as many files, modules and sockets as the cores
    allow.

    Args:
        frame_bytes: size of a frame of a stream.
        cores: number of them.
        modules: whether to include detectors of several modules.
    """
    sockets = min(4, max(2, cores // 4))
    one = Setup(frame_bytes=frame_bytes, sockets=sockets)
    found = [replace(one, files=files) for files in FILES if files <= max(2, cores // 2)]
    if modules:
        streams = [number for number in STREAMS if number <= max(2, cores // 4)]
        found += [replace(one, streams=number, sockets=1, files=number) for number in streams]
        found += [replace(one, streams=number, sockets=1) for number in streams if number > 1]
    return [*found, replace(one, sockets=1), one]


def with_modules(sizes: Sequence[int]) -> int:
    """Return the size of frame at which modules are measured."""
    return MODULE_BYTES if MODULE_BYTES in sizes else max(sizes)


def measure(
    place: Place, cores: int, rounds: int, progress: Callable[[str], None], note: Callable[[str], None],
    sizes: Sequence[int] = SIZES, series_bytes: float | None = None,
) -> Iterator[Found]:  # fmt: skip
    """Measure all sizes; files are removed again.

    Args:
        place: where and with what.
        cores: number of cores for all.
        rounds: turns of each, after one that is not counted and whose frames are compared with those sent.
        progress: called with what is being measured.
        note: called with sentences for the report.
        sizes: of frames.
        series_bytes: bytes of a series, where there is room for them; by default by the number of cores.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: there is no room for a series.
    """
    wanted = series_bytes or (SERIES_BYTES if cores >= MANY else FEW_CORES_BYTES)
    for frame_bytes in sizes:
        chosen = setups(frame_bytes, cores, modules=frame_bytes == with_modules(sizes))
        nbytes = max(0.0, min(wanted, _room(place.folder, chosen)))
        frames = int(nbytes // frame_bytes)
        if frames < min(FEWEST, wanted // frame_bytes):
            raise RuntimeError(
                f"{place.folder} and the memory have room for {nbytes / 1e9:.1f} GB per series, of which "
                f"{FEWEST} frames of {size(frame_bytes)} need {FEWEST * frame_bytes / 1e9:.2g}"
            )
        if nbytes < wanted:
            note(
                f"{size(frame_bytes)}: series of {nbytes / 1e9:.1f} GB in place of {wanted / 1e9:g}: "
                "there is no room for more"
            )
        yield from _measure(place, chosen, frames, rounds, progress, note)


def _measure(
    place: Place, chosen: Sequence[Setup], frames: int, rounds: int, progress: Callable[[str], None],
    note: Callable[[str], None],
) -> list[Found]:  # fmt: skip
    first = max(chosen[0].streams, frames // 4)
    found = [Found(setup=setup, frames=frames // setup.streams) for setup in chosen]
    with ExitStack() as stack:
        takers: list[tuple[Found, str, Ours | Limit]] = []
        for each in found:
            setup = each.setup
            lengths = [max(1, first // setup.streams), *[each.frames] * rounds]
            takers.append((each, C, stack.enter_context(Limit(setup, place, lengths))))
            if setup.files or setup.streams == 1:
                progress(f"{size(setup.frame_bytes)}: starting receivers")
                ours = stack.enter_context(Ours(setup, place))
                if ours.refused:
                    note(
                        f"{setup.name} are written into one file, by the C program into {setup.files}, "
                        f"since: {ours.refused}"
                    )
                takers.append((each, PENSTOCK, ours))
        begun = time.monotonic()
        for turn in range(rounds + 1):
            if turn > 1 and time.monotonic() - begun > ROUND_SECONDS * rounds:
                note(f"{size(chosen[0].frame_bytes)}: {turn - 1} of {rounds} rounds, which took long")
                break
            with warm(place.folder, (frames if turn else first) * chosen[0].frame_bytes) as free:
                free()
            for each, who, taker in takers:
                if not each.wrong:
                    progress(
                        f"{size(each.setup.frame_bytes)}, round {turn} of {rounds}: {each.setup.name}, {who}"
                    )
                    _turn(place, each, who, taker, first if turn == 0 else frames, counted=turn > 0)
    return found


def _turn(place: Place, found: Found, who: str, taker: Ours | Limit, frames: int, *, counted: bool) -> None:
    """Let one have its turn."""
    setup, file = found.setup, place.folder / FILE
    frames = max(1, frames // setup.streams)
    try:
        take = taker.take(frames) if isinstance(taker, Ours) else taker.take()
        if counted:
            (found.penstock if who == PENSTOCK else found.c).append(take)
        elif setup.files and who == PENSTOCK:
            found.wrong = wrong_in_series(file, setup, frames)
        elif setup.files:
            found.wrong = wrong_in_raw_files(place.folder / RAW, setup, frames)
    except RuntimeError as error:
        found.wrong = str(error)
    finally:
        for pattern in ("*.h5", "*.raw"):  # at once, so that the next one finds as much memory
            for path in place.folder.glob(pattern):
                path.unlink()
    if found.wrong:
        found.wrong = f"{size(setup.frame_bytes)}, {setup.name}, {who}: {found.wrong}"


def _room(folder: Path, chosen: Sequence[Setup]) -> float:
    """Return how many bytes a series may have: there is memory for it beside all processes, and half of the
    folder's free space."""
    processes = sum(  # a receiver and a C program
        2 * (PROCESS_BYTES + setup.io_threads * (setup.high_water_mark + 2) * setup.frame_bytes)
        for setup in chosen
    )
    disk = os.statvfs(folder)
    lines = dict(line.split(":") for line in MEMINFO.read_text().splitlines())
    available = float(lines["MemAvailable"].split()[0]) * 1024
    return min((available - SPARE_BYTES - processes) / 1.5, disk.f_bavail * disk.f_frsize / 2)
