"""What `penstock bench --cores` prints."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from penstock.bench import cpu_sets, limit
from penstock.bench.cores import MANY, SIZES, Found, measure, median
from penstock.bench.cores_bars import LIMITS, Bar, apply, bars, ceiling, limits
from penstock.bench.cores_series import Place
from penstock.bench.machine import file_system
from penstock.bench.report import size

MOST_SENDING = 6
"""Cores that a sender can use: a thread for each of four sockets, one that deals frames, and its process."""

BUSY_LOAD = 1.0
"""Load average from which on other programs disturb the measurement."""


class NoCompiler(RuntimeError):
    """There is no C compiler."""

    def __init__(self) -> None:
        super().__init__(
            "the sender and the limit are C programs, and there is no C compiler here; to install one: "
            "apt-get install gcc"
        )


def report(folder: Path | None, rounds: int, as_json: bool, sizes: Sequence[int] | None = None) -> int:
    """Measure, print tables, and return the exit status: 1 when a bar is not reached, or a series was not
    complete.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: it cannot be measured here.
    """
    console, notes, load = Console(stderr=True), list[str](), os.getloadavg()[0]
    cores = cpu_sets.usable()
    sets = cpu_sets.divide(cores, MOST_SENDING)
    with (
        tempfile.TemporaryDirectory(prefix="penstock-bench-") as tools,
        tempfile.TemporaryDirectory(dir=folder, prefix="penstock-bench-") as made,
        console.status("starting", refresh_per_second=1) as status,
    ):
        send, receive = (limit.build(Path(tools), name) for name in ("send", "limit_files"))
        if send is None or receive is None:
            raise NoCompiler
        place = Place(
            folder=Path(made), send=send, limit=receive, sending=sets[0] if sets else None,
            receiving=sets[1] if sets else None,
        )  # fmt: skip
        where = f"{file_system(place.folder)} of {place.folder.parent}"
        found = list(measure(place, len(cores), rounds, status.update, notes.append, sizes or SIZES))
    notes = [*about(cores, sets, where, load, found), *notes, *(each.wrong for each in found if each.wrong)]
    verdicts = bars(found) if apply(len(cores)) else []
    reached = all(bar.reached for bar in verdicts) and not any(each.wrong for each in found)
    words = Console(stderr=as_json, highlight=False)
    words.print(table(found, sets, len(cores)))
    if verdicts:
        words.print(bar_table(verdicts))
    for note in notes:
        words.print(f"- {note}", soft_wrap=True)
    if verdicts:
        words.print("every bar reached" if reached else "below a bar: is something else using this machine?")
    if as_json:
        print(msgspec.json.encode(summary(found, verdicts, notes, reached)).decode())
    return 0 if reached else 1


def about(
    cores: Sequence[int], sets: tuple[list[int], list[int]] | None, where: str, load: float,
    found: Sequence[Found],
) -> list[str]:  # fmt: skip
    """Return sentences on how it was measured, and what the figures do not say.

    Args:
        cores: numbers of all cores.
        sets: those of sender and receiver; `None`: all, for both.
        where: the file system.
        load: average of the minute before: what else was running.
        found: what was measured.
    """
    on = (
        f"sender on cores {_ranges(sets[0])}, receiver and C program on {_ranges(sets[1])}"
        if sets
        else f"sender and receiver share {len(cores)} cores, which are too few for sets of their own"
    )
    lengths = {each.setup.frame_bytes: each.frames for each in found if each.setup.streams == 1}
    frames = ", ".join(f"{number:,} of {size(nbytes)}" for nbytes, number in lengths.items())
    sockets = max((each.setup.sockets for each in found), default=1)
    sentences = [
        f"{on}; files on {where}, from {sockets} sockets, those of 1 stream and of modules from one each; "
        f"frames of a series: {frames}; in a first round, which is not counted, each stored frame was "
        "compared with what had been sent"
    ]
    if load > BUSY_LOAD:
        sentences.append(
            f"other programs were running before (load average of one minute: {load:.1f}): rates are too "
            "low, and limits not clear"
        )
    if not apply(len(cores)):
        sentences.append(
            f"figures from {len(cores)} cores say nothing about the bars, which are for {MANY} and more: "
            "many cores are not measured here"
        )
    return sentences


def table(found: Sequence[Found], sets: tuple[list[int], list[int]] | None, cores: int) -> Table:
    """Return all setups with a receiver."""
    made = Table(
        title="one receiver, GB/s from the start of the series to the closed file (medians)",
        caption="C: a program with as many sockets and files; sender: into that program, without files; µs: "
        f"processor time per frame, of the data process and of its loop. Limits: {LIMITS}",
        box=box.SIMPLE, padding=0,
    )  # fmt: skip
    for column in ("frames", "", "GB/s", "C", "ratio", "sender", "process µs", "loop µs", "limit"):
        left = column in ("frames", "", "limit")
        made.add_column(column, justify="left" if left else "right", no_wrap=column not in ("", "limit"))
    sending, receiving = (len(sets[0]), len(sets[1])) if sets else (None, None)
    before = 0
    for each in found:
        setup = each.setup
        if setup.streams > 1 and not setup.files:
            continue  # only for the sender's ceiling
        if before not in (0, setup.frame_bytes):
            made.add_section()
        made.add_row(
            size(setup.frame_bytes) if setup.frame_bytes != before else "", setup.name,
            *(["no figures"] + [""] * 6 if each.wrong else _figures(each, found)),
            "" if each.wrong else ", ".join(limits(each, found, sending, receiving, cores)) or "not clear",
        )  # fmt: skip
        before = setup.frame_bytes
    return made


def bar_table(verdicts: Sequence[Bar]) -> Table:
    """Return each bar, and whether it is reached."""
    made = Table(title="bars: GB/s, or 0.85 times the C program's, if that is less")
    for column in ("", "GB/s", "bar", "C", "least", " "):
        made.add_column(column, justify="left" if not column.strip() else "right")
    for bar in verdicts:
        made.add_row(
            bar.name, _number(bar.gbps), _number(bar.required), _number(bar.c_gbps), _number(bar.least),
            "[green]reached" if bar.reached else "[red]not reached",
        )  # fmt: skip
    return made


def summary(
    found: Sequence[Found], verdicts: Sequence[Bar], notes: Sequence[str], reached: bool
) -> dict[str, Any]:
    """Return the same for --json."""
    return {
        "reached": reached,
        "bars": [{**asdict(bar), "least": bar.least, "reached": bar.reached} for bar in verdicts],
        "notes": notes,
        "cases": [
            {
                **asdict(each.setup), "name": each.setup.name, "frames": each.frames, "wrong": each.wrong,
                "penstock": [asdict(take) for take in each.penstock], "c": [asdict(take) for take in each.c],
            }
            for each in found
        ],
    }  # fmt: skip


def _figures(each: Found, found: Sequence[Found]) -> list[str]:
    per_frame = (
        median(take.cpu_seconds / take.frames * 1e6 for take in each.penstock),
        median(take.loop_seconds / take.frames * 1e6 for take in each.penstock),
    )
    rates = each.gbps, each.c_gbps, each.ratio, ceiling(each, found)
    return [*map(_number, rates), *(f"{us:,.0f}" for us in per_frame)]


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


def _ranges(cores: Sequence[int]) -> str:
    """Return 0, 1, 2, 5 as "0-2, 5"."""
    runs: list[list[int]] = []
    for core in cores:
        if runs and core == runs[-1][-1] + 1:
            runs[-1].append(core)
        else:
            runs.append([core])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
