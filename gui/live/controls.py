"""Tool bar of the live view: what is drawn, how often, and in which colours."""

from __future__ import annotations

from collections.abc import Sequence

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live import colours
from penstock.gui.live.actions.autoscale import Autoscale
from penstock.gui.live.actions.edit_levels import EditLevels
from penstock.gui.live.actions.log_colours import LogColours
from penstock.gui.live.actions.pause import Pause
from penstock.gui.live.actions.show_mask import ShowMask
from penstock.gui.live.feed import Feed
from penstock.gui.live.image_plot import ImagePlot

SLOWEST, FASTEST = 0.1, 50.0
"""Hz."""
MOST_DOWNSAMPLE = 64
ALL_CHANNELS = "all"


class Controls(qt.QToolBar):
    """Tool bar that acts on the plot and on the feed; it has no state of its own.

    Args:
        plot: plot to act on.
        feed: feed whose rate, down-sampling and channel are set.
        parts: widgets next to the picture that can be shown and hidden.
        parent: widget to which the bar belongs.
    """

    def __init__(self, plot: ImagePlot, feed: Feed, parts: Sequence[qt.QAction], parent: qt.QWidget) -> None:
        super().__init__("Live view", parent)
        self.setMovable(False)
        self.pause = Pause(self)
        self.log_colours = LogColours(plot, self)
        self.autoscale = Autoscale(plot, self)
        self.edit_levels = EditLevels(plot, self.autoscale, parent)
        self.show_mask = ShowMask(plot, self)
        self.palette_choice = self._palette_choice(plot)
        self.rate = self._rate(feed)
        self.downsample = self._downsample(feed)
        self.channel = self._channel(feed)
        self.addAction(self.pause)
        self.addSeparator()
        for action in (self.log_colours, self.autoscale, self.edit_levels, self.show_mask):
            self.addAction(action)
        # The channel first: it is what a window too narrow for all of them must not hide.
        self._channel_action = self._add("Channel", self.channel)
        self.addActions(parts)
        self._add("Colours", self.palette_choice)
        self._add("At most", self.rate)
        self._add("Transfer", self.downsample)
        self.show_channels(())

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

    def _palette_choice(self, plot: ImagePlot) -> qt.QComboBox:
        box = qt.QComboBox(self)
        box.addItems(list(colours.NAMES))
        box.setCurrentText(colours.DEFAULT)
        box.setToolTip("Colour map")
        box.currentTextChanged.connect(plot.set_colours)
        return box

    def _rate(self, feed: Feed) -> qt.QDoubleSpinBox:
        box = qt.QDoubleSpinBox(self)
        box.setRange(SLOWEST, FASTEST)
        box.setDecimals(1)
        box.setSuffix(" frames/s")
        box.setValue(feed.rate())
        box.setKeyboardTracking(False)
        box.setToolTip("Frames per second to ask for, at most; a slow screen asks for fewer by itself")
        box.valueChanged.connect(feed.set_rate)
        return box

    def _downsample(self, feed: Feed) -> qt.QSpinBox:
        box = qt.QSpinBox(self)
        box.setRange(1, MOST_DOWNSAMPLE)
        box.setPrefix("1 pixel in ")
        box.setSpecialValueText("all pixels")
        box.setKeyboardTracking(False)
        box.setToolTip(
            "Transfer every n-th row and column only; set it above 1 for a large detector on a slow "
            "network. It holds for every viewer of this receiver, never for the file"
        )
        box.valueChanged.connect(feed.set_downsample)
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

    def show_downsample(self, value: int) -> None:
        """Show what the receiver does, which another viewer may have changed."""
        if self.downsample.hasFocus() or self.downsample.value() == value:
            return
        blocked = self.downsample.blockSignals(True)
        self.downsample.setValue(value)
        self.downsample.blockSignals(blocked)
