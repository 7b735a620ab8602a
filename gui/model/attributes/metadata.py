"""The attribute Metadata, a JSON object, as entries: a key that leads to a value, and the value as text.

Every client writes keys into it; what this one does not know stays as it is. For known keys the file has a
place of its own, as the receiver knows them: docs/reference/file-format.md, "known keys", has the places.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

KNOWN_KEYS: Mapping[str, str] = {
    "title": "text",
    "experiment_identifier": "text",
    "proposal": "text",
    "experiment_description": "text",
    "collection_identifier": "text",
    "entry_identifier": "text",
    "scan_id": "text",
    "scan_number": "text",
    "sample.name": "text",
    "sample_name": "text",
    "sample": "text",
    "sample.description": "text",
    "sample.chemical_formula": "text",
    "sample.preparation_date": "text",
    "sample.temperature": "number, K",
    "user.name": "text",
    "user_name": "text",
    "user": "text",
    "user.role": "text",
    "user.affiliation": "text",
    "user.email": "text",
    "user.facility_user_id": "text",
    "user.ORCID": "text",
    "instrument_name": "text",
    "instrument": "text",
    "beamline": "text",
    "source.name": "text",
    "source_name": "text",
    "source": "text",
    "source.type": "Synchrotron X-ray Source, Rotating Anode X-ray, Fixed Tube X-ray, Free-Electron Laser",
    "source.probe": "x-ray, electron, neutron",
    "source.mode": "Single Bunch, Multi Bunch",
}
"""What each takes: text, a number with its unit, or one of these texts. A point leads into an object."""
OBJECTS = frozenset({"sample", "user", "source"})
"""Keys that may be a name, or an object with a name and more."""
FIELDS: Mapping[str, tuple[str, ...]] = {
    "Title": ("title",),
    "Sample": ("sample.name", "sample_name", "sample"),
    "User": ("user.name", "user_name", "user"),
    "Proposal": ("experiment_identifier", "proposal"),
}
"""Keys that have a field of their own, by its label: the first that has a value is shown, the last is written
where there is none."""


def explanation(key: str) -> str:
    """Return what becomes of a key, for its tool tip."""
    if not key:
        return "A key, such as sample.temperature; a point leads into an object."
    if key not in KNOWN_KEYS:
        return f"{key} has no place of its own in the file: it is kept in the detector's group “user”."
    return f"{key} has a place of its own in the file. It takes: {KNOWN_KEYS[key]}."


METADATA = "Metadata"
"""The attribute."""
NAME = "name"


class BadMetadata(ValueError):
    """This is no JSON object, or its keys contradict each other; the sentence says which, `key` is one."""

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True)
class Entry:
    """A value, and where it is."""

    path: tuple[str, ...]
    """Keys from outside to inside."""
    value: Any

    @property
    def key(self) -> str:
        """The path as one key: "sample.temperature"."""
        return ".".join(self.path)

    @property
    def text(self) -> str:
        """The value as it is typed."""
        return value_text(self.value)


def read(text: str) -> list[Entry]:
    """Return the entries of a text; none for "".

    Raises:
        BadMetadata: it is not a JSON object.
    """
    if not text.strip():
        return []
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadMetadata(f"Metadata is not JSON ({error}): what is typed here takes its place") from error
    if not isinstance(found, dict):
        raise BadMetadata("Metadata is not a JSON object: what is typed here takes its place")
    return list(_entries((), found))


def write(entries: Iterable[Entry]) -> str:
    """Return the entries as JSON in ASCII: Tango's texts have no other letters than those of Western Europe.

    Raises:
        BadMetadata: two entries have one key, or one key is in another that is a value.
    """
    return json.dumps(_build(entries))


def same(first: str, second: str) -> bool:
    """Return whether two texts say the same in other words."""
    try:
        return bool(_build(read(first)) == _build(read(second)))
    except BadMetadata:
        return first == second


def escaped(text: str) -> str:
    """Return a JSON text with every letter that Tango may not carry as an escape: the same value."""
    return re.sub("[^\x00-\x7f]", lambda found: json.dumps(found[0])[1:-1], text)


def readable(text: str) -> str:
    """Return a JSON text with its letters in place of escapes, for the eye."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False) if text.strip() else text
    except ValueError:
        return text


def value_of(text: str) -> Any:
    """Return the value that is typed: what is JSON is taken as that (a number, true, a list), all else is
    text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def value_text(value: Any) -> str:
    """Return a value as `value_of` takes it: a text that looks like a number is in quotes."""
    plain = isinstance(value, str) and isinstance(value_of(value), str) and not value.startswith('"')
    return value if plain else json.dumps(value, ensure_ascii=False)


def path_of(key: str) -> tuple[str, ...]:
    """Return the path of a key that was typed.

    Raises:
        BadMetadata: a part of it is empty.
    """
    path = tuple(part.strip() for part in key.split("."))
    if not all(path):
        raise BadMetadata(f'"{key}" is no key: there is nothing on one side of a point', key)
    return path


def fields(entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return the entries that have a field of their own, by its label."""
    by_key = {entry.key: entry for entry in entries if _is_plain(entry.value)}
    found = {
        label: next((by_key[key] for key in keys if key in by_key), None) for label, keys in FIELDS.items()
    }
    return {label: entry for label, entry in found.items() if entry is not None}


def field_text(entry: Entry) -> str:
    """Return what stands in a field; there, a number is text as well."""
    return str(entry.value)


def with_field(entries: Sequence[Entry], label: str, text: str) -> list[Entry]:
    """Return the entries with a text in a field of its own; "" removes it."""
    found = fields(entries).get(label)
    if found is not None:
        changed = [] if not text else [replace(found, value=text)]
        place = entries.index(found)
        return [*entries[:place], *changed, *entries[place + 1 :]]
    if not text:
        return list(entries)
    taken = {entry.key for entry in entries}
    key = next(key for key in reversed(FIELDS[label]) if key not in taken)
    return [*entries, Entry(tuple(key.split(".")), text)]


def rows(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries without a field of their own."""
    shown = list(fields(entries).values())
    return [entry for entry in entries if entry not in shown]


def _entries(path: tuple[str, ...], found: Mapping[str, Any]) -> Iterable[Entry]:
    for key, value in found.items():
        if isinstance(value, dict) and value:
            yield from _entries((*path, key), value)
        else:
            yield Entry((*path, key), value)


def _build(entries: Iterable[Entry]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    # Short keys first, so that a value is met before what would be in it.
    for entry in sorted(entries, key=lambda entry: len(entry.path)):
        holder = whole
        for depth, part in enumerate(entry.path[:-1], 1):
            inner = holder.setdefault(part, {})
            if depth == 1 and part in OBJECTS and _is_plain(inner):
                inner = holder[part] = {NAME: inner}  # "CeO2" and {"name": "CeO2"} are one to the receiver
            if not isinstance(inner, dict):
                outer = ".".join(entry.path[:depth])
                raise BadMetadata(f'"{outer}" has a value, so there can be no "{entry.key}" in it', entry.key)
            holder = inner
        if entry.path[-1] in holder:
            raise BadMetadata(f'the key "{entry.key}" is there twice', entry.key)
        holder[entry.path[-1]] = entry.value
    return whole


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)
