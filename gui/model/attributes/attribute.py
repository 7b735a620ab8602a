"""One attribute of a detector as a form shows it: its label, unit and section, and its text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from penstock.gui.model.attributes.metadata import METADATA, BadMetadata, escaped, readable, same
from penstock.gui.model.attributes.metadata import read as read_metadata

MOST_DIGITS = 7
"""Significant digits up to which a number is shown as it is; one with more is the result of a calculation."""
LEAST_DIGITS, LEAST_DECIMALS = 4, 2
"""What is left of such a number at least."""

_DECIMAL = re.compile(r"([+-]?)(\d+)(\.\d+)?")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")


def grouped(text: str) -> str:
    """Return a number's text with commas between thousands: "1,234,567.25"; any other text as it is."""
    found = _DECIMAL.fullmatch(text)
    return f"{found[1]}{int(found[2]):,}{found[3] or ''}" if found is not None else text


def ungrouped(text: str) -> str:
    """Return a number's text without commas between thousands, where they cannot mean anything else: "1,500"
    may be one and a half."""
    plain = text.strip()
    number = plain.partition(" ")[0]
    clear = _GROUPED.fullmatch(number) is not None and (number.count(",") > 1 or "." in number)
    return plain.replace(",", "") if clear else text


def is_ambiguous(text: str) -> bool:
    """Return whether a comma may be a decimal mark as well as one of thousands."""
    return _GROUPED.fullmatch(text.strip().partition(" ")[0]) is not None and ungrouped(text) == text


def brief(number: float, whole: str) -> str:
    """Return a number for the eye: 49.7512438 is "49.75".

    Args:
        number: the value.
        whole: its text with all its digits.
    """
    mantissa, exponent, power = whole.partition("e")
    digits = mantissa.lstrip("+-").replace(".", "").lstrip("0")
    if len(digits) <= MOST_DIGITS or "." not in mantissa:
        return grouped(whole)
    if exponent:
        return f"{float(mantissa):.{LEAST_DIGITS}g}e{power}"
    before = len(mantissa.lstrip("+-").partition(".")[0].lstrip("0"))
    return grouped(f"{number:.{max(LEAST_DIGITS, before + LEAST_DECIMALS)}g}")


Value: TypeAlias = bool | int | float | str
Group = Literal["series", "camera", "reading", "state"]
"""Settings of every series, settings of this camera, its readings, and the state of the series."""

PREFIXES: Mapping[str, Mapping[str, float]] = {
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "min": 60.0},
    "m": {"m": 1.0, "mm": 1e-3, "cm": 1e-2},
    "Hz": {"Hz": 1.0, "kHz": 1e3},
    "eV": {"eV": 1.0, "keV": 1e3},
    "keV": {"keV": 1.0, "eV": 1e-3},
}
"""Units that may be typed behind a number, and what they are in the attribute's own."""
LAST_LETTER = 255
"""The last letter of Latin-1: Tango refuses texts with others."""
_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\d\s].*?)?\s*")
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")


class BadText(ValueError):
    """What was typed is not a value of the attribute; the sentence says what would be one."""


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """An attribute by Tango's attribute configuration and the device's `Parameters`."""

    name: str
    kind: type[bool] | type[int] | type[float] | type[str]
    group: Group = "state"
    writable: bool = False
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    doc: str = ""
    format: str = field(default="")
    """printf format of a float."""

    @property
    def label(self) -> str:
        """Its name as words."""
        return label(self.name)

    def show(self, value: Value | None) -> str:
        """Return the whole value as it is edited, without its unit; "–" if there is none."""
        if value is None:
            return "–"
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float):
            try:
                return ((self.format or "%.9g") % value).strip()  # formats may pad
            except (TypeError, ValueError, OverflowError):  # Tango also takes "scientific", and %d for NaN
                return f"{value:.9g}"
        return str(value)

    def brief(self, value: Value | None) -> str:
        """Return the value as shown to the eye, without its unit: with sensible digits."""
        text = self.show(value)
        if self.name == METADATA and value is not None:
            return readable(text)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return text
        return brief(value, text)

    def with_unit(self, value: Value | None) -> str:
        """Return the value as shown in a sentence."""
        text = self.brief(value) or "–"
        return f"{text} {unit(self)}" if self.unit and value is not None else text

    def change(self, before: Value | None, given: Value, now: Value | None) -> str:
        """Return the result of writing `given`; a detector's own box may keep its old value for a minute."""
        if now == before and now != given:
            return f"{self.label}: {self.with_unit(given)} written; still {self.with_unit(now)}"
        return f"{self.label}: {self.with_unit(before)} → {self.with_unit(now)}"

    def limits(self) -> str:
        """Least and greatest value in words; "" where there are none."""
        low, high = (
            None if each is None else grouped(f"{each:.12g}") for each in (self.minimum, self.maximum)
        )
        behind = f" {unit(self)}" if self.unit else ""
        if low is not None and high is not None:
            return f"{low} to {high}{behind}"
        if low is not None:
            return f"{low}{behind} or more"
        return f"{high}{behind} at most" if high is not None else ""

    def parse(self, text: str) -> Value:
        """Return the value that was typed; a number may bear a unit, as "20 ms".

        Raises:
            BadText: no value of this attribute.
        """
        if self.kind is bool:
            known = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
            if text.strip().lower() not in known:
                raise BadText(f'{self.label}: "{text}" is neither yes nor no')
            return known[text.strip().lower()]
        if self.kind is str:
            if self.choices and text not in self.choices:
                raise BadText(f'{self.label}: "{text}" is not one of {", ".join(self.choices)}')
            if strange := "".join(dict.fromkeys(each for each in text if ord(each) > LAST_LETTER)):
                raise BadText(
                    f"{self.label}: Tango carries Western European letters only (Latin-1), and not "
                    f'"{strange:.20}"; choose others'
                )
            return text
        typed = text.strip()
        text = text.replace(",", "") if self.kind is int and is_ambiguous(text) else ungrouped(text)
        if self.kind is int and _WHOLE.fullmatch(text.strip()):
            number: float = int(text)  # a mask has more digits than a float
        else:
            number = self._number(text)
        if self.kind is int and int(number) != number:
            raise BadText(f"{self.label} is a whole number; {text.strip()} is not")
        below = self.minimum is not None and number < self.minimum
        if below or (self.maximum is not None and number > self.maximum):
            raise BadText(f"{self.label}: {typed} is outside its limits, {self.limits()}")
        return int(number) if self.kind is int else number

    def _number(self, text: str) -> float:
        found = _NUMBER.fullmatch(text)
        unit = found[2] if found is not None else None
        factors = PREFIXES.get(self.unit, {self.unit: 1.0} if self.unit else {})
        if found is None or (unit is not None and unit not in factors):
            comma = "; the decimal mark is a point" if "," in text else ""
            if is_ambiguous(text):
                comma = "; the decimal mark is a point, and thousands need no mark"
            others = ", ".join(each for each in factors if each != self.unit)
            units = f", in {self.unit}{f' or with {others}' if others else ''}" if self.unit else ""
            raise BadText(f'{self.label}: "{text.strip()}" is no number{comma}{units}')
        number = float(found[1]) * (factors[unit] if unit is not None else 1.0)
        if not math.isfinite(number):
            raise BadText(f"{self.label}: {text.strip()} is too large")
        # 20 ms is 0.02 s, and not 0.02 and some bits.
        return float(f"{number:.15g}")


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


def parse_typed(attribute: Attribute, text: str) -> Value:
    """Return the value that is written.

    Raises:
        BadText: the attribute does not take it.
    """
    return attribute.parse(escaped(text) if attribute.name == METADATA else text)


def typed_problem(attribute: Attribute, text: str) -> str:
    """Return why it cannot be written, a sentence; "" if it can."""
    try:
        parse_typed(attribute, text)
        if attribute.name == METADATA:
            read_metadata(text)
    except (BadText, BadMetadata) as error:
        return str(error)
    return ""


def is_value(attribute: Attribute, text: str, values: Mapping[str, Value | None]) -> bool:
    """Return whether the device has what is typed."""
    now = attribute.show(values.get(attribute.name))
    return text == now or (attribute.name == METADATA and same(text, now))
