"""Probe how a file system handles locks, space, syncs and names, and what that means for Penstock.

Everything is tried out in a new folder inside DIR, which is removed at the end; nothing is guessed from the
file system's name. Exit status: 0 everything that Penstock promises holds there, 1 something does not, 2
nothing can be created in DIR.

Examples:
  penstock check-storage /data
  penstock check-storage --write-mb 4000 --json /data | jq .fit
"""

from __future__ import annotations

import argparse
import signal
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from penstock.cli._arguments.numbers import whole
from penstock.cli._output import Answer, add_json, say

if TYPE_CHECKING:
    from rich.progress import Progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="where files would be written")
    parser.add_argument(
        "--write-mb", type=whole(1), default=256, metavar="N",
        help="megabytes to write for each write rate; at most a tenth of the free space (%(default)s)",
    )  # fmt: skip
    add_json(parser)


def run(args: argparse.Namespace) -> Answer:
    """Probe, and print each finding as it is made."""
    from penstock.checks.storage_probe import probe

    # So that the folder is removed after SIGTERM, too.
    before = signal.signal(signal.SIGTERM, _interrupt)
    findings = []
    try:
        with closing(_Bar()) as bar, closing(probe(args.folder, args.write_mb, bar.show)) as probing:
            for finding in probing:
                findings.append(finding)
                mark = {"good": " ", "note": "·", "bad": "!"}[finding.verdict]
                say(args, f"{mark} {finding.name:<18}  {finding.value:<46}  {finding.meaning}")
    finally:
        signal.signal(signal.SIGTERM, before)
    fit = not any(finding.verdict == "bad" for finding in findings)
    found = [finding.summary() for finding in findings]
    return Answer({"folder": args.folder, "fit": fit, "findings": found}, status=0 if fit else 1)


class _Bar:
    """A bar on stderr, only on a terminal, and only while something is measured: findings are printed before
    and after."""

    def __init__(self) -> None:
        self._progress: Progress | None = None

    def show(self, done: int, total: int) -> None:
        """Show that so many of all measurements are done; after the last one the bar is removed."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        if self._progress is None and (console := Console(stderr=True)).is_terminal:
            self._progress = Progress(
                TextColumn("writing several files"), BarColumn(), MofNCompleteColumn(),
                console=console, transient=True,
            )  # fmt: skip
            self._progress.add_task("", total=total)
            self._progress.start()
        if self._progress is not None:
            self._progress.update(self._progress.task_ids[0], completed=done)
        if done == total:
            self.close()

    def close(self) -> None:
        """Remove the bar."""
        progress, self._progress = self._progress, None
        if progress is not None:
            progress.stop()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
