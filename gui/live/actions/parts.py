"""Parts of a view: hidden by its form (whole, as a tile among others, bare as on a wall) or by the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from silx.gui import qt

from penstock.gui.live.actions.tool_line import Tool

Form = Literal["whole", "tile", "bare"]


class Forms:
    """Hides parts of a widget, and shows again those that were there before."""

    def __init__(self) -> None:
        self._hidden: dict[Form, Sequence[qt.QWidget]] = {}
        self.form: Form = "whole"
        self._wanted: dict[qt.QWidget, bool] = {}
        """Parts that the form hides, and whether they are to be seen without it."""

    def hide_in(self, form: Form, parts: Sequence[qt.QWidget]) -> None:
        """Set what a form hides."""
        self._hidden[form] = parts

    def take(self, form: Form) -> None:
        """Take this form."""
        before, self._wanted = self._wanted, {}
        for part, shown in before.items():
            part.setVisible(shown)
        self.form = form
        self._wanted = {part: not part.isHidden() for part in self._hidden.get(form, ())}
        for part in self._wanted:
            part.hide()

    def hides(self, part: qt.QWidget) -> bool:
        """Return whether this form has no place for a part."""
        return part in self._wanted

    def show(self, part: qt.QWidget, shown: bool) -> None:
        """Show or hide a part: one that this form hides, when the form is left."""
        if part in self._wanted:
            self._wanted[part] = shown
        else:
            part.setVisible(shown)


def figures(parent: qt.QObject) -> Tool:
    """Return the switch for frame, series, account and rates beside the picture."""
    tip = "Frame, series, account and rates in figures"
    return Tool("Figures", "fa5s.list-ul", tip, parent, checkable=True)


def show_histogram(parent: qt.QObject) -> Tool:
    """Return the switch for the histogram, on which the levels are dragged."""
    tip = "Histogram beside the colour bar (H): drag its lines, or type a number, to set the levels"
    return Tool("Levels", "fa5s.chart-bar", tip, parent, "H", checkable=True)


class ShowDock(Tool):
    """Checked: what is measured or listed is below the picture, or in a window of its own."""

    def __init__(
        self, name: str, picture: str, tip: str, key: str, dock: qt.QDockWidget, forms: Forms
    ) -> None:
        super().__init__(name, picture, tip, dock, key, checkable=True)
        self.toggled.connect(lambda on: forms.show(dock, on))
        dock.visibilityChanged.connect(lambda _: forms.hides(dock) or self.setChecked(not dock.isHidden()))


def show_measure(dock: qt.QDockWidget, forms: Forms) -> Tool:
    """Return the switch for figures, beam, profiles and masks."""
    tip = (
        "Measure in the picture (G): counts of a rectangle, beam centre, resolution and rings, profiles, "
        "masks and backgrounds"
    )
    return ShowDock("Measure", "fa5s.ruler-combined", tip, "G", dock, forms)


def show_regions(dock: qt.QDockWidget, forms: Forms) -> Tool:
    """Return the switch for the list of regions of interest, in which they can be changed."""
    tip = "Regions of interest (R): sums, means and maxima of rectangles; add, move, rename, delete"
    return ShowDock("Regions", "fa5s.object-ungroup", tip, "R", dock, forms)
