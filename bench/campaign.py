"""The long run: everything that the performance page shows, part by part, into one file of results.

It is written after each group of cases, so an interrupted run continues where it was. Cases of a group take
turns, see `bench.turns`.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence, Sized
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from penstock.bench import compare, files
from penstock.bench.compare import FRAMES, NAIVE_FRAMES, SIZES
from penstock.bench.contenders import PENSTOCK_RECEIVER, RECEIVE_LIMIT, WRITE_LIMIT, Receiver
from penstock.bench.latency import latency
from penstock.bench.limit import build
from penstock.bench.load import Case, Run, Storage
from penstock.bench.machine import describe, file_system
from penstock.bench.profile import profiles
from penstock.bench.results import Files, Measurement, Results, load
from penstock.bench.turns import in_turn

BARS_PART = "contenders"
LIMITS = (WRITE_LIMIT, RECEIVE_LIMIT)
RATES = {
    20_000: (5_000, 10_000, 20_000, 40_000),
    200_000: (1_500, 3_000, 6_000, 12_000),
    2_000_000: (200, 400, 800, 1_600),
    20_000_000: (20, 40, 80, 160),
}
"""Offered frames per second, the last ones more than can be taken; in addition, as fast as possible."""
PACED_SECONDS = 0.8
"""Length of a series at such a rate."""
SOCKETS = ((1, 1), (1, 2), (2, 2), (4, 2))
"""PULL sockets, and ZeroMQ's I/O threads on both sides."""
WORKERS = ((1, 1), (2, 1), (4, 1), (1, 2), (2, 2))
"""Threads that compress frames, and ZeroMQ's."""
WORKED_BYTES, WORKED_FRAMES = 2_000_000, 150
LEAST_PERCENT = 20
"""Series are made no shorter than this percentage of their length: else starts and ends would be measured."""
START_SECONDS = {"fresh": 2.1, "kept": 0.7, "other": 1.0}
"""Seconds per turn in addition to its frames and the warming of memory: processes start and end."""


OTHERS = {"files": 800.0, "latency": 40.0, "profile": 90.0}
"""Parts that are not made of cases, and about how many seconds they take."""
FILES_ROUNDS = 5


class Group(NamedTuple):
    """Cases that take turns."""

    cases: tuple[Case, ...]
    keep: bool
    """Receivers keep running from round to round; else each turn starts one, as it starts its rivals."""


def parts() -> dict[str, Callable[[float], list[Group]]]:
    """Return the parts made of cases, by name; each takes the scale of its series' lengths."""
    return {
        BARS_PART: _contenders, "disk": _disk, "offered": _offered, "sockets": _sockets, "workers": _workers,
        "files": lambda scale: [], "latency": lambda scale: [], "profile": lambda scale: [],
    }  # fmt: skip


def _contenders(scale: float) -> list[Group]:
    return [
        Group(tuple(compare.cases(size, _few(FRAMES[size], scale), _few(NAIVE_FRAMES[size], scale))), False)
        for size in SIZES
    ]


def _disk(scale: float) -> list[Group]:
    groups = []
    for size in SIZES:
        ours = Case(
            contender=PENSTOCK_RECEIVER, frame_bytes=size, frames=_few(FRAMES[size], scale), storage="disk"
        )
        groups.append(
            Group((ours, replace(ours, contender=WRITE_LIMIT), replace(ours, synced=True)), keep=False)
        )
    return groups


def _offered(scale: float) -> list[Group]:
    storages: tuple[Storage, ...] = ("live", "ram", "disk")
    groups = []
    for size in SIZES:
        for storage in storages:
            top = Case(
                contender=PENSTOCK_RECEIVER, frame_bytes=size, frames=_few(FRAMES[size], scale),
                storage=storage,
            )  # fmt: skip
            paced = tuple(
                replace(top, rate=float(rate), frames=max(5, int(rate * PACED_SECONDS * max(scale, 0.6))))
                for rate in RATES[size]
            )
            groups.append(Group((*paced, top), keep=True))
    return groups


def _sockets(scale: float) -> list[Group]:
    storages: tuple[Storage, ...] = ("live", "ram")
    return [
        Group(
            tuple(
                Case(
                    contender=PENSTOCK_RECEIVER, frame_bytes=size, frames=_few(FRAMES[size], scale),
                    storage=storage, sockets=sockets, io_threads=threads,
                )
                for sockets, threads in SOCKETS
            ),
            keep=True,
        )
        for size in SIZES
        for storage in storages
    ]  # fmt: skip


def _workers(scale: float) -> list[Group]:
    return [
        Group(
            tuple(
                Case(
                    contender=PENSTOCK_RECEIVER, frame_bytes=WORKED_BYTES,
                    frames=_few(WORKED_FRAMES, scale), workers=workers, io_threads=threads, compress=True,
                )
                for workers, threads in WORKERS
            ),
            keep=True,
        )
    ]  # fmt: skip


def _few(frames: int, scale: float) -> int:
    return max(10, round(frames * scale))


def seconds(group: Group, repeats: int) -> float:
    """Return about how long a group takes on two cores."""
    total = 0.0
    for case in group.cases:
        ours = case.contender == PENSTOCK_RECEIVER
        top = FRAMES.get(case.frame_bytes, case.frames) / 1.3
        frames = case.frames / min(case.rate or top, top)
        if case.compress:
            frames = case.frames / 60
        warm = 0.0 if case.storage == "live" else 0.3 + case.nbytes / 3e9
        total += frames + warm + START_SECONDS[("kept" if group.keep else "fresh") if ours else "other"]
    return total * repeats


class Campaign:
    """The run, or the rest of it.

    Args:
        file: results.json; what is in it already is kept.
        ram: folder on a RAM disk.
        disk: folder on a disk.
        repeats: runs of each case.
        minutes: the series are shortened so that the run takes no longer; `None`: full length.
        only: parts; all of them by default.
        again: discard what the file has of these parts.

    Raises:
        ValueError: the file is not one of results, or a folder is not on such a file system.
    """

    def __init__(
        self, file: Path, *, ram: Path, disk: Path, repeats: int, minutes: float | None = None,
        only: Sequence[str] | None = None, again: bool = False,
    ) -> None:  # fmt: skip
        self._file = file
        self._repeats = repeats
        self._only = tuple(only or parts())
        self._limit: Path | None = None
        if file_system(disk) in ("tmpfs", "ramfs"):
            raise ValueError(f"{disk} is a RAM disk; give a folder on a disk with --disk")
        if file_system(ram) not in ("tmpfs", "ramfs"):
            raise ValueError(f"{ram} is not a RAM disk; give one with --ram, such as /dev/shm")
        self._ram, self._disk = ram, disk
        machine = describe({"ram": ram, "disk": disk})
        if file.exists() and not (again and only is None):
            self.results = load(file)
            self.results.repeats = repeats
            if again:
                self._forget()
        else:
            self.results = Results(machine=machine, repeats=repeats)
        self._scale = self._fitting(minutes) if minutes else 1.0

    def _forget(self) -> None:
        found = self.results
        for part in self._only:
            found.measurements.pop(part, None)
        found.files = [] if "files" in self._only else found.files
        found.latency = [] if "latency" in self._only else found.latency
        found.profiles = [] if "profile" in self._only else found.profiles

    def run(self, console: Console) -> Results:
        """Measure what is missing, with a progress bar and the remaining time."""
        columns = (
            TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("left:"),
            TimeRemainingColumn(elapsed_when_finished=False),
        )  # fmt: skip
        with (
            tempfile.TemporaryDirectory(prefix="penstock-bench-") as tools,
            tempfile.TemporaryDirectory(dir=self._ram, prefix="penstock-bench-") as ram,
            tempfile.TemporaryDirectory(dir=self._disk, prefix="penstock-bench-") as disk,
            Progress(
                *columns, console=console, refresh_per_second=1, speed_estimate_period=600.0
            ) as progress,
        ):
            self._folders = {"live": Path(ram), "ram": Path(ram), "disk": Path(disk)}
            self._limit = build(Path(tools))
            groups = self._groups(self._scale, limits=self._limit is not None)
            missing = [(part, group) for part, group in groups if not self._has(part, group)]
            others = [part for part in OTHERS if part in self._only and not self._other(part)]
            total = sum(seconds(group, self._repeats) for _, group in missing) + sum(
                map(OTHERS.__getitem__, others)
            )
            bar = progress.add_task("starting", total=max(total, 1e-9))
            for part, group in missing:
                step = seconds(group, self._repeats) / self._repeats / len(group.cases)

                def announce(case: Case, number: int, part: str = part, step: float = step) -> None:
                    text = f"{part}: {case.frame_bytes / 1000:g} kB, {case.storage}, round {number}"
                    progress.update(bar, description=text)
                    progress.advance(bar, step)

                self._put(part, group, self._measure(group, announce))
            for part in others:
                progress.update(bar, description=part)
                self._measure_other(part, lambda text: progress.update(bar, description=text))
                progress.advance(bar, OTHERS[part])
        return self.results

    def _measure(self, group: Group, announce: Callable[[Case, int], None]) -> list[list[Run]]:
        cases = group.cases
        if not group.keep:
            return in_turn(
                cases, self._repeats, lambda case: self._folders[case.storage], self._limit, announce
            )
        with self._receivers(cases) as receivers:
            runs: list[list[Run]] = [[] for _ in cases]
            for number in range(1, self._repeats + 1):
                for case, receiver, done in zip(cases, receivers, runs, strict=True):
                    announce(case, number)
                    done.append(receiver.take(case))
            return runs

    @contextlib.contextmanager
    def _receivers(self, cases: Sequence[Case]) -> Iterator[list[Receiver]]:
        """Yield a receiver per case; the same one where only the series differs."""
        with contextlib.ExitStack() as stack:
            made: dict[Case, Receiver] = {}
            found = []
            for case in cases:
                setup = replace(case, rate=0.0, frames=0)
                if setup not in made:
                    made[setup] = stack.enter_context(Receiver(case, self._folders[case.storage]))
                found.append(made[setup])
            yield found

    def _other(self, part: str) -> int:
        """Return the number of results of a part that is not made of cases."""
        found = self.results
        parts: dict[str, Sized] = {
            "files": found.files, "latency": found.latency, "profile": found.profiles,
        }  # fmt: skip
        return len(parts[part])

    def _measure_other(self, part: str, progress: Callable[[str], None]) -> None:
        ram = self._folders["ram"]
        if part == "files":
            self.results.files = [
                Files(
                    load=f"{found.load.name}, {found.load.rate:,.0f} per second",
                    bar=found.load.bar,
                    cpu_us=found.cpu_us,
                    flat_out_us=found.flat_out_us,
                    equal=found.equal,
                )
                for found in files.compare(ram, 2, min(self._repeats, FILES_ROUNDS), progress)
            ]
        elif part == "latency":
            self.results.latency = latency(ram, self._folders["disk"])
        else:
            self.results.profiles = profiles(ram)
        self.results.save(self._file)

    def _groups(self, scale: float, *, limits: bool = True) -> list[tuple[str, Group]]:
        known = parts()
        found = [(part, group) for part in self._only for group in known[part](scale)]
        if limits:
            return found
        return [
            (part, Group(tuple(case for case in group.cases if case.contender not in LIMITS), group.keep))
            for part, group in found
        ]

    def _fitting(self, minutes: float) -> float:
        """Return the scale of the series' lengths with which everything takes no longer than that."""
        for percent in range(100, LEAST_PERCENT - 1, -5):
            groups = [group for _, group in self._groups(percent / 100)]
            total = sum(seconds(group, self._repeats) for group in groups)
            total = (total + sum(OTHERS[part] for part in OTHERS if part in self._only)) / 60
            if total <= minutes:
                return percent / 100
        raise ValueError(
            f"--minutes {minutes:g}: it takes {total:.0f} min with {self._repeats} runs of each case; "
            "allow more, lower --repeats, or choose a --part"
        )

    def _has(self, part: str, group: Group) -> bool:
        have = {found.case: len(found.runs) for found in self.results.of(part)}
        return all(have.get(case, 0) >= self._repeats for case in group.cases)

    def _put(self, part: str, group: Group, runs: list[list[Run]]) -> None:
        """Store the runs of a group, in place of earlier runs of the same cases with other lengths."""
        fresh = {replace(case, frames=0) for case in group.cases}
        kept = [found for found in self.results.of(part) if replace(found.case, frames=0) not in fresh]
        kept += [Measurement(case=case, runs=done) for case, done in zip(group.cases, runs, strict=True)]
        self.results.measurements[part] = kept
        self.results.save(self._file)
