"""The page of Metadata: fields for title, sample, user and proposal, and a table of all other keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from silx.gui import qt

from penstock.gui.labels import ClampedLabel
from penstock.gui.model.attributes import metadata
from penstock.gui.model.attributes.metadata import (
    FIELDS,
    KNOWN_KEYS,
    METADATA,
    BadMetadata,
    Entry,
    explanation,
)
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.texts.sentences import why_locked
from penstock.gui.model.view import DetectorView
from penstock.gui.panel.fields.field import PROBLEM_SIGN, SIGN_WIDTH, waiting_sign
from penstock.gui.panel.fields.form import FormPage, form_grid
from penstock.gui.panel.fields.line import Line
from penstock.gui.panel.style import look

MNEMONICS = {"Title": "T&itle", "Sample": "Samp&le", "User": "&User", "Proposal": "Pr&oposal"}
NOTE = "All keys go into the file; a point in a key leads into an object."
VALUE_TIP = "A number, true, false, or text; a text that looks like a number is in quotes."


@dataclass
class Row:
    """A row of the table as it is typed: a key may be half a one."""

    key: Line
    value: Line
    remove: qt.QToolButton
    entry: Entry | None = None
    """What it was made of, while neither key nor value is typed anew; the key of another client may have a
    point in it."""

    def is_empty(self) -> bool:
        """Return whether nothing was typed yet."""
        return not self.key.text().strip() and not self.value.text()

    def typed(self) -> Entry:
        """Return its entry.

        Raises:
            BadMetadata: the key is none.
        """
        if self.entry is not None:
            return self.entry
        key = self.key.text().strip()
        if not key:
            raise BadMetadata(f'the value "{self.value.text()}" has no key')
        return Entry(metadata.path_of(key), metadata.value_of(self.value.text()))


class MetadataPage(FormPage):
    """Edits the JSON object Metadata as text in lines; all of it is one pending edit."""

    def __init__(self, model: DetectorModel, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(qt.Qt.ClickFocus)
        self._model = model
        self._view = DetectorView(name=model.name)
        self._shown: str | None = None
        """The text that the lines say."""
        self._garbage = ""
        self.fields = {label: Line(self) for label in FIELDS}
        self.rows: list[Row] = []
        self.add = qt.QPushButton("&Add a key", self)
        self._signs = {label: qt.QLabel(self) for label in FIELDS}
        self._says = ClampedLabel(2, self)
        self._lay_out()

    def says(self) -> str:
        """Return what is wrong with what was typed here, or what becomes of it."""
        return self._says.whole()

    def show_view(self, view: DetectorView) -> None:
        """Follow the snapshot."""
        self._view = view
        known = METADATA in view.edits or view.values.get(METADATA) is not None
        text = view.text(METADATA) if known else ""
        if text != self._shown:
            self._show(text)
        edit, locked = view.edits.get(METADATA), why_locked(view)
        problem = edit.problem if edit is not None else self._garbage
        self._says.set_whole(f"{PROBLEM_SIGN} {problem}" if problem else NOTE)
        look(self._says, role="problem" if problem else "muted")
        changed = self._changed(edit is not None)
        for label, line in self.fields.items():
            self._show_line(line, locked, changed=label in changed)
            self._signs[label].setText(waiting_sign(edit) if label in changed else "")
            line.explain("\n".join(filter(None, (locked, f"Key {FIELDS[label][-1]} of Metadata."))))
        for row in self.rows:
            self._show_row(row, locked, changed=row.key.text().strip() in changed)
        self.add.setEnabled(not locked)
        self.add.setToolTip(locked or "A new row at the end of the table.")

    # -- what is shown -----------------------------------------------------------------------------

    def _show(self, text: str) -> None:
        """Have all lines say what `text` says."""
        self._garbage = ""
        try:
            entries = metadata.read(text)
        except BadMetadata as error:
            entries, self._garbage = [], str(error)
        own = metadata.fields(entries)
        for label, line in self.fields.items():
            line.put(metadata.field_text(own[label]) if label in own else "")
        rest = metadata.rows(entries)
        while len(self.rows) > len(rest):
            self._drop(self.rows[-1])
        while len(self.rows) < len(rest):
            self._append()
        for row, entry in zip(self.rows, rest, strict=True):
            row.entry = entry
            row.key.put(entry.key)
            row.value.put(entry.text)
        self._shown = text

    def _changed(self, pending: bool) -> set[str]:
        """Return labels and keys whose value is not the device's."""
        if not pending:
            return set()
        try:
            device = metadata.read(self._device_text())
        except BadMetadata:
            device = []
        own = {label: metadata.field_text(entry) for label, entry in metadata.fields(device).items()}
        has = {entry.key: entry.text for entry in metadata.rows(device)}
        fields = {label for label, line in self.fields.items() if line.text() != own.get(label, "")}
        keys = {row.key.text().strip() for row in self.rows if not row.is_empty()}
        rows = {row.key.text().strip(): row.value.text() for row in self.rows}
        return fields | {key for key in keys if rows[key] != has.get(key)}

    def _show_line(self, line: Line, locked: str, *, changed: bool, wrong: bool = False) -> None:
        line.setReadOnly(bool(locked))
        look(line, locked=bool(locked), look="problem" if wrong else "edit" if changed else "")

    def _show_row(self, row: Row, locked: str, *, changed: bool) -> None:
        edit = self._view.edits.get(METADATA)
        wrong = edit is not None and bool(edit.problem) and self._is_wrong(row)
        for line in (row.key, row.value):
            self._show_line(line, locked, changed=changed, wrong=wrong)
        key = row.key.text().strip()
        row.key.explain(locked or explanation(key))
        row.value.explain(locked or f"{VALUE_TIP}\n{explanation(key)}")
        row.value.setAccessibleName(f"Value of {key}" if key else "Value of the new key")
        row.remove.setEnabled(not locked)

    def _is_wrong(self, row: Row) -> bool:
        """Return whether this row is what keeps the whole from being written."""
        if row.is_empty():
            return False
        others = [each for each in self.rows if each is not row and not each.is_empty()]
        try:
            metadata.write([*self._field_entries(), *(each.typed() for each in others)])
        except BadMetadata:
            return False
        return True

    # -- the user ----------------------------------------------------------------------------------

    def _text(self) -> str:
        """Return what is pending, or else the device's: the view on show may be older."""
        view = self._model.view()
        known = METADATA in view.edits or view.values.get(METADATA) is not None
        return view.text(METADATA) if known else ""

    def _device_text(self) -> str:
        attribute = self._view.attributes.get(METADATA)
        value = self._view.values.get(METADATA)
        return attribute.show(value) if attribute is not None and value is not None else ""

    def _field_entries(self) -> list[Entry]:
        """Return the entries of the fields: where other clients have put them, or else where they belong."""
        try:
            entries = metadata.read(self._text())
        except BadMetadata:
            entries = []
        own = metadata.fields(entries)
        for label, line in self.fields.items():
            if label in own and line.text() == metadata.field_text(own[label]):
                continue
            if label in own or line.text():
                entries = metadata.with_field(entries, label, line.text())
        return list(metadata.fields(entries).values())

    def _edit(self) -> None:
        """What the lines say becomes the pending edit."""
        try:
            rows = [row.typed() for row in self.rows if not row.is_empty()]
            text, problem = metadata.write([*self._field_entries(), *rows]), ""
        except BadMetadata as error:
            text, problem = self._text(), str(error)
        if not problem and metadata.same(text, self._device_text()):
            text = self._device_text()
        self._shown = text
        self._model.edit(METADATA, text, problem)

    def _edit_row(self, row: Row) -> None:
        row.entry = None
        self._edit()

    def _discard(self) -> None:
        self._shown = None
        self._model.discard(METADATA)

    def _new_row(self) -> None:
        if not self.rows or not self.rows[-1].is_empty():
            self._append()
            self.show_view(self._view)
        self.rows[-1].key.setFocus()
        qt.QTimer.singleShot(0, self._show_last)

    def _show_last(self) -> None:
        if self.rows:
            self.ensureWidgetVisible(self.rows[-1].key)

    def _remove(self, row: Row) -> None:
        self._drop(row)
        self._edit()
        self.show_view(self._model.view())

    # -- layout ------------------------------------------------------------------------------------

    def _append(self) -> None:
        row = Row(Line(self.widget()), Line(self.widget()), qt.QToolButton(self.widget()))
        row.key.setAccessibleName("Key")
        row.key.setPlaceholderText("key")
        completer = qt.QCompleter(sorted(KNOWN_KEYS), row.key)
        completer.setFilterMode(qt.Qt.MatchContains)
        completer.setCaseSensitivity(qt.Qt.CaseInsensitive)
        completer.activated.connect(lambda _: self._edit_row(row))
        row.key.setCompleter(completer)
        row.value.setPlaceholderText("value")
        row.remove.setText("✕")
        row.remove.setAutoRaise(True)
        row.remove.setToolTip("Remove this key")
        row.remove.setAccessibleName("Remove this key")
        row.remove.clicked.connect(lambda: self._remove(row))
        self._connect(row.key, lambda: self._edit_row(row))
        self._connect(row.value, lambda: self._edit_row(row))
        place = len(self.rows)
        for column, widget in enumerate((row.key, row.value, row.remove)):
            self._table.addWidget(widget, place, column)
            widget.show()
        self.rows.append(row)

    def _drop(self, row: Row) -> None:
        self.rows.remove(row)
        for widget in (row.key, row.value, row.remove):
            if widget.hasFocus():
                self.setFocus()
            self._table.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        for place, each in enumerate(self.rows):
            for column, widget in enumerate((each.key, each.value, each.remove)):
                self._table.addWidget(widget, place, column)

    def _connect(self, line: Line, edit: Callable[[], None]) -> None:
        line.typed.connect(lambda _: edit())
        line.returnPressed.connect(lambda: self._model.write(METADATA))
        line.escaped.connect(self._discard)

    def _lay_out(self) -> None:
        grid, content = form_grid(), self.content
        for place, (text, line) in enumerate(self.fields.items()):
            words = qt.QLabel(MNEMONICS[text], content)
            words.setBuddy(line)
            words.setProperty("role", "label")
            line.setParent(content)
            line.setAccessibleName(text)
            self._connect(line, self._edit)
            sign = self._signs[text]
            sign.setFixedWidth(SIGN_WIDTH)
            sign.setProperty("role", "sign")
            for column, widget in enumerate((words, line, sign)):
                grid.addWidget(widget, place, column)
        heading = qt.QLabel("OTHER KEYS", content)
        heading.setProperty("role", "heading")
        heading.setContentsMargins(0, 10, 0, 0)
        self._table = qt.QGridLayout()
        self._table.setHorizontalSpacing(6)
        self._table.setVerticalSpacing(6)
        self._table.setColumnStretch(0, 1)
        self._table.setColumnStretch(1, 1)
        self.add.clicked.connect(self._new_row)
        self.add.setAutoDefault(False)
        self.fill(grid, heading, self._says, self._table, (self.add, 0, qt.Qt.AlignLeft), spacing=6)
