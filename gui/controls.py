"""Tool bar of the live view: what is drawn, how often, and in which colours."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import colours, theme
from penstock.gui.actions.autoscale import Autoscale
from penstock.gui.actions.edit_levels import EditLevels
from penstock.gui.actions.log_colours import LogColours
from penstock.gui.actions.pause import Pause
from penstock.gui.actions.show_mask import ShowMask
from penstock.gui.feed import Feed
from penstock.gui.image_plot import ImagePlot

SLOWEST, FASTEST = 0.1, 50.0
"""Hz."""
MOST_DOWNSAMPLE = 64


class Controls(qt.QToolBar):
    """Acts on the plot and on the feed; holds no state of its own."""

    def __init__(self, plot: ImagePlot, feed: Feed, parent: qt.QWidget) -> None:
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
        self.addAction(self.pause)
        self.addSeparator()
        for action in (self.log_colours, self.autoscale, self.edit_levels, self.show_mask):
            self.addAction(action)
        for name, widget in (
            ("Colours", self.palette_choice), ("At most", self.rate), ("Transfer", self.downsample)
        ):  # fmt: skip
            label = qt.QLabel(name, self)
            label.setStyleSheet(f"color: {theme.MUTED}; padding-left: 12px; padding-right: 4px;")
            label.setBuddy(widget)
            self.addWidget(label)
            self.addWidget(widget)

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
        box.setToolTip("Frames a second to ask for, at most; a slow screen asks for fewer by itself")
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

    def show_downsample(self, value: int) -> None:
        """Show what the receiver does, which another viewer may have changed."""
        if self.downsample.hasFocus() or self.downsample.value() == value:
            return
        blocked = self.downsample.blockSignals(True)
        self.downsample.setValue(value)
        self.downsample.blockSignals(blocked)
