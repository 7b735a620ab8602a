"""Which texts of a window are cut off: neither whole, nor shortened with an ellipsis and a tool tip."""

from __future__ import annotations

from typing import Any

from silx.gui import qt

from penstock.gui.panel.fields.line import Line

ELLIPSIS = "…"


def cut(window: qt.QWidget) -> list[str]:
    """Every text in `window` that is cut off, with its widget."""
    found = []
    for kind, is_cut in (
        (qt.QLabel, _label), (qt.QLineEdit, _line), (qt.QPushButton, _button), (qt.QCheckBox, _button),
        (qt.QComboBox, _choice),
    ):  # fmt: skip
        for each in window.findChildren(kind):
            if each.isVisible() and (why := is_cut(each)):
                found.append(f"{type(each).__name__} {each.objectName()}: {why}")
    return found


def _label(label: Any) -> str:
    text, room = label.text(), label.contentsRect()
    if not text or label.textFormat() == qt.Qt.RichText:
        return ""
    plain = text.replace("&&", "\0").replace("&", "").replace("\0", "&") if label.buddy() else text
    if label.wordWrap():
        needs = label.fontMetrics().boundingRect(room, int(qt.Qt.TextWordWrap), plain)
        return text if needs.height() > room.height() + 1 or needs.width() > room.width() + 1 else ""
    if any(label.fontMetrics().horizontalAdvance(line) > room.width() + 1 for line in plain.split("\n")):
        return text
    return text if ELLIPSIS in text and len(label.toolTip()) < len(text) else ""


def _line(line: Any) -> str:
    own = isinstance(line, Line)
    room = line._room(line._option()).width() if own else line.contentsRect().width() - 4
    text = line.text() or line.placeholderText()
    if line.fontMetrics().horizontalAdvance(text) <= room or line.hasFocus():
        return ""
    return "" if own and ELLIPSIS in line._shortened and text in line.toolTip() else text


def _button(button: Any) -> str:
    text = button.text().replace("&", "")
    return text if button.fontMetrics().horizontalAdvance(text) > button.width() else ""


def _choice(box: Any) -> str:
    option = qt.QStyleOptionComboBox()
    box.initStyleOption(option)
    room = box.style().subControlRect(
        qt.QStyle.CC_ComboBox, option, qt.QStyle.SC_ComboBoxEditField, box
    ).width()  # fmt: skip
    text = box.currentText()
    if box.fontMetrics().horizontalAdvance(text) <= room:
        return ""
    return "" if text in box.toolTip() else text
