"""Tool bar of the live view: what is drawn, how often, and in which colours; how one moves in the picture.

What is rarely wanted is in the menu behind *More*, in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from silx.gui import qt
from silx.gui.plot.actions.control import ResetZoomAction
from silx.gui.plot.actions.mode import PanModeAction, ZoomModeAction

from penstock.gui import theme
from penstock.gui.layouts import in_row
from penstock.gui.live.actions.colours import (
    Autoscale,
    LogColours,
    ShowMask,
    colour_choice,
    percentiles_choice,
    reduction_choice,
    scale_choice,
)
from penstock.gui.live.actions.icons import icon
from penstock.gui.live.actions.open_file import ImagesChoice
from penstock.gui.live.plot.image_plot import ImagePlot
from penstock.gui.live.plot.look import Look
from penstock.gui.live.sources.feed import Feed
from penstock.gui.number_fields import select_whole


class Pause(qt.QAction):
    """If checked, no frames are requested; state and counts are still updated."""

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__("Pause", parent)
        self.setIcon(icon("fa5s.pause"))
        self.setToolTip("Hold this picture (Space); state and counts are still updated")
        self.setShortcut("Space")
        self.setCheckable(True)


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


SLOWEST, FASTEST = 0.1, 50.0
"""Hz."""
MOST_BLOCK = 64
ALL_CHANNELS = "all"
MARGIN = 2
"""Pixels around the tools; Qt takes the left margin for the upper one, so that they have to be the same."""
ICON = 16
"""Pixels of an icon: the line of tools is low, since the picture needs the room."""


class Controls(qt.QToolBar):
    """One line of tools that act on the look and on the feed; it has no state of its own.

    What is rarely wanted is behind *More*. Where there is no room for words, there are icons.

    Args:
        look: how counts become colours.
        feed: feed whose rate, transfer and channel are set.
        picture: tools with which one moves and draws in the picture: always icons.
        parts: widgets next to the picture that can be shown and hidden.
        rare: tools that are behind *More*, above the settings that are there.
        parent: widget to which the bar belongs.
    """

    def __init__(
        self, look: Look, feed: Feed, parent: qt.QWidget, *, picture: Sequence[qt.QAction] = (),
        parts: Sequence[qt.QAction] = (), rare: Sequence[qt.QAction] = (),
    ) -> None:  # fmt: skip
        super().__init__("Live view", parent)
        self.setMovable(False)
        self.setIconSize(qt.QSize(ICON, ICON))
        self.pause = Pause(self)
        self.log_colours = LogColours(look, self)  # a key only: the list of scales shows it
        self.autoscale = Autoscale(look, self)
        self.show_mask = ShowMask(look, self)
        self.scale = scale_choice(look, self)
        self.percentiles = percentiles_choice(look, self)
        self.reduction = reduction_choice(look, self)
        self.palette_choice = colour_choice(look, self)
        self.rate = self._rate(feed)
        self.block = self._block(feed)
        self.channel = self._channel(feed)
        self.images = ImagesChoice(lambda name: _choose(feed, name), self)
        self.more = more_button(
            self,
            "Percentiles, colours, how frames are drawn and transferred, and rarely used tools",
            rare,
            {
                "Percentiles": self.percentiles, "Colours": self.palette_choice, "Draw": self.reduction,
                "At most": self.rate, "Transfer": self.block,
            },
        )  # fmt: skip
        self._worded = (self.autoscale, self.show_mask, *parts)
        self._words: bool | None = None
        self.addAction(self.pause)
        self.addActions(picture)
        self.addWidget(self.scale)
        self.addActions(self._worded[:2])
        # The channel early: it is what a window too narrow for all of them must not hide.
        self._channel_action = self._add("Channel", self.channel)
        self._images_action = self._add("Images", self.images)
        self.addActions(parts)
        self.addWidget(self.more)
        self.layout().setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        self.show_channels(())
        self.suit((), "", is_file=False)

    def suit(self, choices: Sequence[str], chosen: str, *, is_file: bool) -> None:
        """Offer what a source has: the images of a file; of a receiver, frames in blocks."""
        self._images_action.setVisible(len(choices) > 1)
        self.images.show_choices(choices, chosen)
        self.block.setEnabled(not is_file)
        self._fit()

    def changeEvent(self, event: qt.QEvent) -> None:
        """Stay low: the style would have margins of its own around what the style sheet leaves."""
        super().changeEvent(event)
        if event.type() in (qt.QEvent.StyleChange, qt.QEvent.PolishRequest):
            self.layout().setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Use words or icons."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Use words where they fit into one line, else icons."""
        for words in (True, False):
            self._say_words(words)
            if self.sizeHint().width() <= self.width():
                return

    def _say_words(self, words: bool) -> None:
        if words == self._words:
            return
        self._words = words
        style = qt.Qt.ToolButtonTextOnly if words else qt.Qt.ToolButtonIconOnly
        for action in self._worded:
            self.widgetForAction(action).setToolButtonStyle(style)
        self.more.setToolButtonStyle(style)

    def _add(self, name: str, widget: qt.QWidget) -> qt.QAction:
        """Name and widget in one piece: where the tool bar is too short, neither goes without the other."""
        both = qt.QWidget(self)
        label = qt.QLabel(name, both)
        label.setStyleSheet(f"color: {theme.current().muted}; padding-left: 8px; padding-right: 4px;")
        label.setBuddy(widget)
        in_row(label, widget, of=both, spacing=4)
        return self.addWidget(both)

    def _rate(self, feed: Feed) -> qt.QDoubleSpinBox:
        box = qt.QDoubleSpinBox(self)
        select_whole(box)
        box.setAccessibleName("Frames per second")
        box.setRange(SLOWEST, FASTEST)
        box.setDecimals(1)
        box.setSuffix(" frames/s")
        box.setValue(feed.rate())
        box.setKeyboardTracking(False)
        box.setToolTip("Frames per second to ask for, at most; a slow screen asks for fewer by itself")
        box.valueChanged.connect(feed.set_rate)
        return box

    def _block(self, feed: Feed) -> qt.QSpinBox:
        box = qt.QSpinBox(self)
        select_whole(box)
        box.setAccessibleName("Blocks that are transferred")
        box.setRange(1, MOST_BLOCK)
        box.setPrefix("blocks of ")
        box.setSpecialValueText("all pixels")
        box.setKeyboardTracking(False)
        box.setToolTip(
            "Transfer only the greatest count of each block of so many rows and columns, for a large "
            "detector on a slow network. Above 1, no pixel can be read and no frame be saved"
        )
        box.valueChanged.connect(feed.set_block)
        return box

    def _channel(self, feed: Feed) -> qt.QComboBox:
        box = qt.QComboBox(self)
        box.setSizeAdjustPolicy(qt.QComboBox.AdjustToContents)
        box.setToolTip("Which of the frame's images to show; all: one below the other")
        box.currentTextChanged.connect(
            lambda name: feed.set_channel(None if name in ("", ALL_CHANNELS) else name)
        )
        return box

    def show_channels(self, names: Sequence[str]) -> None:
        """Offer the channels of the frame on show; nothing is offered where it is one image."""
        self._channel_action.setVisible(bool(names))
        entries = [ALL_CHANNELS, *names]
        if names and entries == [self.channel.itemText(place) for place in range(self.channel.count())]:
            return
        chosen = self.channel.currentText()
        blocked = self.channel.blockSignals(True)
        self.channel.clear()
        if names:
            self.channel.addItems(entries)
            # One that is not there any more the receiver has refused: all are on show again.
            self.channel.setCurrentText(chosen if chosen in entries else ALL_CHANNELS)
        self.channel.blockSignals(blocked)
        self._fit()


def _choose(feed: Feed, images: str) -> None:
    source = feed.source()
    if source is not None:
        source.reload(images)


class PictureTools:
    """silx' own tools, in the colours of the theme.

    Args:
        plot: plot to act on.
        parent: widget to which they belong.
    """

    def __init__(self, plot: ImagePlot, parent: qt.QWidget) -> None:
        self.whole = ResetZoomAction(plot, parent=parent)
        self.whole.setShortcut("Home")
        self.whole.setToolTip("Show the whole image (Home)")
        self.zoom = ZoomModeAction(plot, parent=parent)
        self.pan = PanModeAction(plot, parent=parent)
        for action, name in (
            (self.whole, "fa5s.expand"), (self.zoom, "fa5s.search-plus"), (self.pan, "fa5s.arrows-alt"),
        ):  # fmt: skip
            action.setIcon(icon(name))
