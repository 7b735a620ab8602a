"""A form that scrolls: sections of fields, each with its label."""

from __future__ import annotations

from typing import Any

from silx.gui import qt

from penstock.gui.layouts import STRETCH, in_column, in_row
from penstock.gui.model.attributes.attribute import label
from penstock.gui.model.view import DetectorView
from penstock.gui.panel.fields.field import Field, SwitchField

MNEMONICS = {
    "ExposureTime": "&Exposure time", "FrameTime": "Per&iod or rate", "LatencyTime": "&Latency",
    "TriggerMode": "&Trigger mode", "nTriggers": "Tri&ggers", "nFramesPerTrigger": "Fra&mes per trigger",
}  # fmt: skip
"""Labels with the letter for Alt; those of the file are in `file_field`."""
LABEL_WIDTH = 126
WIDEST = 600


def form_grid(of: qt.QWidget | None = None) -> qt.QGridLayout:
    """Return the grid of labels and fields; `of`: widget whose layout it is."""
    grid = qt.QGridLayout()
    if of is not None:
        of.setLayout(grid)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setColumnMinimumWidth(0, LABEL_WIDTH)
    grid.setColumnStretch(1, 1)
    grid.setHorizontalSpacing(10)
    grid.setVerticalSpacing(6)
    return grid


class FormPage(qt.QScrollArea):
    """A page of settings that scrolls."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(qt.QFrame.NoFrame)
        self.setHorizontalScrollBarPolicy(qt.Qt.ScrollBarAlwaysOff)
        self.content = qt.QWidget(self)
        self.content.setProperty("role", "form")

    def fill(self, *parts: Any, spacing: int = 0) -> None:
        """Put these into the page, one below the other."""
        in_column(*parts, STRETCH, of=self.content, margins=(14, 8, 10, 14), spacing=spacing)
        self.setWidget(self.content)


class Form(FormPage):
    """Rows of label and field under headings."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(qt.Qt.NoFocus)
        self._grid = form_grid()
        self.fill(self._grid)
        self.fields: dict[str, Field] = {}
        """Fields by attribute."""
        self._labels: dict[str, qt.QLabel] = {}
        self._hidden: frozenset[str] = frozenset()
        self._sought = ""

    def add_heading(self, text: str) -> None:
        """Begin a section."""
        heading = qt.QLabel(text.upper(), self.widget())
        heading.setProperty("role", "heading")
        heading.setContentsMargins(0, 10 if self._grid.count() else 0, 0, 0)
        self._grid.addWidget(heading, self._grid.rowCount(), 0, 1, 2)

    def add_field(self, field: Field) -> None:
        """One row."""
        self.fields[field.name] = field
        place = self._grid.rowCount()
        if not isinstance(field, SwitchField):
            self._grid.addWidget(self._label(field), place, 0, qt.Qt.AlignTop)
        self._grid.addWidget(field, place, 1)

    def add_pair(self, first: Field, second: Field) -> None:
        """Two fields for one quantity, in one row: "period or rate"."""
        self.fields |= {first.name: first, second.name: second}
        first.set_narrow()
        place = self._grid.rowCount()
        self._grid.addWidget(self._label(first), place, 0, qt.Qt.AlignTop)
        self._grid.addLayout(in_row((first, 4), (second, 5), spacing=2), place, 1)

    def add_wide(self, widget: qt.QWidget) -> None:
        """A widget over both columns."""
        self._grid.addWidget(widget, self._grid.rowCount(), 0, 1, 2)

    def add_note(self, widget: qt.QWidget) -> None:
        """A widget in the column of the fields."""
        self._grid.addWidget(widget, self._grid.rowCount(), 1)

    def fit(self) -> None:
        """Be as wide as the fields need: nothing is cut off at the side."""
        bar = self.verticalScrollBar().sizeHint().width()
        self.setMinimumWidth(min(WIDEST, self.widget().minimumSizeHint().width() + bar))

    def show_view(self, view: DetectorView) -> None:
        """Follow the snapshot."""
        for field in self.fields.values():
            field.show_view(view)

    def filter(self, text: str) -> int:
        """Show only fields whose label, name or description has `text`; how many there are."""
        self._sought = text.strip().lower()
        return sum([self._show_field(field) for field in self.fields.values()])

    def hide_fields(self, names: frozenset[str]) -> None:
        """Leave these out, and no others, whatever is sought."""
        changed, self._hidden = names ^ self._hidden, names
        for name in changed & self.fields.keys():
            self._show_field(self.fields[name])

    def _show_field(self, field: Field) -> bool:
        name = field.name
        fits = self._sought in f"{label(name)} {name} {field.attribute.doc}".lower()
        shown = fits and name not in self._hidden
        field.setVisible(shown)
        if name in self._labels:
            self._labels[name].setVisible(shown)
        return shown

    def _label(self, field: Field) -> qt.QLabel:
        text = qt.QLabel(MNEMONICS.get(field.name) or label(field.name).replace("&", "&&"), self.widget())
        text.setBuddy(field.editor)
        text.setProperty("role", "label")
        text.setMinimumHeight(field.editor.sizeHint().height())
        text.setWordWrap(True)
        self._labels[field.name] = text
        return text
