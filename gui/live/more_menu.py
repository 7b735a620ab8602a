"""The menu behind *More*: what is rarely wanted, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.icons import icon


def more_button(
    parent: qt.QWidget, tip: str, actions: Sequence[qt.QAction], boxes: Mapping[str, qt.QWidget]
) -> qt.QToolButton:
    """Return a button that opens the menu.

    Args:
        parent: the line of tools.
        tip: what is in the menu.
        actions: its entries.
        boxes: choices below them, by what stands before each.
    """
    button = qt.QToolButton(parent)
    button.setText("More ▾")
    button.setIcon(icon("fa5s.ellipsis-h"))
    button.setToolTip(tip)
    button.setPopupMode(qt.QToolButton.InstantPopup)
    menu = qt.QMenu(button)
    menu.addActions(actions)
    menu.addSeparator()
    form = qt.QWidget(menu)
    rows = qt.QGridLayout(form)
    rows.setContentsMargins(10, 6, 10, 8)
    for place, (name, widget) in enumerate(boxes.items()):
        label = qt.QLabel(name, form)
        label.setStyleSheet(f"color: {theme.current().muted}; padding-right: 8px;")
        label.setBuddy(widget)
        rows.addWidget(label, place, 0)
        rows.addWidget(widget, place, 1)
    holder = qt.QWidgetAction(menu)
    holder.setDefaultWidget(form)
    menu.addAction(holder)
    button.setMenu(menu)
    return button
