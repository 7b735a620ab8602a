"""Tools, and the line of them above a view: what is rarely wanted is in the menu behind *More*, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import qtawesome  # type: ignore[import-untyped]
from silx.gui import qt
from silx.gui.plot import PlotWidget
from silx.gui.plot.actions.control import ResetZoomAction
from silx.gui.plot.actions.mode import PanModeAction, ZoomModeAction

from penstock.gui import theme


def icon(name: str) -> qt.QIcon:
    """Return an icon of Font Awesome 5, as "fa5s.pause"; silx' own are drawn for a light background."""
    colours = theme.current()
    return qtawesome.icon(name, color=colours.text, color_disabled=colours.disabled)


class Tool(qt.QAction):
    """A tool of a view.

    Args:
        name: stands in place of the icon where there is room for words.
        picture: the icon, see `icon`; "": none.
        tip: what it is for.
        parent: widget to which it belongs.
        key: its shortcut; "": none.
        checkable: whether it is a switch.
    """

    said = qt.Signal(str, bool)
    """What was done, or why it was not: a sentence; and whether something is wrong."""

    def __init__(
        self, name: str, picture: str, tip: str, parent: qt.QObject | None, key: object = "", *,
        checkable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(name, parent)
        if picture:
            self.setIcon(icon(picture))
        self.setToolTip(tip)
        self.setShortcut(key)
        self.setCheckable(checkable)


MARGIN = 2
"""Pixels around the tools; Qt takes the left margin for the upper one, so that they have to be the same."""
ICON = 16
"""Pixels of an icon: the line of tools is low, since the picture needs the room."""


class ToolLine(qt.QToolBar):
    """One line of tools. Where there is no room for words, there are icons.

    Args:
        name: what the line is called.
        parent: widget to which it belongs.
    """

    def __init__(self, name: str, parent: qt.QWidget) -> None:
        super().__init__(name, parent)
        self.setMovable(False)
        self.setIconSize(qt.QSize(ICON, ICON))
        self.more = qt.QToolButton(self)
        self.worded: Sequence[qt.QAction] = ()
        """Tools that may have words in place of their icons."""
        self._words: bool | None = None

    def end_with_more(self, tip: str, actions: Sequence[qt.QAction], boxes: Mapping[str, qt.QWidget]) -> None:
        """End the line with a button that opens a menu.

        Args:
            tip: what is in the menu.
            actions: its entries.
            boxes: choices below them, by what stands before each.
        """
        self.more.setText("More ▾")
        self.more.setIcon(icon("fa5s.ellipsis-h"))
        self.more.setToolTip(tip)
        self.more.setPopupMode(qt.QToolButton.InstantPopup)
        menu = qt.QMenu(self.more)
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
        self.more.setMenu(menu)
        self.addWidget(self.more)
        self.layout().setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)

    def changeEvent(self, event: qt.QEvent) -> None:
        """Stay low: the style would have margins of its own around what the style sheet leaves."""
        super().changeEvent(event)
        if event.type() in (qt.QEvent.StyleChange, qt.QEvent.PolishRequest):
            self.layout().setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Use words or icons."""
        super().resizeEvent(event)
        self.fit()

    def fit(self) -> None:
        """Use words where they fit into one line, else icons."""
        for words in (True, False):
            if words != self._words:
                self._words = words
                style = qt.Qt.ToolButtonTextOnly if words else qt.Qt.ToolButtonIconOnly
                for button in (self.more, *map(self.widgetForAction, self.worded)):
                    button.setToolButtonStyle(style)
            if self.sizeHint().width() <= self.width():
                return


class PlotTools:
    """silx' own tools of a plot, in the colours of the theme.

    Args:
        plot: plot to act on.
        parent: widget to which they belong.
        tip: what the first of them is for.
    """

    def __init__(self, plot: PlotWidget, parent: qt.QWidget, tip: str) -> None:
        self.whole = ResetZoomAction(plot, parent=parent)
        self.whole.setToolTip(tip)
        self.zoom = ZoomModeAction(plot, parent=parent)
        self.pan = PanModeAction(plot, parent=parent)
        for action, name in (
            (self.whole, "fa5s.expand"), (self.zoom, "fa5s.search-plus"), (self.pan, "fa5s.arrows-alt"),
        ):  # fmt: skip
            action.setIcon(icon(name))


def pause(what: str, parent: qt.QObject) -> Tool:
    """Return the switch. Checked: what is on show stays, and nothing is asked for to be drawn.

    Args:
        what: it does, in words.
        parent: widget to which it belongs.
    """
    tip = f"{what} (Space); state and counts are still updated"
    return Tool("Pause", "fa5s.pause", tip, parent, "Space", checkable=True)
