"""The file of the next series: name, number, folder, and the resulting path."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from silx.gui import qt

from penstock.gui.background import Background
from penstock.gui.labels import ClampedLabel, ElidedLabel
from penstock.gui.layouts import STRETCH, in_row
from penstock.gui.model.detector import FILE, DetectorModel
from penstock.gui.model.files.next_file import FileName
from penstock.gui.model.files.place import client_root
from penstock.gui.model.texts.file_words import file_words
from penstock.gui.model.texts.sentences import why_locked
from penstock.gui.model.view import DetectorView
from penstock.gui.number_fields import select_whole
from penstock.gui.panel.fields.field import PROBLEM_SIGN, SIGN_WIDTH, show_sign
from penstock.gui.panel.fields.form import form_grid
from penstock.gui.panel.fields.line import Line
from penstock.gui.panel.settings.folders import FolderDialog, FolderQuestion
from penstock.gui.panel.style import look
from penstock.receiver.client import ReceiverClient

LAST_NUMBER = 999_999_999
TIMEOUT = 3.0
"""Seconds for one answer of the receiver, which may list a slow disk."""
NAME_TIP = (
    "Name of the file. #### stands for the number, with as many digits; .h5 is added where none is.\n"
    "Empty: live view only, nothing is written.\nTango attribute DestinationFilename."
)

NEXT_TIP = (
    "Ask the receiver for the next number without a file, and write it: where the number set has one already."
)


class Number(qt.QSpinBox):
    """A file's number; the mouse wheel is left to the form."""

    escaped = qt.Signal()
    entered = qt.Signal()

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.setRange(0, LAST_NUMBER)
        select_whole(self)
        self.setFocusPolicy(qt.Qt.StrongFocus)

    def wheelEvent(self, event: qt.QWheelEvent) -> None:
        """Left to the form."""
        event.ignore()

    def keyPressEvent(self, event: qt.QKeyEvent) -> None:
        """Enter and Esc are the field's."""
        super().keyPressEvent(event)
        if event.key() == qt.Qt.Key_Escape:
            self.escaped.emit()
        elif event.key() in (qt.Qt.Key_Return, qt.Qt.Key_Enter):
            self.entered.emit()


class FileField(qt.QWidget):
    """Edits DestinationFilename as a name with a number in a folder."""

    def __init__(self, model: DetectorModel, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._root_request = ("", False)
        """Address of the receiver that was last asked for its data root, and whether the device is connected
        to it."""
        self._root = ""
        self._view: DetectorView | None = None
        self._background = Background(self)
        self.template = Line(self, elide=qt.Qt.ElideMiddle)
        self.number = Number(self)
        self.counts_up = qt.QCheckBox("counts up", self)
        self.folder = Line(self, elide=qt.Qt.ElideMiddle)
        self.browse = qt.QPushButton("&Browse…", self)
        self.path = ElidedLabel(self)
        self.next_free = qt.QPushButton("Next f&ree number", self)
        self._says = ClampedLabel(2, self)
        self._sign = qt.QLabel(self)
        self.question = FolderQuestion(model, self)
        self._lay_out()
        self._connect()

    def says(self) -> str:
        """Return the sentence on show."""
        return self._says.whole()

    def show_view(self, view: DetectorView) -> None:
        """Follow the snapshot."""
        self._view = view
        self._ask_root(view)
        self.question.show_view(view)
        name, edit, locked = self._name(), view.edits.get(FILE), why_locked(view)
        self.template.put(name.template)
        self.folder.put(name.folder)
        with qt.QSignalBlocker(self.number):
            if self.number.value() != name.number:
                self.number.setValue(name.number)
        self.counts_up.setChecked(view.counts_up)
        problem = edit.problem if edit is not None else ""
        self.path.set_whole("" if problem else view.text(FILE) if name.template else "")
        trouble, words = (True, problem) if problem else file_words(view)
        self._says.set_whole(f"{PROBLEM_SIGN} {words}" if trouble else words)
        look(self._says, role="problem" if trouble else "muted")
        taken = view.check is not None and view.check.kind == "file_exists"
        self._enable(self.next_free, taken and name.numbered and edit is None and not locked)
        show_sign(self._sign, edit)
        for line in (self.template, self.folder):
            line.setReadOnly(bool(locked))
            look(line, locked=bool(locked), look="problem" if problem else "edit" if edit is not None else "")
        look(self.number, look="edit" if edit is not None else "")
        self._enable(self.number, name.numbered and not locked)
        self._enable(self.counts_up, name.numbered)
        self._enable(self.browse, bool(view.receiver_url) and not locked)
        self._explain(locked, name)

    # -- the user ------------------------------------------------------------------------------

    def _name(self) -> FileName:
        name = self._model.file_name()
        return name if name.folder else replace(name, folder=self._root)

    def _edit(self, **changes: object) -> None:
        self._model.edit_file(replace(self._name(), **changes))  # type: ignore[arg-type]

    def _browse(self) -> None:
        view = self._view
        if view is None or not view.receiver_url:
            return
        sent, seen = str(view.values.get(FILE) or ""), view.check.file if view.check is not None else ""
        dialog = FolderDialog(
            ReceiverClient(view.receiver_url, timeout=TIMEOUT), self._name().folder,
            lambda root: client_root(root, sent, seen), self,
        )  # fmt: skip
        dialog.setAttribute(qt.Qt.WA_DeleteOnClose)
        dialog.chosen.connect(self._chosen)
        dialog.open()

    def _chosen(self, folder: str) -> None:
        self._edit(folder=folder)
        self.template.setFocus()

    def _ask_root(self, view: DetectorView) -> None:
        """Take the data root as the folder while the device has none; request it when the receiver
        appears."""
        url = view.receiver_url
        request = (url, view.values.get("ReceiverQueue") is not None)
        if request == self._root_request:
            return
        self._root_request = request
        if url:
            client = ReceiverClient(url, timeout=TIMEOUT)
            self._background.call(lambda: client.folders().root, self._root_is, lambda error: None)

    def _root_is(self, root: str) -> None:
        self._root = root
        self.show_view(self._model.view())

    # -- how it looks --------------------------------------------------------------------------

    @staticmethod
    def _enable(widget: qt.QWidget, on: bool) -> None:
        if not on and widget.hasFocus():
            widget.parent().setFocus()  # and not to the next one, which may be a button
        widget.setEnabled(on)

    def _explain(self, locked: str, name: FileName) -> None:
        self.template.explain(f"{locked}\n{NAME_TIP}" if locked else NAME_TIP)
        unnumbered = "The name has no place for a number: write #### where it belongs."
        tip = locked or ("" if name.numbered else unnumbered)
        self.number.setToolTip(tip or "Stands for the #### in the name.")
        self.counts_up.setToolTip(
            unnumbered
            if not name.numbered
            else "The number goes up by one after each series that this panel has armed and that has a file."
        )
        self.folder.explain(
            locked
            or "Folder below the receiver's data root. Arm asks before it creates one that does not exist."
        )
        self.browse.setToolTip(
            locked
            or (
                "Choose one of the receiver's folders."
                if self._root_request[0]
                else "The device names no receiver to ask."
            )
        )
        self.next_free.setToolTip(NEXT_TIP)

    def _connect(self) -> None:
        self.template.typed.connect(lambda text: self._edit(template=text))
        self.folder.typed.connect(lambda text: self._edit(folder=text))
        self.number.valueChanged.connect(lambda number: self._edit(number=number))
        self.counts_up.clicked.connect(self._model.set_counts_up)
        for line in (self.template, self.folder):
            line.returnPressed.connect(self._write)
        self.number.entered.connect(self._write)
        for editor in (self.template, self.folder, self.number):
            editor.escaped.connect(lambda: self._model.discard(FILE))
        self.browse.clicked.connect(self._browse)
        self.next_free.clicked.connect(self._model.next_free_number)

    def _write(self) -> None:
        self._model.write(FILE)

    def _lay_out(self) -> None:
        self.setFocusPolicy(qt.Qt.ClickFocus)
        grid = form_grid(self)
        self.template.setPlaceholderText("live view only, nothing is written")
        self.folder.setPlaceholderText("folder below the receiver's data root")
        labels: tuple[tuple[str, Any, str], ...] = (
            ("&Name", self.template, "Name of the file"),
            ("N&umber", self.number, "Number in the file's name"),
            ("F&older", self.folder, "Folder of the file"),
        )
        for row, (text, buddy, name) in enumerate(labels):
            label = qt.QLabel(text, self)
            label.setBuddy(buddy)
            label.setProperty("role", "label")
            buddy.setAccessibleName(name)
            grid.addWidget(label, row, 0)
        self._sign.setFixedWidth(SIGN_WIDTH)
        self._sign.setProperty("role", "sign")
        self.number.setMinimumWidth(90)
        self.path.setProperty("role", "muted")
        self._says.setAlignment(qt.Qt.AlignLeft | qt.Qt.AlignTop)
        free = SIGN_WIDTH + 6
        for row, widgets in enumerate((
            ((self.template, 1), self._sign), (self.number, self.counts_up, STRETCH, free),
            ((self.folder, 1), self.browse, free),
        )):  # fmt: skip
            grid.addLayout(in_row(*widgets, spacing=6), row, 1)
        grid.addWidget(self.path, 3, 1)
        grid.addWidget(self._says, 4, 1)
        grid.addWidget(self.next_free, 5, 1, qt.Qt.AlignLeft)
