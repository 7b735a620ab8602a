"""The live view as a widget: banner, picture, figures and controls; and as the window of `penstock view`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.first_place import first_size
from penstock.gui.labels import page_label
from penstock.gui.layouts import in_column, in_row
from penstock.gui.live.actions.colours import levels_in_sight
from penstock.gui.live.actions.controls import Controls
from penstock.gui.live.actions.open_file import reload_file
from penstock.gui.live.actions.parts import (
    Form,
    figures,
    show_histogram,
    show_measure,
    show_regions,
)
from penstock.gui.live.actions.save import SaveFrame, Shown
from penstock.gui.live.actions.tool_line import PlotTools
from penstock.gui.live.drawing.picture import Picture
from penstock.gui.live.following import FollowingView
from penstock.gui.live.measure.dock import MeasureDock
from penstock.gui.live.measure.shapes import draw_rectangle
from penstock.gui.live.memory import Kept, Memory, foreign_images
from penstock.gui.live.past.bar import PastBar
from penstock.gui.live.past.past import Past
from penstock.gui.live.plot.colour_bar import ColourBar
from penstock.gui.live.plot.histogram import LevelsTool
from penstock.gui.live.plot.image_plot import ImagePlot, Pixel
from penstock.gui.live.plot.portrait import portrait
from penstock.gui.live.plot.screen import Screen
from penstock.gui.live.regions.axis import scan_said
from penstock.gui.live.regions.dock import RegionsDock
from penstock.gui.live.sources.feed import Feed
from penstock.gui.live.sources.file_source import FileSource
from penstock.gui.live.sources.follower import Snapshot
from penstock.gui.live.sources.receiver_source import TIMEOUT, ReceiverSource
from penstock.gui.live.sources.source import Source
from penstock.gui.live.texts.caption import Worth
from penstock.gui.live.texts.readings import Readings, ReadingsPanel
from penstock.gui.live.texts.sentences import (
    caption,
    count,
    message,
    name_of,
    name_on_plate,
    no_answer_yet,
    no_picture,
)
from penstock.gui.live.texts.status_line import PixelLine
from penstock.receiver.client import LastFrame
from penstock.receiver.models import Rectangle

_REGIONS, _COMPACT_REGIONS = 240, 150
"""Pixels that the regions' list takes below the picture, at first."""
BESIDE = 380
"""Pixels that the slider needs beside the pixel's figures."""
TROUBLE = frozenset({"away", "error", "fault"})


class LiveView(FollowingView):
    """Follows one receiver from when it is first shown until `stop`; while hidden, it requests no frames.

    Args:
        feed: source of snapshots; by default one that follows `set_receiver`.
        backend: silx' plot backend, "mpl" or "gl".
        compact: for use next to other widgets: the banner only shows problems, figures are shown on request.
        memory: where colours, scale and tools are kept for each detector; `None`: nowhere; by default in the
            user's settings.
    """

    _feed: Feed
    _snapshot: Snapshot
    _status: PixelLine

    def __init__(
        self, feed: Feed | None = None, *, backend: str = "mpl", compact: bool = False,
        memory: Memory | Literal["own"] | None = "own", parent: qt.QWidget | None = None,
    ) -> None:  # fmt: skip
        feed = Feed(None) if feed is None else feed
        super().__init__(feed, PixelLine(compact=compact), compact=compact, parent=parent)
        if parent is not None:
            self.setWindowFlags(qt.Qt.Widget)
        self.troubles = TROUBLE
        """Kinds of banner on show in the compact form; who says one of them elsewhere takes it out."""
        self._theme = theme.current()
        self._newest: LastFrame | None = None
        """The last that the feed has brought."""
        self._trouble = ""
        """Why the newest frame is not on the screen."""
        self._names: dict[str, str] = {}
        """Names of files, by the ids of their series."""
        self.plot = ImagePlot(self, backend=backend, compact=compact)
        self._screen = Screen(self.plot, self)
        self.readings = Readings(self)
        self.figures = figures(self)
        self.levels = LevelsTool(self.plot.look, self)
        self.show_histogram = show_histogram(self)
        self.regions = RegionsDock(self.plot, compact=compact, timeout=TIMEOUT, parent=self)
        self.measure = MeasureDock(self.plot, self._feed, compact=compact, parent=self)
        self.show_regions = show_regions(self.regions, self._forms)
        self.show_measure = show_measure(self.measure, self._forms)
        self.draw_rectangle = draw_rectangle(self.measure.rectangle, self)
        self.save = SaveFrame(self._what_is_shown, self)
        self.levels_in_sight = levels_in_sight(self.plot.take_levels, self)
        self.reload = reload_file(self._reload, self)
        if compact:  # in the window around it these keys mean something else: F5 arms
            for action in (self.open, self.reload, self.save, self.copy):
                action.setShortcut(qt.QKeySequence())
                action.setToolTip(action.toolTip().rpartition(" (")[0])
        self.picture_tools = tools = PlotTools(self.plot, self, "Show the whole image (Home)")
        tools.whole.setShortcut("Home")
        self.controls = Controls(
            self.plot.look, self._feed, self,
            picture=(tools.whole, tools.zoom, tools.pan, self.draw_rectangle, self.save),
            parts=(self.show_measure, self.show_regions, self.show_histogram, self.figures),
            rare=(self.open, self.reload, self.copy, self.levels_in_sight),
        )  # fmt: skip
        self._tools = {
            "figures": self.figures, "regions": self.show_regions, "measure": self.show_measure,
            "histogram": self.show_histogram,
        }  # fmt: skip
        self._pages = qt.QStackedWidget(self)
        self._instead = page_label(self)
        self._picture = qt.QWidget(self)
        """The plot with what stands around it."""
        self.past = Past(PastBar(self, compact=compact, parent=self), self._feed.part, self._feed.rate, self)
        self.past.asker.bad = self.measure.facts.bad
        self.past.set_source(self._feed.source())
        self.colour_bar = ColourBar(self.plot.look, self.levels.bins, self)
        memory = Memory("compact" if compact else "window") if memory == "own" else memory
        self._kept = Kept(memory, self.plot.look, self._tools, self._size_kept, self._take_size, self)
        self._kept.restored.connect(self.restored)
        self._lay_out(compact)
        self.plot.pixel.connect(self._show_pixel)
        self.plot.drawn.connect(self._show_drawn)
        self._screen.shown.connect(self._show_frame)
        self._screen.failed.connect(self._show_failure)
        self._screen.counted.connect(self.frame_drawn)
        self._screen.ready.connect(self._go_on)
        self.controls.pause.toggled.connect(self._tell_wanted)
        self.controls.channel.currentTextChanged.connect(lambda _: self.past.again())
        self.controls.block.valueChanged.connect(lambda _: self.past.again())
        self.save.said.connect(self.say)
        self.past.frame.connect(self._put)
        self.past.live_changed.connect(self._follow_or_not)
        self.draw_rectangle.triggered.connect(lambda: self.show_measure.setChecked(True))
        self.measure.figures.keep.connect(self._keep_as_region)
        for thread in (self.past.asker, self.regions.link, self.measure.worker, self.measure.asker):
            self.destroyed.connect(thread.ask_to_stop)
        self.measure.counted.connect(self.regions.show_counted)
        self.measure.counting.says.connect(self.regions.say_of_frames_shown)
        self.measure.facts.changed.connect(self._show_scan)
        self.regions.curves.shown_wanted.connect(self.measure.count_all)
        self._refresh()

    # -- what is followed, and how -------------------------------------------------------------

    def set_receiver(self, url: str) -> None:
        """Follow the receiver at this address from now on; "": none."""
        self.set_source(ReceiverSource.at(url) if url else None)

    def set_source(self, source: Source | None) -> None:
        """Take frames from this source from now on; `None`: from none."""
        self._feed.set_source(source)
        self.past.set_source(source)
        self._screen.forget()
        self._newest = None
        self._trouble = ""
        self.measure.show_frame(None)
        self._refresh()

    def open_file(self, path: str, images: str | None = None) -> None:
        """Show a file from now on; `images`: which of it, by the path in it."""
        self.set_source(FileSource(path, images))

    def _suit_form(self, form: Form) -> None:
        self.plot.set_bare(form == "bare")
        for action in (self.figures, self.show_histogram):
            action.setVisible(form == "whole")
        for action in (self.show_regions, self.show_measure, self.draw_rectangle):
            action.setVisible(form != "bare")  # and its key is nobody's

    # -- its life ------------------------------------------------------------------------------

    def _threads(self) -> Sequence[Any]:
        return self._feed, self.past, self.regions.link, self.measure, self.plot

    def showEvent(self, event: qt.QShowEvent) -> None:
        """Request frames, now that it is visible."""
        self.measure.follow_view(True)
        super().showEvent(event)

    def hideEvent(self, event: qt.QHideEvent) -> None:
        """Stop requests for frames while it is not visible."""
        self.measure.follow_view(False)
        self.past.stop_playing()
        super().hideEvent(event)

    def _tick(self) -> None:
        self.readings.show_drawn(self._screen.rate())
        self.readings.show_age(time.time())

    def _wants(self) -> bool:
        return self.past.is_live() and not self.controls.pause.isChecked()

    # -- what is on show -----------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return what is on show."""
        return self._snapshot

    def frame_on_show(self) -> LastFrame | None:
        """Return the frame that is on the screen."""
        return self._screen.frame()

    def drawn(self) -> int:
        """Return how many frames this window has drawn."""
        return self._screen.drawn()

    def frame(self) -> int | None:
        """Return the index of the frame on show; `None` if there is none."""
        shown = self.frame_on_show()
        return None if shown is None else shown.frame

    def is_ready(self, count: int) -> bool:
        """Return whether so many were drawn, and what the mask leaves out, which is no spot, is known."""
        return self.drawn() >= count and self.measure.is_mask_on_show()

    def why_never(self, frame: int | None) -> str:
        """Return why a file will never show what is wanted; "" if it may, or it is no file."""
        snapshot = self.snapshot()
        if not snapshot.is_file or snapshot.status is None:
            return snapshot.trouble if snapshot.is_file else ""
        if snapshot.status.state == "running":
            return ""
        if not snapshot.content.images:
            return f"{snapshot.url}: {snapshot.content.sentence()}"
        return self.past.trouble() if frame is not None else ""

    def no_answer_yet(self) -> str:
        """Return why it waits, if it has never had an answer, and what to look at."""
        return no_answer_yet(self.snapshot())

    def changes(self) -> tuple[qt.Signal, ...]:
        """Return the signals after which these may be others."""
        return *super().changes(), self.measure.facts.changed, self.plot.treated

    def pixel_text(self) -> str:
        """Return what the status bar says about the pixel under the cursor."""
        return self._status.readout.pixel_text()

    def beam_text(self) -> str:
        """Return what the status bar says of the place under the cursor as seen from the sample."""
        return str(self._status.place.text())

    def picture(self) -> qt.QImage | None:
        """Return the picture as it is seen: which frame it is, what was done to it, image, colour bar."""
        if self.frame_on_show() is None:
            return None
        said = "\n".join(filter(None, (self.caption.text(), self.measure.treated.whole())))
        whole = self.plot.whole()
        counts = self.colour_bar.isVisible() and not (whole is not None and whole.has_colours)
        return portrait(self.plot, self.colour_bar if counts else None, said)

    # -- from the source to the screen ---------------------------------------------------------

    def _refresh(self) -> None:
        snapshot = self._snapshot = self._feed.take()
        says, name = message(snapshot), name_on_plate(snapshot)
        detector = snapshot.status.detector if snapshot.status is not None else ""
        tile = self._forms.form == "tile"  # the title of the window does not say which one it is
        self.banner.show_message(replace(says, text=f"{name}: {says.text}") if tile else says)
        self.banner.setVisible(
            self._forms.form != "bare" and (not self._compact or says.kind in self.troubles)
        )
        self._show_head(name, says, count(snapshot))
        self.readings.show_snapshot(snapshot)
        self.past.show_snapshot(snapshot)
        self._show_past_bar()
        self._suit(snapshot)
        self._show_scan()
        self._remember(detector)
        series = snapshot.status.series if snapshot.status is not None else None
        if series is not None:
            self._names[series.id] = name_of(series)
        self._show_caption()
        self.measure.show_name(name)
        self._status.show_address(snapshot.url)
        self._instead.setText(no_picture(snapshot))
        if self._screen.is_empty():
            self._pages.setCurrentWidget(self._instead)
        if snapshot.frame is not None and snapshot.frame is not self._newest:
            self._newest = snapshot.frame
            wanted = self.past.is_live()
            self.past.take_newest(snapshot.frame)
            if wanted:
                self._put(snapshot.frame)
            else:
                self._feed.drawn()  # it came too late: the user looks at another one
        self.updated.emit()

    def _suit(self, snapshot: Snapshot) -> None:
        """Offer what the source has: a file has neither regions of interest nor a network before it."""
        of_file = snapshot.is_file
        self.regions.show_status("" if of_file else snapshot.url, None if of_file else snapshot.status)
        self.show_regions.setEnabled(not of_file)
        self.reload.setVisible(of_file)
        self.controls.suit(snapshot.choices, snapshot.chosen, is_file=of_file)

    def _put(self, frame: LastFrame) -> None:
        """Have a frame drawn."""
        self._pages.setCurrentWidget(self._picture)
        self._screen.put(frame)
        self.controls.show_channels(frame.channels)

    def _go_on(self) -> None:
        """The frame is on the screen, and the window is idle."""
        self._feed.drawn()
        self.past.drawn()

    def _follow_or_not(self, live: bool) -> None:
        self._tell_wanted()
        if live and self._newest is not None:
            self._put(self._newest)
        self._show_caption()

    def _show_frame(self, frame: LastFrame) -> None:
        """Say of the frame on the screen which it is."""
        self._trouble = ""
        self.readings.show_frame(frame)
        if frame.interpretation != "image":
            self.readings.show_counts(None)
        self.measure.show_frame(frame)
        self.past.shown(frame)
        self._show_caption()

    def _show_failure(self, frame: LastFrame, error: Exception) -> None:
        self._trouble = f"frame {frame.frame:,} cannot be drawn ({type(error).__name__}: {error})"
        self._show_caption()

    def _show_drawn(self, picture: Picture) -> None:
        self.levels.show_histogram(picture.histogram)
        self.readings.show_counts(picture.extremes)

    def _show_caption(self) -> None:
        shown = self.frame_on_show()
        if self._trouble:
            self.caption.show_trouble(self._trouble)
        elif shown is None:
            self.caption.show_caption(None)
        else:
            snapshot, live = self._snapshot, self.past.is_live()
            self.caption.show_caption(
                caption(shown, snapshot.status, self._names, live=live, is_file=snapshot.is_file)
            )

    def _show_pixel(self, pixel: Pixel | None) -> None:
        place = self.measure.place_text(pixel, self.plot.cursor())
        self._status.show_pixel(pixel, place)
        self.measure.beam_tab.show_place(place)

    def _keep_as_region(self, place: Rectangle) -> None:
        self.show_regions.setChecked(True)
        self.regions.add(place)

    # -- files ---------------------------------------------------------------------------------

    def _reload(self) -> None:
        source = self._feed.source()
        if source is not None:
            source.reload()

    def _what_is_shown(self) -> Shown | None:
        shown, picture = self.frame_on_show(), self.picture()
        if shown is None or picture is None:
            return None
        snapshot = self._snapshot
        file = snapshot.url if snapshot.is_file else self._names.get(shown.series, "")
        return Shown(shown, file, picture)

    # -- what is remembered --------------------------------------------------------------------

    def _show_scan(self) -> None:
        """Offer the motor of the scan that the series on show belongs to, where its metadata tell it."""
        said, status = self.measure.facts.scan(), self._snapshot.status
        if said is None or status is None or status.series is None or status.series.id != said.series:
            return
        planned = status.counts.planned
        self.regions.show_scan(scan_said(said.title, said.macro, said.motors, said.points, planned))

    def _remember(self, detector: str) -> None:
        """Choose what was kept for this detector, as soon as it is known."""
        file = foreign_images(self._snapshot)
        memory = self._kept.show(detector, file)
        if memory is not None and not file:
            self.measure.kept.begin(memory)

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Keep the size for this detector."""
        super().resizeEvent(event)
        self._place_past_bar()
        self._kept.keep()

    # -- where things stand --------------------------------------------------------------------

    def _lay_out(self, compact: bool) -> None:
        row = in_row((self.plot, 1), self.levels, self.colour_bar, spacing=0)
        in_column(
            self.caption, self.measure.treated, (row, 1), self.past.bar, of=self._picture, spacing=0
        )  # fmt: skip
        self._pages.addWidget(self._instead)
        self._pages.addWidget(self._picture)
        self._pages.currentChanged.connect(lambda _: self._show_past_bar())
        # In the caption's line: the picture does not move when there is something to say.
        self.caption.add(self.past.bar.line, lambda: Worth.ANSWER if self.past.trouble() else Worth.NOTE)
        self.caption.add(self.measure.saturation, lambda: Worth.KEPT)
        self.show_histogram.toggled.connect(lambda on: self._forms.show(self.levels, on))
        self.show_histogram.setChecked(not compact)
        self.levels.setVisible(not compact)
        side = ReadingsPanel(self.readings, self)
        whole = qt.QWidget(self)
        middle = in_row((self._pages, 1), side, spacing=0)
        in_column(self.banner, self.plate, (middle, 1), of=whole, spacing=0)
        self.figures.toggled.connect(lambda on: self._forms.show(side, on))
        if compact:  # beside the figures there is room for the picture, but not for its colour bar too
            self.figures.toggled.connect(lambda on: self._forms.show(self.colour_bar, not on))
        self.figures.setChecked(not compact)
        side.setVisible(not compact)
        self.setCentralWidget(whole)
        self.addDockWidget(qt.Qt.BottomDockWidgetArea, self.regions)
        self.resizeDocks([self.regions], [_COMPACT_REGIONS if compact else _REGIONS], qt.Qt.Vertical)
        self.addDockWidget(qt.Qt.BottomDockWidgetArea, self.measure)
        if not compact:
            self.tabifyDockWidget(self.regions, self.measure)
        self.addToolBar(self.controls)
        controls = self.controls
        self._take_keys((
            self.picture_tools.whole, controls.pause, controls.log_colours, controls.autoscale,
            controls.show_mask, self.show_regions, self.show_histogram, self.show_measure,
            self.draw_rectangle, self.levels_in_sight, self.open, self.reload, self.save, self.copy,
        ))  # fmt: skip
        self._show_pixel(None)
        if not compact:
            legend = self._status.legend
            self.controls.show_mask.toggled.connect(lambda on: self._forms.show(legend, on))
        beside = [self.levels, side, self._status.legend, self._status.address]
        around = [self.colour_bar, self.regions, self.measure, self._status, self.caption, self.past.bar]
        self._forms.hide_in("tile", beside)
        self._forms.hide_in("bare", [*beside, *around, self.controls])

    def _place_past_bar(self) -> None:
        """Put the slider beside the pixel's figures where there is room: the picture gets the other line."""
        if not self._compact:
            return
        beside = self.width() >= self._status.readout.room() + BESIDE
        if beside != self._status.is_shared():
            self._status.share_with(self.past.bar if beside else None)
            if not beside:
                self._picture.layout().addWidget(self.past.bar)
            self._show_past_bar()

    def _show_past_bar(self) -> None:
        """Show the slider only with a picture, also where it is not on its page, and several frames."""
        has_picture = self._pages.currentWidget() is self._picture
        self.past.bar.setVisible(has_picture and self.past.bar.is_useful() and self._forms.form != "bare")


class Viewer(LiveView):
    """Window that starts `feed` when shown and ends it when closed.

    Args:
        feed: source of snapshots.
        backend: silx' plot backend, "mpl" or "gl".
        memory: see `LiveView`.
    """

    def __init__(
        self, feed: Feed, backend: str = "mpl", memory: Memory | None = None,
        parent: qt.QWidget | None = None,
    ) -> None:  # fmt: skip
        super().__init__(feed, backend=backend, memory=memory, parent=parent)
        self.setMinimumSize(880, 560)
        self.resize(first_size(self, qt.QSize(1240, 760)))

    def start(self) -> None:
        """Show the window and begin to follow."""
        super().start()
        self.show()
