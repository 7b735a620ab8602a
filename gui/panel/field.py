"""One setting as a field: what is typed stays pending until Enter, a problem is said in words below it."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.model.attribute import Attribute
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.labels import explanation, label, unit
from penstock.gui.model.sentences import why_locked
from penstock.gui.model.view import DetectorView, Edit
from penstock.gui.panel.style import look

PENDING_SIGN = "↵"
PROBLEM_SIGN = "▲"
PENDING = "Not written yet: Enter writes it, Esc takes the device's value; Arm writes it too."
NOTHING = "–"
NOT_TOLD = "The detector has not reported its value yet; it can be set after that."
UNIT_WIDTH = 38
SIGN_WIDTH = 14


class Line(qt.QLineEdit):
    """A line of text: Enter writes it, Esc discards it, and leaving it does neither."""

    escaped = qt.Signal()

    def keyPressEvent(self, event: qt.QKeyEvent) -> None:
        """Esc is the field's own."""
        if event.key() == qt.Qt.Key_Escape:
            self.escaped.emit()
        else:
            super().keyPressEvent(event)

    def put(self, text: str) -> None:
        """Show `text`; what is typed next still replaces it where it would have replaced the text before."""
        if self.text() != text:
            place, whole = self.cursorPosition(), self.hasFocus() and self.selectedText() == self.text()
            self.setText(text)
            self.setCursorPosition(min(place, len(text)) if self.hasFocus() else 0)
            if whole:
                self.selectAll()


class Choice(qt.QComboBox):
    """A combo box that ignores the mouse wheel, for forms that scroll."""

    escaped = qt.Signal()

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(qt.Qt.StrongFocus)
        self.setSizeAdjustPolicy(qt.QComboBox.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(6)

    def wheelEvent(self, event: qt.QWheelEvent) -> None:
        """Left to the form."""
        event.ignore()

    def keyPressEvent(self, event: qt.QKeyEvent) -> None:
        """Esc is the field's own."""
        if event.key() == qt.Qt.Key_Escape:
            self.escaped.emit()
        else:
            super().keyPressEvent(event)

    def put(self, text: str) -> None:
        """Show `text`, also one that is none of the choices."""
        if self.currentText() == text:
            return
        place = self.findText(text)
        if place < 0:
            self.addItem(text)
            place = self.count() - 1
        self.setCurrentIndex(place)


class Field(qt.QWidget):
    """The editor of an attribute, its unit, and its problem; `editor` takes the focus.

    Args:
        model: model that is read and written.
        attribute: the attribute at present; `show_view` follows its limits.
    """

    def __init__(self, model: DetectorModel, attribute: Attribute, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.attribute = attribute
        self._model = model
        self._line = qt.QHBoxLayout()
        self._line.setContentsMargins(0, 0, 0, 0)
        self._line.setSpacing(6)
        self._problem = qt.QLabel(self)
        self._problem.setWordWrap(True)
        self._problem.setTextFormat(qt.Qt.PlainText)
        self._problem.setProperty("role", "problem")
        self._problem.hide()
        self._sign = qt.QLabel(self)
        self._sign.setFixedWidth(SIGN_WIDTH)
        self._sign.setProperty("role", "sign")
        layout = qt.QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(self._line)
        layout.addWidget(self._problem)
        self.editor = self._make_editor()
        self.editor.setAccessibleName(label(attribute.name))
        self.editor.setObjectName(attribute.name)
        self._line.addWidget(self.editor, 1)
        self._unit = qt.QLabel(unit(attribute), self)
        self._unit.setMinimumWidth(UNIT_WIDTH)
        self._unit.setProperty("role", "muted")
        self._unit.setVisible(bool(attribute.kind is not str or attribute.choices))
        self._line.addWidget(self._unit)
        self._line.addWidget(self._sign)

    @property
    def name(self) -> str:
        """Of the attribute."""
        return self.attribute.name

    def set_narrow(self) -> None:
        """Put another field into the same row."""
        self._unit.setMinimumWidth(0)

    def problem(self) -> str:
        """Return the sentence on show; "" where nothing is wrong."""
        return "" if self._problem.isHidden() else str(self._problem.text())

    def show_view(self, view: DetectorView) -> None:
        """Follow the snapshot."""
        attribute = view.attributes.get(self.name)
        if attribute is None:
            return
        self.attribute = attribute
        edit = view.edits.get(self.name)
        known = edit is not None or view.values.get(self.name) is not None
        locked = why_locked(view) or ("" if known or attribute.group != "camera" else NOT_TOLD)
        self._show_text(view.text(self.name), known=known)
        self._lock(bool(locked))
        self._show_edit(edit)
        look(self.editor, old=not view.here)
        device = attribute.with_unit(view.values.get(self.name))
        pending = [] if edit is None else [PENDING, f"The device has {device}."]
        tip = "\n".join(line for line in (locked, *pending, explanation(attribute)) if line)
        if tip != self.editor.toolTip():
            self.editor.setToolTip(tip)
            self.editor.setAccessibleDescription(tip)

    def _show_edit(self, edit: Edit | None) -> None:
        problem = edit.problem if edit is not None else ""
        self._problem.setText(f"{PROBLEM_SIGN} {problem}" if problem else "")
        self._problem.setVisible(bool(problem))
        self._sign.setText("" if edit is None or problem else "…" if edit.writing else PENDING_SIGN)
        look(self.editor, look="problem" if problem else "edit" if edit is not None else "")

    # -- of each kind -------------------------------------------------------------------------

    def _make_editor(self) -> qt.QWidget:
        raise NotImplementedError

    def _show_text(self, text: str, *, known: bool) -> None:
        raise NotImplementedError

    def _lock(self, locked: bool) -> None:
        """Make the field read-only without moving the focus to the next widget, which may be a button."""
        if locked and self.editor.hasFocus():
            self.setFocusPolicy(qt.Qt.ClickFocus)
            self.setFocus()
        self.editor.setEnabled(not locked)


class TextField(Field):
    """A number or a text."""

    def _make_editor(self) -> qt.QWidget:
        line = Line(self)
        line.textEdited.connect(lambda text: self._model.edit(self.name, text))
        line.returnPressed.connect(lambda: self._model.write(self.name))
        line.escaped.connect(lambda: self._model.discard(self.name))
        return line

    def _show_text(self, text: str, *, known: bool) -> None:
        self.editor.put(text if known else "")
        self.editor.setPlaceholderText("" if known else "not known")

    def _lock(self, locked: bool) -> None:
        if self.editor.isReadOnly() != locked:
            self.editor.setReadOnly(locked)  # its text can still be selected and copied
            look(self.editor, locked=locked)


class ChoiceField(Field):
    """One of several texts; written as soon as it is chosen."""

    def _make_editor(self) -> qt.QWidget:
        box = Choice(self)
        box.addItems(list(self.attribute.choices))
        box.textActivated.connect(lambda text: self._model.set(self.name, text))
        box.escaped.connect(lambda: self._model.discard(self.name))
        return box

    def _show_text(self, text: str, *, known: bool) -> None:
        if not self.editor.view().isVisible():
            self.editor.put(text)


class SwitchField(Field):
    """Yes or no; written as soon as it is switched."""

    def _make_editor(self) -> qt.QWidget:
        box = qt.QCheckBox(label(self.attribute.name), self)
        box.clicked.connect(lambda on: self._model.set(self.name, "yes" if on else "no"))
        return box

    def _show_text(self, text: str, *, known: bool) -> None:
        self.editor.setChecked(text == "yes")


class ReadingField(Field):
    """A value that can only be read."""

    def _make_editor(self) -> qt.QWidget:
        text = qt.QLabel(self)
        text.setTextInteractionFlags(qt.Qt.TextSelectableByMouse)
        return text

    def _show_text(self, text: str, *, known: bool) -> None:
        self.editor.setText(text or NOTHING)

    def _lock(self, locked: bool) -> None:
        """Do nothing: it is always locked."""


def make_field(model: DetectorModel, attribute: Attribute, parent: qt.QWidget | None = None) -> Field:
    """Return the field that fits the attribute."""
    kind: type[Field] = TextField
    if not attribute.writable:
        kind = ReadingField
    elif attribute.kind is bool:
        kind = SwitchField
    elif attribute.choices:
        kind = ChoiceField
    return kind(model, attribute, parent)
