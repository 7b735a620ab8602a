"""Chooses a detector: those of the Tango database, or any that is typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tango
from silx.gui import qt

from penstock.gui.background import Background
from penstock.gui.layouts import STRETCH, in_column, in_row
from penstock.gui.model.tango.device_name import BadDeviceName, checked
from penstock.gui.model.tango.directory import find_devices, open_database
from penstock.gui.panel.style import look, sheet


def detectors() -> list[str]:
    """Names of all detectors of the Tango database.

    Raises:
        DirectoryError: the database cannot be asked.
    """
    with tango.EnsureOmniThread():
        return [found.name for found in find_devices(open_database()) if found.kind == "detector"]


class OpenDialog(qt.QDialog):
    """A line that searches a list; what is not in the list can be typed.

    Args:
        find: lists the names; called in a thread.
    """

    chosen = qt.Signal(str)
    """Name of a device."""

    def __init__(
        self, parent: qt.QWidget | None = None, find: Callable[[], Sequence[str]] = detectors
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Open a detector")
        self.setStyleSheet(sheet())
        self.resize(420, 380)
        self.name = qt.QLineEdit(self)
        self.list = qt.QListWidget(self)
        self._says = qt.QLabel("Asking the Tango database …", self)
        self._open = qt.QPushButton("&Open", self)
        self._background = Background(self)
        self._lay_out()
        self._background.call(find, self._show, self._fail)

    def says(self) -> str:
        """Return why there is no list, or what is wrong with the name."""
        return str(self._says.text())

    def _show(self, names: Sequence[str]) -> None:
        self.list.addItems(list(names))
        self._say(
            "" if names else "The Tango database has no detector of Penstock. `penstock register` adds some."
        )
        self._filter(self.name.text())

    def _fail(self, error: Exception) -> None:
        self._say(f"▲ {error}. A name can be typed above.", wrong=True)

    def _say(self, text: str, *, wrong: bool = False) -> None:
        look(self._says, role="problem" if wrong else "muted")
        self._says.setText(text)

    def _filter(self, text: str) -> None:
        wanted = text.strip().lower()
        for row in range(self.list.count()):
            self.list.item(row).setHidden(wanted not in self.list.item(row).text().lower())

    def _take(self) -> None:
        chosen = [item.text() for item in self.list.selectedItems() if not item.isHidden()]
        shown = [item for row in range(self.list.count()) if not (item := self.list.item(row)).isHidden()]
        text = self.name.text()
        if chosen and not text:
            text = chosen[0]
        elif len(shown) == 1:
            text = shown[0].text()
        try:
            name = checked(text)
        except BadDeviceName as error:
            self._say(f"▲ {error}", wrong=True)
            return
        self.chosen.emit(name)
        self.accept()

    def _take_item(self, item: qt.QListWidgetItem) -> None:
        self.chosen.emit(item.text())
        self.accept()

    def _lay_out(self) -> None:
        self.name.setPlaceholderText("sim/det/1, or a part of it")
        self.name.textChanged.connect(self._filter)
        self.name.returnPressed.connect(self._take)
        self.list.setAccessibleName("Detectors of the Tango database")
        self.list.itemActivated.connect(self._take_item)
        self._open.setAutoDefault(False)
        self._open.clicked.connect(self._take)
        self._says.setWordWrap(True)
        cancel = qt.QPushButton("Cancel", self)
        cancel.setAutoDefault(False)
        cancel.clicked.connect(self.reject)
        label = qt.QLabel("&Detector", self)
        label.setBuddy(self.name)
        buttons = in_row(STRETCH, cancel, self._open)
        in_column(label, self.name, (self.list, 1), self._says, buttons, of=self, margins=None)
