"""Where metadata goes in the file: the one table of NeXus places, units and classes.

`fields` turns the free metadata of a start message into a flat list of datasets; the writer loops
over it and knows no key by name. Nothing here imports h5py.

Rules, in this order:

1. A key of `KNOWN` whose value fits goes to its NeXus place with its unit. Lengths and energies of 0
   mean "not set" (DECTRIS and Penstock send that) and give no field; so does a beam centre of 0, 0.
2. Any other key becomes a dataset of the NXdetector group, an object becomes an NXcollection in it.
3. A key that is taken by the writer, and a known key whose value does not fit ("distance": "far"), go
   to the NXcollection `header` of the detector, so that nothing that was sent is lost.

Values: `null` says that the sender has no value, and gives no field. Numbers, booleans, text and
rectangular lists of one of these are written as such. What HDF5 has no type for (mixed, ragged or empty
lists, lists of objects, integers beyond 64 bits, objects nested more than `MAX_DEPTH` deep) is
written as JSON text. A key that cannot be a NeXus name is changed to one; the key as sent then stands
in the field's `long_name`.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, TypeAlias

import numpy as np

Value: TypeAlias = "np.ndarray[Any, Any] | np.generic | str"
_Group: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Path below /entry, and the NX_class of each name."""

MAX_DEPTH = 16
"""Objects nested deeper are kept as JSON text: HDF5 could hold them, no reader would find them."""

MAX_FIELDS = 4096
"""Beyond this many values the rest of the metadata is kept as one JSON text: each dataset takes a
fraction of a millisecond at the start of a series, and a header of a million keys must not hold it up."""

MAX_NAME = 63
"""Longest name of a field (NeXus manual, rules for names)."""

RESERVED = frozenset(
    {
        "data",
        "frame_status",
        "trigger",
        "sequence_number",
        "timestamp",
        "timestamp_hw",
        "checksum",
        "series",
        "depends_on",
        "transformations",
        "detector_module",
        "channel_status",
        "modules",
        "module_status",
    }
)
"""Names in the NXdetector group that belong to the writer, and to `receiver.file.geometry`."""

HEADER = "header"
"""NXcollection of the detector for keys that have no place of their own."""


class Kind(Enum):
    """What the value of a known key has to be."""

    NUMBER = auto()
    """A number, or one for each channel."""
    FLAG = auto()
    TEXT = auto()
    IMAGE = auto()
    """A numeric array of at least two dimensions, (rows, cols) last."""
    TABLE = auto()
    """A numeric array."""


class Parent(Enum):
    """The group that a known key belongs to."""

    DETECTOR = auto()
    BEAM = auto()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a known key goes."""

    kind: Kind
    units: str | None = None
    parent: Parent = Parent.DETECTOR
    name: str | None = None
    """Name in the file where it is not the key."""
    zero_is_unset: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """One dataset of the file."""

    path: tuple[str, ...]
    """Names below /entry; the last one is the dataset's."""
    classes: tuple[str, ...]
    """NX_class of each group of the path, outermost first: one fewer than names."""
    value: Value
    """A numeric or boolean array or scalar, an object array of str, or str."""
    units: str | None = None
    long_name: str | None = None
    """The key as sent, when it could not be the name."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Further attributes."""
    same_as: tuple[str, ...] | None = None
    """Path of the dataset that this one is another name of; `value` is not written then."""


KNOWN: Mapping[str, Place] = {
    # times
    "count_time": Place(Kind.NUMBER, "s"),
    "exptime": Place(Kind.NUMBER, "s"),
    "frame_time": Place(Kind.NUMBER, "s"),
    "detector_readout_time": Place(Kind.NUMBER, "s"),
    # geometry
    "beam_center_x": Place(Kind.NUMBER, "pixel"),
    "beam_center_y": Place(Kind.NUMBER, "pixel"),
    "distance": Place(Kind.NUMBER, "m", zero_is_unset=True),
    "x_pixel_size": Place(Kind.NUMBER, "m", zero_is_unset=True),
    "y_pixel_size": Place(Kind.NUMBER, "m", zero_is_unset=True),
    # sensor and electronics
    "sensor_material": Place(Kind.TEXT),
    "sensor_thickness": Place(Kind.NUMBER, "m", zero_is_unset=True),
    "threshold_energy": Place(Kind.NUMBER, "eV", zero_is_unset=True),
    "saturation_value": Place(Kind.NUMBER, zero_is_unset=True),
    "underload_value": Place(Kind.NUMBER),
    "bit_depth_readout": Place(Kind.NUMBER),
    "gain_setting": Place(Kind.TEXT),
    "description": Place(Kind.TEXT),
    "serial_number": Place(Kind.TEXT),
    "local_name": Place(Kind.TEXT),
    "type": Place(Kind.TEXT),
    # corrections
    "flatfield": Place(Kind.IMAGE),
    "flatfield_applied": Place(Kind.FLAG),
    "pixel_mask": Place(Kind.IMAGE),
    "pixel_mask_applied": Place(Kind.FLAG),
    "countrate_correction_applied": Place(Kind.FLAG),
    "countrate_correction_lookup_table": Place(Kind.TABLE),
    "virtual_pixel_interpolation_applied": Place(Kind.FLAG),
    # beam
    "incident_energy": Place(Kind.NUMBER, "eV", Parent.BEAM, zero_is_unset=True),
    "photon_energy": Place(Kind.NUMBER, "eV", Parent.BEAM, "incident_energy", zero_is_unset=True),
    "incident_wavelength": Place(Kind.NUMBER, "angstrom", Parent.BEAM, zero_is_unset=True),
    "wavelength": Place(Kind.NUMBER, "angstrom", Parent.BEAM, "incident_wavelength", zero_is_unset=True),
}
"""Known keys. Names, classes and kinds: NeXus definitions NXdetector and NXbeam."""


def fields(metadata: Mapping[str, Any], detector: str, channels: Sequence[str] = ()) -> Iterator[Field]:
    """The datasets that the metadata of one series becomes.

    Args:
        metadata: keys of the start message's second part, or what a vendor decoder made; values may
            be NumPy arrays. Anything is accepted, nothing raises.
        detector: name of the NXdetector group; it must be a NeXus name already.
        channels: names of the images that make a frame, as sent. A known key whose value is an object with
            one value for each goes to their NXdetector_channel groups; the first one's is the detector's too.
    """
    layout = _Layout(detector, channels)
    unset = _unset(metadata)
    rest: dict[str, Any] = {}
    left = MAX_FIELDS
    # Known keys first: a free key that is changed to the same name must not take their place.
    for key, value in sorted(metadata.items(), key=_order):
        if value is None or key in unset:
            continue
        needed = _leaves(value, left + 1)
        if needed > left:
            rest[str(key)] = value
            continue
        left -= needed
        yield from layout.place(str(key), value)
    if rest:
        yield layout.header("not_expanded", _text(_json(rest)))


def name_of(key: str) -> str:
    """`key` as a NeXus name: letters, digits and underscores, not beginning with a digit."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", key)[:MAX_NAME] or "unnamed"
    return f"_{name}"[:MAX_NAME] if name[0].isdigit() else name


def channel_names(channels: Sequence[str]) -> tuple[str, ...]:
    """The datasets of a frame's images, by name; none where the names given could not be told apart, or are
    taken."""
    names = tuple(map(name_of, channels))
    taken = {*RESERVED, *KNOWN, HEADER, *(f"{name}_channel" for name in names)}
    return () if len(names) < 2 or len(set(names)) < len(names) or taken & set(names) else names


class _Layout:
    """Gives out places for one file, each path once."""

    def __init__(self, detector: str, channels: Sequence[str] = ()) -> None:
        self._taken: set[tuple[str, ...]] = set()
        self._detector: _Group = (("instrument", detector), ("NXinstrument", "NXdetector"))
        # A detector may be called "beam"; its group then has that name already.
        beam = "beam" if detector != "beam" else "incident_beam"
        self._beam: _Group = (("instrument", beam), ("NXinstrument", "NXbeam"))
        self._header: _Group = ((*self._detector[0], HEADER), (*self._detector[1], "NXcollection"))
        names = channel_names(channels)
        self._channels = dict(zip(channels, names, strict=True)) if names else {}
        groups = (f"{name}_channel" for name in names)
        self._taken.update((*self._detector[0], name) for name in (*RESERVED, HEADER, *names, *groups))

    def place(self, key: str, value: Any) -> Iterator[Field]:
        """Fields of one top-level key."""
        known = KNOWN.get(key)
        if known is not None and (parts := self._by_channel(known, value)) is not None:
            yield from self._of_channels(key, known, parts)
        elif known is not None:
            yield self._known(key, known, value)
        elif key == HEADER and isinstance(value, Mapping):
            for name, item in value.items():
                yield from self._free(self._header, str(name), item, depth=2)
        elif key in RESERVED or key == HEADER:
            yield from self._free(self._header, key, value, depth=2)
        else:
            yield from self._free(self._detector, key, value, depth=1)

    def header(self, key: str, value: Value) -> Field:
        """A field of the `header` collection."""
        return self._field(self._header, key, value)

    def _known(self, key: str, place: Place, value: Any) -> Field:
        parent, classes = self._beam if place.parent is Parent.BEAM else self._detector
        path = (*parent, place.name or key)
        fitted = _fit(value, place.kind)
        if fitted is None or path in self._taken:
            return self.header(key, _value(value))
        self._taken.add(path)
        return Field(path, classes, fitted, place.units)

    def _by_channel(self, place: Place, value: Any) -> dict[str, Value] | None:
        """The value for each channel, by the name of its dataset; `None` where it is not one for each."""
        if place.parent is not Parent.DETECTOR or not isinstance(value, Mapping) or not self._channels:
            return None
        if set(value) != set(self._channels):
            return None
        fitted = {name: _fit(value[sent], place.kind) for sent, name in self._channels.items()}
        found = {name: item for name, item in fitted.items() if item is not None}
        return found if len(found) == len(fitted) else None

    def _of_channels(self, key: str, place: Place, values: Mapping[str, Value]) -> Iterator[Field]:
        parent, classes = self._detector
        first: tuple[str, ...] | None = None
        for name, value in values.items():
            path = (*parent, f"{name}_channel", key)
            yield Field(path, (*classes, "NXdetector_channel"), value, place.units)
            first = first or path
        self._taken.add((*parent, key))
        yield Field((*parent, key), classes, "", same_as=first)

    def _free(self, group: _Group, key: str, value: Any, depth: int) -> Iterator[Field]:
        if value is None:
            return
        if not isinstance(value, Mapping) or not value or depth >= MAX_DEPTH:
            yield self._field(group, key, _value(value))
            return
        parent, classes = group
        path = self._unique(parent, key)
        for name, item in value.items():
            yield from self._free((path, (*classes, "NXcollection")), str(name), item, depth + 1)

    def _field(self, group: _Group, key: str, value: Value) -> Field:
        parent, classes = group
        path = self._unique(parent, key)
        return Field(path, classes, value, long_name=None if path[-1] == key else _text(key))

    def _unique(self, parent: tuple[str, ...], key: str) -> tuple[str, ...]:
        name = name_of(key)
        path = (*parent, name)
        number = 2
        while path in self._taken:
            ending = f"_{number}"
            path = (*parent, name[: MAX_NAME - len(ending)] + ending)
            number += 1
        self._taken.add(path)
        return path


def _order(item: tuple[Any, Any]) -> int:
    place = KNOWN.get(item[0])
    return 2 if place is None else int(place.name is not None)


def _unset(metadata: Mapping[str, Any]) -> set[str]:
    """Known keys whose value only says that nobody has set them."""
    unset = {
        key
        for key, place in KNOWN.items()
        if (place.zero_is_unset and _is_zero(metadata.get(key))) or _is_empty(metadata.get(key))
    }
    centre = ("beam_center_x", "beam_center_y")
    if all(_is_zero(metadata.get(key)) for key in centre):
        unset.update(centre)
    return unset


def _is_empty(value: Any) -> bool:
    return isinstance(value, str) and not value


def _is_zero(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0


def _leaves(value: Any, limit: int) -> int:
    """Groups and datasets that a value becomes, counted no further than `limit`."""
    count = 0
    stack = [value]
    while stack and count < limit:
        item = stack.pop()
        count += 1
        if isinstance(item, Mapping):
            if len(item) >= limit:
                return limit
            stack.extend(item.values())
    return count


def _fit(value: Any, kind: Kind) -> Value | None:
    """The value of a known key as its kind wants it, or `None` where it is something else."""
    made = _value(value)
    if kind is Kind.TEXT:
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)  # serial numbers are often sent as numbers
        return made if isinstance(value, str) else None
    if isinstance(made, str) or made.dtype.kind not in "biuf":
        return None
    if kind is Kind.FLAG:
        # Files of vendors and JSON made by C programs have 0 and 1 for false and true.
        return np.bool_(made) if made.ndim == 0 and made.item() in (0, 1) else None
    if made.dtype.kind == "b":
        return None
    least, most = {Kind.NUMBER: (0, 1), Kind.IMAGE: (2, 3), Kind.TABLE: (1, 32)}[kind]
    return made if least <= made.ndim <= most else None


def _value(value: Any) -> Value:
    """Anything as something that HDF5 has a type for."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (bool, np.bool_)):
        return np.bool_(value)
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return np.float64(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return value if value.dtype.kind in "biuf" and value.size else _text(_json(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return np.frombuffer(value, np.uint8).copy() if len(value) else ""
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        array = _array(value)
        if array is not None:
            return array
    return _text(_json(value))


def _integer(value: int) -> Value:
    if -(2**63) <= value < 2**63:
        return np.int64(value)
    return np.uint64(value) if 0 <= value < 2**64 else _digits(value)


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # beyond Python's limit for decimal digits
        return hex(value)


def _array(value: list[Any] | tuple[Any, ...]) -> np.ndarray[Any, Any] | None:
    """A rectangular list of one kind of value as an array; `None` where it is anything else."""
    shape: list[int] = []
    level: Any = value
    while isinstance(level, (list, tuple)):
        if not level or len(shape) == 32:  # HDF5's limit of dimensions
            return None
        shape.append(len(level))
        level = level[0]
    flat: list[Any] = list(value)
    for length in shape[1:]:
        if not all(isinstance(item, (list, tuple)) and len(item) == length for item in flat):
            return None
        flat = [item for row in flat for item in row]
    kinds = {type(item) for item in flat}
    if kinds == {str}:
        texts = np.empty(len(flat), dtype=object)
        texts[:] = [_text(item) for item in flat]
        return texts.reshape(shape)
    if kinds == {bool}:
        return np.array(flat, np.bool_).reshape(shape)
    if kinds == {int}:
        low, high = min(flat), max(flat)
        if low < -(2**63) or high >= 2**64 or (low < 0 and high >= 2**63):
            return None
        return np.array(flat, np.int64 if high < 2**63 else np.uint64).reshape(shape)
    if kinds in ({float}, {int, float}):
        if any(type(item) is int and abs(item) > 2**53 for item in flat):
            return None  # would lose digits
        return np.array(flat, np.float64).reshape(shape)
    return None


def _text(value: str) -> str:
    """Text that HDF5 can hold: no NUL, no half of a surrogate pair."""
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _json(value: Any) -> str:
    try:
        return json.dumps(value, default=_plain, skipkeys=True, ensure_ascii=False)
    except (ValueError, RecursionError) as error:
        return f"not kept: {error}"


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)
