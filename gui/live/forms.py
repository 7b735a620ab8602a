"""The forms of a view: whole, as a tile among others, or bare, as on a wall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from silx.gui import qt

Form = Literal["whole", "tile", "bare"]


class Forms:
    """Hides parts of a widget, and shows again those that were there before.

    Args:
        hidden: what each form hides.
    """

    def __init__(self, hidden: Mapping[Form, Sequence[qt.QWidget]]) -> None:
        self._hidden = hidden
        self.form: Form = "whole"
        self._before: list[tuple[qt.QWidget, bool]] = []

    def take(self, form: Form) -> None:
        """Take this form."""
        for part, was_hidden in self._before:
            part.setHidden(was_hidden)
        self.form = form
        self._before = [(part, part.isHidden()) for part in self._hidden.get(form, ())]
        for part, _ in self._before:
            part.hide()
