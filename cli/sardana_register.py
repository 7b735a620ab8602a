"""Make Penstock known to your Sardana, after showing what that changes.

Examples:
  penstock sardana-register                          what is missing; nothing is written
  penstock sardana-register --write                  paths of Pool and MacroServer; then restart Sardana
  penstock sardana-register --write                  once more: the hooks det_begin and det_end
  penstock sardana-register --write --detector eiger=my/eiger/1
                                                     and a channel for that detector in the Pool
  penstock sardana-register --write --pipeline spots=lab/pipeline/spots,my/eiger/1
                                                     and one for each number and curve that this pipeline
                                                     finds in the frames of that detector
  penstock sardana-register --remove --write --pipeline spots
                                                     remove these channels again, and nothing else
  penstock sardana-register --remove --write         remove all but channels: these first
  penstock sardana-register --json                   the difference, for a program

Run it in the Python environment in which Sardana runs: the folders that it registers are those of its own
installation. A folder of an older installation is replaced; other folders, hooks and elements stay.

Exit status: 0 nothing is left to do, 1 something is to be written, or waits for a restart, 2 it cannot be
done, or the database does not answer.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from penstock.cli._arguments.targets import open_database
from penstock.cli._output import Answer, add_json, say
from penstock.cli._plans import SIGNS, counted, values
from penstock.stins.errors import UserError
from penstock.stins.texts import plural

if TYPE_CHECKING:
    import tango

    from penstock.sardana.registration.paths import Change
    from penstock.sardana.registration.pipelines import Pipeline
    from penstock.sardana.registration.plan import Plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--pool", action="append", default=[], metavar="NAME",
        help="a Pool, by its device name or alias (default: the only one in the database); may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--macro-server", action="append", default=[], metavar="NAME", help="a MacroServer, in the same way"
    )
    parser.add_argument(
        "--detector", action="append", default=[], metavar="NAME=DEVICE",
        help="a channel of this name in the Pool for a detector's Tango device; may be repeated; "
        "with --remove, NAME is enough",
    )  # fmt: skip
    parser.add_argument(
        "--pipeline", action="append", default=[], metavar="NAME=PIPELINE,DEVICE",
        help="a channel NAME_RESULT for each number and curve of a pipeline; PIPELINE is its Tango device or "
        "its address, DEVICE the detector's; may be repeated; with --remove, NAME is enough",
    )  # fmt: skip
    parser.add_argument(
        "--remove", action="store_true",
        help="remove Penstock instead; with --detector or --pipeline, their channels alone",
    )  # fmt: skip
    parser.add_argument("--write", action="store_true", help="write the changes (default: only show them)")
    add_json(parser)


def run(args: argparse.Namespace) -> Answer:
    """Compare, print, and write with --write."""
    import tango

    from penstock.sardana.registration.plan import apply, to_restart

    detectors = _detectors(args.detector, args.remove)
    pipelines = _pipelines(args.pipeline, args.remove)
    host, database = open_database()
    plan = None
    try:
        plan = _plan(args, database, detectors, pipelines)
        if plan.refusals:
            raise UserError("\n".join(plan.refusals))
        say(args, f"Tango database {host}")
        for line in describe(plan):
            say(args, line)
        written = bool(apply(plan)) if args.write else False
    except tango.DevFailed as error:
        why = error.args[0].desc.strip()
        servers = {entry.server for entry in plan.changes} if plan else set()
        if ended := sorted(server for server in servers if not _answers(server)):
            why = f"{', '.join(ended)} has ended meanwhile ({why}): start it again"
        raise UserError(f"{why}; what was written before stays; run it again") from error
    restart = to_restart(plan)
    for line in _next_steps(plan, restart, write=args.write):
        say(args, line)
    left = (plan.changes and not written) or plan.blocked or plan.stale
    return Answer(_as_json(plan, host.address, restart, written), status=1 if left else 0)


def _answers(server: str) -> bool:
    """Return whether a device server runs: of one that has crashed, the database does not know it."""
    import tango

    try:
        tango.DeviceProxy(f"dserver/{server}").ping()
    except tango.DevFailed:
        return False
    return True


def describe(plan: Plan) -> Iterator[str]:
    """Yield the difference, line by line: + is added, ~ changed, - removed, = right already, ! a warning."""
    for entry in plan.entries:
        what = "" if entry.after is None else f" = {values(entry.after)}"
        if entry.action in ("change", "remove") and entry.before is not None:
            what = f": {values(entry.before)}" + (f" → {values(entry.after)}" if entry.after else "")
        waits = f"   (waits: {entry.blocked_by})" if entry.blocked_by and entry.action != "none" else ""
        yield f"{SIGNS[entry.action]} {entry.name}{what}{waits}"
    for warning in plan.warnings:
        yield f"! {warning}"


def _plan(
    args: argparse.Namespace, database: tango.Database, detectors: dict[str, str], pipelines: list[Pipeline]
) -> Plan:
    from penstock.sardana.registration.paths import find
    from penstock.sardana.registration.plan import compare

    pools = find(database, "Pool", args.pool, "--pool")
    if (detectors or pipelines) and len(pools) > 1:
        what = "detector" if detectors else "pipeline"
        raise UserError(f"a {what} goes into one Pool; name one: --pool NAME")
    macro_servers = find(database, "MacroServer", args.macro_server, "--macro-server")
    return compare(database, pools, macro_servers, detectors, pipelines, remove=args.remove)


def _detectors(texts: list[str], remove: bool) -> dict[str, str]:

    found = {}
    for text in texts:
        name, _, device = text.partition("=")
        if not name or (device.count("/") != 2 and not (remove and not device)):
            raise UserError(f"--detector {text}: write NAME=DEVICE, such as eiger=my/eiger/1")
        found[name] = device
    return found


def _pipelines(texts: list[str], remove: bool) -> list[Pipeline]:
    from penstock.sardana.registration.pipelines import Pipeline

    found = []
    for text in texts:
        name, _, rest = text.partition("=")
        pipeline, _, detector = rest.partition(",")
        if not name or ((not pipeline or detector.count("/") != 2) and not (remove and not rest)):
            raise UserError(
                f"--pipeline {text}: write NAME=PIPELINE,DEVICE, such as spots=lab/pipeline/spots,my/eiger/1"
            )
        found.append(Pipeline(name, pipeline, detector))
    return found


def _next_steps(plan: Plan, restart: list[str], *, write: bool) -> Iterator[str]:
    if not plan.changes and not plan.blocked:
        yield "nothing to do: everything is as it should be"
    elif not write and plan.changes:
        yield counted(plan.changes, written=False)
        return
    elif plan.changes:
        yield counted(plan.changes, written=True)
    for server in restart:
        yield f"  restart {server}: it reads its paths at its start"
        if server in plan.stale and not any(entry.what == "path" for entry in plan.changes):
            yield "  if you have restarted it: its log says why not; is Penstock installed in its Python?"
    if plan.blocked:
        count = plural(len(plan.blocked), "entry waits", "entries wait")
        why = "; ".join(sorted({entry.blocked_by for entry in plan.blocked}))
        yield f"  then run this again: {count} for {why}"
    elif not plan.changes and not restart:
        yield "  once, in spock, so that scan files show the frames: senv ScanRecorder PenstockRecorder"


def _as_json(plan: Plan, database: str, restart: list[str], written: bool) -> dict[str, Any]:
    return {
        "database": database,
        "written": written,
        "changes": [_entry(entry) for entry in plan.changes],
        "waiting": [_entry(entry) | {"waits": entry.blocked_by} for entry in plan.blocked],
        "unchanged": [entry.name for entry in plan.entries if entry.action == "none"],
        "restart": restart,
        "warnings": plan.warnings,
    }


def _entry(entry: Change) -> dict[str, Any]:
    return {
        "what": entry.what, "name": entry.name, "action": entry.action, "server": entry.server,
        "before": entry.before, "after": entry.after,
    }  # fmt: skip
