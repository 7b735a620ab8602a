"""`penstock status --all`: all devices of the Tango database, and what lies behind them, read once."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.cli._output import emit, end_now
from penstock.stins.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from penstock.gui.model.fleet.pages import PipelineRow
    from penstock.gui.model.fleet.row import Row, Source

DEADLINE = 3.0
"""Seconds in which every device has to answer."""
PIPED_WIDTH = 200
"""Columns where there is no terminal: sentences must not be cut, for `grep`."""
STYLE = {
    "FAULT": "bold red",
    "UNKNOWN": "yellow",
    "AWAY": "yellow",
    "WAITING": "yellow",
    "RUNNING": "green",
    "MOVING": "green",
}


def run(args: argparse.Namespace) -> int:
    """Ask the database and every device, print the table; return the exit status."""
    from penstock.gui.model.fleet.pages import read_pipelines
    from penstock.gui.model.fleet.read import read_rows
    from penstock.gui.model.fleet.row import NOBODY, address
    from penstock.gui.model.tango.directory import DirectoryError, find_devices, open_database

    try:
        found = find_devices(open_database())
    except DirectoryError as error:
        raise UserError(str(error)) from error
    if not found:
        raise UserError(NOBODY)
    rows, late = read_rows(found, DEADLINE)
    own = {address(row.pipeline_url) for row in rows}
    behind = [
        row
        for row in read_pipelines(row.receiver_url for row in rows)
        if address(row.url) not in own  # its device has said it
    ]
    if args.json:
        emit([*rows, *behind])
    else:
        _print(rows, behind)
    status = 1 if any(row.ill for row in rows) or any(row.ill for row in behind) else 0
    if late:
        end_now(status)
    return status


def _print(rows: Sequence[Row], behind: Sequence[PipelineRow]) -> None:
    from penstock.gui.model.fleet import pages as pipelines
    from penstock.gui.model.fleet.row import summary

    of_devices = {"series": False, "frames": True, "rate": True, "free disk": True}
    cells = [(row, row.series, row.frames, row.hertz, row.free) for row in rows]

    console = _console()
    words = [summary(rows)]
    bridges = [row for row in behind if row.kind == "bridge"]
    behind = [row for row in behind if row.kind != "bridge"]
    if behind:
        listed = any(row.kind == "pipeline" for row in rows)
        words.append(pipelines.summary(behind, "without a device" if listed else ""))
    if bridges:
        words.append(pipelines.summary(bridges))
    console.print("; ".join(words), soft_wrap=True)
    console.print(_table("device", of_devices, cells))
    for found, of in ((behind, "workers"), (bridges, "clients")):
        if found:
            console.print()
            of_pages = {"series": False, "frames": True, of: True, "address": False}
            lines = [(row, row.series, row.frames, str(row.workers), row.url) for row in found]
            console.print(_table(found[0].kind, of_pages, lines))
    problems = [row for row in (*rows, *behind, *bridges) if row.problem]
    if problems:
        console.print()
    for row in problems:
        console.print(f"{row.name}: {row.problem}", style=STYLE.get(row.state, ""), soft_wrap=True)


def _console() -> Console:
    from rich.console import Console

    class PipeConsole(Console):
        def on_broken_pipe(self) -> None:
            raise  # for `main`; rich would exit with 1

    return PipeConsole(highlight=False, markup=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)


def _table(kind: str, columns: Mapping[str, bool], rows: Sequence[tuple[Source, *tuple[str, ...]]]) -> Table:
    """Return a table of states, names and more.

    Args:
        kind: title of the names.
        columns: titles of all others, and whether each is of numbers.
        rows: what each line is of, and its other cells.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title, is_number in {"state": False, kind: False, **columns}.items():
        table.add_column(title, no_wrap=True, justify="right" if is_number else "left")
    for row, *cells in rows:
        table.add_row(Text(row.state, STYLE.get(row.state, "")), row.name, *cells)
    return table
