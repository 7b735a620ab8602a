"""Places of metadata in the file, by the tables of `receiver.files.known`.

`fields` turns the free metadata of a start message into a flat list of datasets; the writer loops over it and
knows no key by name. Nothing here imports h5py.

Rules, in this order:

1. A key of `KNOWN` whose value fits goes to its NeXus place with its unit. Lengths and energies of 0
   mean "not set" (DECTRIS and Penstock send that) and give no field; so does a beam centre of 0, 0.
   In the objects of `OBJECTS` the same holds for the keys of their tables; a key whose value does not fit, or
   whose place is taken, stays in the object.
2. Any other key becomes a dataset of the NXdetector group, an object becomes an NXcollection in it.
3. A key that is reserved for the writer, and a known key whose value does not fit ("distance": "far"), go to
   the NXcollection `header` of the detector, so that nothing that was sent is lost.

Values: `null` means that the sender has no value, and gives no field. Numbers, booleans, text and
rectangular lists of one of these are written as such. What HDF5 has no type for (mixed, ragged or empty
lists, lists of objects, integers beyond 64 bits, objects nested more than `MAX_DEPTH` deep) is written as
JSON text. A key that cannot be a NeXus name is changed to one; the key as
sent then stands in the field's `long_name`.

Metadata of more than `MOST_KEYS` keys are written whole, as one JSON text (`WHOLE`). Only what rule 1 has a
place for is there as well; images and tables of `KNOWN` are there alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from penstock.receiver.files.contents.known import KNOWN, OBJECTS, Kind, Parent, Place
from penstock.receiver.files.contents.values import Value, as_json, fit, plain_value
from penstock.stins.metadata import has_many_keys
from penstock.stins.texts import plain_text

_Group: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Path below /entry, and the NX_class of each name."""

MAX_DEPTH = 16
"""Objects nested deeper are kept as JSON text: HDF5 could hold them, but no reader would find them."""

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
        "detectorSpecific",
        "channel_status",
        "modules",
        "module_status",
        "rois",
    }
)
"""Names in the NXdetector group that are reserved for the writer, `geometry_fields` and `nxmx`."""

HEADER = "header"
"""NXcollection of the detector for keys without a place of their own."""

WHOLE = "metadata"
"""Text of the detector group with metadata that have too many keys."""


@dataclass(frozen=True, slots=True)
class Field:
    """One dataset of the file."""

    path: tuple[str, ...]
    """Names below /entry; the last one is the dataset's."""
    classes: tuple[str, ...]
    """NX_class of each group of the path, outermost first: one fewer than there are names."""
    value: Value
    """A numeric or boolean array or scalar, an object array of str, or str."""
    units: str | None = None
    long_name: str | None = None
    """The key as sent, if it could not be used as the name."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Further attributes."""
    same_as: tuple[str, ...] | None = None
    """Path of the dataset to which this is a hard link; `value` is then not written."""


def fields(metadata: Mapping[str, Any], detector: str, channels: Sequence[str] = ()) -> Iterator[Field]:
    """Yield the datasets for the metadata of one series.

    Args:
        metadata: second part of the start message, or the equivalent made by a vendor's decoder; values may
            be NumPy arrays. Anything is accepted, nothing raises.
        detector: name of the NXdetector group, a NeXus name already.
        channels: names of the images of a frame, as sent. A known key whose value is an object with one value
            per channel goes to their NXdetector_channel groups; the first value is the detector's as well.
    """
    layout = _Layout(detector, channels)
    unset = _unset(metadata)
    if has_many_keys(metadata):
        yield from layout.whole(metadata, unset)
        return
    # Known keys first, so that a free key changed to the same name cannot take their place.
    for key, value in sorted(metadata.items(), key=_order):
        if value is not None and key not in unset:
            yield from layout.place(str(key), value)


def name_of(key: str) -> str:
    """Return `key` as a NeXus name: letters, digits and underscores, not beginning with a digit."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", key)[:MAX_NAME] or "unnamed"
    return f"_{name}"[:MAX_NAME] if name[0].isdigit() else name


def dataset_of(detector: str) -> str:
    """Return the path of the frames inside a file.

    Args:
        detector: configured name of the detector; the name of its NXdetector group is made from it.
    """
    return f"entry/instrument/{name_of(detector)}/data"


def channel_names(channels: Sequence[str]) -> tuple[str, ...]:
    """Return names for the datasets of a frame's images; none if they would collide."""
    names = tuple(map(name_of, channels))
    taken = {*RESERVED, *KNOWN, HEADER, *(f"{name}_channel" for name in names)}
    return () if len(names) < 2 or len(set(names)) < len(names) or taken & set(names) else names


class _Layout:
    """Assigns places in one file, each path once."""

    def __init__(self, detector: str, channels: Sequence[str] = ()) -> None:
        self._taken: set[tuple[str, ...]] = set()
        self._numbers: dict[tuple[str, ...], int] = {}
        """Number that the next key gets whose name is taken, by path."""
        self._detector: _Group = (("instrument", detector), ("NXinstrument", "NXdetector"))
        # A detector may itself be called "beam" or "source".
        beam = "beam" if detector != "beam" else "incident_beam"
        source = "source" if detector != "source" else "beam_source"
        self._groups: Mapping[Parent, _Group] = {
            Parent.ENTRY: ((), ()),
            Parent.SAMPLE: (("sample",), ("NXsample",)),
            Parent.USER: (("user",), ("NXuser",)),
            Parent.INSTRUMENT: (("instrument",), ("NXinstrument",)),
            Parent.SOURCE: (("instrument", source), ("NXinstrument", "NXsource")),
            Parent.BEAM: (("instrument", beam), ("NXinstrument", "NXbeam")),
            Parent.DETECTOR: self._detector,
            **{
                parent: ((*self._detector[0], name), (*self._detector[1], "NXcollection"))
                for parent, name in ((Parent.ACQUISITION, "acquisition"), (Parent.CAMSERVER, "camserver"))
            },
        }  # fmt: skip
        self._header: _Group = ((*self._detector[0], HEADER), (*self._detector[1], "NXcollection"))
        names = channel_names(channels)
        self._channels = dict(zip(channels, names, strict=True)) if names else {}
        groups = (f"{name}_channel" for name in names)
        self._taken.update((*self._detector[0], name) for name in (*RESERVED, HEADER, *names, *groups))

    def place(self, key: str, value: Any) -> Iterator[Field]:
        """Yield the fields of one top-level key."""
        known = KNOWN.get(key)
        if known is not None and (parts := self._by_channel(known, value)) is not None:
            yield from self._of_channels(key, known, parts)
        elif known is not None:
            yield self._known(key, known, value)
        elif key in OBJECTS and isinstance(value, Mapping):
            yield from self._object(key, value)
        elif key == HEADER and isinstance(value, Mapping):
            for name, item in value.items():
                yield from self._free(self._header, str(name), item, depth=2)
        elif key in RESERVED or key == HEADER:
            yield from self._free(self._header, key, value, depth=2)
        else:
            yield from self._free(self._detector, key, value, depth=1)

    def whole(self, metadata: Mapping[str, Any], unset: set[str]) -> Iterator[Field]:
        """Yield the fields of metadata that have too many keys; see the module."""
        text = as_json({key: value for key, value in metadata.items() if not _is_array(key)})
        yield self._field(self._detector, WHOLE, plain_text(text))
        for key, value in sorted(metadata.items(), key=_order):
            if key in KNOWN and value is not None and key not in unset:
                yield from self.place(key, value)
            elif key in OBJECTS and isinstance(value, Mapping):
                yield from self._object(key, value, known_only=True)

    def _known(self, key: str, place: Place, value: Any) -> Field:
        return self._known_field(place, place.name or key, value) or self._field(
            self._header, key, plain_value(value)
        )

    def _known_field(self, place: Place, name: str, value: Any) -> Field | None:
        """Return the field at its place; `None` if the value does not fit, or the place is taken."""
        parent, classes = self._groups[place.parent]
        path = (*parent, name)
        fitted = fit(value, place.kind)
        if fitted is None or path in self._taken or (place.choices and fitted not in place.choices):
            return None
        self._taken.add(path)
        return Field(path, classes, fitted, place.units)

    def _object(self, key: str, value: Mapping[Any, Any], *, known_only: bool = False) -> Iterator[Field]:
        """Yield the fields of an object with known keys; its other keys stay in a group of its name, or are
        left out."""
        table = OBJECTS[key]
        rest = {str(name): item for name, item in value.items()}
        for dotted, place in table.items():
            outer, _, inner = dotted.rpartition(".")
            holder: Any = rest.get(outer) if outer else rest
            item = holder.get(inner) if isinstance(holder, Mapping) else None
            if item is None or isinstance(item, Mapping):
                continue
            if (field := self._known_field(place, place.name or inner, item)) is not None:
                yield field
                if outer:
                    rest[outer] = {name: other for name, other in holder.items() if name != inner}
                else:
                    del rest[inner]
        if known_only:
            return
        if rest := {name: item for name, item in rest.items() if item != {} or value.get(name) == {}}:
            yield from self._free(self._detector, key, rest, depth=1)
        elif not value:
            yield self._field(self._detector, key, plain_value(value))

    def _by_channel(self, place: Place, value: Any) -> dict[str, Value] | None:
        """Return the value per channel by dataset name; `None` if there is not one for each channel."""
        if place.parent is not Parent.DETECTOR or not isinstance(value, Mapping) or not self._channels:
            return None
        if set(value) != set(self._channels):
            return None
        fitted = {name: fit(value[sent], place.kind) for sent, name in self._channels.items()}
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
            yield self._field(group, key, plain_value(value))
            return
        parent, classes = group
        path = self._unique(parent, key)
        for name, item in value.items():
            yield from self._free((path, (*classes, "NXcollection")), str(name), item, depth + 1)

    def _field(self, group: _Group, key: str, value: Value) -> Field:
        parent, classes = group
        path = self._unique(parent, key)
        return Field(path, classes, value, long_name=None if path[-1] == key else plain_text(key))

    def _unique(self, parent: tuple[str, ...], key: str) -> tuple[str, ...]:
        name = name_of(key)
        path = wanted = (*parent, name)
        number = self._numbers.get(wanted, 2)
        while path in self._taken:
            ending = f"_{number}"
            path = (*parent, name[: MAX_NAME - len(ending)] + ending)
            number += 1
        self._numbers[wanted] = number
        self._taken.add(path)
        return path


def _order(item: tuple[Any, Any]) -> int:
    place = KNOWN.get(item[0])
    return 2 if place is None else int(place.name is not None)


def _is_array(key: Any) -> bool:
    place = KNOWN.get(key)
    return place is not None and place.kind in (Kind.IMAGE, Kind.TABLE)


def _unset(metadata: Mapping[str, Any]) -> set[str]:
    """Return the known keys whose value means "not set"."""
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
