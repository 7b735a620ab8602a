"""What results mean, in the result file: axes and errors beside them, units, and definitions of NeXus.

A result stays where it is; whatever shows it from elsewhere is a soft link, which holds when its dataset is
replaced by a virtual one. The attribute `plot` of a result is the path of the NXdata group that draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import h5py
import numpy as np

from penstock.processing.describe import Plot, Value
from penstock.processing.results import accumulated, layout
from penstock.processing.results.errors import ResultError
from penstock.processing.wire import Array

NOTES = f"{layout.PROCESS}/notes"
"""What a reader of the results has to know, one sentence each."""
CLASSES = {"reduction": "NXprocess", "input": "NXparameters"}
"""NeXus classes of groups whose class has another name than themselves."""
BESIDE = ("reference", "note")
"""Names of what says how a result was made: fields of NXprocess itself, and no parameters."""
INTERPRETATIONS = {1: "spectrum", 2: "image"}


def is_lacking(file: Any, plots: Sequence[Plot], notes: Sequence[str] = ()) -> bool:
    """Return whether a result is in the file, and what it means, or what its reader has to know, is not."""
    entry = file[layout.ENTRY]
    has_results = len(file[layout.ACCUMULATED]) > 0 or any(
        "kind" in entry[name].attrs
        for name in entry
        if isinstance(entry.get(name, getlink=True), h5py.HardLink)
    )
    return (has_results and bool(notes) and NOTES not in file) or any(
        path is not None and "plot" not in file[path].attrs
        for path in (_path(file, plot.signal) for plot in plots)
    )


def check_axes(array: Array, plots: Sequence[Plot]) -> None:
    """Check that the axes of a result are as long as itself.

    Args:
        array: as in a message of a worker.
        plots: what results mean.

    Raises:
        ResultError: one of them is not ("unlike").
    """
    shape = array.shape[1:] if array.kind == "value" else accumulated.form(array)[1]
    for plot in plots:
        if plot.signal != array.name or array.kind == "events" or len(plot.axes) != len(shape):
            continue
        for axis, length in zip(plot.axes, shape, strict=True):
            if len(axis.values) != length:
                raise ResultError(
                    "unlike",
                    f"result {array.name} has {length} values along its axis {axis.name}, and describe() "
                    f"gives {len(axis.values)}: both have to be as many",
                )


def add(file: Any, plots: Sequence[Plot], notes: Sequence[str] = ()) -> None:
    """Add axes, errors and attributes of all results that are in the file without them, and notes.

    Args:
        file: h5py file, open for writing.
        plots: as `describe.check` returns them.
        notes: what their reader has to know; sentences.
    """
    if notes and NOTES not in file:
        texts = [note.encode() for note in notes]
        kind = layout.text_type(max(map(len, texts)))
        file.create_dataset(NOTES, data=np.array(texts, kind), track_times=False)
    for plot in plots:
        path = _path(file, plot.signal)
        if path is None:
            continue
        if "plot" not in file[path].attrs:
            _add(file, plot, path)
        _add_errors(file, plot, path)


def _path(file: Any, name: str) -> str | None:
    """Return the path of a result per frame or an accumulated one; `None` if there is none of this name."""
    for path in (layout.place_of(name)[1], layout.total_paths(name)[0]):
        if path in file:
            return path
    return None


def _add(file: Any, plot: Plot, path: str) -> None:
    signal = file[path]
    is_per_frame = path == layout.place_of(plot.signal)[1]
    home = layout.place_of(plot.signal)[0]
    where = home if not plot.definition else f"{_subentry(file, plot)}/data"
    _say(signal, plot.label, plot.unit)
    signal.attrs["errors"] = plot.errors
    if not plot.axes and not plot.definition and not is_per_frame:
        signal.attrs["plot"] = ""
        return
    data = layout.group(file, where, "NXdata")
    own = path.rpartition("/")[2]
    data.attrs["signal"] = own
    if own not in data:
        _link(data, own, path)
    dimensions = signal.ndim - is_per_frame
    if len(plot.axes) == dimensions and plot.axes:
        data.attrs["axes"] = [*(["."] if is_per_frame else []), *(layout.stored(a.name) for a in plot.axes)]
    for axis in plot.axes:
        made = data.create_dataset(layout.stored(axis.name), data=axis.values, track_times=False)
        made.attrs["result"], made.attrs["kind"] = axis.name, "axis"
        _say(made, axis.label, axis.unit)
    if dimensions in INTERPRETATIONS:
        data.attrs["interpretation"] = INTERPRETATIONS[dimensions]
    signal.attrs["plot"] = where
    if where != home and is_per_frame:
        _hide(file[home])
    if plot.definition:
        # Whoever looks for the default finds the definition's group first.
        file[layout.ENTRY].attrs["default"] = where.split("/")[-2]


def _add_errors(file: Any, plot: Plot, path: str) -> None:
    """Link a result's errors beside it, once both are there."""
    errors, own = _path(file, plot.errors) if plot.errors else None, path.rpartition("/")[2]
    where, home = str(file[path].attrs["plot"]), layout.place_of(plot.signal)[0]
    if errors is None or not where or f"{own}_errors" in file[where]:
        return
    for group in {where, home} if home in file else {where}:
        _link(file[group], f"{own}_errors", errors)  # by the name of the dataset, whatever the way to it
    if not file[errors].attrs.get("units"):
        _say(file[errors], f"estimated {plot.label or plot.signal} error", plot.unit)
    home = layout.place_of(plot.errors)[0]
    if errors.startswith(f"{home}/"):
        entry = file[layout.ENTRY]
        if entry.attrs.get("default") == home.rpartition("/")[2]:
            entry.attrs["default"] = where.removeprefix(f"{layout.ENTRY}/").split("/")[0]
        _hide(file[home])


def _hide(group: Any) -> None:
    """Make a group no plot of its own: its values are drawn elsewhere."""
    group.attrs["NX_class"] = "NXcollection"
    if "signal" in group.attrs:
        del group.attrs["signal"]


def _subentry(file: Any, plot: Plot) -> str:
    """Return the path of the NXsubentry of a definition, which is made."""
    own = f"{plot.step}_" * bool(plot.step) + plot.definition.removeprefix("NX")
    where = f"{layout.ENTRY}/{own}_" if own in layout.TAKEN_NAMES else f"{layout.ENTRY}/{own}"
    number = 2
    while where in file:
        where, number = f"{layout.ENTRY}/{own}_{number}", number + 1
    entry = layout.group(file, where, "NXsubentry")
    entry.attrs["default"] = "data"
    _put(entry, "definition", plot.definition)
    for path, value in plot.fields.items():
        _put(entry, path, value)
    process = file[layout.PROCESS]
    for name in ("program", "version", "date"):
        _put(entry, f"reduction/{name}", process[name].asstr()[()])
    _group(entry, "reduction/input")
    for name, value in plot.process.items():
        _put(entry, f"reduction/{name}" if name in BESIDE else f"reduction/input/{name}", value)
    return where


def _group(entry: Any, path: str) -> Any:
    for name in filter(None, path.split("/")):
        entry = entry.require_group(name)
        entry.attrs["NX_class"] = CLASSES.get(name, f"NX{name}")
    return entry


def _put(entry: Any, path: str, value: Value) -> None:
    parent, _, name = path.rpartition("/")
    unit = ""
    if isinstance(value, tuple | list):
        value, unit = value
    if isinstance(value, bool):
        value = np.bool_(value)  # type: ignore[assignment]
    made = _group(entry, parent).create_dataset(name, data=value, track_times=False)
    if unit:
        made.attrs["units"] = unit


def _link(group: Any, name: str, path: str) -> None:
    group[name] = h5py.SoftLink(path)


def _say(made: Any, label: str, unit: str) -> None:
    if label:
        made.attrs["long_name"] = label
    if unit:
        made.attrs["units"] = unit
