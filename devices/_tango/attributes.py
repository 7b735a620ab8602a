"""The Tango attributes of the parameters that a camera declares.

Everything that Tango shows of a parameter (type, unit, format, limits, description, memorization) derives
from its one declaration. The limits declared here are those of the model; a unit's own limits are set per
device while it runs (`facility_limits.py`), since attributes belong to the class and two devices of one class
would otherwise show the limits of the first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import tango
from tango.server import attribute

from penstock.devices._series.settings import ValueRefused
from penstock.devices._tango import events
from penstock.streamer.camera.settings import Limits, Parameter, Value

TANGO_TYPE: Mapping[type, tango.CmdArgType] = {
    bool: tango.CmdArgType.DevBoolean,
    int: tango.CmdArgType.DevLong64,
    float: tango.CmdArgType.DevDouble,
    str: tango.CmdArgType.DevString,
}
"""Tango type by the Python type of a parameter's default."""

LIMIT_OPTION: Mapping[str, str] = {"minimum": "min_value", "maximum": "max_value"}
"""Option of a Tango attribute by field of `Limits`: what Tango itself enforces on writing."""

NOT_SPECIFIED = "Not specified"
"""Tango's text for the absence of a limit."""

DECIMALS = 9
"""Decimals of a float that can be set."""
MOST_DIGITS = 10
"""Digits before the point of a number without a maximum."""

NO_DISPLAY = 1e-4
"""Relative difference above which two numbers differ, and are not one number displayed with few decimals."""


class Unread(NamedTuple):
    """A value that is not known now: shown with quality INVALID."""

    stands_in: Value
    """Value of the attribute's type, which Tango requires; clients do not see it."""


def declare(parameter: Parameter, **hooks: str) -> attribute:
    """Return the Tango attribute of a parameter.

    Args:
        parameter: the declaration.
        hooks: names of methods, as `tango.server.attribute` takes them (fget, fset, fisallowed).
    """
    return attribute(**attribute_options(parameter), **hooks)


def attribute_options(parameter: Parameter) -> dict[str, Any]:
    """Return the declaration of a parameter as options of `tango.server.attribute`."""
    options: dict[str, Any] = {
        "name": parameter.name,
        "dtype": TANGO_TYPE[type(parameter.default)],
        "label": parameter.name,
        "doc": _doc(parameter),
        **events.OPTIONS,
    }
    if parameter.expert:
        options["display_level"] = tango.DispLevel.EXPERT
    if parameter.unit:
        options["unit"] = parameter.unit
    if form := tango_format(parameter):
        options["format"] = form
    if not parameter.writable:
        return options | {"access": tango.AttrWriteType.READ}
    options["access"] = tango.AttrWriteType.READ_WRITE
    if parameter.memorized:
        options |= {"memorized": True, "hw_memorized": True}
    return options | limit_options(parameter.limits, type(parameter.default))


def tango_format(parameter: Parameter) -> str:
    """Return the printf format of the Tango attribute; "" if there is nothing to format.

    ATK, on which Jive and ATKPanel are built, has a wheel for each digit of a number that can be set: as many
    as the format is wide, less those behind the point. It knows no other formats than `%W.Pf` and `%Wd`: any
    other is `%5.2f` to it, and a wheel that lacks digits writes what it shows. The sign has its own place.
    """
    kind = type(parameter.default)
    if not parameter.writable or kind not in (int, float):
        return parameter.shown_as
    ends = [abs(end) for end in (parameter.limits.minimum, parameter.limits.maximum) if end is not None]
    digits = MOST_DIGITS if parameter.limits.maximum is None else len(str(int(max(ends))))
    return f"%{digits + DECIMALS}.{DECIMALS}f" if kind is float else f"%{digits}d"


def limit_options(limits: Limits, kind: type) -> dict[str, float]:
    """Return options that make Tango refuse values outside the limits; Tango allows them for numbers only."""
    if kind not in (int, float):
        return {}
    options = {}
    for field, option in LIMIT_OPTION.items():
        limit = getattr(limits, field)
        if limit is not None:
            options[option] = kind(limit)
    return options


def limit_texts(limits: Limits, kind: type) -> dict[str, str]:
    """Return limits as Tango has them, by option.

    Tango has no limits for a single possible value, so that there are none: whoever sets it refuses others.
    """
    least, most = limits.minimum, limits.maximum
    if least is not None and most is not None and kind(least) >= kind(most):
        limits = Limits()
    return {
        option: NOT_SPECIFIED if getattr(limits, field) is None else str(kind(getattr(limits, field)))
        for field, option in LIMIT_OPTION.items()
    }


def check_value(parameter: Parameter, value: Value) -> Value:
    """Return the value in the parameter's type, after the checks that Tango does not make.

    Raises:
        ValueRefused: not one of the choices, or not a number (Tango's limits let NaN pass).
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueRefused(f"{parameter.name} must be a finite number, not {value}")
    if parameter.choices and value not in parameter.choices:
        raise ValueRefused(f'{parameter.name} has no choice "{value}"; choose {", ".join(parameter.choices)}')
    return type(parameter.default)(value)


def is_as_displayed(parameter: Parameter, written: Value, value: Value) -> bool:
    """Return whether a client has written the present value as a panel displays it.

    Jive, ATKPanel and Taurus print a float with the decimals of the attribute's format, the control panel in
    the parameter's own. Panels write that text back when Apply is pressed, which must not change the value.

    Args:
        parameter: its format is used.
        written: value that the client has written.
        value: the present value.
    """
    if not isinstance(written, float) or not isinstance(value, float) or not math.isfinite(value):
        return written == value
    if not math.isclose(written, value, rel_tol=NO_DISPLAY):
        return False
    return written in (value, float(parameter.shown_as % value), round(value, DECIMALS))


def as_displayed(parameter: Parameter, value: float) -> float:
    """Return the value rounded as every panel can display it without loss: for computed set points."""
    if not math.isfinite(value):
        return value
    return round(float(parameter.shown_as % value), DECIMALS)


def _doc(parameter: Parameter) -> str:
    if not parameter.choices:
        return parameter.doc
    return f"{parameter.doc} One of: {', '.join(parameter.choices)}."


def same_number(shown: str, wanted: str) -> bool:
    """Return whether two texts are the same number, or the same text."""
    if shown == wanted:
        return True
    try:
        return float(shown) == float(wanted)
    except ValueError:
        return False
