"""Parameters of processors: annotated class attributes with defaults, and the values given for them."""

from __future__ import annotations

import difflib
import inspect
import typing
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from penstock.processing.processor import Processor
from penstock.processing.wire import Parameter

TYPES = "int, float, str, bool, tuple, list, dict, Literal, and unions of these with None"
"""Types of parameters, as sentences name them."""
_NOT_PARAMETERS = frozenset(dir(Processor))


class ParameterError(Exception):
    """A parameter, or the value given for one, cannot be used; the sentence says why."""


def declared(kind: type[Processor]) -> dict[str, tuple[Any, Any]]:
    """Return type and default of each parameter of a class, by name, in the order of the class.

    Raises:
        ParameterError: a type is unknown, or the default is of another type.
    """
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except Exception as error:
        raise ParameterError(
            f"the types of the parameters of {kind.__name__} cannot be read: {error}"
        ) from error
    found = {}
    bases = [base for base in reversed(kind.__mro__) if issubclass(base, Processor) and base is not Processor]
    for name in dict.fromkeys(name for base in bases for name in inspect.get_annotations(base)):
        if name.startswith("_") or name in _NOT_PARAMETERS or not hasattr(kind, name):
            continue
        if (wanted := hints[name]) is ClassVar or typing.get_origin(wanted) is ClassVar:
            continue
        default = getattr(kind, name)
        try:
            msgspec.convert(msgspec.to_builtins(default), wanted)
        except (TypeError, msgspec.ValidationError) as error:
            raise ParameterError(
                f"parameter {name} of {kind.__name__} cannot be {_written(wanted)} = {default!r:.60} "
                f"({error}); parameters are {TYPES}, and what is no parameter has no annotation, or "
                "typing.ClassVar"
            ) from error
        found[name] = wanted, default
    return found


def described(kinds: Sequence[type[Processor]]) -> tuple[Parameter, ...]:
    """Return the parameters of all steps, as a worker tells them.

    Raises:
        ParameterError: see `declared`.
    """
    return tuple(
        Parameter(name, _written(wanted), msgspec.to_builtins(default), step)
        for step, kind in enumerate(kinds)
        for name, (wanted, default) in declared(kind).items()
    )


def split(kinds: Sequence[type[Processor]], values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the values of all parameters of each step: those that are given, and the defaults of the others.

    Args:
        kinds: classes of the steps.
        values: by name; by `STEP.NAME` where several steps have one of this name, with the step's name, or
            counted from 0 if it has none.

    Raises:
        ParameterError: there is no such parameter, several are meant, or a value has a wrong type.
    """
    known = [declared(kind) for kind in kinds]
    found = [{name: default for name, (_, default) in step.items()} for step in known]
    for key, value in values.items():
        step, name = _which(key, kinds, known)
        found[step][name] = _converted(
            f"parameter {key} of {kinds[step].__name__}", value, known[step][name][0]
        )
    return found


def _which(key: str, kinds: Sequence[type[Processor]], known: Sequence[Mapping[str, Any]]) -> tuple[int, str]:
    which, _, name = key.partition(".")
    for step, kind in enumerate(kinds):
        if which == _called(step, kind) and name in known[step]:
            return step, name
    steps = [step for step, parameters in enumerate(known) if key in parameters]
    if len(steps) == 1:
        return steps[0], key
    if steps:
        ways = " or ".join(f"{_called(step, kinds[step])}.{key} ({kinds[step].__name__})" for step in steps)
        raise ParameterError(f"several steps have a parameter {key}: write {ways}")
    names = list(dict.fromkeys(name for parameters in known for name in parameters))
    classes = ", ".join(kind.__name__ for kind in kinds)
    has = f"has {', '.join(names)}" if names else "has no parameters"
    close = difflib.get_close_matches(name or key, names, 1)
    hint = f"; is {close[0]} meant?" if close else ""
    if any(not callable(getattr(kind, key, len)) for kind in kinds):
        hint = f"; an attribute is a parameter if it has a type, such as {key}: float = 5"
    raise ParameterError(f"there is no parameter {key}: {classes} {has}{hint}")


def _called(step: int, kind: type[Processor]) -> str:
    """Return what is written before the names of a step's parameters."""
    return kind._label or str(step)


def _converted(what: str, value: Any, wanted: Any) -> Any:
    try:
        # Text may stand for a number, as from a command line; nothing else is converted.
        return msgspec.convert(value, wanted, strict=not isinstance(value, str))
    except msgspec.ValidationError as error:
        if typing.get_origin(wanted) is typing.Literal:
            needed = f"one of {', '.join(map(str, typing.get_args(wanted)))}"
        else:
            needed = f"{_written(wanted)} ({error})"
        raise ParameterError(f"{what} is {value!r:.60}; it has to be {needed}") from error


def _written(wanted: Any) -> str:
    """Return a type as it is written in a class."""
    if isinstance(wanted, type) and not typing.get_args(wanted):
        keys = getattr(wanted, "__struct_fields__", ())
        return f"{{{': …, '.join(keys)}: …}}" if keys else wanted.__name__
    text = str(wanted).replace("typing.", "").replace("NoneType", "None")
    for part in typing.get_args(wanted):
        if hasattr(part, "__struct_fields__"):
            text = text.replace(f"{part.__module__}.{part.__qualname__}", _written(part))
    return text
