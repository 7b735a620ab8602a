"""What the results of a processor mean: axes, errors, units; for the result file, and for plots."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

NAME = re.compile(r"[A-Za-z_][\w.]{0,62}", re.ASCII)
"""Names of results and axes: those that NeXus takes, with at most its 63 characters."""
PATH = re.compile(r"([A-Za-z_]\w*/)*[A-Za-z_]\w*", re.ASCII)
"""Names of fields."""
DEFINITION = re.compile(r"NX[a-z]\w*", re.ASCII)

Value: TypeAlias = "bool | int | float | str | tuple[float, str]"
"""Value of a field; a number may have a unit, such as (12.4, "keV")."""


@dataclass(frozen=True)
class Axis:
    """One axis of a result; it does not change within a series."""

    name: str
    values: np.ndarray[Any, Any]
    """(n,), finite numbers."""
    unit: str = ""
    """Unit, such as "1/nm"."""
    label: str = ""
    """Label, such as "q"."""

    def __eq__(self, other: object) -> bool:
        """Return whether two axes have the same text and the same numbers."""
        if not isinstance(other, Axis):
            return NotImplemented
        mine, others = (self.name, self.unit, self.label), (other.name, other.unit, other.label)
        return mine == others and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Plot:
    """How a result is drawn: against which axes, with which errors."""

    signal: str
    """Name of the result."""
    errors: str = ""
    """Name of the result that has its standard deviations, of the same shape; "" if there is none."""
    axes: tuple[Axis, ...] = ()
    """One per dimension of a value, in the order of its shape; or none."""
    unit: str = ""
    label: str = ""
    """Label, such as "intensity"."""
    definition: str = ""
    """A definition of NeXus that the result conforms to, such as "NXazint1d": it gets an NXsubentry, with
    `fields` and `process`."""
    fields: Mapping[str, Value] = field(default_factory=dict)
    """Fields of that subentry, by path: the group x of "x/name" is of class NXx."""
    process: Mapping[str, Value] = field(default_factory=dict)
    """How it was made: parameters in the NXprocess of that subentry; `reference` and `note` beside them."""
    step: str = ""
    """Name of the pipeline's step, with which that of the NXsubentry begins; "" of none. Set by Penstock."""


def check(plots: Sequence[Plot]) -> tuple[Plot, ...]:
    """Return descriptions as they are sent: axes of float64.

    Raises:
        ValueError: one cannot be used; the sentence says why.
        TypeError: it is none.
    """
    found: list[Plot] = []
    axes: dict[str, Axis] = {}
    names = {
        name.replace(".", "_")  # as in the file
        for plot in plots
        if isinstance(plot, Plot)
        for name in (plot.signal, plot.errors, f"{plot.signal}_errors")
    }
    for plot in plots:
        if not isinstance(plot, Plot):
            raise TypeError(f"{type(plot).__name__} is no Plot; return a list of Plot(signal, …)")
        for name in (plot.signal, *([plot.errors] if plot.errors else []), *(a.name for a in plot.axes)):
            if not NAME.fullmatch(name):
                raise ValueError(
                    f"{name!r:.80} is no name: letters, digits, _ and ., the first a letter or _"
                )
        if any(plot.signal == other.signal for other in found):
            raise ValueError(f"result {plot.signal} is described twice")
        if plot.definition and not DEFINITION.fullmatch(plot.definition):
            raise ValueError(f"definition {plot.definition!r:.80} is none of NeXus, such as NXazint1d")
        for path in (*plot.fields, *plot.process):
            if not PATH.fullmatch(path):
                raise ValueError(f"field {path!r:.80} of {plot.signal} is no path, such as instrument/name")
        found.append(_checked(plot, names, axes))
    return tuple(found)


def _checked(plot: Plot, names: set[str], axes: dict[str, Axis]) -> Plot:
    """Return a description whose axes are float64; add them to those of the others."""
    made = []
    for axis in plot.axes:
        values = np.ascontiguousarray(axis.values, "<f8")
        if values.ndim != 1 or not values.size or not np.isfinite(values).all():
            raise ValueError(f"axis {axis.name} of {plot.signal} is no array (n,) of finite numbers")
        if axis.name.replace(".", "_") in names:
            raise ValueError(f"axis {axis.name} of {plot.signal} has the name of a result; rename it")
        mine = Axis(axis.name, values, axis.unit, axis.label)
        if axes.setdefault(axis.name, mine) != mine:
            raise ValueError(f"there are two axes {axis.name}, and they are unlike: rename one")
        made.append(mine)
    values_of = {name: getattr(plot, name) for name in Plot.__dataclass_fields__}
    return Plot(**{**values_of, "axes": tuple(made)})
