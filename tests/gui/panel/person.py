"""Somebody in front of a window: sees what is in sight, clicks and types, and knows nothing else."""

from __future__ import annotations

import html
import os
import re
from pathlib import Path
from typing import Any

from silx.gui import qt

DEADLINE = 10_000
"""Milliseconds until something has to be in sight."""
FOLDER = "PENSTOCK_TASK_PICTURES"
"""Environment variable: where pictures go; without it none are taken."""
SETTLED = 600
"""Milliseconds in which the live picture is drawn, before a picture of it all is taken."""


class Person:
    """At `window`, and at the dialogs that it opens."""

    def __init__(self, qtbot: Any, window: qt.QWidget) -> None:
        self._qtbot = qtbot
        self.window = window

    # -- eyes ----------------------------------------------------------------------------------

    def reads(self) -> str:
        """All that is in sight and not cut off, one text a line."""
        texts = [self.window.windowTitle()]
        for kind in (qt.QLabel, qt.QAbstractButton, qt.QLineEdit, qt.QTextEdit):
            texts += [_words(each) for each in self._in_sight(kind)]
        for table in self._in_sight(qt.QTableView):
            model = table.model()
            texts += [
                " | ".join(str(model.index(row, column).data()) for column in range(model.columnCount()))
                for row in range(model.rowCount())
            ]
        return "\n".join(text for text in texts if text)

    def sees(self, *patterns: str) -> str:
        """Wait until all of these are in sight; the last one's text."""
        found = ""

        def look() -> None:
            nonlocal found
            text = self.reads()
            for pattern in patterns:
                match = re.search(pattern, text)
                assert match, f"{pattern!r} is nowhere in\n{text}"
                found = match[0]

        self._qtbot.waitUntil(look, timeout=DEADLINE)
        return found

    def sees_no_more(self, text: str) -> None:
        """Wait until this is not in sight any more."""
        self._qtbot.waitUntil(lambda: text not in self.reads(), timeout=DEADLINE)

    def points_along(self, name: str, *tips: str) -> None:
        """Go along a bar, from its left to its right, until all of these were tool tips of it."""

        def look() -> None:
            bar = self.find(qt.QWidget, name)
            found = {bar.tip_at(x) for x in range(bar.width())}
            assert found >= set(tips), f"only {found}"

        self._qtbot.waitUntil(look, timeout=DEADLINE)

    def photographs(self, name: str, title: str = "") -> None:
        """Take a picture of the window, or of a dialog, for the page; if pictures are wanted."""
        folder = os.environ.get(FOLDER)
        if folder:
            self._qtbot.wait(SETTLED)
            windows = [each for each in qt.QApplication.topLevelWidgets() if each.isVisible()]
            titled = [each for each in windows if title and title in each.windowTitle()]
            window = titled[0] if titled else self.window
            assert window.grab().save(str(Path(folder) / f"{name}.png"))

    # -- hands ---------------------------------------------------------------------------------

    def clicks(self, name: str) -> None:
        """Click on a button once it is there and can be clicked."""
        self._qtbot.waitUntil(lambda: self._button(name) is not None, timeout=DEADLINE)
        self._qtbot.mouseClick(self._button(name), qt.Qt.LeftButton)

    def clicks_until(self, name: str, pattern: str) -> None:
        """Click whenever that is possible, until this is in sight."""

        def look() -> bool:
            seen = re.search(pattern, self.reads()) is not None
            button = self._button(name)
            if button is not None and not seen:
                self._qtbot.mouseClick(button, qt.Qt.LeftButton)
            return seen

        self._qtbot.waitUntil(look, timeout=DEADLINE)

    def types(self, name: str, text: str, key: Any = qt.Qt.Key_Return) -> None:
        """Replace what stands in a field, and press a key."""
        field = self.find(qt.QWidget, name)
        self._qtbot.mouseClick(field, qt.Qt.LeftButton)
        field.selectAll()
        self._qtbot.keyClicks(field, text)
        if key is not None:
            self._qtbot.keyClick(field, key)

    def chooses(self, name: str, choice: str) -> None:
        """Choose in a list that drops down."""
        box = self.find(qt.QComboBox, name)
        box.setFocus()
        self._qtbot.keyClicks(box, choice)
        assert box.currentText() == choice

    def opens_tab(self, text: str) -> None:
        """Click on a tab."""
        for bar in self._in_sight(qt.QTabBar):
            for place in range(bar.count()):
                if _plain(bar.tabText(place)) == text:
                    self._qtbot.mouseClick(bar, qt.Qt.LeftButton, pos=bar.tabRect(place).center())
                    return
        raise AssertionError(f"there is no tab {text}")

    def find(self, kind: Any, name: str) -> Any:
        """What has this name, for a screen reader or by itself, and is in sight; scrolled to if need be."""
        for each in self._all(kind):
            if each.isVisible() and name in (each.accessibleName(), each.objectName()):
                _scroll_to(each)
                return each
        raise AssertionError(f"nothing in sight is called {name!r}")

    def _button(self, name: str) -> Any:
        for each in self._in_sight(qt.QAbstractButton):
            if each.isEnabled() and name in (_plain(each.text()), each.accessibleName()):
                return each
        return None

    def _in_sight(self, kind: Any) -> list[Any]:
        return [each for each in self._all(kind) if each.isVisible() and not each.visibleRegion().isEmpty()]

    @staticmethod
    def _all(kind: Any) -> list[Any]:
        windows = [each for each in qt.QApplication.topLevelWidgets() if each.isVisible()]
        windows.sort(key=lambda each: not isinstance(each, qt.QDialog))  # a dialog is in front
        return [each for window in windows for each in window.findChildren(kind)]


def _scroll_to(widget: qt.QWidget) -> None:
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, qt.QScrollArea):
            parent.ensureWidgetVisible(widget)
        parent = parent.parentWidget()


def _words(widget: Any) -> str:
    text = widget.toPlainText() if isinstance(widget, qt.QTextEdit) else widget.text()
    if isinstance(widget, qt.QLabel):
        text = text.replace("\n", " ")  # where a line ends is not what is read
    text = html.unescape(re.sub(r"<[^>]*>", "", text)).replace("\xa0", " ")
    return _plain(text).strip()


def _plain(text: str) -> str:
    return text.replace("&", "")
