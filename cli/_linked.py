"""The files of series that a command works on, where it was given one that refers to them."""

from __future__ import annotations

import argparse
from pathlib import Path

from penstock.cli._output import say


def series_files(args: argparse.Namespace, detector: str | None = None) -> list[Path]:
    """Return the given files, each that only refers to files of series replaced by these.

    Args:
        args: arguments of the command.
        detector: name of the NXdetector group.
    """
    from penstock.checks.linked_series import series_behind

    found: dict[Path, None] = {}
    for path in args.files:
        behind = series_behind(path, detector)
        if behind != [path]:
            say(args, f"{path}: its frames are in {', '.join(map(str, behind))}")
        found |= dict.fromkeys(behind)
    return list(found)
