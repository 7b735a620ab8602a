"""Rows and columns of widgets: with no margin around them, unless one is asked for."""

from __future__ import annotations

from typing import Any

from silx.gui import qt

STRETCH = object()
"""Takes the room that is left."""
NO_MARGINS = (0, 0, 0, 0)


def in_row(
    *parts: Any, of: qt.QWidget | None = None,
    margins: tuple[int, int, int, int] | None = NO_MARGINS, spacing: int | None = None,
) -> qt.QHBoxLayout:  # fmt: skip
    """Return a row, from left to right.

    Args:
        parts: widgets and layouts, each alone or as (part, stretch) or (part, stretch, alignment); a number
            of pixels that are left free; or `STRETCH`.
        of: widget whose layout this is; `None`: it is a part of another layout.
        margins: pixels at the left, the top, the right and the bottom; `None`: those of the style.
        spacing: pixels between two parts; `None`: those of the style.
    """
    return _filled(qt.QHBoxLayout(), parts, of, margins, spacing)


def in_column(
    *parts: Any, of: qt.QWidget | None = None,
    margins: tuple[int, int, int, int] | None = NO_MARGINS, spacing: int | None = None,
) -> qt.QVBoxLayout:  # fmt: skip
    """Return a column, from the top to the bottom; for arguments see `in_row`."""
    return _filled(qt.QVBoxLayout(), parts, of, margins, spacing)


def _filled(
    layout: qt.QBoxLayout, parts: tuple[Any, ...], of: qt.QWidget | None,
    margins: tuple[int, int, int, int] | None, spacing: int | None,
) -> qt.QBoxLayout:  # fmt: skip
    if of is not None:
        of.setLayout(layout)
    if margins is not None:
        layout.setContentsMargins(*margins)
    if spacing is not None:
        layout.setSpacing(spacing)
    for part in parts:
        what, *how = part if isinstance(part, tuple) else (part,)
        if what is STRETCH:
            layout.addStretch(1)
        elif isinstance(what, int):
            layout.addSpacing(what)
        elif isinstance(what, qt.QLayout):
            layout.addLayout(what, *how)
        else:
            layout.addWidget(what, *how)
    return layout
