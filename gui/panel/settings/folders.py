"""Chooses a folder below the receiver's data root, which lists them: this machine may not see its disk.

And the question before Arm has a folder created: one that does not exist may be mistyped.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Protocol

import qtawesome  # type: ignore[import-untyped]
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.background import Background
from penstock.gui.labels import ElidedLabel
from penstock.gui.layouts import STRETCH, in_column, in_row
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.files.place import Place, join_path, relative
from penstock.gui.model.view import DetectorView
from penstock.gui.panel.fields.line import Line
from penstock.gui.panel.question import ask
from penstock.gui.panel.style import look
from penstock.receiver.models import Folders

UP = ".."


class Receiver(Protocol):
    """The part of `ReceiverClient` that is used here."""

    def folders(self, under: str = "") -> Folders:
        """Return the folders in a folder of the data root."""


class FolderDialog(qt.QDialog):
    """A list to walk through with Enter and Backspace, and a line for a folder that is not there yet.

    Args:
        receiver: that is asked.
        folder: to begin in; the data root where it is not below that.
        as_client: the data root's name on this side, from its name on the receiver's.
    """

    chosen = qt.Signal(str)
    """A folder, as this side names it."""

    def __init__(
        self,
        receiver: Receiver,
        folder: str,
        as_client: Callable[[str], str],
        parent: qt.QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Folder of the receiver")
        self.resize(520, 460)
        self._receiver = receiver
        self._as_client = as_client
        self._start = folder
        self._here: Folders | None = None
        self._background = Background(self)
        self.list = qt.QListWidget(self)
        self.new = Line(self)
        self.use = qt.QPushButton("&Use this folder", self)
        self._cancel = qt.QPushButton("Cancel", self)
        self._says = qt.QLabel(self)
        self._result = ElidedLabel(self)
        self._lay_out()
        self._go("")

    def result_folder(self) -> str:
        """Return what would be chosen now; "" while the receiver has not answered."""
        return str(self._result.whole())

    def says(self) -> str:
        """Return what the receiver lacks, or what is under way; "" where all is well."""
        return str(self._says.text())

    def keyPressEvent(self, event: qt.QKeyEvent) -> None:
        """Backspace goes up, Ctrl+Enter takes the folder."""
        if event.key() == qt.Qt.Key_Backspace:
            self._up()
        elif event.key() in (qt.Qt.Key_Return, qt.Qt.Key_Enter):
            if event.modifiers() & qt.Qt.ControlModifier:
                self.use.click()
        else:
            super().keyPressEvent(event)

    def _go(self, under: str) -> None:
        look(self._says, role="muted")
        self._says.setText("Asking the receiver …")
        self._background.call(lambda: self._receiver.folders(under), self._show, self._fail)

    def _up(self) -> None:
        if self._here is not None and self._here.parent is not None:
            self._go(self._here.parent)

    def _fail(self, error: Exception) -> None:
        look(self._says, role="problem")
        self._says.setText(f"▲ {error}")

    def _show(self, folders: Folders) -> None:
        first, self._here = self._here is None, folders
        below = relative(self._start, self._as_client(folders.root))
        if first and below and not folders.under:
            # Where the file is now; if that folder is not there yet, the data root stays on show.
            self._background.call(lambda: self._receiver.folders(below), self._show, lambda error: None)
        self.list.clear()
        colour = theme.current().muted
        up = qtawesome.icon("fa5s.level-up-alt", color=colour)
        into = qtawesome.icon("fa5s.folder", color=colour)
        if folders.parent is not None:
            self.list.addItem(qt.QListWidgetItem(up, UP))
        for name in folders.folders:
            self.list.addItem(qt.QListWidgetItem(into, name))
        if self.list.count():
            self.list.setCurrentRow(0)
            self.list.clearSelection()
        more = f"{folders.more:,} more are not shown: type the name below. " if folders.more else ""
        self._says.setText(more + ("" if folders.folders else "There are no folders in here."))
        look(self._says, role="muted")
        self._update()

    def _update(self) -> None:
        if self._here is None:
            return
        chosen = [item.text() for item in self.list.selectedItems() if item.text() != UP]
        new = self.new.text().strip().strip("/")
        self._result.set_whole(join_path(self._as_client(self._here.root), self._here.under, *chosen, new))
        self.use.setEnabled(".." not in PurePosixPath(new).parts)

    def _enter(self, item: qt.QListWidgetItem) -> None:
        if self._here is None:
            return
        if item.text() == UP:
            self._up()
        else:
            self._go(join_path(self._here.under, item.text()))

    def _take(self) -> None:
        if self.result_folder():
            self.chosen.emit(self.result_folder())
            self.accept()

    def _lay_out(self) -> None:
        self.list.setAccessibleName("Folders")
        self.list.setToolTip("Enter or double click: into the folder; Backspace: out of it")
        self.list.itemActivated.connect(self._enter)
        self.list.itemSelectionChanged.connect(self._update)
        self.new.typed.connect(lambda _: self._update())
        self.new.escaped.connect(self.reject)
        self.new.setPlaceholderText("created by the receiver when the series begins")
        self.use.clicked.connect(self._take)
        self.use.setToolTip("Ctrl+Enter")
        self.use.setEnabled(False)
        self._cancel.clicked.connect(self.reject)
        for button in (self.use, self._cancel):
            button.setAutoDefault(False)
        self._says.setWordWrap(True)
        folders = qt.QLabel("&Folders: Enter goes into one, Backspace out of it", self)
        folders.setBuddy(self.list)
        new = qt.QLabel("&New folder in it", self)
        new.setBuddy(self.new)
        files = qt.QLabel("Files go to", self)
        form = qt.QGridLayout()
        form.addWidget(new, 0, 0)
        form.addWidget(self.new, 0, 1)
        form.addWidget(files, 1, 0)
        form.addWidget(self._result, 1, 1)
        form.setColumnStretch(1, 1)
        buttons = in_row(STRETCH, self._cancel, self.use)
        in_column(folders, (self.list, 1), self._says, form, buttons, of=self, margins=None, spacing=8)


class FolderQuestion(qt.QObject):
    """The question, while the model waits for its answer; it holds up nothing else."""

    def __init__(self, model: DetectorModel, parent: qt.QWidget) -> None:
        super().__init__(parent)
        self._model = model
        self._box: qt.QMessageBox | None = None
        self._about: Place | None = None

    def box(self) -> qt.QMessageBox | None:
        """Return the question that is open."""
        return self._box

    def show_view(self, view: DetectorView) -> None:
        """Ask what the model wants to know, once."""
        if view.asks == self._about:
            return
        self._about = view.asks
        if self._box is not None:
            self._box.reject()
        if view.asks is not None:
            self._ask(view.asks)

    def _ask(self, place: Place) -> None:
        def answered(create: bool) -> None:
            if self._box is box:
                self._box = None
            if self._about == place:
                self._about = None
                self._model.answer(place, create=create)

        text = f"{place.sentence()}\nCreate it, and begin the series?"
        accept = qt.QMessageBox.AcceptRole
        box = ask(self.parent(), "A new folder", text, "&Create and arm", "Ca&ncel", answered, accept)
        self._box = box
