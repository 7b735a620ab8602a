"""The forms of a view: whole, as a tile among others, or bare, as on a wall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from silx.gui import qt

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
