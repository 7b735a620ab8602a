"""What `penstock bench --processing` prints: figures, and which bars are reached."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from penstock.bench import processing_others
from penstock.bench.processing import (
    AROUND_BAR,
    COMPUTE,
    KINDS,
    RECEIVER_BAR,
    SHARE_BAR,
    SPEED_BAR,
    WAITERS,
    Cost,
    Sharing,
    costs,
    sharing,
)
from penstock.bench.processing_kills import EVERY, PAUSE_BAR, WORKERS, Kills, kills
from penstock.bench.processing_others import Events
from penstock.bench.processing_paced import DELAY_BAR, PACED_BAR, PACED_KINDS, Paced, paced
from penstock.bench.processing_pvapy import Chain, chains
from penstock.bench.processing_recorded import DISTRIBUTOR_BAR, Recorded, recorded
from penstock.bench.pvapy_programs import Spent
from penstock.stins.texts import plural

PARTS = ("cost", "paced", "recorded", "sharing", "kills", "dranspose", "pvapy")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One bar."""

    text: str
    found: float
    bar: float
    least: bool = False
    """Whether the bar is the least, not the most."""

    @property
    def reached(self) -> bool:
        """Whether it is reached."""
        return self.found >= self.bar if self.least else self.found <= self.bar


def report(folder: Path | None, rounds: int, as_json: bool, only: Sequence[str] = ()) -> int:
    """Measure and print tables; return the exit status: 1 if a bar is not reached.

    Args:
        folder: for configurations.
        rounds: turns of each.
        as_json: whether standard output gets nothing but JSON.
        only: some of `PARTS`; all, if there are none.
    """
    console = Console(stderr=as_json, highlight=False)
    parts = [part for part in PARTS if part in (only or PARTS)]
    found: dict[str, list[Any]] = {}
    others = processing_others.environment()
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix="penstock-bench-") as text,
        Console(stderr=True).status("starting", refresh_per_second=1) as status,
    ):
        place, tell = Path(text), status.update
        for part in parts:
            match part:
                case "cost":
                    found[part] = list(costs(place, rounds, tell))
                case "paced":
                    found[part] = list(paced(place, rounds, tell))
                case "recorded":
                    found[part] = list(recorded(place, rounds, tell))
                case "sharing":
                    found[part] = [sharing(place, rounds, tell)]
                case "kills":
                    found[part] = [kills(place, tell)]
                case "dranspose":
                    found[part] = processing_others.dranspose(place, rounds, tell, others)
                case "pvapy":
                    found[part] = chains(place, rounds, tell, others)
    for part, table in (
        ("cost", _costs),
        ("paced", _paced),
        ("recorded", _recorded),
        ("dranspose", _events),
        ("pvapy", _chains),
    ):
        if found.get(part):
            console.print(table(found[part]))
    missing = [part for part in ("dranspose", "pvapy") if part in found and not found[part]]
    if missing:
        console.print(f"not compared with {' and '.join(missing)}: {processing_others.MISSING}")
    verdicts = list(verdicts_of(found))
    console.print(_verdicts(verdicts))
    if as_json:
        content: dict[str, Any] = {
            part: [asdict(each) for each in results] for part, results in found.items()
        }
        content["bars"] = [asdict(each) | {"reached": each.reached} for each in verdicts]
        print(json.dumps(content))
    return int(not all(each.reached for each in verdicts))


def verdicts_of(found: Mapping[str, list[Any]]) -> Iterator[Verdict]:
    """Say of each bar of the parts that were measured whether it is reached."""
    yield from cost_verdicts(found.get("cost", []))
    yield from paced_verdicts(found.get("paced", []))
    yield from recorded_verdicts(found.get("recorded", []))
    for each in found.get("sharing", []):
        yield from sharing_verdicts(each)
    for each in found.get("kills", []):
        yield from kill_verdicts(each)
    yield from event_verdicts(found.get("dranspose", []))
    yield from chain_verdicts(found.get("pvapy", []))


def cost_verdicts(found: list[Cost]) -> Iterator[Verdict]:
    """Say which bars of the cost are reached."""
    for each in found:
        for kind in ("by reference", "by TCP"):
            text = f"{each.frames.name} {kind}: added time, times that of a PULL loop"
            yield Verdict(text=text, found=each.ratio(kind), bar=each.bar(kind))
    if found:
        text = f"{found[0].frames.name}: receiver with frames by reference, times without a consumer"
        yield Verdict(text=text, found=found[0].receiver_ratio, bar=RECEIVER_BAR)


def paced_verdicts(found: list[Paced]) -> Iterator[Verdict]:
    """Say which bars at the rate of a detector are reached: of the smallest frames, others are reported."""
    for each in found[:1]:
        name = each.cost.frames.name
        text = f"{name}, by reference: added time, times that of a PULL loop"
        yield Verdict(text=text, found=each.ratio, bar=PACED_BAR)
        yield Verdict(text=f"{name}: ms from frame to result, of 99 in 100", found=each.delay, bar=DELAY_BAR)


def recorded_verdicts(found: list[Recorded]) -> Iterator[Verdict]:
    """Say which bars of recorded frames are reached: of plain ones."""
    for each in found:
        if each.compression == "none":
            text = f"recorded frames of 4.2 MB, {plural(each.workers, 'worker')}: distributor, µs per frame"
            yield Verdict(text=text, found=each.distributor_time, bar=DISTRIBUTOR_BAR)


def sharing_verdicts(found: Sharing) -> Iterator[Verdict]:
    """Say which bars of sharing are reached."""
    speed = f"{WAITERS} workers that wait, times one"
    yield Verdict(text=speed, found=found.speed, bar=SPEED_BAR, least=True)
    yield Verdict(text="unlike share of one of them", found=found.unlike, bar=SHARE_BAR)
    around = f"receiver and distributor, share of workers that compute {COMPUTE * 1e3:g} ms per frame"
    yield Verdict(text=around, found=found.ratio, bar=AROUND_BAR)


def kill_verdicts(found: Kills) -> Iterator[Verdict]:
    """Say whether frames wait too long while workers are killed."""
    text = (
        f"{WORKERS} workers, {found.kills} kills, one every {EVERY:g} s: longest time in s between two "
        "bunches given, while frames wait"
    )
    yield Verdict(text=text, found=found.longest_pause, bar=PAUSE_BAR)


def event_verdicts(found: list[Events]) -> Iterator[Verdict]:
    """Say which bars beside dranspose are reached."""
    for each in found:
        for kind, bar in each.bars:
            text = f"{each.frames.name} {kind}: events per second, times dranspose's"
            yield Verdict(text=text, found=each.ratio(kind), bar=bar, least=True)


def chain_verdicts(found: list[Chain]) -> Iterator[Verdict]:
    """Say which bars beside PvaPy are reached."""
    for each in found:
        text = f"{each.frames.name}, {each.frames.rate:g} per second: time of the whole chain, times PvaPy's"
        yield Verdict(text=text, found=each.ratio, bar=each.bar)


def _costs(found: list[Cost], kinds: Sequence[str] = KINDS) -> Table:
    table = Table(title="µs of processor time per frame (medians)")
    columns = (
        "frames", "consumer", "receiver", "loop, or distributor", "workers", "added", "times loop", "dropped",
    )  # fmt: skip
    for column in columns:
        table.add_column(column, justify="left" if column in ("frames", "consumer") else "right")
    for each in found:
        for kind in kinds:
            times = (
                each.median(kind, *names) for names in (("receiver",), ("loop", "distributor"), ("workers",))
            )
            added = "" if kind == "none" else f"{statistics.median(each.added(kind)):,.0f}"
            ratio = f"{each.ratio(kind):.2f}" if kind.startswith("by") else ""
            table.add_row(
                each.frames.name, kind, *(f"{time:,.0f}" for time in times), added, ratio,
                f"{each.dropped[kind]:,}",
            )  # fmt: skip
    return table


def _paced(found: list[Paced]) -> Table:
    table = _costs([each.cost for each in found], PACED_KINDS)
    table.caption = "; ".join(
        f"{each.cost.frames.name}: {each.usual:.1f} ms from frame to result, {each.delay:.1f} ms (99 %)"
        for each in found
    )
    return table


def _recorded(found: list[Recorded]) -> Table:
    table = Table(title="recorded frames of 4.2 MB, µs of processor time per frame (medians)")
    for column in ("compression", "MB stored", "workers", "distributor", "all workers", "GB/s of pixels"):
        table.add_column(column, justify="left" if column == "compression" else "right")
    for each in found:
        table.add_row(
            each.compression, f"{each.stored_bytes / 1e6:.2f}", str(each.workers),
            f"{each.distributor_time:,.0f}", f"{statistics.median(each.processing):,.0f}",
            f"{statistics.median(each.rate):.2f}",
        )  # fmt: skip
    return table


def _events(found: list[Events]) -> Table:
    table = Table(title="events per second, two workers that do nothing (medians)")
    kinds = list(found[0].rates)
    for column in ("frames", *kinds):
        table.add_column(column, justify="left" if column == "frames" else "right")
    for each in found:
        rates = (f"{statistics.median(rates):,.0f}" for rates in each.rates.values())
        table.add_row(each.frames.name, *rates)
    return table


def _chains(found: list[Chain]) -> Table:
    table = Table(title="µs of processor time per frame of the whole chain, sender included (medians)")
    for column in ("frames", "per second", "process", "PvaPy", "penstock"):
        table.add_column(column, justify="left" if column in ("frames", "process") else "right")
    for each in found:
        rows = [*((name, True) for name in each.pvapy[0]), *((name, False) for name in each.penstock[0])]
        for name, is_theirs in rows:
            spent = each.pvapy if is_theirs else each.penstock
            time = f"{statistics.median(turn[name] for turn in spent):,.0f}"
            table.add_row("", "", name, *((time, "") if is_theirs else ("", time)))
        totals = (f"{statistics.median(map(_total, spent)):,.0f}" for spent in (each.pvapy, each.penstock))
        table.add_row(each.frames.name, f"{each.frames.rate:g}", "all", *totals, end_section=True)
    return table


def _total(spent: Spent) -> float:
    return sum(spent.values())


def _verdicts(verdicts: list[Verdict]) -> Table:
    table = Table(title="bars")
    for column in ("what", "found", "wanted", ""):
        table.add_column(column, justify="left" if column == "what" else "right")
    for each in verdicts:
        sign = "≥" if each.least else "≤"
        reached = "reached" if each.reached else "MISSED"
        table.add_row(each.text, f"{each.found:.3g}", f"{sign} {each.bar:g}", reached)
    return table
