"""What `penstock bench --processing` prints: figures, and which bars are reached."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

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
from penstock.bench.processing_others import Chain, Events


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


def report(folder: Path | None, rounds: int, as_json: bool) -> int:
    """Measure and print tables; return the exit status: 1 if a bar is not reached."""
    console = Console(stderr=as_json, highlight=False)
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix="penstock-bench-") as text,
        Console(stderr=True).status("starting", refresh_per_second=1) as status,
    ):
        place = Path(text)
        found = list(costs(place, rounds, status.update))
        shared = sharing(place, rounds, status.update)
        others = processing_others.environment()
        events = processing_others.dranspose(place, rounds, status.update, others)
        chains = processing_others.pvapy(place, rounds, status.update, others)
    console.print(_costs(found))
    if events:
        console.print(_events(events))
    if chains:
        console.print(_chains(chains))
    if others is None or not events:
        console.print(f"not compared with others: {processing_others.MISSING}")
    verdicts = [
        *cost_verdicts(found), *sharing_verdicts(shared), *event_verdicts(events), *chain_verdicts(chains)
    ]  # fmt: skip
    console.print(_verdicts(verdicts))
    if as_json:
        content = {
            "costs": [asdict(each) for each in found],
            "sharing": asdict(shared),
            "dranspose": [asdict(each) for each in events],
            "pvapy": [asdict(each) for each in chains],
            "bars": [asdict(each) | {"reached": each.reached} for each in verdicts],
        }
        print(json.dumps(content))
    return int(not all(each.reached for each in verdicts))


def cost_verdicts(found: list[Cost]) -> Iterator[Verdict]:
    """Say which bars of the cost are reached."""
    for each in found:
        for kind in ("by reference", "by TCP"):
            text = f"{each.frames.name} {kind}: added time, times that of a PULL loop"
            yield Verdict(text=text, found=each.ratio(kind), bar=each.bar(kind))
    if found:
        text = f"{found[0].frames.name}: receiver with frames by reference, times without a consumer"
        yield Verdict(text=text, found=found[0].receiver_ratio, bar=RECEIVER_BAR)


def sharing_verdicts(found: Sharing) -> Iterator[Verdict]:
    """Say which bars of sharing are reached."""
    speed = f"{WAITERS} workers that wait, times one"
    yield Verdict(text=speed, found=found.speed, bar=SPEED_BAR, least=True)
    yield Verdict(text="unlike share of one of them", found=found.unlike, bar=SHARE_BAR)
    around = f"receiver and distributor, share of workers that compute {COMPUTE * 1e3:g} ms per frame"
    yield Verdict(text=around, found=found.ratio, bar=AROUND_BAR)


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


def _costs(found: list[Cost]) -> Table:
    table = Table(title="µs of processor time per frame (medians)")
    columns = (
        "frames",
        "consumer",
        "receiver",
        "loop, or distributor",
        "workers",
        "added",
        "times loop",
        "dropped",
    )
    for column in columns:
        table.add_column(column, justify="left" if column in ("frames", "consumer") else "right")
    for each in found:
        for kind in KINDS:
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
    for column in ("frames", "per second", "PvaPy", "penstock"):
        table.add_column(column, justify="left" if column == "frames" else "right")
    for each in found:
        times = (f"{statistics.median(spent):,.0f}" for spent in (each.pvapy, each.penstock))
        table.add_row(each.frames.name, f"{each.frames.rate:g}", *times)
    return table


def _verdicts(verdicts: list[Verdict]) -> Table:
    table = Table(title="bars")
    for column in ("what", "found", "wanted", ""):
        table.add_column(column, justify="left" if column == "what" else "right")
    for each in verdicts:
        sign = "≥" if each.least else "≤"
        reached = "reached" if each.reached else "MISSED"
        table.add_row(each.text, f"{each.found:.3g}", f"{sign} {each.bar:g}", reached)
    return table
