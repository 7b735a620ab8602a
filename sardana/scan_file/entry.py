"""Make an entry of a scan file open well in viewers: plots that they find by themselves, and no false
claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock.sardana.scan_file.links import IMAGES

POINTS: Final = "Pt_No"
"""Sardana's column of the points' numbers, as its recorder spells it."""
COUNTERS: Final = "counters"
"""Group of the counters' plot."""


@dataclass(frozen=True)
class Columns:
    """Names in the group `measurement`."""

    images: Sequence[str]
    """Linked frames of detectors."""
    counters: Sequence[str]
    """Numbers, one per point."""
    moveables: Sequence[str]
    """What was scanned; the first is the axis of the counters."""


def add_plots(entry: Any, columns: Columns) -> None:
    """Add an NXdata group for each detector and one for the counters; the first becomes the default.

    Args:
        entry: the NXentry, open for writing, with its group `measurement`;
            without points, it is left as it is.
        columns: what to show.
    """
    if not len(entry["measurement"][POINTS]):
        return
    _renew(entry)
    made = []
    for label in columns.images:
        made.append(_images(entry, label, columns.moveables))
    if columns.counters:
        made.append(_counters(entry, columns.counters, columns.moveables))
    if made:
        entry.attrs["default"] = made[0]
        entry.parent.attrs["default"] = entry.name.rpartition("/")[2]


def drop_claim(entry: Any) -> None:
    """Remove the claim to follow NXscan, which requires a rotation angle, a monitor and a sample in every
    scan."""
    if "definition" in entry:
        del entry["definition"]


def _images(entry: Any, label: str, moveables: Sequence[str]) -> str:
    """Make a plot without `axes`: nexusformat takes the number of a virtual dataset's blocks for that of
    points, and would call it a mismatch. What varies from point to point is named by `_indices`, as in
    NXdata."""
    measurement = entry["measurement"]
    plot = _plot(entry, f"images_{label}", label)
    plot[label].attrs["interpretation"] = IMAGES  # after `_renew`
    for beside in (f"{label}_status", *moveables):
        if beside in measurement:
            plot[beside] = measurement[beside]
            plot.attrs[f"{beside}_indices"] = 0
    return f"images_{label}"


def _counters(entry: Any, counters: Sequence[str], moveables: Sequence[str]) -> str:
    measurement = entry["measurement"]
    first, *others = counters
    axis = moveables[0] if moveables else POINTS
    plot = _plot(entry, COUNTERS, first)
    plot[axis] = measurement[axis]
    plot.attrs["axes"] = [axis]
    plot.attrs[f"{axis}_indices"] = 0
    for label in others:
        plot[label] = measurement[label]
    if others:
        plot.attrs["auxiliary_signals"] = others
    return COUNTERS


def _plot(entry: Any, name: str, signal: str) -> Any:
    plot = entry.create_group(name)
    plot.attrs["NX_class"] = "NXdata"
    plot.attrs["signal"] = signal
    plot["title"] = entry["title"]
    plot[signal] = entry["measurement"][signal]
    return plot


def _renew(entry: Any) -> None:
    """Convert the plots that Sardana makes for channels with a plot type: they use the form before 2014,
    attributes of the datasets, which validators call errors."""
    plots = [
        group
        for group in entry.values()
        if group.attrs.get("NX_class") == "NXdata" and "signal" not in group.attrs
    ]
    for plot in plots:
        signals = [name for name in plot if "signal" in plot[name].attrs]
        if not signals:
            continue
        signals.sort(key=lambda name: int(plot[name].attrs["signal"]))
        axes = str(plot[signals[0]].attrs["axes"]).split(":")
        plot.attrs["signal"] = signals[0]
        if signals[1:]:
            plot.attrs["auxiliary_signals"] = signals[1:]
        if all(axis in plot for axis in axes):
            plot.attrs["axes"] = axes
    for plot in plots:
        for dataset in plot.values():
            for name in ("signal", "axes", "interpretation"):
                if name in dataset.attrs:
                    del dataset.attrs[name]
