"""One way to write numbers, whatever the language of the desktop: a decimal point, commas between thousands.

Labels, axes and the pixel under the cursor have it from Python, and Qt's own fields would follow the system:
0.5 beside 0,5.
"""

from __future__ import annotations

from silx.gui import qt

LOCALE = qt.QLocale(qt.QLocale.English, qt.QLocale.UnitedStates)
"""Unlike Qt's "C", it has commas between thousands where a field is told to show them."""


def use() -> None:
    """Have all windows of this process, those of silx as well, write numbers so: before the first is made."""
    qt.QLocale.setDefault(LOCALE)


def read(text: str) -> float | None:
    """Return a number that somebody has typed; `None` if it is none: 0,5 is none, since commas are between
    thousands."""
    value, is_number = LOCALE.toDouble(text.strip())
    return float(value) if is_number else None
