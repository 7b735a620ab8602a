"""Register the devices of a file in the Tango database: show the difference, and write it with --write.

Examples:
  penstock register beamline.json             what the database lacks; nothing is written
  penstock register beamline.json --write     the same, and write it
  penstock register beamline.json --json      the difference, for a program

The file is the JSON of dsconfig (json2tango, tango2json): servers, their instances, classes, devices, and
the properties of each. Nothing is removed: devices and properties that the file does not name stay.

Exit status: 0 the database has everything in the file, perhaps because it was just written, 1 something
is to be written and --write was not given, 2 the file is not valid, or the database does not answer.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli._arguments.targets import open_database
from penstock.cli._output import Answer, add_json, say
from penstock.cli._plans import SIGNS, counted, values
from penstock.stins.errors import UserError

if TYPE_CHECKING:
    from penstock.beamline.plan import Entry, Plan, Setting


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", type=Path, metavar="FILE", help="JSON in the form of dsconfig")
    parser.add_argument(
        "--write", action="store_true", help="write to the database (default: show what is missing)"
    )
    parser.add_argument(
        "--move",
        action="store_true",
        help="move devices that are registered under another server or class",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> Answer:
    """Compare, print, and write with --write."""
    import tango

    from penstock.beamline.file import BeamlineFileError, load
    from penstock.beamline.plan import apply, compare, running

    file = load(args.file)
    host, database = open_database()
    try:
        plan = compare(file, database, move=args.move)
        if plan.refusals:
            raise BeamlineFileError(args.file, plan.refusals + plan.warnings)
        say(args, f"Tango database {host}")
        warnings = [*plan.warnings]
        if file.tango_host and file.tango_host != host.address:
            warnings.append(f"the file is meant for the database {file.tango_host}")
        notes = [*file.unread, *(f"{name} of {server}" for name, server in plan.untouched.items())]
        for line in describe(plan, warnings, notes):
            say(args, line)
        written = apply(plan, database) if args.write else 0
        servers = sorted({entry.server for entry in plan.changes if entry.server})
        left = {entry.moved_from.partition(",")[0] for entry in plan.changes if entry.moved_from}
        running_now = {server for server in (*servers, *left) if written and running(database, server)}
    except tango.DevFailed as error:
        why = error.args[0].desc.strip()
        raise UserError(
            f"the Tango database {host}: {why}; what was written before stays; run it again"
        ) from error
    say(args, _summary(plan, args.write))
    for server in sorted(left & running_now):
        say(args, f"  {server} is running and still serves what was moved: stop or restart it")
    for server in servers if written else []:
        say(args, f"  {_next_step(server, server in running_now)}")
    found = _as_json(plan, host.address, warnings, notes, bool(written))
    return Answer(found, status=1 if plan.changes and not written else 0)


def describe(plan: Plan, warnings: list[str], notes: list[str]) -> Iterator[str]:
    """Yield the difference, line by line: + is added, ~ changed, > moved, = right already, . left alone."""
    for entry in plan.entries:
        where = f" ({entry.server}, class {entry.kind})" if entry.what == "device" else " (class)"
        moved = f", registered under {entry.moved_from} until now" if entry.moved_from else ""
        yield f"{SIGNS[entry.action]} {entry.name}{where}{moved}"
        for setting in entry.settings:
            yield f"    {_setting(setting)}"
        for name, value in entry.untouched.items():
            yield f"    . {name} = {values(value)}: not in the file, left alone"
    for note in notes:
        yield f". left alone: {note}"
    for warning in warnings:
        yield f"! {warning}"


def _setting(setting: Setting) -> str:
    if setting.before is None:
        return f"+ {setting.name} = {values(setting.after)}"
    return f"~ {setting.name}: {values(setting.before)} → {values(setting.after)}"


def _summary(plan: Plan, write: bool) -> str:
    if not plan.changes:
        return "nothing to do: the database has everything in the file"
    return counted(plan.changes, write)


def _next_step(server: str, runs: bool) -> str:
    if runs:
        return f"{server} is running: restart it, or send Init to its devices to have changed properties read"
    from penstock.devices._server.server import server_names

    if server.partition("/")[0].lower() not in map(str.lower, server_names()):
        return f"{server} can only be started where its camera is installed: this installation has none of it"
    return f"start it with: penstock device {server.replace('/', ' ')}"


def _as_json(
    plan: Plan, database: str, warnings: list[str], notes: list[str], written: bool
) -> dict[str, Any]:
    return {
        "database": database,
        "written": written,
        "changes": [_entry(entry) for entry in plan.changes],
        "unchanged": [entry.name for entry in plan.entries if entry.action == "none"],
        "left_alone": [
            *notes,
            *(f"{name} of {entry.name}" for entry in plan.entries for name in entry.untouched),
        ],
        "warnings": warnings,
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "what": entry.what, "name": entry.name, "action": entry.action, "server": entry.server,
        "class": entry.kind, "moved_from": entry.moved_from,
        "properties": {
            setting.name: {"before": setting.before, "after": setting.after} for setting in entry.settings
        },
    }  # fmt: skip
