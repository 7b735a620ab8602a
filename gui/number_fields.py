"""Fields for numbers: a double click selects all of one, and it is written as everywhere else.

That is with a decimal point and commas between thousands, whatever the language of the desktop. Labels, axes
and the pixel under the cursor have it from Python, and Qt's own fields would follow the system: 0.5 beside
0,5. To Qt, 0.018 is two words, and 12,345 as well.
"""

from __future__ import annotations

import re

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
