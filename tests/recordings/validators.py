"""The two public NeXus validators, judged by their output: both end with status 0 whatever they find."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CONTEXT = re.compile(r"^\s*(?:NX\w+|Group|Field|Attribute|Link|Filename|Path|Definitions): (.+)$")


@dataclass
class Report:
    """What a validator says about a file."""

    errors: list[str] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    """Address and sentence."""


def nxcheck(file: Path) -> Report:
    """nexusformat's check against the current base classes.

    Its lines are "NXdetector: /entry/…" for where it is, and below that what it has to say.
    """
    output = _run("nxcheck", str(file))
    totals = dict(re.findall(r"Total number of (warnings|errors): (\d+)", output))
    assert set(totals) == {"warnings", "errors"}, output
    report = Report()
    if totals["errors"] != "0":
        report.errors = _run("nxcheck", "--error", str(file)).splitlines()
        return report
    address = ""
    for line in output.splitlines():
        context = CONTEXT.match(line)
        if context:
            address = context[1]
        elif line.strip() and not line.startswith("Total number of"):
            report.warnings.append((address, line.strip()))
    assert len(report.warnings) == int(totals["warnings"]), output
    return report


def punx(file: Path) -> Report:
    """punx' check against the base classes of 2018; its findings are rows of one table."""
    output = _run("punx", "validate", str(file))
    counted = dict(re.findall(r"^(OK|NOTE|WARN|ERROR) +(\d+) ", output, re.MULTILINE))
    assert set(counted) == {"OK", "NOTE", "WARN", "ERROR"}, output
    assert int(counted["OK"]) > 50, output
    rows = [line.split(maxsplit=3) for line in output.splitlines() if line.startswith("/")]
    report = Report(
        [" ".join(row) for row in rows if row[1] == "ERROR"],
        [(row[0], row[3].strip()) for row in rows if row[1] in ("WARN", "NOTE")],
    )
    assert len(report.errors) == int(counted["ERROR"]), output
    assert len(report.warnings) == int(counted["WARN"]) + int(counted["NOTE"]), output
    return report


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return COLOUR.sub("", done.stdout)
