"""Tool bar of the live view: what is drawn, how often, and in which colours."""

from __future__ import annotations

from collections.abc import Sequence

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.layouts import in_row
from penstock.gui.live.actions.colours import (
    autoscale,
    colour_choice,
    log_colours,
    percentiles_choice,
    reduction_choice,
    scale_choice,
    show_mask,
)
from penstock.gui.live.actions.open_file import ImagesChoice
from penstock.gui.live.actions.tool_line import ToolLine, pause
from penstock.gui.live.plot.look import Look
from penstock.gui.live.sources.feed import Feed
from penstock.gui.number_fields import number_box

SLOWEST, FASTEST = 0.1, 50.0
"""Hz."""
MOST_BLOCK = 64
ALL_CHANNELS = "all"


class Controls(ToolLine):
    """One line of tools that act on the look and on the feed; it has no state of its own.

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
        self.pause = pause("Hold this picture", self)
        self.log_colours = log_colours(look, self)  # a key only: the list of scales shows it
        self.autoscale = autoscale(look, self)
        self.show_mask = show_mask(look, self)
        self.scale = scale_choice(look, self)
        self.percentiles = percentiles_choice(look, self)
        self.reduction = reduction_choice(look, self)
        self.palette_choice = colour_choice(look, self)
        self.rate = self._rate(feed)
        self.block = self._block(feed)
        self.channel = self._channel(feed)
        self.images = ImagesChoice(lambda name: _choose(feed, name), self)
        self.worded = (self.autoscale, self.show_mask, *parts)
        self.addAction(self.pause)
        self.addActions(picture)
        self.addWidget(self.scale)
        self.addActions(self.worded[:2])
        # The channel early: it is what a window too narrow for all of them must not hide.
        self._channel_action = self._add("Channel", self.channel)
        self._images_action = self._add("Images", self.images)
        self.addActions(parts)
        self.end_with_more(
            "Percentiles, colours, how frames are drawn and transferred, and rarely used tools",
            rare,
            {
                "Percentiles": self.percentiles, "Colours": self.palette_choice, "Draw": self.reduction,
                "At most": self.rate, "Transfer": self.block,
            },
        )  # fmt: skip
        self.show_channels(())
        self.suit((), "", is_file=False)

    def suit(self, choices: Sequence[str], chosen: str, *, is_file: bool) -> None:
        """Offer what a source has: the images of a file; of a receiver, frames in blocks."""
        self._images_action.setVisible(len(choices) > 1)
        self.images.show_choices(choices, chosen)
        self.block.setEnabled(not is_file)
        self.fit()

    def _add(self, name: str, widget: qt.QWidget) -> qt.QAction:
        """Name and widget in one piece: where the tool bar is too short, neither goes without the other."""
        both = qt.QWidget(self)
        label = qt.QLabel(name, both)
        label.setStyleSheet(f"color: {theme.current().muted}; padding-left: 8px; padding-right: 4px;")
        label.setBuddy(widget)
        in_row(label, widget, of=both, spacing=4)
        return self.addWidget(both)

    def _rate(self, feed: Feed) -> qt.QDoubleSpinBox:
        tip = "Frames per second to ask for, at most; a slow screen asks for fewer by itself"
        box = number_box(
            self, "Frames per second", SLOWEST, FASTEST, tip, value=feed.rate(), decimals=1,
            suffix=" frames/s",
        )  # fmt: skip
        box.valueChanged.connect(feed.set_rate)
        return box

    def _block(self, feed: Feed) -> qt.QSpinBox:
        tip = (
            "Transfer only the greatest count of each block of so many rows and columns, for a large "
            "detector on a slow network. Above 1, no pixel can be read and no frame be saved"
        )
        box = number_box(self, "Blocks that are transferred", 1, MOST_BLOCK, tip, prefix="blocks of ")
        box.setSpecialValueText("all pixels")
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
        with qt.QSignalBlocker(self.channel):
            self.channel.clear()
            if names:
                self.channel.addItems(entries)
                # One that is not there any more the receiver has refused: all are on show again.
                self.channel.setCurrentText(chosen if chosen in entries else ALL_CHANNELS)
        self.fit()


def _choose(feed: Feed, images: str) -> None:
    source = feed.source()
    if source is not None:
        source.reload(images)
