"""The processors that come with Penstock: in a pipeline's file the name is enough, `processor: regions`."""

from __future__ import annotations

import difflib
from typing import NamedTuple

PACKAGE = "penstock.processing.processors"


class BuiltIn(NamedTuple):
    """A processor that comes with Penstock."""

    target: str
    """MODULE:CLASS."""
    sentence: str
    """What it does, for `penstock process --list`."""


BUILT_IN = {
    "regions": BuiltIn(
        f"{PACKAGE}.regions:Regions",
        "sum, mean and maximum of named rectangles, and the total of each frame",
    ),
}
"""By name; docs/reference/processors.md describes each."""


def target(name: str) -> str:
    """Return MODULE:CLASS of a processor that comes with Penstock.

    Raises:
        ValueError: there is none of this name; the sentence lists those that there are.
    """
    if (found := BUILT_IN.get(name)) is not None:
        return found.target
    close = difflib.get_close_matches(name, BUILT_IN, 1)
    hint = f"is {close[0]} meant? " if close else ""
    raise ValueError(
        f'processor is "{name}"; {hint}give FILE.py:CLASS, such as spots.py:Spots, MODULE:CLASS, or one of '
        f"those that come with Penstock: {', '.join(sorted(BUILT_IN))}"
    )
