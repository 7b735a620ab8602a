"""The structure of a result file: created by HDF5, and closed by it at once.

Datasets are contiguous and of fixed size, and HDF5 says where their bytes lie: rows are then written there
by `os.pwrite`, while everybody may open the file, which HDF5 does not change any more. A dataset without room
for more rows becomes a virtual one, which shows its segments one behind the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import h5py
import msgspec
import numpy as np
from h5py import h5a, h5d, h5p, h5s, h5t

from penstock.processing.results.columns import Column, Segment

ENTRY, INSTRUMENT = "/entry", "/entry/instrument"
ACCOUNT, ACCUMULATED, PROCESS = f"{ENTRY}/account", f"{ENTRY}/accumulated", f"{ENTRY}/process"
TOTAL_FRAMES = f"{ENTRY}/accumulated_frames"
WHOLE, SEGMENTS, VALID = f"{ENTRY}/whole", f"{ENTRY}/segments", f"{ACCOUNT}/valid"
STATUS, COUNTED, UNMATCHED = f"{ACCOUNT}/frame_status", f"{ACCOUNT}/counts", f"{ACCOUNT}/unmatched"
PER_FRAME = (
    STATUS, f"{ACCOUNT}/parameters_version", f"{ACCOUNT}/worker", f"{ACCOUNT}/raw_stored"
)  # fmt: skip
"""Columns of the account with a row per frame, besides those in `VALID`."""
TAKEN_NAMES = (
    "account", "accumulated", "accumulated_frames", "process", "whole", "segments", "instrument",
    "sequence_number", "timestamp", "title", "start_time", "end_time", "entry_identifier",
    "definition", "program_name",
)  # fmt: skip
"""Names in the entry that results cannot have: theirs gets a "_"."""

PENDING, DONE = 255, 1
CODES = "1 done, 2 failed, 3 lost, 4 dropped, 5 absent, 255 pending"
BEYOND = f"{ACCOUNT}/frame_status_beyond"
"""State of all frames that have no row, from the last row on."""
FIRST_ROWS = 4096
"""Rows at first where nobody knows how many there will be, or very many are planned."""
MOST_PLANNED = 2**22
"""Most planned frames that all have a row from the beginning: those of a scan of 2048 x 2048 positions. Of
more, rows come with the frames."""
MOST_LISTED = 1000
"""Most failed frames whose sentence is kept, and most lost ones that are listed; `frame_status` has all."""
SENTENCE, NAME, REASON = 256, 64, 1024
"""Bytes of texts, which are cut to them."""
LEAST_PARAMETERS = 4096
"""Bytes for one set of parameters as JSON."""
SETS = 64
"""Sets of parameters for which there is room at first."""
WORKERS = 1024
"""Workers whose names are kept."""
_TEXT = h5py.string_dtype()
COUNTS = ("planned", "done", "failed", "lost", "dropped", "absent")


def first_rows(planned: int | None) -> int:
    """Return how many rows there are at first.

    Args:
        planned: number of frames; `None` if unknown.
    """
    return FIRST_ROWS if planned is None or planned > MOST_PLANNED else planned


def add(file: Any, column: Column, rows: int, *, lone: bool = False, about: str = "") -> Any:
    """Create the dataset of a column, of so many rows, in whose place nothing is written.

    Args:
        file: h5py file, open for writing.
        column: its path, type, and shape of a row; gets its segment.
        rows: number of rows.
        lone: it is one value, and not a row of several.
        about: what it is, for people.
    """
    early = h5p.create(h5p.DATASET_CREATE)
    early.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    early.set_fill_time(h5d.FILL_TIME_NEVER)
    early.set_obj_track_times(False)
    space = (
        h5s.create(h5s.SCALAR)
        if lone and not column.shape
        else h5s.create_simple(column.shape if lone else (rows, *column.shape))
    )
    kind = h5t.py_create(column.dtype, logical=True)
    between = h5p.create(h5p.LINK_CREATE)
    between.set_create_intermediate_group(True)
    made = h5py.Dataset(h5d.create(file.id, column.path.encode(), kind, space, early, lcpl=between))
    column.segments = [Segment(0, 1 if lone else rows, made.id.get_offset() or 0)]
    if about:
        say(made, long_name=about)
    return made


def say(made: Any, **texts: str) -> None:
    """Add attributes that an object does not have yet: `attrs` of h5py takes five times as long, and there
    may be thousands of results."""
    kind, space = h5t.py_create(_TEXT, logical=True), h5s.create(h5s.SCALAR)
    for name, text in texts.items():
        h5a.create(made.id, name.encode(), kind, space).write(np.array(text, _TEXT))


def grow(file: Any, column: Column, rows: int) -> None:
    """Make room for more rows of a column: its dataset becomes a virtual one, if it is not yet.

    Args:
        file: h5py file, open for writing.
        column: as it is.
        rows: how many more.
    """
    found = file[column.path]
    attributes = dict(found.attrs)
    if not column.row_bytes:  # HDF5 has no virtual dataset of nothing
        del file[column.path]
        anew = Column(column.path, column.dtype, column.shape)
        add(file, anew, column.rows + rows).attrs.update(attributes)
        return
    if not found.is_virtual and column.rows:
        keep(file, column)
    else:
        del file[column.path]
    stem, kept = _stem(column), group(file, SEGMENTS, "NXcollection")
    add(file, Column(f"{SEGMENTS}/{stem}_{len(_kept(kept, stem))}", column.dtype, column.shape), rows)
    show(file, column, column.rows + rows, attributes)


def keep(file: Any, column: Column) -> None:
    """Make the dataset of a column its first segment; its path is free then."""
    kept, name = group(file, SEGMENTS, "NXcollection"), f"{_stem(column)}_0"
    file.move(column.path, f"{SEGMENTS}/{name}")
    for attribute in list(kept[name].attrs):
        del kept[name].attrs[attribute]


def replace(file: Any, columns: Sequence[tuple[Column, int]]) -> None:
    """Make the dataset of each column, and its segments, one dataset, in whose place nothing is written.

    All are deleted first: HDF5 uses their space again until the file is closed.

    Args:
        file: h5py file, open for writing.
        columns: each as it is, and how many rows it has now.
    """
    attributes = [dict(file[column.path].attrs) for column, _ in columns]
    kept = file.get(SEGMENTS, {})
    for column, _ in columns:
        del file[column.path]
        for name in _kept(kept, _stem(column)):
            del kept[name]
    if SEGMENTS in file and not len(kept):
        del file[SEGMENTS]
    for (column, rows), known in zip(columns, attributes, strict=True):
        add(file, Column(column.path, column.dtype, column.shape), rows).attrs.update(known)


def hide(file: Any, column: Column, rows: int, shown: Sequence[tuple[int, int]]) -> None:
    """Let a column of floating-point numbers show some of its rows, and NaN in place of the others.

    Args:
        file: h5py file, open for writing.
        column: as it is.
        rows: how many it has now.
        shown: (first, behind the last) of those that it shows.
    """
    if not column.row_bytes:
        return
    found = file[column.path]
    attributes = dict(found.attrs)
    if found.is_virtual:
        del file[column.path]
    else:
        keep(file, column)
    show(file, column, rows, attributes, shown)


def show(
    file: Any, column: Column, rows: int, attributes: dict[str, Any], parts: Sequence[tuple[int, int]] = ()
) -> None:
    """Create the virtual dataset that shows the segments of a column.

    Args:
        file: h5py file, open for writing; the path of the column is free.
        column: its path, type and shape.
        rows: how many it shows.
        attributes: of the dataset.
        parts: (first, behind the last) of the rows that it shows, the others are NaN; by default all.
    """
    kept = file[SEGMENTS]
    layout = h5py.VirtualLayout((rows, *column.shape), column.dtype)
    at = 0
    for name in _kept(kept, _stem(column)):
        source, first = kept[name], at
        at = min(first + len(source), rows)
        seen = h5py.VirtualSource(".", source.name, source.shape, source.dtype)
        for begin, end in parts or ((0, rows),):
            low, high = max(begin, first), min(end, at)
            if low < high:
                layout[low:high] = seen[low - first : high - first]
    parent, _, name = column.path.rpartition("/")
    fill = np.nan if column.dtype.kind == "f" else None
    made = file[parent].create_virtual_dataset(name, layout, fill)
    made.attrs.update(attributes)


def _stem(column: Column) -> str:
    return column.path.removeprefix(f"{ENTRY}/").replace("/", "__")


def _kept(kept: Any, stem: str) -> list[str]:
    """Return the names of the segments of a column, in order."""
    return list(itertools.takewhile(kept.__contains__, (f"{stem}_{number}" for number in itertools.count())))


def find(file: Any) -> dict[str, Column]:
    """Return all columns of a result file, by path.

    Args:
        file: h5py file.
    """
    found: dict[str, Column] = {}

    def look(name: str, node: Any) -> None:
        if (
            not isinstance(node, h5py.Dataset)
            or node.chunks is not None
            or f"/{name}".startswith(f"{SEGMENTS}/")
        ):
            return
        lone = node.shape == ()
        column = Column(f"/{name}", node.dtype, node.shape if not node.shape else node.shape[1:])
        if f"/{name}".startswith(f"{ACCUMULATED}/"):
            lone, column.shape = True, node.shape
        if node.is_virtual:
            for source in node.virtual_sources():
                (first, *_), (last, *_) = source.vspace.get_select_bounds()
                (start, *_), _ = source.src_space.get_select_bounds()
                at = file[source.dset_name].id.get_offset() + start * column.row_bytes
                column.segments.append(Segment(int(first), int(last - first + 1), int(at)))
            column.segments.sort()
        elif (offset := node.id.get_offset()) is not None:
            column.segments.append(Segment(0, 1 if lone else len(node), int(offset)))
        elif node.shape and not column.row_bytes:  # of arrays of size 0, whose rows take no bytes
            column.segments.append(Segment(0, 1 if lone else len(node), 0))
        found[column.path] = column

    file.visititems(look)
    return found


def stored(name: str) -> str:
    """Return the name of a result in the file: without the dots, which NeXus has only between the parts of
    other names."""
    return name.replace(".", "_")


def place_of(name: str) -> tuple[str, str]:
    """Return the paths of the group and of the values of a result per frame."""
    own = stored(name)
    own = f"{own}_" if own in TAKEN_NAMES else own
    return f"{ENTRY}/{own}", f"{ENTRY}/{own}/{own}"


def index_paths(group: str) -> tuple[str, str]:
    """Return the paths of the columns of events that say where a frame's first one is, and how many it has.

    Args:
        group: path of the events' group. Events that are named as one of the columns have its name, and the
            column a "_" at its end.
    """
    own = group.rpartition("/")[2]
    first, count = (f"{group}/{name}_" if name == own else f"{group}/{name}" for name in ("first", "count"))
    return first, count


def valid_path(name: str) -> str:
    """Return the path of the column that says which frames have a value of a name."""
    return f"{VALID}/{stored(name)}"


def total_paths(name: str) -> tuple[str, str]:
    """Return the paths of an accumulated value, and of the number of frames in it."""
    return f"{ACCUMULATED}/{stored(name)}", f"{TOTAL_FRAMES}/{stored(name)}"


def areas(columns: Iterable[Column]) -> list[tuple[int, int]]:
    """Return (offset, bytes) of all segments."""
    return [(each.offset, each.rows * column.row_bytes) for column in columns for each in column.segments]


def group(file: Any, path: str, nx_class: str) -> Any:
    """Return a NeXus group, which is created if it is not there."""
    made = file.require_group(path)
    if "NX_class" in made.attrs:
        made.attrs["NX_class"] = nx_class
    else:
        say(made, NX_class=nx_class)
    return made


def iso(seconds: float) -> str:
    """Return a time as ISO 8601, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def text_type(nbytes: int) -> np.dtype[Any]:
    """Return the type of a text of fixed length."""
    kind: np.dtype[Any] = np.dtype(h5py.string_dtype("utf-8", nbytes))
    return kind


def parameters_text(values: dict[str, Any]) -> bytes:
    """Return a set of parameters as JSON."""
    return msgspec.json.encode(values)
