"""Asks for the name of a preset, and where it goes."""

from __future__ import annotations

from collections.abc import Callable

from silx.gui import qt

from penstock.gui.background import Background
from penstock.gui.labels import ClampedLabel
from penstock.gui.layouts import STRETCH, in_column, in_row
from penstock.gui.model.preset import BadPreset, Preset
from penstock.gui.model.preset_files import Listed, PresetFolders, checked_name
from penstock.gui.panel.fields.field import PROBLEM_SIGN
from penstock.gui.panel.fields.line import Line
from penstock.gui.panel.style import look, sheet


class SavePreset(qt.QDialog):
    """Name, folder, and whether the file's name and metadata belong to it.

    Args:
        folders: where presets are.
        take: returns the settings; with the file's name and metadata if its argument is true.
    """

    saved = qt.Signal(object)
    """The path of the file."""

    def __init__(
        self, folders: PresetFolders, take: Callable[[bool], Preset], parent: qt.QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Save the settings as a preset")
        self.setStyleSheet(sheet())
        self.resize(520, 0)
        self._folders = folders
        self._take = take
        self._listed: list[Listed] = []
        self._disk = Background(self)
        self.name = Line(self)
        self.folder = qt.QComboBox(self)
        self.whole = qt.QCheckBox("With file &name, overwriting and metadata, which are of one series", self)
        self.save = qt.QPushButton("&Save", self)
        self._cancel = qt.QPushButton("Cancel", self)
        self._says = ClampedLabel(2, self)
        self._lay_out()
        self._update()
        self._disk.call(folders.list, self._show, self._failed)

    def says(self) -> str:
        """Return what is in the way, or what is replaced."""
        return self._says.whole()

    def _show(self, listed: list[Listed]) -> None:
        self._listed = [each for each in listed if each.writable]
        self.folder.clear()
        for each in self._listed:
            self.folder.addItem(f"{each.folder} (yours)" if each.own else str(each.folder), each.folder)
        self._update()

    def _exists(self) -> bool:
        folder = self.folder.currentData()
        here = [each for each in self._listed if each.folder == folder]
        return any(found.name == self.name.text().strip() for each in here for found in each.presets)

    def _update(self) -> None:
        try:
            checked_name(self.name.text())
            why = ""
        except BadPreset as error:
            why = str(error) if self.name.text() else ""
        named = bool(self.name.text().strip()) and not why
        self.save.setEnabled(named and self.folder.count() > 0)
        exists = named and self._exists()
        self.save.setText("&Replace it" if exists else "&Save")
        words = f"The preset {self.name.text().strip()} is there already." if exists else ""
        self._say(why or words, problem=bool(why))

    def _save(self) -> None:
        if not self.save.isEnabled():
            return
        try:
            preset = self._take(self.whole.isChecked())
        except BadPreset as error:
            self._failed(error)
            return
        name, folder, exists = self.name.text(), self.folder.currentData(), self._exists()
        self._disk.call(
            lambda: self._folders.save(preset, name, folder, overwrite=exists), self._done, self._failed
        )

    def _done(self, path: object) -> None:
        self.saved.emit(path)
        self.accept()

    def _failed(self, error: Exception) -> None:
        self._say(str(error), problem=True)

    def _say(self, words: str, *, problem: bool) -> None:
        self._says.set_whole(f"{PROBLEM_SIGN} {words}" if problem else words)
        look(self._says, role="problem" if problem else "muted")

    def _lay_out(self) -> None:
        self.name.setAccessibleName("Name of the preset")
        self.name.setPlaceholderText("such as powder 25 keV")
        self.folder.setAccessibleName("Folder of the preset")
        self.folder.setSizeAdjustPolicy(qt.QComboBox.AdjustToMinimumContentsLengthWithIcon)
        self.name.typed.connect(lambda _: self._update())
        self.name.returnPressed.connect(self._save)
        self.name.escaped.connect(self.reject)
        self.folder.currentIndexChanged.connect(lambda _: self._update())
        self.save.clicked.connect(self._save)
        self._cancel.clicked.connect(self.reject)
        for button in (self.save, self._cancel):
            button.setAutoDefault(False)
        form = qt.QGridLayout()
        for place, (text, widget) in enumerate((("&Name", self.name), ("&Folder", self.folder))):
            words = qt.QLabel(text, self)
            words.setBuddy(widget)
            form.addWidget(words, place, 0)
            form.addWidget(widget, place, 1)
        form.addWidget(self.whole, 2, 1)
        form.setColumnStretch(1, 1)
        buttons = in_row(STRETCH, self._cancel, self.save)
        in_column(form, self._says, buttons, of=self, margins=None, spacing=8)
        self.name.setFocus()
