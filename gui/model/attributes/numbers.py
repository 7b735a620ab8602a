"""Numbers as people read them: digits that say something, and one separator of thousands."""

from __future__ import annotations

import re

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
