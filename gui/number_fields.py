"""Fields for choices and numbers: a double click selects all of one, which is written as everywhere else.

That is with a decimal point and commas between thousands, whatever the language of the desktop. Labels, axes
and the pixel under the cursor have it from Python, and Qt's own fields would follow the system: 0.5 beside
0,5. To Qt, 0.018 is two words, and 12,345 as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from silx.gui import qt

LOCALE = qt.QLocale(qt.QLocale.English, qt.QLocale.UnitedStates)
"""Unlike Qt's "C", it has commas between thousands where a field is told to show them."""


def use_locale() -> None:
    """Have all windows of this process, those of silx as well, write numbers so: before the first is made."""
    qt.QLocale.setDefault(LOCALE)


def read_number(text: str) -> float | None:
    """Return a number that somebody has typed; `None` if it is none: 0,5 is none, since commas are between
    thousands."""
    value, is_number = LOCALE.toDouble(text.strip())
    return float(value) if is_number else None


_PART = re.compile(r"[^\s,;]+")


def select_whole(field: qt.QLineEdit | qt.QAbstractSpinBox) -> None:
    """Have a double click select the whole number of this field, without prefix and suffix.

    The field writes it with a decimal point, also in a window of another program.
    """
    field.setLocale(LOCALE)
    line = field.lineEdit() if isinstance(field, qt.QAbstractSpinBox) else field
    line.installEventFilter(_Whole(field))


def number_box(
    parent: qt.QWidget, name: str, least: float, most: float, tip: str = "", *, value: float | None = None,
    decimals: int | None = None, prefix: str = "", suffix: str = "", grouped: bool = False,
) -> qt.QAbstractSpinBox:  # fmt: skip
    """Return a field for a number, which is taken once it is typed as a whole.

    Args:
        parent: widget to which it belongs.
        name: what it is called to those who cannot see it.
        least: number that it takes.
        most: likewise.
        tip: what it is for.
        value: number at first; by default `least`.
        decimals: digits behind the point; `None`: it takes whole numbers.
        prefix: stands before the number.
        suffix: stands behind it.
        grouped: write it with commas between thousands.
    """
    box = qt.QSpinBox(parent) if decimals is None else qt.QDoubleSpinBox(parent)
    select_whole(box)
    box.setAccessibleName(name)
    if decimals is not None:
        box.setDecimals(decimals)
    box.setRange(least, most)
    box.setPrefix(prefix)
    box.setSuffix(suffix)
    box.setGroupSeparatorShown(grouped)
    box.setValue(least if value is None else value)
    box.setKeyboardTracking(False)
    box.setToolTip(tip)
    return box


def choice_box(entries: Iterable[str], tip: str, parent: qt.QWidget) -> qt.QComboBox:
    """Return a field for one of several texts."""
    box = qt.QComboBox(parent)
    box.addItems(list(entries))
    box.setToolTip(tip)
    return box


def select_one(field: qt.QLineEdit) -> None:
    """Have a double click select one of several numbers, with commas or spaces between them."""
    field.installEventFilter(_One(field))


class _Whole(qt.QObject):
    # A child of the field, which its owner keeps; a child of a box's line would go with the line's wrapper.

    def __init__(self, field: qt.QLineEdit | qt.QAbstractSpinBox) -> None:
        super().__init__(field)

    def eventFilter(self, watched: qt.QLineEdit, event: qt.QEvent) -> bool:
        """Take double clicks of the left button."""
        if event.type() != qt.QEvent.MouseButtonDblClick or event.button() != qt.Qt.LeftButton:
            return False
        self._select(watched, event.pos())
        return True

    def _select(self, line: qt.QLineEdit, at: qt.QPoint) -> None:
        self.parent().selectAll()


class _One(_Whole):
    def _select(self, line: qt.QLineEdit, at: qt.QPoint) -> None:
        place = line.cursorPositionAt(at)
        found = next((each for each in _PART.finditer(line.text()) if each.end() >= place), None)
        if found is not None:
            line.setSelection(found.start(), found.end() - found.start())
