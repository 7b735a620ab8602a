"""Presets above the settings: a button with the menu of all."""

from __future__ import annotations

from collections.abc import Callable

from silx.gui import qt

from penstock.gui.background import Background
from penstock.gui.layouts import in_row
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.preset import Applied, Preset, take
from penstock.gui.model.preset_files import Found, Listed, PresetFolders, delete, read
from penstock.gui.model.texts.sentences import why_locked
from penstock.gui.model.view import DetectorView
from penstock.gui.panel.fields.field import PROBLEM_SIGN
from penstock.gui.panel.question import ask
from penstock.gui.panel.settings.save_preset import SavePreset

SAVE, MENU, WRITE = "Ctrl+S", "Ctrl+Shift+P", "Ctrl+Return"
"""Keys."""


class PresetBar(qt.QWidget):
    """A button with the menu; what comes of it is said elsewhere, `said` tells when.

    Args:
        model: whose settings they are.
        folders: where presets are.
    """

    said = qt.Signal()
    """There is another result."""

    def __init__(
        self, model: DetectorModel, folders: PresetFolders, parent: qt.QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._folders = folders
        self._view = DetectorView(name=model.name)
        self._disk = Background(self)
        self._menu: qt.QMenu | None = None
        self.button = qt.QPushButton("Presets ▾", self)
        self._says = ("", "", False)
        self._lay_out()

    def says(self) -> str:
        """Return the result of what was done last."""
        return self._says[0]

    def tip(self) -> str:
        """Return more about it."""
        return self._says[1]

    def is_problem(self) -> bool:
        """Return whether something could not be done."""
        return self._says[2]

    def menu(self) -> qt.QMenu | None:
        """Return the menu that is open."""
        return self._menu

    def show_view(self, view: DetectorView) -> None:
        """Follow the snapshot."""
        self._view = view
        self.button.setEnabled(bool(view.attributes))

    # -- the menu ----------------------------------------------------------------------------------

    def open_menu(self) -> None:
        """Look into the folders, and open the menu."""
        self._disk.call(self._folders.list, self._pop_up, self._failed)

    def _pop_up(self, folders: list[Listed]) -> None:
        locked = why_locked(self._view)
        menu = self._menu = qt.QMenu(self)
        menu.setToolTipsVisible(True)
        menu.setAttribute(qt.Qt.WA_DeleteOnClose)
        menu.aboutToHide.connect(self._closed)
        self._action(menu, "&Save the settings as…", self.save_as, keys=SAVE)
        pending = "" if self._view.edits else "Nothing is typed."
        self._action(menu, "&Write all that is typed", self.write_all, locked or pending, WRITE)
        self._action(menu, "&Forget all that is typed", self._model.discard_all, pending)
        for listed in folders:
            title = "Yours" if listed.own else str(listed.folder)
            menu.addSection(title).setToolTip(str(listed.folder))
            if listed.problem:
                self._action(menu, f"{PROBLEM_SIGN} {listed.problem}", lambda: None, listed.problem)
            elif not listed.presets:
                self._action(menu, "none yet", lambda: None, f"There is no preset in {listed.folder}.")
            for found in listed.presets:
                self._action(menu, found.name.replace("&", "&&"), self._loader(found), locked)
        self._add_deletion(menu, folders)
        menu.popup(self.button.mapToGlobal(qt.QPoint(0, self.button.height())))

    def _add_deletion(self, menu: qt.QMenu, folders: list[Listed]) -> None:
        menu.addSeparator()
        deletion = menu.addMenu("&Delete")
        for listed in folders:
            for found in listed.presets if listed.writable else ():
                entry = self._action(deletion, found.name.replace("&", "&&"), self._deleter(found))
                entry.setToolTip(str(found.path))
        deletion.setEnabled(not deletion.isEmpty())

    def _action(
        self, menu: qt.QMenu, text: str, does: Callable[[], object], why_not: str = "", keys: str = ""
    ) -> qt.QAction:
        action = menu.addAction(f"{text}\t{keys}" if keys else text)
        action.setEnabled(not why_not)
        action.setToolTip(why_not or text.replace("&", ""))
        action.triggered.connect(lambda _=False: does())
        return action

    def _closed(self) -> None:
        self._menu = None

    # -- what it does ------------------------------------------------------------------------------

    def write_all(self) -> None:
        """Write all that is typed."""
        if not why_locked(self._model.view()):
            self._model.write_all()

    def save_as(self) -> None:
        """Ask for a name, and save the settings on show."""
        if not self._view.attributes:
            return
        dialog = SavePreset(self._folders, self._taken, self)
        dialog.setAttribute(qt.Qt.WA_DeleteOnClose)
        dialog.saved.connect(lambda path: self._say(f"Saved: {path.stem}", str(path)))
        dialog.open()

    def _taken(self, whole: bool) -> Preset:
        return take(self._model.view(), whole=whole)

    def _loader(self, found: Found) -> Callable[[], None]:
        return lambda: self._disk.call(
            lambda: read(found), lambda preset: self._load(found, preset), self._failed
        )

    def _load(self, found: Found, preset: Preset) -> None:
        if locked := why_locked(self._model.view()):
            self._say(f"{PROBLEM_SIGN} {found.name} was not loaded. {locked}", problem=True)
            return
        applied = self._model.load(found.name, preset)
        lost = applied.details()
        self._say(
            f"{f'{PROBLEM_SIGN} ' if lost else ''}{found.name}: {applied.sentence()}",
            "\n".join(filter(None, (str(found.path), preset.saved and f"Saved {preset.saved}", lost))),
            problem=bool(lost),
        )
        if lost:
            self._list(found, applied)

    def _list(self, found: Found, applied: Applied) -> None:
        """Show what was not taken."""
        box = qt.QMessageBox(self)
        box.setIcon(qt.QMessageBox.Warning)
        box.setWindowTitle(f"Preset {found.name}")
        box.setTextFormat(qt.Qt.PlainText)
        red = " What was refused is typed and red: mend it, or press Esc there." if applied.refused else ""
        box.setText(f"Of the preset {found.name} not all can be set here.{red}")
        box.setInformativeText(applied.details())
        box.setStandardButtons(qt.QMessageBox.Close)
        box.setAttribute(qt.Qt.WA_DeleteOnClose)
        box.open()

    def _deleter(self, found: Found) -> Callable[[], None]:
        return lambda: self._ask_delete(found)

    def _ask_delete(self, found: Found) -> None:
        def answered(yes: bool) -> None:
            if yes:
                self._disk.call(
                    lambda: delete(found), lambda _: self._say(f"Deleted: {found.name}"), self._failed
                )

        text = f"Delete the preset {found.name} in {found.folder}?"
        ask(self, "Delete a preset", text, "&Delete it", "&Keep it", answered)

    def _failed(self, error: Exception) -> None:
        self._say(f"{PROBLEM_SIGN} {error}", problem=True)

    def _say(self, words: str, tip: str = "", *, problem: bool = False) -> None:
        self._says = (words, "\n".join(filter(None, (words, tip))), problem)
        self.said.emit()

    def _lay_out(self) -> None:
        self.button.setAutoDefault(False)
        self.button.setEnabled(False)
        self.button.setToolTip(
            f"Save the settings under a name, and load them again ({MENU}).\n"
            + "\n".join(f"Folder: {each}" for each in (self._folders.own, *self._folders.sites))
        )
        self.button.clicked.connect(self.open_menu)
        in_row(self.button, of=self, margins=(0, 0, 10, 3))
        for keys, does in ((SAVE, self.save_as), (MENU, self.open_menu), (WRITE, self.write_all)):
            shortcut = qt.QShortcut(qt.QKeySequence(keys), self)
            shortcut.setAutoRepeat(False)
            shortcut.activated.connect(does)
