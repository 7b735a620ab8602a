"""Style sheets that change with what is said: Qt draws a widget anew for each, also if it has that one."""

from __future__ import annotations

from silx.gui import qt


def dress(widget: qt.QWidget, sheet: str) -> None:
    """Give a widget a style sheet, unless it has this one."""
    if widget.styleSheet() != sheet:
        widget.setStyleSheet(sheet)
