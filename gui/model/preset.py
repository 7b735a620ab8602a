"""A preset: a set of settings under a name, and what a detector makes of it.

Settings stand in it as somebody would type them, so that a preset can be read, and changed, in an editor:

    {"format": "penstock preset", "version": 1, "device": "sim/det/1", "saved": "2026-11-25 20:30:00",
     "settings": {"ExposureTime": "20 ms", "nTriggers": 100, "SaveRaw": true}}
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.gui.model.attributes import metadata
from penstock.gui.model.attributes.attribute import Attribute, BadText, Value, label
from penstock.gui.model.attributes.metadata import METADATA
from penstock.gui.model.view import DetectorView
from penstock.stins.texts import plural

FORMAT = "penstock preset"
VERSION = 1
PERIODS = ("FrameTime", "FrameRate")
"""Settings that follow from others, of which LatencyTime is kept."""
OF_ONE_SERIES = frozenset({"DestinationFilename", "DestinationFileOverwritable", METADATA})
"""Settings that are left out unless they are asked for."""


class BadPreset(Exception):
    """This is no preset; the sentence says why."""


@dataclass(frozen=True, kw_only=True)
class Preset:
    """What a file has."""

    settings: Mapping[str, Any]
    """Values by attribute: true or false, a number, or a text as one would type it; of Metadata an object."""
    device: str = ""
    """Where it was saved."""
    saved: str = ""
    """And when."""


@dataclass(frozen=True, kw_only=True)
class Applied:
    """What a preset would change in a detector."""

    edits: Mapping[str, str] = field(default_factory=dict)
    """What is to be typed, by attribute; also what the detector would not take."""
    same: tuple[str, ...] = ()
    """Attributes that have their value already."""
    lacking: tuple[str, ...] = ()
    """Settings that this detector does not have."""
    refused: tuple[str, ...] = ()
    """Why values are none here, one sentence each."""

    def sentence(self) -> str:
        """Return the result in a line."""
        parts = [f"{plural(len(self.edits), 'setting')} typed" if self.edits else "nothing to change"]
        if self.refused:
            parts.append(f"{len(self.refused)} refused")
        if self.lacking:
            parts.append(f"{len(self.lacking)} not known here")
        return ", ".join(parts)

    def details(self) -> str:
        """Return what was not taken, one line for each; "" where all was."""
        lacking = (
            [f"This detector does not have: {', '.join(map(label, self.lacking))}."] if self.lacking else []
        )
        return "\n".join([*self.refused, *lacking])


def take(view: DetectorView, *, whole: bool) -> Preset:
    """Return the settings on show as a preset: what is typed counts, as if it were written.

    Args:
        view: the snapshot.
        whole: with the file's name and metadata, too.

    Raises:
        BadPreset: something typed is no value.
    """
    names = [each.name for each in view.attributes.values() if _is_kept(view, each, whole=whole)]
    if any(name in view.edits for name in PERIODS):
        names = [name for name in names if name != "LatencyTime"]
    settings = {}
    for name in names:
        attribute, edit = view.attributes[name], view.edits.get(name)
        if edit is not None and edit.problem:
            raise BadPreset(
                f"{label(name)} is no value yet ({edit.problem}); mend it first, or press Esc there"
            )
        value = view.values[name] if edit is None else _value(attribute, edit.text)
        settings[name] = _written(attribute, value)
    return Preset(settings=settings, device="/".join(view.name.split("/")[-3:]))


def apply(preset: Preset, view: DetectorView) -> Applied:
    """Return what has to be typed so that the detector is set as the preset says."""
    edits, same, lacking, refused = {}, [], [], []
    for name, given in sorted(preset.settings.items(), key=_in_order_of(view)):
        attribute = view.attributes.get(name)
        if attribute is None or not attribute.writable or name in view.lacking:
            lacking.append(name)
            continue
        text = _typed(given)
        try:
            if _is_same(_value(attribute, text), view.values.get(name), name):
                same.append(name)
                continue
        except (BadText, metadata.BadMetadata) as error:
            refused.append(str(error))
        edits[name] = text
    return Applied(edits=edits, same=tuple(same), lacking=tuple(lacking), refused=tuple(refused))


def encode(preset: Preset) -> str:
    """Return the text of a file."""
    whole = {
        "format": FORMAT, "version": VERSION, "device": preset.device, "saved": preset.saved,
        "settings": dict(preset.settings),
    }  # fmt: skip
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def decode(text: str) -> Preset:
    """Return the preset of a file's text.

    Raises:
        BadPreset: it is none, or one of a later Penstock.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadPreset(f"it is not JSON ({error})") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise BadPreset(f'it is not a preset: "format" is not "{FORMAT}"')
    if found.get("version") != VERSION:
        raise BadPreset(f"it has version {found.get('version')}, and this Penstock reads version {VERSION}")
    settings = found.get("settings")
    if not isinstance(settings, dict):
        raise BadPreset('it has no object "settings"')
    for name, value in settings.items():
        if not isinstance(value, (bool, int, float, str)) and not (
            name == METADATA and isinstance(value, dict)
        ):
            raise BadPreset(f"{name} is {json.dumps(value):.60}; give a number, a text, true or false")
    return Preset(settings=settings, device=str(found.get("device", "")), saved=str(found.get("saved", "")))


def _is_kept(view: DetectorView, attribute: Attribute, *, whole: bool) -> bool:
    name = attribute.name
    if not attribute.writable or attribute.group not in ("series", "camera"):
        return False
    if name in PERIODS and name not in view.edits:
        return False
    if name in OF_ONE_SERIES and not whole:
        return False
    return name in view.edits or view.values.get(name) is not None


def _value(attribute: Attribute, text: str) -> Value:
    if attribute.name == METADATA:
        metadata.read(text)
        return attribute.parse(metadata.escaped(text))
    return attribute.parse(text)


def _written(attribute: Attribute, value: Value | None) -> Any:
    """Return a value as it stands in a file."""
    if attribute.name == METADATA and isinstance(value, str):
        try:
            return json.loads(value) if value.strip() else {}
        except ValueError:
            return value
    if isinstance(value, (bool, str)) or value is None:
        return value
    with_unit = f"{value:.15g} {attribute.unit}" if isinstance(value, float) else f"{value} {attribute.unit}"
    try:
        return with_unit if attribute.unit and attribute.parse(with_unit) is not None else value
    except BadText:  # such as 1/s, which nobody types
        return value


def _typed(given: Any) -> str:
    """Return what stands in a file as somebody would type it."""
    if isinstance(given, bool):
        return "yes" if given else "no"
    if isinstance(given, float):
        return f"{given:.15g}"
    return json.dumps(given) if isinstance(given, dict) else str(given)


def _is_same(given: Value, now: Value | None, name: str) -> bool:
    if name == METADATA:
        return metadata.same(str(given), str(now or ""))
    if isinstance(given, float) and isinstance(now, (int, float)):
        return math.isclose(given, now, rel_tol=1e-12)
    return given == now


def _in_order_of(view: DetectorView) -> Any:
    """Return the order of the forms: what depends on a setting comes behind it there."""
    places = {name: place for place, name in enumerate(view.attributes)}
    return lambda item: places.get(item[0], len(places))
