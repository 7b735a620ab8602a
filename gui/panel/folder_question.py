"""Asks before Arm has a folder created: one that does not exist may be mistyped."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.files.place import Place
from penstock.gui.model.view import DetectorView


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
        box = self._box = qt.QMessageBox(self.parent())
        box.setIcon(qt.QMessageBox.Question)
        box.setWindowTitle("A new folder")
        box.setTextFormat(qt.Qt.PlainText)
        box.setText(f"{place.sentence()}\nCreate it, and begin the series?")
        create = box.addButton("&Create and arm", qt.QMessageBox.AcceptRole)
        cancel = box.addButton("Ca&ncel", qt.QMessageBox.RejectRole)
        box.setDefaultButton(cancel)
        box.setEscapeButton(cancel)
        box.setAttribute(qt.Qt.WA_DeleteOnClose)

        def answered() -> None:
            if self._box is box:
                self._box = None
            if self._about == place:
                self._about = None
                self._model.answer(place, create=box.clickedButton() is create)

        box.finished.connect(answered)
        box.open()
