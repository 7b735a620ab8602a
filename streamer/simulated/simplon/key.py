"""One key of a control unit: its value, its type, and what a PUT of it may be."""

from __future__ import annotations

import math
from typing import Any

import msgspec

NEW, OLD = "1.8.0", "1.6.0"
"""Versions of SIMPLON."""
SWITCH = ("enabled", "disabled")


class Key(msgspec.Struct, kw_only=True):
    """One key with all that a GET of it returns."""

    value: Any
    kind: str
    """SIMPLON's value_type."""
    access: str = "rw"
    unit: str | None = None
    least: float | None = None
    most: float | None = None
    allowed: tuple[str, ...] | None = None
    listed: bool = True
    """True if the list of keys has it; a real control unit leaves some out (fastcs-eiger `MISSING_KEYS`)."""

    def answer(self) -> dict[str, Any]:
        """Return the JSON of a GET; properties that the key lacks are left out, as in SIMPLON."""
        answer = {"access_mode": self.access, "value": self.value, "value_type": self.kind}
        more = {"unit": self.unit, "min": self.least, "max": self.most}
        answer |= {name: value for name, value in more.items() if value is not None}
        return answer if self.allowed is None else answer | {"allowed_values": list(self.allowed)}

    def converted(self, value: Any) -> Any:
        """Return the value in the type of the key.

        Raises:
            ValueError: it has another type, is out of range, or is not among the allowed values.
        """
        right = {
            "bool": isinstance(value, bool), "string": isinstance(value, str), "float": _is_number(value),
            "uint": _is_number(value) and value == int(value) and value >= 0,
            "float[]": _is_list(value, _is_number, self.value),
            "string[]": _is_list(value, lambda item: isinstance(item, str), self.value),
        }.get(self.kind, True)  # fmt: skip
        if not right:
            raise ValueError(f"{value!r:.60} is not of the type {self.kind}{self._length}")
        if self.allowed is not None and value not in self.allowed:
            raise ValueError(f"{value!r:.60} is not one of {', '.join(self.allowed)}")
        if self.least is not None and value < self.least:
            raise ValueError(f"{value!r} is below the minimum {self.least}")
        if self.most is not None and value > self.most:
            raise ValueError(f"{value!r} is above the maximum {self.most}")
        return {"float": float, "uint": int}.get(self.kind, lambda same: same)(value)

    @property
    def _length(self) -> str:
        return f" of {len(self.value)}" if isinstance(self.value, list) else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_list(value: Any, right: Any, present: Any) -> bool:
    """Return whether it is a list of such items, as long as the present one: axes and order have a length."""
    return isinstance(value, list) and len(value) == len(present) and all(map(right, value))


def real(value: float, unit: str | None = None, least: float | None = None, most: float | None = None) -> Key:
    """Return a number that can be set."""
    return Key(value=value, kind="float", unit=unit, least=least, most=most)


def whole(value: int, least: int = 1, most: int = 2_000_000_000) -> Key:
    """Return a count that can be set."""
    return Key(value=value, kind="uint", least=least, most=most)


def text(value: str = "", *allowed: str) -> Key:
    """Return a text that can be set, perhaps only to some values."""
    return Key(value=value, kind="string", allowed=allowed or None)


def flag(value: bool) -> Key:
    """Return a bool that can be set."""
    return Key(value=value, kind="bool")


def switch(value: str = "disabled") -> Key:
    """Return a mode that is enabled or disabled."""
    return text(value, *SWITCH)


def vector(*values: float, unit: str | None = None) -> Key:
    """Return numbers that can be set."""
    return Key(value=list(values), kind="float[]", unit=unit, listed=False)


def fixed(value: Any, kind: str = "string", unit: str | None = None, *, listed: bool = True) -> Key:
    """Return a value that the control unit only shows."""
    return Key(value=value, kind=kind, unit=unit, access="r", listed=listed)
