"""One setting as a field: what is typed stays pending until Enter, a problem has a sign, red, and words."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.labels import ElidedLabel
from penstock.gui.layouts import in_row
from penstock.gui.model.attributes.attribute import Attribute, explanation, grouped, label, unit
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.texts.sentences import why_locked
from penstock.gui.model.view import DetectorView, Edit
from penstock.gui.panel.fields.line import Line
from penstock.gui.panel.style import look

PENDING_SIGN = "↵"
PROBLEM_SIGN = "▲"
PENDING = "Not written yet: Enter writes it, Esc takes the device's value; Arm writes it too."
NOTHING = "–"
NOT_TOLD = "The detector has not reported its value yet; it can be set after that."
UNIT_WIDTH = 38
SIGN_WIDTH = 14


def waiting_sign(edit: Edit | None) -> str:
    """Return the sign of what is typed and not written yet; "" where nothing is."""
    return "" if edit is None else "…" if edit.writing else PENDING_SIGN


def show_sign(label: qt.QLabel, edit: Edit | None) -> None:
    """Have a label say that something waits to be written, or that it cannot be, and why."""
    problem = edit.problem if edit is not None else ""
    label.setText(PROBLEM_SIGN if problem else waiting_sign(edit))
    label.setToolTip(problem)
    look(label, role="problem" if problem else "sign")


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

    def paintEvent(self, event: qt.QPaintEvent) -> None:
        """Paint a choice that does not fit with an ellipsis; the list that drops down has it all."""
        option = qt.QStyleOptionComboBox()
        self.initStyleOption(option)
        room = self.style().subControlRect(
            qt.QStyle.CC_ComboBox, option, qt.QStyle.SC_ComboBoxEditField, self
        )
        option.currentText = self.fontMetrics().elidedText(
            option.currentText, qt.Qt.ElideRight, room.width() - 2
        )
        painter = qt.QStylePainter(self)
        painter.drawComplexControl(qt.QStyle.CC_ComboBox, option)
        painter.drawControl(qt.QStyle.CE_ComboBoxLabel, option)
        colours = theme.current()
        frame = {"problem": colours.bad, "edit": colours.warning}.get(self.property("look"))
        if frame is not None:
            painter.setPen(qt.QColor(frame))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()

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
        self._problem = ""
        self._tip = ""
        self._sign = qt.QLabel(self)
        self._sign.setFixedWidth(SIGN_WIDTH)
        self._sign.setProperty("role", "sign")
        self.editor = self._make_editor()
        self.editor.setAccessibleName(label(attribute.name))
        self.editor.setObjectName(attribute.name)
        self._unit = qt.QLabel(unit(attribute), self)
        self._unit.setMinimumWidth(UNIT_WIDTH)
        self._unit.setProperty("role", "muted")
        self._unit.setVisible(bool(attribute.kind is not str or attribute.choices))
        in_row((self.editor, 1), self._unit, self._sign, of=self, spacing=6)

    @property
    def name(self) -> str:
        """Name of the attribute."""
        return self.attribute.name

    def set_narrow(self) -> None:
        """Put another field into the same row."""
        self._unit.setMinimumWidth(0)

    def problem(self) -> str:
        """Return what is wrong with what was typed, as its tool tip begins; "" where nothing is."""
        return f"{PROBLEM_SIGN} {self._problem}" if self._problem else ""

    def show_view(self, view: DetectorView) -> None:
        """Follow the snapshot."""
        attribute = view.attributes.get(self.name)
        if attribute is None:
            return
        self.attribute = attribute
        edit = view.edits.get(self.name)
        known = edit is not None or view.values.get(self.name) is not None
        locked = why_locked(view) or ("" if known or attribute.group != "camera" else NOT_TOLD)
        value = view.values.get(self.name)
        whole = view.text(self.name)
        self._show_text(whole, attribute.brief(value) if edit is None else whole, known=known)
        self._lock(bool(locked))
        self._show_edit(edit)
        look(self.editor, old=not view.here)
        pending = [] if edit is None else [PENDING, f"The device has {attribute.with_unit(value)}."]
        if edit is None and attribute.brief(value) != grouped(whole):
            pending = [f"{whole} {unit(attribute)}".strip()]
        lines = (self.problem(), locked, *pending, explanation(attribute))
        tip = "\n".join(line for line in lines if line)
        if tip != self._tip:
            self._tip = tip
            self._explain(tip)

    def _show_edit(self, edit: Edit | None) -> None:
        self._problem = problem = edit.problem if edit is not None else ""
        show_sign(self._sign, edit)
        look(self.editor, look="problem" if problem else "edit" if edit is not None else "")

    # -- of each kind -------------------------------------------------------------------------

    def _make_editor(self) -> qt.QWidget:
        raise NotImplementedError

    def _show_text(self, text: str, brief: str, *, known: bool) -> None:
        raise NotImplementedError

    def _explain(self, tip: str) -> None:
        self.editor.setToolTip(tip)
        self.editor.setAccessibleDescription(tip)

    def _lock(self, locked: bool) -> None:
        """Make the field read-only without moving the focus to the next widget, which may be a button."""
        if locked and self.editor.hasFocus():
            self.setFocusPolicy(qt.Qt.ClickFocus)
            self.setFocus()
        self.editor.setEnabled(not locked)


class TextField(Field):
    """A number or a text."""

    def _make_editor(self) -> qt.QWidget:
        line = Line(self, number=self.attribute.kind is not str)
        line.typed.connect(lambda text: self._model.edit(self.name, text))
        line.returnPressed.connect(lambda: self._model.write(self.name))
        line.escaped.connect(lambda: self._model.discard(self.name))
        return line

    def _show_text(self, text: str, brief: str, *, known: bool) -> None:
        self.editor.put(text if known else "", brief if known else "")
        self.editor.setPlaceholderText("" if known else "not known")

    def _explain(self, tip: str) -> None:
        self.editor.explain(tip)

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

    def _show_text(self, text: str, brief: str, *, known: bool) -> None:
        if not self.editor.view().isVisible():
            self.editor.put(text)


class SwitchField(Field):
    """Yes or no; written as soon as it is switched."""

    def _make_editor(self) -> qt.QWidget:
        box = qt.QCheckBox(label(self.attribute.name), self)
        box.clicked.connect(lambda on: self._model.set(self.name, "yes" if on else "no"))
        return box

    def _show_text(self, text: str, brief: str, *, known: bool) -> None:
        self.editor.setChecked(text == "yes")


class ReadingField(Field):
    """A value that can only be read."""

    def _make_editor(self) -> qt.QWidget:
        return ElidedLabel(self)

    def _show_text(self, text: str, brief: str, *, known: bool) -> None:
        if self.editor.whole() != (brief or NOTHING):
            self.editor.set_whole(brief or NOTHING)
            self._tip = ""  # which the label has just replaced

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
