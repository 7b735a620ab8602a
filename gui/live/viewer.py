"""The live viewer's window: puts banner, picture, figures and controls together."""

from __future__ import annotations

import time

import qtawesome  # type: ignore[import-untyped]
from silx.gui import qt
from silx.gui.plot.actions.control import ResetZoomAction
from silx.gui.plot.actions.io import CopyAction, SaveAction
from silx.gui.plot.actions.mode import PanModeAction, ZoomModeAction

from penstock.gui import theme
from penstock.gui.banner import StateBanner
from penstock.gui.live.colour_bar import ColourBar
from penstock.gui.live.controls import Controls
from penstock.gui.live.feed import Feed
from penstock.gui.live.image_plot import ImagePlot, Pixel
from penstock.gui.live.meter import Meter
from penstock.gui.live.pixels import Flag
from penstock.gui.live.readings import Readings
from penstock.gui.live.sentences import message
from penstock.gui.live.snapshot import Snapshot
from penstock.receiver.client import LastFrame

_FLAG_WORDS = {Flag.GOOD: "", Flag.INVALID: "   no valid value", Flag.SATURATED: "   saturated"}


class Viewer(qt.QMainWindow):
    """Follows `feed`, which it starts when shown and ends when closed.

    Args:
        feed: where snapshots come from.
        backend: silx' plot backend, "mpl" or "gl".
    """

    frame_drawn = qt.Signal(int)
    """How many frames this window has drawn."""
    updated = qt.Signal()
    """A snapshot is on show."""

    def __init__(self, feed: Feed, backend: str = "mpl", parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._feed = feed
        self._frame: LastFrame | None = None
        self._drawn = 0
        self._meter = Meter()
        self.banner = StateBanner(self)
        self.plot = ImagePlot(self, backend=backend)
        self.readings = Readings(self)
        self.controls = Controls(self.plot, feed, self)
        self._pages = qt.QStackedWidget(self)
        self._pixel = qt.QLabel(self)
        self._address = qt.QLabel(feed.take().url, self)
        self._lay_out()
        feed.fresh.connect(self._refresh, qt.Qt.QueuedConnection)
        self.plot.pixel.connect(self._show_pixel)
        self.controls.pause.toggled.connect(self._tell_wanted)
        self._clock = qt.QTimer(self)
        self._clock.setInterval(500)
        self._clock.timeout.connect(self._tick)
        self._refresh()

    def pixel_text(self) -> str:
        """What the status bar says about the pixel under the cursor."""
        return str(self._pixel.text())

    def snapshot(self) -> Snapshot:
        """What is on show."""
        return self._snapshot

    def drawn(self) -> int:
        """How many frames this window has drawn."""
        return self._drawn

    def start(self) -> None:
        """Show the window and begin to follow."""
        self.show()
        self._clock.start()
        self._feed.start()

    def closeEvent(self, event: qt.QCloseEvent) -> None:
        """End the feed; the window goes first, since the request under way may take a moment."""
        self.hide()
        self._clock.stop()
        self._feed.stop()
        super().closeEvent(event)

    def changeEvent(self, event: qt.QEvent) -> None:
        """A window that is minimised draws nothing, so it asks for no frames."""
        super().changeEvent(event)
        if event.type() == qt.QEvent.WindowStateChange:
            self._tell_wanted()

    def _tick(self) -> None:
        self.readings.show_drawn(self._meter.rate(time.monotonic()))
        self.readings.show_age(time.time())

    def _tell_wanted(self) -> None:
        self._feed.set_wanted(not self.isMinimized() and not self.controls.pause.isChecked())

    def _refresh(self) -> None:
        snapshot = self._snapshot = self._feed.take()
        says = message(snapshot)
        self.banner.show_message(says)
        self.readings.show_snapshot(snapshot)
        detector = snapshot.status.detector if snapshot.status is not None else ""
        self.setWindowTitle(f"{detector or snapshot.url} – {says.title.lower()} – Penstock")
        if snapshot.frame is not None and snapshot.frame is not self._frame:
            self._frame = snapshot.frame
            self._pages.setCurrentIndex(1)
            self.plot.show_frame(snapshot.frame)
            self.controls.show_downsample(snapshot.frame.downsample)
            self.controls.show_channels(snapshot.frame.channels)
            # The plot has posted its own drawing to the event loop; what is posted now comes after it.
            qt.QTimer.singleShot(0, self._after_drawing)
        self.updated.emit()

    def _after_drawing(self) -> None:
        self._drawn += 1
        self._meter.tick(time.monotonic())
        self._feed.drawn()
        self.frame_drawn.emit(self._drawn)

    def _show_pixel(self, pixel: Pixel | None) -> None:
        if pixel is None:
            self._pixel.setText("Move the cursor over the picture to read a pixel")
            return
        value = f"{pixel.value:,}" if isinstance(pixel.value, int) else f"{pixel.value:,.6g}"
        self._pixel.setText(
            f"row {pixel.row}   column {pixel.column}   value {value}{_FLAG_WORDS[pixel.flag]}"
        )

    def _lay_out(self) -> None:
        self.resize(1240, 860)
        self.setMinimumSize(880, 560)
        colour_bar = ColourBar(self.plot, self)
        picture = qt.QWidget(self)
        row = qt.QHBoxLayout(picture)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.plot, 1)
        row.addWidget(colour_bar)
        side = qt.QScrollArea(self)
        side.setWidget(self.readings)
        side.setWidgetResizable(True)
        side.setHorizontalScrollBarPolicy(qt.Qt.ScrollBarAlwaysOff)
        side.setFixedWidth(290)
        side.setFrameShape(qt.QFrame.NoFrame)
        side.setStyleSheet(
            f"QScrollArea, QScrollArea > QWidget > QWidget {{ background: {theme.current().panel}; }}"
        )
        middle = qt.QWidget(self)
        columns = qt.QHBoxLayout(middle)
        columns.setContentsMargins(0, 0, 0, 0)
        columns.setSpacing(0)
        nothing = qt.QLabel("No frame yet: the next one that the receiver gets is shown here.", self)
        nothing.setAlignment(qt.Qt.AlignCenter)
        nothing.setStyleSheet(
            f"color: {theme.current().muted}; font-size: 12pt; background: {theme.current().window};"
        )
        self._pages.addWidget(nothing)
        self._pages.addWidget(picture)
        columns.addWidget(self._pages, 1)
        columns.addWidget(side)
        whole = qt.QWidget(self)
        lines = qt.QVBoxLayout(whole)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(0)
        lines.addWidget(self.banner)
        lines.addWidget(middle, 1)
        self.setCentralWidget(whole)
        self.addToolBar(self.controls)
        self.addToolBar(qt.Qt.LeftToolBarArea, self._picture_tools())
        self._pixel.setStyleSheet("font-family: monospace; font-size: 11pt; padding: 2px 8px;")
        self._address.setStyleSheet(f"color: {theme.current().muted}; padding: 2px 8px;")
        self._show_pixel(None)
        self.statusBar().setSizeGripEnabled(False)
        self.statusBar().addWidget(self._pixel, 1)
        legend = qt.QLabel(
            f"<span style='color:{theme.current().invalid_pixel}'>■</span> no valid value &nbsp; "
            f"<span style='color:{theme.current().saturated_pixel}'>■</span> saturated",
            self,
        )
        legend.setStyleSheet(f"color: {theme.current().muted}; padding: 2px 8px;")
        self.controls.show_mask.toggled.connect(legend.setVisible)
        self.statusBar().addPermanentWidget(legend)
        self.statusBar().addPermanentWidget(self._address)

    def _picture_tools(self) -> qt.QToolBar:
        tools = qt.QToolBar("Picture", self)
        tools.setMovable(False)
        tools.setOrientation(qt.Qt.Vertical)
        whole = ResetZoomAction(self.plot, parent=tools)
        whole.setShortcut("Home")
        whole.setToolTip("Show the whole image (Home)")
        # silx' own icons are drawn for a light background.
        for action, icon in (
            (whole, "fa5s.expand"),
            (ZoomModeAction(self.plot, parent=tools), "fa5s.search-plus"),
            (PanModeAction(self.plot, parent=tools), "fa5s.arrows-alt"),
            (SaveAction(self.plot, parent=tools), "fa5s.save"),
            (CopyAction(self.plot, parent=tools), "fa5s.copy"),
        ):
            action.setIcon(qtawesome.icon(icon, color=theme.current().text))
            tools.addAction(action)
        return tools
