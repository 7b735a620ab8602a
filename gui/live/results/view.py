"""The results of a pipeline as a widget: banner, list, curves or images, slider and tools."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.banner import StateBanner
from penstock.gui.first_place import first_size
from penstock.gui.labels import BriefLabel
from penstock.gui.live.actions.colours import levels_in_sight
from penstock.gui.live.actions.open_file import OpenFile
from penstock.gui.live.actions.parts import Form
from penstock.gui.live.actions.save import CopyPicture
from penstock.gui.live.memory import Kept, Memory
from penstock.gui.live.past.bar import PastBar
from penstock.gui.live.results.arrangement import Parts, StatusLine, arrange
from penstock.gui.live.results.choice import Choice
from penstock.gui.live.results.drawer import Drawer
from penstock.gui.live.results.heading import Heading
from penstock.gui.live.results.listing import ResultList
from penstock.gui.live.results.pages.pages import ResultPages
from penstock.gui.live.results.pages.save import SaveResult, Table
from penstock.gui.live.results.sources.feed import ResultsFeed
from penstock.gui.live.results.sources.held import newest_done
from penstock.gui.live.results.sources.snapshot import Page, Shown, Snapshot
from penstock.gui.live.results.steps import Steps
from penstock.gui.live.results.tools import Tools
from penstock.gui.live.seen import TakesFiles
from penstock.gui.live.texts.caption import CaptionLine
from penstock.gui.live.texts.plate import Plate


class Following(TakesFiles):
    """Follows a feed from when it is first shown until `stop`.

    Args:
        feed: source of snapshots.
    """

    began = qt.Signal()
    """It has begun to follow."""
    ended = qt.Signal()
    """It ends, for good."""

    def __init__(self, feed: ResultsFeed, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._feed = feed
        self._paused = False
        self.destroyed.connect(feed.ask_to_stop)

    def start(self) -> None:
        """Begin to follow; showing it for the first time does so too."""
        if not self._feed.was_started():
            self.began.emit()
            self._feed.start()

    def was_started(self) -> bool:
        """Return whether it has begun to follow."""
        return self._feed.was_started()

    def is_running(self) -> bool:
        """Return whether one of its threads lives: they end with the request under way."""
        return self._feed.is_running()

    def stop(self) -> None:
        """End it, for good: waits for the request under way."""
        self.ask_to_stop()
        self._feed.stop()

    def ask_to_stop(self) -> None:
        """End it, for good, without waiting for it."""
        self._feed.ask_to_stop()
        self.ended.emit()

    def pause(self, on: bool) -> None:
        """Ask for no values, although it is visible."""
        self._paused = on
        self._tell_wanted()

    def _tell_wanted(self) -> None:
        self._feed.set_wanted(self.is_seen() and not self._paused)


MEMORY = "results"
"""File of the user's settings in which choices are kept for each pipeline."""
KEPT = {"levels": "histogram", "log_x": "log_x", "log_y": "log_y", "errors": "errors"}
"""Tools that are kept, by the name under which they are."""


class ResultsView(Following):
    """Follows a pipeline, or a result file, from when it is first shown until `stop`.

    Args:
        feed: source of snapshots.
        memory: where choices are kept for each pipeline; `None`: nowhere.
    """

    frame_drawn = qt.Signal(int)
    """How many times this widget has drawn something new."""
    updated = qt.Signal()
    """A snapshot is on show."""
    restored = qt.Signal()
    """What was kept for this pipeline is chosen now."""

    def __init__(
        self, feed: ResultsFeed, *, memory: Memory | None = None, parent: qt.QWidget | None = None
    ) -> None:
        super().__init__(feed, parent)
        self.keeps_size = True
        """True if its size is that of a window, and is remembered."""
        self._snapshot = Snapshot(url=feed.source().address, is_file=feed.source().is_file)
        self.banner = StateBanner(self)
        self.plate = Plate(self)
        self.results = ResultList(self)
        self.plots = ResultPages(self)
        self.caption = CaptionLine(parent=self)
        self.save = SaveResult(self._what_is_shown, self)
        self.copy = CopyPicture(self.picture, self)
        self.open = OpenFile(lambda path: self.opens(path), self._file_on_show, self)
        self.levels_in_sight = levels_in_sight(self.plots.image.take_levels, self)
        self.tools = Tools(
            self.plots.curve, self.plots.image, self.plots.numbers, self,
            (self.open, self.save, self.copy, self.levels_in_sight),
        )  # fmt: skip
        self._whole = qt.QWidget(self)
        self.bar = PastBar(self, saturated=False, parent=self)
        self.steps = Steps(self.bar, self)
        self.choice = Choice(self.results, self.steps, self.tools, self.snapshot, self)
        self._legend = BriefLabel(self)
        """What curve is held."""
        self._status = StatusLine(self)
        self._heading = Heading(self.banner, self.plate, self)
        self._drawer = Drawer(self.plots, self.caption, self._feed.drawn, self)
        self._forms = arrange(
            self,
            Parts(
                banner=self.banner, plate=self.plate, results=self.results, picture=self._whole,
                caption=self.caption, legend=self._legend, plots=self.plots, bar=self.bar, tools=self.tools,
                status=self._status,
            ),
        )  # fmt: skip
        for action in (*self.tools.keys(), self.open, self.save, self.copy, self.levels_in_sight):
            # Beside other widgets a key is meant for the view only when the view has the focus.
            action.setShortcutContext(qt.Qt.WidgetWithChildrenShortcut)
            self.addAction(action)
        self.resize(1240, 760)
        self._connect()
        tools = {name: getattr(self.tools, tool) for name, tool in KEPT.items()}
        self._kept = Kept(memory, self.plots.image.look, tools, self._size_kept, self)
        self._kept.restored.connect(self._take_size)
        self._refresh()

    def _connect(self) -> None:
        self._feed.fresh.connect(self._refresh, qt.Qt.QueuedConnection)
        self.began.connect(self._heading.start)
        self.ended.connect(self._heading.stop)
        self.ended.connect(self.plots.image.ask_to_stop)
        self.choice.changed.connect(self._follow_choice)
        self.tools.hold.toggled.connect(self._toggle_hold)
        self.tools.pause.toggled.connect(self.pause)
        self.tools.histogram.toggled.connect(lambda on: self._forms.show(self.plots.levels, on))
        self.plots.read.connect(self._status.read)
        self._heading.titled.connect(self.setWindowTitle)
        self._drawer.drawn.connect(self._note_drawn)
        self.plots.image.frame_chosen.connect(self.choice.go_to_row)
        self.save.said.connect(self.say)
        self.copy.said.connect(self.say)

    # -- its life ------------------------------------------------------------------------------------

    def is_running(self) -> bool:
        """Return whether one of its threads lives: they end with the request under way."""
        return super().is_running() or self.plots.image.is_running()

    def stop(self) -> None:
        """End it, for good: waits for the request under way."""
        super().stop()
        self.plots.image.stop()

    def hideEvent(self, event: qt.QHideEvent) -> None:
        """Play no further while it is not visible."""
        super().hideEvent(event)
        self.steps.stop_playing()

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Leave out the address where there is no room."""
        super().resizeEvent(event)
        self._status.show_address(self._snapshot.url, self.width())

    # -- what is on show -----------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return what is known."""
        return self._snapshot

    def shown(self) -> Shown | None:
        """Return what is on the screen; `None` before the first."""
        return self._drawer.shown()

    def drawn(self) -> int:
        """Return how many times something new was drawn."""
        return self._drawer.count()

    def page(self) -> Page | None:
        """Return how the result is shown; `None` before there is one."""
        return self.choice.page()

    def is_loading(self) -> bool:
        """Return whether what is wanted is not all on the screen yet, as far as is known."""
        return self._drawer.is_loading()

    def why_never(self) -> str:
        """Return why a file that nobody writes any more will never show what is wanted; "" if it will."""
        snapshot = self._snapshot
        if not len(snapshot.codes):
            return ""
        if not self.results.names():
            return f"{snapshot.url} has no results"
        if lacking := self.lacking():
            return lacking
        is_asked = (
            self.shown() is None and self.page() is not None and newest_done(snapshot.codes) is not None
        )
        return "" if is_asked else self.says()

    def lacking(self) -> str:
        """Return that what is wanted is none of those that there are; "" if it is, or none are there."""
        name, names = self.results.name(), self.results.names()
        if not names or name in names:
            return ""
        return f"{self._snapshot.url} has no result {name}; it has {', '.join(names)}"

    def says(self) -> str:
        """Return what is said in place of values; "" where there are some."""
        return self.plots.says()

    def reading(self) -> str:
        """Return what the line below says of the place under the cursor."""
        return self._status.reading()

    def picture(self) -> qt.QImage | None:
        """Return the picture as it is seen, with the line above it."""
        return None if self.shown() is None else self._whole.grab().toImage()

    # -- what the user wants -------------------------------------------------------------------------

    def choose(self, name: str, page: Page | None = None) -> None:
        """Show a result, now or as soon as there is one of this name; `page`: how, by default as before."""
        self.choice.choose(name, page)

    def hold(self) -> None:
        """Keep the curve on show, to compare others with it."""
        self.tools.hold.setChecked(True)

    def set_form(self, form: Form) -> None:
        """Show all parts; as a tile, none beside the plot; bare, nothing but plot, state, count."""
        if form != self._forms.form:
            self._forms.take(form)
            self._heading.set_bare(form == "bare")
            self.plots.image.set_bare(form == "bare")
            self._refresh()

    def _follow_choice(self, another_page: bool) -> None:
        """Ask for what is chosen now."""
        if another_page:
            self._status.read("")
        self._feed.wish(self.choice.wish())
        self._show_bar()
        self._show_values(again=True)

    def _toggle_hold(self, on: bool) -> None:
        name = self.plots.hold(on)
        self._legend.set_texts(f"▬ {name}" if name else "")
        self._legend.setVisible(bool(name))
        self._show_values(again=True)

    # -- from the feed to the screen -----------------------------------------------------------------

    def _refresh(self) -> None:
        before = self._snapshot
        snapshot = self._snapshot = self._feed.take()
        self._heading.show_snapshot(snapshot)
        status = snapshot.status
        self._kept.show_pipeline(status.pipeline if status is not None else "")
        self.steps.show_snapshot(snapshot)  # of another series the newest frame is wanted
        self.choice.offer(before)
        self._show_values()
        self._show_bar()
        self._status.show_address(snapshot.url, self.width())
        self.updated.emit()

    def _show_values(self, *, again: bool = False) -> None:
        """Draw what the feed has brought; `again`: also if it is on the screen."""
        self._drawer.show_values(self._snapshot, self.choice.result(), self.choice.wish(), again=again)

    def _note_drawn(self, count: int) -> None:
        self.steps.drawn()
        self.frame_drawn.emit(count)

    def _show_bar(self) -> None:
        """Show the slider where one frame is on show, of several."""
        result, page = self.choice.result(), self.page()
        of_frames = result is not None and result.kind == "value" and page in (Page.CURVE, Page.PICTURE)
        self.bar.setVisible(of_frames and self.bar.is_useful() and self._forms.form != "bare")

    # -- files ---------------------------------------------------------------------------------------

    def _file_on_show(self) -> str:
        return self._snapshot.url if self._snapshot.is_file else ""

    def _what_is_shown(self) -> Table | None:
        picture = self.picture()
        return None if picture is None else self.plots.table(picture)

    def say(self, sentence: str, wrong: bool) -> None:
        """Say what was done, or why it was not, for a while."""
        self._status.say(sentence, wrong)

    def said(self) -> str:
        """Return what the line below says of what was done last."""
        return self._status.said()

    # -- what is remembered --------------------------------------------------------------------------

    def _size_kept(self) -> qt.QSize | None:
        return self.size() if self.keeps_size else None

    def _take_size(self, size: qt.QSize | None) -> None:
        if size is not None and self.keeps_size:
            window = self.window()  # it may have tabs around this
            window.resize(first_size(window, window.size() + size - self.size()))
        self.restored.emit()
