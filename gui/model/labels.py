"""Labels, units and sections of attributes in a form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # which has its own label
    from penstock.gui.model.attribute import Attribute

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Timing": ("ExposureTime", "FrameTime", "FrameRate", "LatencyTime"),
    "Triggers": ("TriggerMode", "nTriggers", "nFramesPerTrigger"),
    "File": ("DestinationFilename", "DestinationFileOverwritable", "SaveRaw", "Metadata"),
    "Image": ("Rotation", "Fliplr", "Flipud"),
    "Geometry": ("BeamCenterX", "BeamCenterY", "Distance"),
}
"""Settings of every detector's series, in the order of the form."""
OTHERS = "More"
"""Section of all other attributes."""

LABELS: Mapping[str, str] = {
    "FrameTime": "Period",
    "FrameRate": "Rate",
    "LatencyTime": "Latency",
    "nTriggers": "Triggers",
    "nFramesPerTrigger": "Frames per trigger",
    "DestinationFilename": "File",
    "DestinationFileOverwritable": "Replace an existing file",
    "SaveRaw": "Save the frames",
    "Fliplr": "Mirror left and right",
    "Flipud": "Mirror up and down",
    "BeamCenterX": "Beam centre x",
    "BeamCenterY": "Beam centre y",
}
"""Labels of attributes whose name does not become a good label by itself."""
UNITS: Mapping[str, str] = {"degC": "°C", "deg": "°", "um": "µm", "us": "µs", "pixel": "px"}

ACRONYMS: Mapping[str, str] = {"roi": "ROI"}
"""Words of names that are written in capitals."""

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def label(name: str) -> str:
    """Return an attribute's name as words: "SensorTemperature" is "Sensor temperature", "AOIWidth" "AOI
    width"."""
    if name in LABELS:
        return LABELS[name]
    words = _WORDS.findall(name) or [name]
    whole = " ".join(
        word if word.isupper() and len(word) > 1 else ACRONYMS.get(word.lower(), word.lower())
        for word in words
    )
    return whole[:1].upper() + whole[1:]


def with_labels(text: str, names: Iterable[str]) -> str:
    """Return a device's sentence with the labels of attributes in place of their names: a reader of forms
    has seen no others."""
    told = {name: label(name) for name in names if label(name) != name}
    if not told:
        return text
    # Not in paths and addresses.
    any_of_them = "|".join(re.escape(name) for name in sorted(told, key=len, reverse=True))
    return re.sub(rf"(?<![\w/.-])(?:{any_of_them})(?![\w/-])", lambda found: told[found[0]], text)


def unit(attribute: Attribute) -> str:
    """Return the unit as shown after the value."""
    return UNITS.get(attribute.unit, attribute.unit)


def explanation(attribute: Attribute) -> str:
    """Return the tool tip of an attribute, one fact per line."""
    choices = f"One of {', '.join(attribute.choices)}." if attribute.choices else ""
    limits = f"Limits: {attribute.limits()}." if attribute.limits() else ""
    in_tango = f"Tango attribute {attribute.name}" + (f", in {attribute.unit}." if attribute.unit else ".")
    return "\n".join(line for line in (attribute.doc.strip(), choices, limits, in_tango) if line)


def in_sections(attributes: Iterable[Attribute]) -> dict[str, list[Attribute]]:
    """Return the attributes by section; those without a section come last, in the given order."""
    left = {attribute.name: attribute for attribute in attributes}
    found = {
        title: [left.pop(name) for name in names if name in left] for title, names in SECTIONS.items()
    } | {OTHERS: list(left.values())}
    return {title: members for title, members in found.items() if members}
