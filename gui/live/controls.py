"""Tool bar of the live view: what is drawn, how often, and in which colours."""

from __future__ import annotations

from collections.abc import Sequence

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.actions.autoscale import Autoscale
from penstock.gui.live.actions.colour_map import colour_choice
from penstock.gui.live.actions.images import ImagesChoice
from penstock.gui.live.actions.log_colours import LogColours
from penstock.gui.live.actions.pause import Pause
from penstock.gui.live.actions.percentiles import percentiles_choice
from penstock.gui.live.actions.reduction import reduction_choice
from penstock.gui.live.actions.scale import scale_choice
from penstock.gui.live.actions.show_mask import ShowMask
from penstock.gui.live.feed import Feed
from penstock.gui.live.look import Look
from penstock.gui.whole_number import select_whole

SLOWEST, FASTEST = 0.1, 50.0
"""Hz."""
MOST_BLOCK = 64
ALL_CHANNELS = "all"


class Controls(qt.QToolBar):
    """Tool bar that acts on the look and on the feed; it has no state of its own.

    Args:
        look: how counts become colours.
        feed: feed whose rate, transfer and channel are set.
        parts: widgets next to the picture that can be shown and hidden.
        parent: widget to which the bar belongs.
    """

    def __init__(self, look: Look, feed: Feed, parts: Sequence[qt.QAction], parent: qt.QWidget) -> None:
        super().__init__("Live view", parent)
        self.setMovable(False)
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
        self.addAction(self.pause)
        self.addSeparator()
        self.addWidget(self.scale)
        for action in (self.autoscale, self.show_mask):
            self.addAction(action)
        # The channel first: it is what a window too narrow for all of them must not hide.
        self._channel_action = self._add("Channel", self.channel)
        self._images_action = self._add("Images", self.images)
        self.addActions(parts)
        self._add("Percentiles", self.percentiles)
        self._add("Colours", self.palette_choice)
        self._add("Draw", self.reduction)
        self._add("At most", self.rate)
        self._add("Transfer", self.block)
        self.show_channels(())
        self.suit((), "", is_file=False)

    def suit(self, choices: Sequence[str], chosen: str, *, is_file: bool) -> None:
        """Offer what a source has: the images of a file; of a receiver, frames in blocks."""
        self._images_action.setVisible(len(choices) > 1)
        self.images.show_choices(choices, chosen)
        self.block.setEnabled(not is_file)

    def _add(self, name: str, widget: qt.QWidget) -> qt.QAction:
        """Name and widget in one piece: where the tool bar is too short, neither goes without the other."""
        both = qt.QWidget(self)
        label = qt.QLabel(name, both)
        label.setStyleSheet(f"color: {theme.current().muted}; padding-left: 12px; padding-right: 4px;")
        label.setBuddy(widget)
        row = qt.QHBoxLayout(both)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(label)
        row.addWidget(widget)
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


def _choose(feed: Feed, images: str) -> None:
    source = feed.source()
    if source is not None:
        source.reload(images)
