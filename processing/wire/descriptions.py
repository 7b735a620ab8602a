"""Descriptions of results on the wire: the texts as JSON, the numbers of the axes as raw parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from penstock.processing.describe import Axis, Plot, Value
from penstock.stins.messages import Buffer
from penstock.stins.texts import plural


class AxisText(msgspec.Struct, frozen=True, omit_defaults=True):
    """An axis without its numbers; a raw part of little-endian float64 has them."""

    name: str
    unit: str = ""
    label: str = ""


class PlotText(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A description; see `describe.Plot`."""

    signal: str
    errors: str = ""
    axes: tuple[AxisText, ...] = ()
    unit: str = ""
    label: str = ""
    definition: str = ""
    fields: dict[str, Value] = {}
    process: dict[str, Value] = {}
    step: str = ""


def texts(plots: Sequence[Plot]) -> tuple[tuple[PlotText, ...], list[np.ndarray[Any, Any]]]:
    """Return what describes these plots, and the numbers of all their axes in this order."""
    described = tuple(
        PlotText(
            signal=plot.signal, errors=plot.errors, unit=plot.unit, label=plot.label,
            axes=tuple(AxisText(axis.name, axis.unit, axis.label) for axis in plot.axes),
            definition=plot.definition, fields=dict(plot.fields), process=dict(plot.process), step=plot.step,
        )
        for plot in plots
    )  # fmt: skip
    return described, [axis.values for plot in plots for axis in plot.axes]


def plots(described: Sequence[PlotText], parts: Sequence[Buffer]) -> tuple[Plot, ...]:
    """Return the plots that a message describes.

    Raises:
        ValueError: its parts are not the axes.
    """
    numbers = iter(parts)
    if sum(len(text.axes) for text in described) != len(parts):
        raise ValueError(f"{plural(len(parts), 'part')} came, not one for each axis")
    return tuple(
        Plot(
            text.signal, text.errors,
            tuple(
                Axis(axis.name, np.frombuffer(next(numbers), "<f8").copy(), axis.unit, axis.label)
                for axis in text.axes
            ),
            text.unit, text.label, text.definition, text.fields, text.process,
            text.step,
        )
        for text in described
    )  # fmt: skip
