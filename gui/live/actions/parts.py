"""Parts of a view: hidden by its form (whole, as a tile among others, bare as on a wall) or by the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from silx.gui import qt

from penstock.gui.live.actions.icons import icon

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


class Figures(qt.QAction):
    """If checked, frame, series, account and rates are shown next to the picture."""

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__("Figures", parent)
        self.setIcon(icon("fa5s.list-ul"))
        self.setToolTip("Frame, series, account and rates in figures")
        self.setCheckable(True)


class ShowHistogram(qt.QAction):
    """Checked: the histogram is shown, on which the levels are dragged."""

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__("Levels", parent)
        self.setIcon(icon("fa5s.chart-bar"))
        self.setToolTip(
            "Histogram beside the colour bar (H): drag its lines, or type a number, to set the levels"
        )
        self.setShortcut("H")
        self.setCheckable(True)


class ShowMeasure(qt.QAction):
    """Checked: figures, beam, profiles and masks are below the picture, or in a window of their own."""

    def __init__(self, dock: qt.QDockWidget, forms: Forms, parent: qt.QObject | None = None) -> None:
        super().__init__("Measure", parent)
        self.setIcon(icon("fa5s.ruler-combined"))
        self.setToolTip(
            "Measure in the picture (G): counts of a rectangle, beam centre, resolution and rings, profiles, "
            "masks and backgrounds"
        )
        self.setShortcut("G")
        self.setCheckable(True)
        self.toggled.connect(lambda on: forms.show(dock, on))
        dock.visibilityChanged.connect(lambda _: forms.hides(dock) or self.setChecked(not dock.isHidden()))


class ShowRegions(qt.QAction):
    """Checked: the regions of interest are listed below the picture, and can be changed."""

    def __init__(self, dock: qt.QDockWidget, forms: Forms, parent: qt.QObject | None = None) -> None:
        super().__init__("Regions", parent)
        self.setIcon(icon("fa5s.object-ungroup"))
        self.setToolTip(
            "Regions of interest (R): sums, means and maxima of rectangles; add, move, rename, delete"
        )
        self.setShortcut("R")
        self.setCheckable(True)
        self.toggled.connect(lambda on: forms.show(dock, on))
        dock.visibilityChanged.connect(lambda _: forms.hides(dock) or self.setChecked(not dock.isHidden()))
