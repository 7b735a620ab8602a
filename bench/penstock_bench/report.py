"""The report: tables of figures and bars, for a terminal, as JSON, and as a page in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import rich.table
from rich import box

from penstock_bench.bars import Verdict, verdicts
from penstock_bench.cases import CASES, Case
from penstock_bench.plots import FIGURES
from penstock_bench.results import Group, Results, mean

FIRST = """\
# Results on one machine

Written by `make bench ARGS='--figures docs/performance'` from [results.json](results.json); how it is
measured, and what follows from it, is in [Performance](../explanation/performance.md). Values are means ±
standard errors where they have some, else medians, with the longest in brackets. µs are processor time per
frame: of all threads of the process that receives, of its loop, which every frame passes through, of ZeroMQ's
threads (I/O), of the others, of the HTTP process, and of the sender. The paper of MAX IV (P. Bell et al.,
*Data acquisition from high-rate detectors at MAX IV*) shows the same for their cluster in its figures 5 to 8.
"""


class Table(NamedTuple):
    """Rows of text."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def number(value: float, digits: int | None = None) -> str:
    """Return a number with three digits that count, at least."""
    if digits is None:
        steps = ((100, 0), (10, 1), (0.1, 2), (0, 4))
        digits = 0 if value.is_integer() else next(digits for least, digits in steps if abs(value) >= least)
    return f"{value:,.{digits}f}"


def cell(case: Case, values: Sequence[float]) -> str:
    """Return what a table shows of the rounds."""
    if not any(values):
        return "0" if values else ""
    if case.cell == "mean":
        middle, error = mean(values)
        digits = 0 if middle >= 100 else 1 if middle >= 10 else 2
        return number(middle, digits) + (f" ± {number(error, digits)}" if len(values) > 1 else "")
    longest = f" ({number(max(values))})" if case.cell == "longest" and len(values) > 1 else ""
    return number(statistics.median(values)) + longest


def table(case: Case, groups: Sequence[Group]) -> Table:
    """Return a row for each load and contender, with all figures, and the ratio to a rival; or the other way
    round."""
    figures = list(dict.fromkeys(name for group in groups for name in group.figures))
    rows = []
    for group in groups:
        for place, name in enumerate(group.turns):
            cells = [cell(case, group.values(name, figure)) for figure in figures]
            ratios = group.ratios(name, case.rival, case.figure) if name != case.rival else []
            times = [number(statistics.median(ratios), 2) if ratios else ""] if case.rival else []
            load = [f"{group.name}, {name}"] if case.upright else [group.name if place == 0 else "", name]
            rows.append([*load, *cells, *times])
    if case.upright:
        head, *rows = map(list, zip(["", *figures], *rows, strict=True))
        return Table(case.what, head, rows)
    title = f"; times: {case.figure.partition(',')[0]} of {case.rival}" if case.rival else ""
    return Table(case.what + title, ["load", "", *figures, *["times"] * bool(case.rival)], rows)


def bars(found: Sequence[Verdict]) -> Table:
    """Return each bar, and whether it is reached."""
    rows = [
        (
            each.bar.case, each.group.name,
            f"{each.bar.of}: {each.bar.figure}" + (f", times {each.bar.to}" if each.bar.to else ""),
            number(each.found, 2), each.bar.wanted, "reached" if each.reached else "**not reached**",
        )
        for each in found
    ]  # fmt: skip
    return Table("bars", ("case", "load", "", "found", "bar", ""), rows)


def terminal(made: Table) -> rich.table.Table:
    """Return a table for a terminal."""
    found = rich.table.Table(title=made.title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in made.head:
        is_text = heading in ("", "load", "case", "bar")
        found.add_column(heading, justify="left" if is_text else "right", no_wrap=True)
    for row in made.rows:
        found.add_row(*(text.replace("**not reached**", "[red]NOT reached") for text in row))
    return found


def markdown(made: Table) -> str:
    """Return a table in Markdown."""
    lines = [made.head, ["---"] * len(made.head), *made.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def as_json(results: Results, found: Sequence[Verdict]) -> dict[str, Any]:
    """Return everything for --json."""
    judged = [
        {
            "case": each.bar.case, "load": each.group.name, "of": each.bar.of, "figure": each.bar.figure,
            "to": each.bar.to, "found": round(each.found, 4), "bar": each.bar.wanted, "reached": each.reached,
        }
        for each in found
    ]  # fmt: skip
    return {"reached": all(each.reached for each in found), "bars": judged} | msgspec.structs.asdict(results)


def write_page(results: Results, file: Path) -> None:
    """Write the page of results; what was not measured is left out."""
    sections = [FIRST, _machine(results)]
    if found := verdicts(results.groups):
        rule = "A ratio is the median of those of neighbouring turns."
        sections.append(f"## Bars\n\n{rule}\n\n{markdown(bars(found))}")
    for case in CASES:
        if groups := results.of(case.name):
            made = table(case, groups)
            sections.append(f"## {case.name.capitalize()}\n\n{made.title[0].upper()}{made.title[1:]}.\n")
            for name, plot in FIGURES.items():
                if plot.case == case.name and (file.parent / f"{name}.svg").exists():
                    sections.append(f"![{made.title}]({name}.svg)\n")
            sections.append(markdown(made))
    if results.notes:
        sections.append("## Notes\n\n" + "".join(f"- {note}\n" for note in results.notes))
    file.write_text("\n".join(sections))


def _machine(results: Results) -> str:
    rounds = dict[str, list[int]]()
    for group in results.groups:
        rounds.setdefault(group.case, []).append(group.rounds)
    texts = [
        f"{case}: {'–'.join(map(str, dict.fromkeys((min(found), max(found)))))}"
        for case, found in rounds.items()
    ]
    rows = [*results.machine.items(), ("rounds of each case", ", ".join(texts))]
    return "## Machine and conditions\n\n" + markdown(Table("", ("", ""), rows))
