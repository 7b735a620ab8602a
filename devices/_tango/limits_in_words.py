"""Limits of an attribute as the facility has written them, compared, and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from penstock.devices._series.settings import ValueRefused
from penstock.devices._tango.attributes import LIMIT_OPTION, NO_DISPLAY, NOT_SPECIFIED
from penstock.streamer.camera.settings import Limits, Parameter


class Facility(NamedTuple):
    """What the facility has set for one attribute."""

    limits: Limits = Limits()
    """The limits that are numbers."""
    texts: Mapping[str, str] = {}
    """The limits as they were written, by option of the attribute."""


class Usable(NamedTuple):
    """What of the facility's limits can be used beside the unit's."""

    limits: Limits = Limits()
    problems: Mapping[str, str] = {}
    """Why a limit cannot be used, by option of the attribute."""


def narrower(one: Limits, other: Limits) -> Limits:
    """Return the limits that both allow."""
    least = [each for each in (one.minimum, other.minimum) if each is not None]
    most = [each for each in (one.maximum, other.maximum) if each is not None]
    return Limits(max(least, default=None), min(most, default=None))


def facility_of(rows: Mapping[str, list[str]]) -> Facility:
    """Return what the rows of an attribute say."""
    texts = {}
    for option in LIMIT_OPTION.values():
        text = " ".join(rows.get(option, [])).strip()
        if text and text.lower() not in (NOT_SPECIFIED.lower(), "nan"):
            texts[option] = text
    numbers = {option: number_of(text) for option, text in texts.items()}
    limits = Limits(numbers.get("min_value"), numbers.get("max_value"))
    return Facility(limits, texts)


def usable(facility: Facility, unit: Limits, in_unit: str) -> Usable:
    """Return which limits can be used; each end is judged for itself.

    Args:
        facility: what the facility has set.
        unit: limits of the unit, which hold in any case.
        in_unit: unit of the values, for the sentences.
    """
    least, most = facility.limits.minimum, facility.limits.maximum
    numbers = {"min_value": least, "max_value": most}
    problems = {each: "this is no number" for each in facility.texts if numbers[each] is None}
    takes = f"the detector takes {range_of(unit, in_unit)}"
    if is_above(least, unit.maximum):
        problems["min_value"], least = takes, None
    if is_above(unit.minimum, most):
        problems["max_value"], most = takes, None
    if is_above(least, most):
        problems |= dict.fromkeys(numbers, "the least is above the greatest")
        least = most = None
    return Usable(Limits(least, most), problems)


def refuse_outside(parameter: Parameter, value: float, limits: Limits, whose: str, rounded: bool) -> None:
    """Refuse a value outside the limits.

    Args:
        parameter: the attribute.
        value: the value.
        limits: the limits.
        whose: end of the sentence, with {} for the option of the attribute.
        rounded: accept what a detector has made of a limit.

    Raises:
        ValueRefused: the sentence names value and limit.
    """
    for option, word, limit, sign in (
        ("min_value", "least", limits.minimum, -1), ("max_value", "greatest", limits.maximum, 1),
    ):  # fmt: skip
        if limit is None or (value - limit) * sign <= 0:
            continue
        if rounded and math.isclose(value, limit, rel_tol=NO_DISPLAY):
            continue
        unit = f" {parameter.unit}" if parameter.unit else ""
        raise ValueRefused(
            f"{parameter.name} {value}{unit}; the {word} is {limit:g}{unit}{whose.format(option)}"
        )


def range_of(limits: Limits, unit: str) -> str:
    """Return limits in words."""
    unit = f" {unit}" if unit else ""
    ends = []
    if limits.minimum is not None:
        ends.append(f"{limits.minimum:g}{unit} at least")
    if limits.maximum is not None:
        ends.append(f"{limits.maximum:g}{unit} at most")
    return " and ".join(ends or ["any value"])


def is_above(least: float | None, most: float | None) -> bool:
    """Return whether limits leave no value."""
    return least is not None and most is not None and least > most


def number_of(text: str) -> float | None:
    """Return a number as Tango's database has it; `None` if it is none, or not finite."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def has_limits(parameter: Parameter) -> bool:
    """Return whether Tango has limits for an attribute: it is a number that can be set."""
    return parameter.writable and type(parameter.default) in (int, float)
