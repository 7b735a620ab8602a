"""Instances of a chain's classes, and what their `configure` makes of parameters: on copies, before use."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

from penstock.processing.processor import Processor
from penstock.processing.worker import loading

Changes: TypeAlias = dict[str, Any]
"""Attributes that `configure` has assigned on a copy."""


class Refusal(Exception):
    """User code does not take parameters or a series; the sentence says why."""


class Instances:
    """One instance per step, of one series."""

    def __init__(self, steps: list[Processor]) -> None:
        self.steps = steps
        self.has_begun = False
        """True if they have a series."""
        self.prepared: dict[int, list[Changes]] = {}
        """Changes of each step by the version of the parameters."""


def made(
    kinds: Sequence[type[Processor]], split: Sequence[Changes], files: Collection[str]
) -> list[Processor]:
    """Return new instances, configured with these parameters.

    Args:
        kinds: their classes.
        split: the parameters of each.
        files: the user's, as they stand in tracebacks.

    Raises:
        Refusal: `configure` of a step has raised.
    """
    found = []
    for kind, values in zip(kinds, split, strict=True):
        try:
            instance = kind()
            vars(instance).update(copy.deepcopy(values))
            instance.configure()
        except BaseException as error:
            raise Refusal(f"{kind.__name__}.configure: {loading.sentence(error, files)}") from None
        found.append(instance)
    return found


def configured(
    instances: Sequence[Processor], split: Sequence[Changes], files: Collection[str]
) -> list[Changes]:
    """Return what `configure` assigns with these parameters: on copies, so that these stay as they are.

    Args:
        instances: one per step.
        split: the parameters of each.
        files: the user's, as they stand in tracebacks.

    Raises:
        Refusal: it has raised.
    """
    found = []
    for instance, values in zip(instances, split, strict=True):
        trial, before = copy.copy(instance), dict(vars(instance))
        trial.__class__, assigned = _noting(type(instance))
        vars(trial).update(copy.deepcopy(values))
        try:
            trial.configure()
        except BaseException as error:
            raise Refusal(f"{name_of(instance)}.configure: {loading.sentence(error, files)}") from None
        after = vars(trial)
        found.append(
            {
                name: value
                for name, value in after.items()
                if name in assigned or name not in before or before[name] is not value
            }
        )
    return found


def name_of(instance: Processor) -> str:
    """Return the name of an instance's class, for sentences."""
    return type(instance).__name__


def _noting(kind: type[Processor]) -> tuple[type[Processor], set[str]]:
    """Return a class like this one, and the names of the attributes that its instance is assigned.

    What is assigned the value that it has may have another one when the parameters are used: frames are
    processed meanwhile.
    """
    names: set[str] = set()

    def note(instance: Any, name: str, value: Any) -> None:
        names.add(name)
        kind.__setattr__(instance, name, value)

    noting = type(kind.__name__, (kind,), {"__setattr__": note, "__module__": kind.__module__})
    return noting, names
