"""Read-only Tango attributes whose values are functions of a status, for the devices of services."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from tango.server import Device

from penstock.devices._tango.attributes import declare
from penstock.devices._tango.tango_text import tango_value
from penstock.streamer.camera.settings import Parameter, Value

StatusT = TypeVar("StatusT")
DeviceT = TypeVar("DeviceT", bound=Device)


class StatusAttribute(Generic[StatusT]):
    """One attribute.

    Args:
        parameter: its declaration; the default is its value without a status.
        value: returns its value.
    """

    def __init__(self, parameter: Parameter, value: Callable[[StatusT], Value]) -> None:
        self.parameter = parameter
        self.value = value


def entry(
    name: str,
    default: Value,
    doc: str,
    value: Callable[[StatusT], Value],
    unit: str = "",
    format: str = "",
    *,
    expert: bool = False,
) -> StatusAttribute[StatusT]:
    """Return an attribute; for tables of them."""
    parameter = Parameter(
        name=name, default=default, doc=doc, unit=unit, writable=False, format=format, expert=expert
    )
    return StatusAttribute(parameter, value)


def values_of(attributes: Sequence[StatusAttribute[StatusT]], status: StatusT | None) -> dict[str, Value]:
    """Return the values by name; the defaults without a status."""
    return {
        each.parameter.name: each.parameter.default if status is None else each.value(status)
        for each in attributes
    }


def with_attributes(kind: type[DeviceT], attributes: Sequence[StatusAttribute[Any]]) -> type[DeviceT]:
    """Return the Tango class with these attributes, under the same name.

    Args:
        kind: has a method `_values` that returns the attributes' values by name.
        attributes: the declarations.
    """
    body: dict[str, Any] = {"__doc__": kind.__doc__, "__module__": kind.__module__}
    for each in attributes:
        body.update(_body(each.parameter))
    return type(kind.__name__, (kind,), body)


def _body(parameter: Parameter) -> Mapping[str, Any]:
    name = parameter.name

    def read(self: Any) -> Value:
        value: Value = tango_value(self._values()[name])
        return value

    return {f"_read_{name}": read, name: declare(parameter, fget=f"_read_{name}")}
