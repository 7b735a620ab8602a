"""The processors that come with Penstock: in a pipeline's file the name is enough, `processor: regions`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from penstock.processing.config.pipeline_config import StepConfig

PACKAGE = "penstock.processing.processors"


class BuiltIn(NamedTuple):
    """A processor that comes with Penstock."""

    target: str
    """MODULE:CLASS."""
    sentence: str
    """What it does, for `penstock process --list`."""
    files: tuple[str, ...] = ()
    """Parameters that are paths: in a pipeline's file they may be relative to its folder."""
    results: Callable[[Mapping[str, Any]], Collection[str]] = lambda _parameters: ()
    """Some of its results, by its parameters: those by which two steps of it may collide."""


PVAPY = "pvapy:"
"""Prefix of FILE.py:CLASS or MODULE:CLASS: the class is one of PvaPy's framework."""
PVAPY_ADAPTER = f"{PACKAGE}.pvapy_class"


def _images(given: Any) -> list[str]:
    return [f"{name}_image" for name in given] if isinstance(given, list) else []


BUILT_IN = {
    "azimuthal": BuiltIn(
        f"{PACKAGE}.azimuthal:Azimuthal",
        "intensity over q or angle, with its standard deviation, or a cake: azimuthal integration",
        files=("poni", "dark", "flat", "mask"),
        results=lambda _: ("I",),
    ),
    "correct": BuiltIn(
        f"{PACKAGE}.correct:Correct",
        "a step before others: subtracts a dark, divides by a flat field, masked pixels become NaN",
        files=("dark", "flat"),
    ),
    "electrons": BuiltIn(
        f"{PACKAGE}.electrons:Electrons",
        "electrons of an electron microscope's frames: their pixels as events, as stempy counts them",
        files=("dark", "gain"),
        results=lambda _: ("electrons",),
    ),
    "images": BuiltIn(
        f"{PACKAGE}.images:Images",
        "mean, maximum, minimum and sum of all frames, as images",
        results=lambda given: _images(given.get("images", ["mean", "max"])),
    ),
    "peaks": BuiltIn(
        f"{PACKAGE}.peaks:Peaks",
        "number, places and heights of the local maxima of each frame",
        results=lambda _: ("peaks",),
    ),
    "regions": BuiltIn(
        f"{PACKAGE}.regions:Regions",
        "sum, mean, maximum and saturated pixels of named rectangles, and the total of each frame",
        results=lambda _: ("total",),
    ),
}
"""Built-in processors, by name; docs/reference/processors.md describes each."""


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


def with_files(name: str, parameters: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return parameters of a processor whose paths are absolute.

    Args:
        name: as in a pipeline's file; only what comes with Penstock has paths that are known.
        parameters: as given there.
        folder: that of the pipeline's file.
    """
    paths = BUILT_IN[name].files if name in BUILT_IN else ()
    return {
        key: str(folder / value) if key in paths and isinstance(value, str) and _is_path(value) else value
        for key, value in parameters.items()
    }


def collision(steps: Sequence[StepConfig]) -> str:
    """Return why results of built-in steps would have the same names, in a sentence; "" if they do not."""
    names: dict[str, int] = {}
    for number, step in enumerate(steps):
        found = BUILT_IN.get(step.processor)
        for name in () if found is None or step.name else found.results(step.parameters):
            if (other := names.setdefault(name, number)) != number:
                return (
                    f"steps {other} and {number} are both {step.processor}, and their results {name} would "
                    "have one name: give one of them a name, such as name: inner, with which the names of "
                    f"its results begin (inner_{name})"
                )
    return ""


def _is_path(value: str) -> bool:
    """Return whether this is the path of a file, and not the text of one."""
    return bool(value) and "\n" not in value and not value.startswith("{")
