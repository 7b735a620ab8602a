"""The measuring tools below the picture, one beside the other behind tabs; or in a window of their own."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import first_place
from penstock.gui.live.measure.beam.geometry import known, sentence
from penstock.gui.live.measure.beam.overlay import Cross, Rings
from penstock.gui.live.measure.beam.state import BeamState
from penstock.gui.live.measure.beam.tab import BeamTab
from penstock.gui.live.measure.counts.counting import Counting
from penstock.gui.live.measure.counts.counts import Figures, Saturated
from penstock.gui.live.measure.counts.figures_tab import FiguresTab, SaturationBanner
from penstock.gui.live.measure.counts.profile_tab import ProfileTab
from penstock.gui.live.measure.facts import Facts
from penstock.gui.live.measure.shapes import RectangleTool
from penstock.gui.live.measure.treatment.kept import KeptCorrections
from penstock.gui.live.measure.treatment.tab import TreatmentStrip, TreatmentTab
from penstock.gui.live.plot.image_plot import ImagePlot, Pixel
from penstock.gui.live.sources.feed import Feed
from penstock.gui.live.threads import Worker
from penstock.receiver.client import LastFrame

WINDOW = qt.QSize(760, 300)
"""Size of the window of its own, at first."""


class MeasureDock(qt.QDockWidget):
    """Measures what is on show; while it is hidden, only saturated pixels are counted.

    Args:
        plot: plot that is measured.
        feed: whose source is asked for what the window does not hold.
        compact: open as a window of its own: the picture beside other widgets needs its room.
    """

    counted = qt.Signal(str, int, object, object)
    """Series, index and time of a frame that was shown; its sum, mean, maximum and saturated pixels."""

    def __init__(
        self, plot: ImagePlot, feed: Feed, *, compact: bool, parent: qt.QWidget | None = None
    ) -> None:
        super().__init__("Measure", parent)
        self._plot, self._feed = plot, feed
        self.worker = Worker("penstock-measure")
        self.asker = Worker("penstock-facts")
        self.facts = Facts(self.asker, self)
        self.rectangle = RectangleTool(plot, self)
        self.counting = Counting(self.rectangle, self.facts, self.worker, self.asker, self)
        self.figures = FiguresTab(self.rectangle, self)
        self.profile = ProfileTab(plot, self.rectangle, self.worker, self)
        self.treatment = TreatmentTab(plot, self.rectangle, self.facts, self.worker, self)
        self.kept = KeptCorrections(self.figures, self.treatment, self.worker, self)
        self.treated = TreatmentStrip(self)
        self.saturation = SaturationBanner(self)
        self.beam = BeamState(self)
        self.beam_tab = BeamTab(self.beam, self)
        self.cross = Cross(plot, self.beam, self)
        self.rings = Rings(plot, self)
        self.tabs = qt.QTabWidget(self)
        self._saturated = Saturated(0, False)
        self._all_wanted = self._aside = self._was_placed = False
        self._lay_out(compact)
        self._connect()
        self.hide()

    def show_frame(self, frame: LastFrame | None) -> None:
        """Measure this frame, which is on the screen now; `None`: there is none."""
        whole = self._plot.whole()
        self.treated.show_text(self.treatment.text() if frame is not None else "")
        self._follow_turns()
        if frame is None or whole is None or whole.frame is not frame:
            self.counting.show_whole(None, None, None)
            self.profile.show_whole(None, None)
            self._warn(Saturated(0, False))
            return
        several = frame.array.ndim == 3 and not whole.has_colours
        channel = None if several or not frame.channels else self._feed.part().channel
        one = (channel,) if channel is not None else ()
        self.facts.follow(self._feed.source(), frame.series, frame.channels if several else one)
        self._draw_rings()
        self.counting.show_whole(whole, self._feed.source(), channel)
        self._draw_profile()

    def place_text(self, pixel: Pixel | None, at: tuple[float, float] | None) -> str:
        """Return what is known of the place under the cursor as seen from the sample; "" if nothing is.

        Args:
            pixel: what is there; `None`: nothing.
            at: column and row, fractions of a pixel too.
        """
        extent = self._plot.frame_extent()
        if pixel is None or at is None or extent is None or self._plot.whole() is None:
            return ""
        return sentence(self.beam.beam().at(at[0], at[1] % extent[1]))

    def is_running(self) -> bool:
        """Return whether one of the threads lives."""
        return self.worker.is_running() or self.asker.is_running()

    def is_mask_on_show(self) -> bool:
        """Return whether the picture has all that is known of the series' mask, and nothing is asked for."""
        whole = self._plot.whole()
        return whole is None or (
            not self.facts.is_looking_for_mask() and whole.bad is self.facts.bad(whole.frame)
        )

    def ask_to_stop(self) -> None:
        """End the threads, without waiting for them."""
        self.worker.ask_to_stop()
        self.asker.ask_to_stop()

    def stop(self) -> None:
        """End the threads, and wait for what they do."""
        self.worker.stop()
        self.kept.finish()
        self.asker.stop()

    def show_name(self, name: str) -> None:
        """Say of which picture it is, where it is a window of its own."""
        if self.isFloating():
            self.setWindowTitle(f"Measure – {name}")

    def follow_view(self, visible: bool) -> None:
        """Hide with the picture, and come back with it, as a window of its own does not by itself."""
        if not self.isFloating():
            return
        if visible and self._aside:
            self.show()
        self._aside = not visible and self.isVisible()
        if self._aside:
            self.hide()

    def showEvent(self, event: qt.QShowEvent) -> None:
        """Measure, now that somebody looks."""
        own, around = self.windowHandle(), self.parentWidget().window().windowHandle()
        if self.isFloating() and own is not None and around is not None:
            own.setTransientParent(around)  # else it may vanish behind the window whose picture it measures
        # Later it is where the user has put it; Qt shows it once before its view.
        if self.isFloating() and not self._was_placed and self.parentWidget().isVisible():
            self._was_placed = True
            self._place()
        super().showEvent(event)
        self._look()

    def hideEvent(self, event: qt.QHideEvent) -> None:
        """Measure no more than is needed for the warning."""
        super().hideEvent(event)
        self._look()

    def _place(self) -> None:
        view = self.parentWidget()
        tools = view.findChild(qt.QToolBar, options=qt.Qt.FindDirectChildrenOnly)
        about = first_place.on_screen(view)
        self.setGeometry(
            first_place.beside(
                WINDOW, self.minimumSizeHint(), first_place.room(view), view.window().frameGeometry(), about,
                about if tools is None else first_place.on_screen(tools),
            )
        )  # fmt: skip

    def _look(self) -> None:
        looked_at = self.isVisible() and self.tabs.currentWidget() is self.figures
        self.counting.look(looked_at, all_frames=self._all_wanted)

    def _warn(self, saturated: Saturated) -> None:
        self._saturated = saturated
        self.saturation.show_saturated(saturated, self.figures.allowed.value())

    def _show_again(self) -> None:
        whole = self._plot.whole()
        if whole is not None:
            self.show_frame(whole.frame)

    def _connect(self) -> None:
        plot = self._plot
        self.counting.saturated.connect(self._warn)
        self.counting.frame_counted.connect(self._show_counted)
        self.counting.rectangle_counted.connect(self._show_rectangle)
        self.counting.says.connect(lambda sentence, trouble: self.figures.say(sentence, trouble=trouble))
        self.figures.allowed_changed.connect(lambda: self._warn(self._saturated))
        plot.make_whole = lambda frame: self.treatment.treatment().whole(frame, self.facts.bad(frame))
        self.facts.mask_changed.connect(plot.make_again)
        plot.treated.connect(self._show_again)
        self.treatment.changed.connect(plot.make_again)
        self.facts.changed.connect(self._draw_profile)
        self.facts.changed.connect(self._follow_turns)
        self.facts.changed.connect(self._follow_geometry)
        self.beam.changed.connect(self._draw_rings)
        self.beam_tab.rings_changed.connect(self._draw_rings)
        self.beam_tab.cross_shown.connect(self.cross.set_shown)
        self.beam_tab.cross_shown.connect(self._give_cross_a_place)
        self.facts.changed.connect(self._give_cross_a_place)
        self.figures.centre.connect(self._put_cross)
        self.tabs.currentChanged.connect(lambda _: self._look())

    def _follow_geometry(self) -> None:
        geometry = self.facts.geometry()
        self.beam_tab.show_remarks(() if geometry is None else geometry.remarks)
        self.beam.follow(known(geometry))

    def count_all(self, wanted: bool) -> None:
        """Set whether each frame shown is counted as a whole, also while the figures are not on show."""
        self._all_wanted = wanted
        self._look()

    def _show_counted(self, frame: LastFrame | None, figures: Figures | None) -> None:
        self.figures.show_figures("Frame", figures)
        if frame is not None and figures is not None:
            counted = (figures.sum, figures.mean, figures.maximum, figures.saturated)
            self.counted.emit(frame.series, frame.frame, frame.time, counted)

    def _draw_rings(self) -> None:
        self.rings.show_rings(self.beam.beam(), self.beam_tab.rings())
        self.beam_tab.show_seen(bool(self.rings.distances()) or self._plot.frame_extent() is None)

    def _follow_turns(self) -> None:
        whole = self._plot.whole()
        size = None if whole is None or whole.is_reduced else whole.extent[::-1]
        self.beam_tab.show_turned(self.facts.turned(self._feed.source(), size))

    def _draw_profile(self) -> None:
        whole = self._plot.whole()
        self.profile.show_whole(whole, None if whole is None else self.facts.mask(whole.shape))

    def _put_cross(self, centre: tuple[float, float]) -> None:
        self.beam.set_centre((round(centre[0], 2), round(centre[1], 2)))
        self.beam_tab.show_cross.setChecked(True)

    def _give_cross_a_place(self) -> None:
        """Put the cross into the middle, to be dragged from there, if nobody knows the beam's centre."""
        extent = self._plot.frame_extent()
        looked = self.facts.geometry() is not None or self.facts.why("geometry")
        if self.beam_tab.show_cross.isChecked() and looked and extent and self.beam.beam().centre is None:
            self.beam.set_centre((extent[0] / 2, extent[1] / 2))

    def _show_rectangle(self, frame: LastFrame | None, figures: object) -> None:
        self.figures.show_figures("Rectangle", figures)  # type: ignore[arg-type]

    def _lay_out(self, compact: bool) -> None:
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setDrawBase(False)  # it is white, also on a dark ground
        self.tabs.addTab(self.figures, "Figures")
        self.tabs.addTab(self.beam_tab, "Beam")
        self.tabs.addTab(self.profile, "Profile")
        self.tabs.addTab(self.treatment, "Corrections")
        self.setWidget(self.tabs)
        if compact:
            self.setFeatures(qt.QDockWidget.DockWidgetClosable | qt.QDockWidget.DockWidgetFloatable)
            self.setFloating(True)
            self.resize(WINDOW)
        else:
            self.setFeatures(qt.QDockWidget.DockWidgetClosable)
            self.setTitleBarWidget(qt.QWidget(self))  # the button in the tool bar says what it is
