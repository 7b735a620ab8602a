"""One attribute of a detector as a panel shows it: what may be typed, and how it is written down."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from penstock.gui.model.labels import label, unit
from penstock.gui.model.metadata import METADATA, readable
from penstock.gui.model.numbers import brief, grouped, is_ambiguous, ungrouped

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
"""Of Latin-1: Tango refuses texts with others."""
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
