"""The contents of a result file: account and process at its beginning, results when their names appear.

NeXus: a result per frame is the signal of an NXdata group; the attributes `default` lead to the first curve.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from penstock.processing.results import accumulated
from penstock.processing.results.columns import Column
from penstock.processing.results.layout import (
    ACCOUNT,
    ACCUMULATED,
    BEYOND,
    CODES,
    COUNTED,
    COUNTS,
    ENTRY,
    FIRST_ROWS,
    INSTRUMENT,
    LEAST_PARAMETERS,
    MOST_LISTED,
    NAME,
    PROCESS,
    REASON,
    SENTENCE,
    SETS,
    STATUS,
    TOTAL_FRAMES,
    UNMATCHED,
    VALID,
    WHOLE,
    WORKERS,
    add,
    first_rows,
    group,
    index_paths,
    iso,
    parameters_text,
    place_of,
    say,
    stored,
    text_type,
    total_paths,
    valid_path,
)
from penstock.processing.wire import Array, Step


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A series, and what is done with its frames."""

    series: str
    """Its id."""
    planned: int | None
    """Frames that are planned; `None` if unknown."""
    pipeline: str
    """Name of the pipeline."""
    steps: tuple[Step, ...] = ()
    program: str = "penstock process"
    version: str = ""
    """Version of the program."""
    version_of_parameters: int = 1
    parameters: dict[str, Any] = field(default_factory=dict)
    """The parameters from frame 0 on, by name."""
    channels: dict[str, dict[str, str | float]] = field(default_factory=dict)
    """What is said of each channel, by its name: attribute, and how it is joined."""
    units: dict[str, str] = field(default_factory=dict)
    """Units of the values of channels, by their names, as far as they are known."""
    raw: Path | None = None
    """File of the series; `None` if it has none."""
    detector: str = ""
    """Path of the detector's group in it, such as "/entry/instrument/sim"; "" if it is not one
    of a receiver."""
    started: float = 0.0
    """Start of the series, in seconds since 1970 (UTC)."""


def create(path: Path, target: Path, begun: Begun) -> None:
    """Create a result file without results.

    Args:
        path: of the file.
        target: its path later on, from which links to the raw file are relative.
        begun: series and pipeline.

    Raises:
        OSError, RuntimeError: it cannot be created.
    """
    with h5py.File(path, "w-", track_order=False) as file:
        _root(file, target)
        entry = group(file, ENTRY, "NXentry")
        _text(entry, "title", f"{begun.pipeline} of series {begun.series}")
        _text(entry, "entry_identifier", begun.series)
        _text(entry, "start_time", iso(begun.started))
        add(file, Column(f"{ENTRY}/end_time", text_type(32)), 1, lone=True)
        _account(file, begun)
        group(file, ACCUMULATED, "NXcollection")
        _process(file, begun)
        _channels(file, begun)
        _links(entry, target, begun)


def add_result(file: Any, array: Array, rows: int) -> list[Column]:
    """Create what a name needs whose first values have come; see also `set_default`.

    Args:
        file: h5py file, open for writing.
        array: as on the wire: its name, type, shape and kind.
        rows: frames for which there is a place.

    Returns:
        The columns.
    """
    dtype = np.dtype(array.dtype)
    if array.kind not in ("value", "events"):
        kind, form = accumulated.form(array)
        path, count = total_paths(array.name)
        for each in (path, count):
            if each in file:  # of a type that cannot hold what has come now
                del file[each]
        columns = [Column(path, kind, form), Column(count, np.dtype("<u8"))]
        made = add(file, columns[0], 1, lone=True, about=f"{array.kind} over frames")
        say(made, result=array.name, **({"interpretation": "image"} if len(form) == 2 else {}))
        add(file, columns[1], 1, lone=True, about="frames in the value; 0 while it is written")
        return columns
    where, signal = place_of(array.name)
    values = Column(signal, dtype, array.shape[1:])
    if array.kind == "events":
        say(group(file, where, "NXcollection"), result=array.name, kind="events")
        add(file, values, FIRST_ROWS, about="events of all frames, as they came")
        first, count = index_paths(where)
        columns = [values, Column(first, np.dtype("<u8")), Column(count, np.dtype("<u4"))]
        add(file, columns[1], rows, about="place of a frame's first event")
        add(file, columns[2], rows, about="events of a frame")
        return columns
    data = group(file, where, "NXdata")
    say(data, signal=signal.rpartition("/")[2], result=array.name, kind="value")
    made = add(file, values, rows, about=array.name)
    if values.shape:
        say(made, interpretation={1: "spectrum", 2: "image"}.get(len(values.shape), "scaler"))
    columns = [values, Column(valid_path(array.name), np.dtype("u1"))]
    add(file, columns[1], rows, about=f"1 where a frame has a value of {array.name}")
    return columns


def set_default(file: Any, new: Sequence[Array]) -> None:
    """Let viewers show the first curve; before there is one, the first number of the classes'.

    Args:
        file: h5py file, open for writing.
        new: results that have just been added.
    """
    entry, values = file[ENTRY], [array for array in new if array.kind == "value"]
    shown = entry.get(str(entry.attrs.get("default", "")))
    is_free = shown is None or "channel" in shown.attrs
    is_number = not is_free and "signal" in shown.attrs and shown[shown.attrs["signal"]].ndim == 1
    curves = [array for array in values if len(array.shape) > 1] if is_free or is_number else []
    for array in curves[:1] or (values[:1] if is_free else []):
        entry.attrs["default"] = place_of(array.name)[0].rpartition("/")[2]


def add_whole(file: Any, array: Array, value: np.ndarray[Any, Any]) -> None:
    """Write a result of the series as a whole."""
    made = group(file, WHOLE, "NXcollection").create_dataset(
        stored(array.name), data=value, track_times=False
    )
    made.attrs.update({"result": array.name, "long_name": f"{array.name} of the series as a whole"})


def _root(file: Any, target: Path) -> None:
    file.attrs.update({
        "NX_class": "NXroot", "default": "entry", "creator": "Penstock", "file_name": target.name,
        "file_time": iso(time.time()),
    })  # fmt: skip


def _account(file: Any, begun: Begun) -> None:
    rows = first_rows(begun.planned)
    account = group(file, ACCOUNT, "NXcollection")
    add(file, Column(STATUS, np.dtype("u1")), rows).attrs["codes"] = CODES
    about = "state of all frames that have no row, from the last row on"
    add(file, Column(BEYOND, np.dtype("u1")), 1, lone=True, about=about)
    for name, kind, about in (
        ("parameters_version", "<u2", "version of the parameters with which a frame was processed"),
        ("worker", "<u2", "number of the worker that processed or lost a frame; 0: none"),
        ("raw_stored", "u1", "1 where the raw file has the frame, 0 where not; 255: unknown"),
    ):
        add(file, Column(f"{ACCOUNT}/{name}", np.dtype(kind)), rows, about=about)
    group(file, VALID, "NXcollection")
    group(file, TOTAL_FRAMES, "NXcollection")
    group(file, COUNTED, "NXcollection")
    for name in COUNTS:
        add(file, Column(f"{COUNTED}/{name}", np.dtype("<i8")), 1, lone=True)
    for name in begun.channels:
        group(file, UNMATCHED, "NXcollection")
        about = f"frames that have come and have no value of {name}; from the end on"
        add(file, Column(f"{UNMATCHED}/{name}", np.dtype("<i8")), 1, lone=True, about=about)
    for name, nbytes in (("state", 16), ("reason", REASON)):
        add(file, Column(f"{ACCOUNT}/{name}", text_type(nbytes)), 1, lone=True)
    for name, column, nbytes in (("errors", "sentence", SENTENCE), ("lost", "worker", NAME)):
        group(file, f"{ACCOUNT}/{name}", "NXcollection")
        about = f"frame; -1: none. At most {MOST_LISTED} are listed"
        add(file, Column(f"{ACCOUNT}/{name}/index", np.dtype("<i8")), MOST_LISTED, about=about)
        add(file, Column(f"{ACCOUNT}/{name}/{column}", text_type(nbytes)), MOST_LISTED)
    add(file, Column(f"{ACCOUNT}/workers", text_type(NAME)), WORKERS, about="names of workers, by number")
    account.attrs["pipeline"] = begun.pipeline


def description(step: Step) -> str:
    """Return what the file says of a step's class."""
    module = f" of module {step.module}" if step.module else ""
    return f"class {step.name}{module}" + (f", step {step.label}" if step.label else "")


def steps(file: Any) -> list[tuple[str, str]]:
    """Return description and SHA-256 ("" for a module) of the steps that a file was begun with."""
    notes = (file[PROCESS][name] for name in sorted(file[PROCESS], key=_number) if name.startswith("step_"))
    return [(str(note["description"].asstr()[()]), str(note.attrs.get("sha256", ""))) for note in notes]


def _number(name: str) -> int:
    return int(name.rpartition("_")[2]) if name.startswith("step_") else 0


def _process(file: Any, begun: Begun) -> None:
    process = group(file, PROCESS, "NXprocess")
    _text(process, "program", begun.program)
    _text(process, "version", begun.version or "unknown")
    _text(process, "date", iso(begun.started))
    for number, step in enumerate(begun.steps, 1):
        note = group(file, f"{PROCESS}/step_{number}", "NXnote")
        _text(note, "type", "text/x-python")
        _text(note, "description", description(step))
        if step.source:
            _text(note, "file_name", step.file)
            _text(note, "data", step.source)
            note.attrs["sha256"] = step.sha256
    width = max(LEAST_PARAMETERS, 4 * len(parameters_text(begun.parameters)))
    where = f"{PROCESS}/parameters"
    group(file, where, "NXcollection")
    add(file, Column(f"{where}/version", np.dtype("<u2")), SETS)
    add(
        file,
        Column(f"{where}/from_frame", np.dtype("<i8")),
        SETS,
        about="frame; -1: no set of parameters",
    )
    add(file, Column(f"{where}/values", text_type(width)), SETS, about="JSON")


def _channels(file: Any, begun: Begun) -> None:
    rows = first_rows(begun.planned)
    for name, said in begun.channels.items():
        channel = group(file, f"{PROCESS}/channels/{name}", "NXcollection")
        for key, value in said.items():
            channel.create_dataset(key, data=value, track_times=False)
        # At once, since every series has them, and to add them later takes a copy of the file.
        for column, dtype in ((name, "<f8"), (f"{name}_matched", "|u1")):
            added = Array(name=column, dtype=dtype, shape=(0,))
            add_result(file, added, rows)
            set_default(file, (added,))
            file[place_of(column)[0]].attrs["channel"] = name
        if unit := begun.units.get(name):
            file[place_of(name)[1]].attrs["units"] = unit
    if begun.channels:
        group(file, f"{PROCESS}/channels", "NXcollection")


def _links(entry: Any, target: Path, begun: Begun) -> None:
    """Link to the raw file by a relative name, so that both can be moved together.

    Its instrument has the same path here as there: validators follow the attributes `target` in it.
    """
    if begun.raw is None:
        return
    name = os.path.relpath(os.path.realpath(begun.raw), os.path.realpath(target.parent))
    entry["account"].attrs["raw_file"] = name
    if begun.detector.startswith(f"{INSTRUMENT}/"):
        entry["instrument"] = h5py.ExternalLink(name, INSTRUMENT)
        for field in ("sequence_number", "timestamp"):
            entry[field] = h5py.ExternalLink(name, f"{begun.detector}/{field}")


def _text(parent: Any, name: str, value: str) -> None:
    parent.create_dataset(name, data=value, track_times=False)
