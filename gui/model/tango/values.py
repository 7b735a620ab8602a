"""Tango's own attribute configuration and values, as the panel's model has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import tango

from penstock.gui.model.attributes.attribute import Attribute, Group, Value
from penstock.gui.model.tango.answers import ParameterNote

KINDS: Mapping[Any, type[bool] | type[int] | type[float] | type[str]] = {
    tango.CmdArgType.DevBoolean: bool,
    tango.CmdArgType.DevDouble: float,
    tango.CmdArgType.DevFloat: float,
    tango.CmdArgType.DevShort: int,
    tango.CmdArgType.DevLong: int,
    tango.CmdArgType.DevLong64: int,
    tango.CmdArgType.DevUShort: int,
    tango.CmdArgType.DevULong: int,
    tango.CmdArgType.DevULong64: int,
    tango.CmdArgType.DevUChar: int,
}
"""Every other type is shown as text."""
NO_UNIT = frozenset({"", "No unit"})


def attribute(info: Any, note: ParameterNote | None) -> Attribute:
    """Return an attribute from its configuration.

    Args:
        info: `tango.AttributeInfoEx`.
        note: its entry in the device's `Parameters`.
    """
    kind = KINDS.get(tango.CmdArgType.values[info.data_type], str)
    form = note.format if note is not None and note.format else info.format
    group = note.group if note is not None and note.group in ("series", "camera", "reading") else "state"
    return Attribute(
        name=info.name,
        kind=kind,
        group=cast(Group, group),
        writable=info.writable is not tango.AttrWriteType.READ,
        unit="" if info.unit in NO_UNIT else info.unit,
        minimum=_number(info.min_value),
        maximum=_number(info.max_value),
        choices=tuple(note.choices) if note is not None else (),
        doc=info.description,
        format=form if kind is float else "",
    )


def plain(value: Any) -> Value | None:
    """Return the value of a `tango.DeviceAttribute`; `None` where its quality is INVALID."""
    if value is None or value.quality is tango.AttrQuality.ATTR_INVALID:
        return None
    found = value.value
    if isinstance(found, (bool, int, float, str)) and not isinstance(found, tango.DevState):
        return found
    return None if found is None else str(found)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None  # "Not specified"
