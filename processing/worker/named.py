"""A step with a name of its own: its class, whose results begin with that name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.processing.describe import Plot
from penstock.processing.processor import Processor


def named(kind: type[Processor], label: str) -> type[Processor]:
    """Return a class like this one, whose results, errors and axes have a name before theirs: `NAME_I`.

    Args:
        kind: the class of a step.
        label: the step's name; "" leaves the class as it is.
    """
    if not label:
        return kind
    members: dict[str, Any] = {"__module__": kind.__module__, "_label": label}

    def describe(self: Any) -> Sequence[Plot] | None:
        found = kind.describe(self)
        return found and [_plot(plot, label) for plot in found]

    def process(self: Any, frame: Any) -> Any:
        return _prefixed(kind.process(self, frame), label)

    def process_batch(self: Any, frames: Any) -> Any:
        found = kind.process_batch(self, frames)
        return [_prefixed(each, label) for each in found] if isinstance(found, Sequence) else found

    def finish(self: Any, totals: Mapping[str, Any]) -> Any:
        own = {name.removeprefix(f"{label}_"): value for name, value in totals.items() if _is_of(name, label)}
        return _prefixed(kind.finish(self, own), label)

    members["describe"] = describe
    # What a class does not define is not defined here: whoever looks takes it for Processor's.
    for method in (process, process_batch, finish):
        if getattr(kind, method.__name__) is not getattr(Processor, method.__name__):
            members[method.__name__] = method
    return type(f"{kind.__name__} ({label})", (kind,), members)


def _is_of(name: str, label: str) -> bool:
    return name.startswith(f"{label}_")


def _prefixed(result: Any, label: str) -> Any:
    """Return results under their names with the step's before them; what is no mapping stays as it is."""
    if not isinstance(result, Mapping):
        return result
    return {f"{label}_{name}" if isinstance(name, str) else name: value for name, value in result.items()}


def _plot(plot: Any, label: str) -> Any:
    if not isinstance(plot, Plot):
        return plot
    return replace(
        plot, signal=f"{label}_{plot.signal}", errors=plot.errors and f"{label}_{plot.errors}",
        axes=tuple(replace(axis, name=f"{label}_{axis.name}") for axis in plot.axes), step=label,
    )  # fmt: skip
