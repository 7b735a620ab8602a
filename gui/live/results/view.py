"""The results of a pipeline as a widget: banner, list, curves or images, slider and tools."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import PurePath

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.banner import StateBanner
from penstock.gui.elided import BriefLabel
from penstock.gui.live.actions.copy_picture import CopyPicture
from penstock.gui.live.actions.open_file import OpenFile, dropped_files
from penstock.gui.live.caption import CaptionLine, Worth
from penstock.gui.live.forms import Form, Forms
from penstock.gui.live.idle import Idle
from penstock.gui.live.memory import Memory
from penstock.gui.live.past.bar import PastBar
from penstock.gui.live.plate import Plate
from penstock.gui.live.readout import Readout
from penstock.gui.live.results.feed import ResultsFeed
from penstock.gui.live.results.held import newest_done
from penstock.gui.live.results.listing import ResultList
from penstock.gui.live.results.progress import Progress
from penstock.gui.live.results.result_pages import ResultPages
from penstock.gui.live.results.save import SaveResult, Table
from penstock.gui.live.results.sentences import caption, message, nothing
from penstock.gui.live.results.snapshot import (
    Page,
    Shown,
    Snapshot,
    Wish,
    pages,
)
from penstock.gui.live.results.steps import Steps
from penstock.gui.live.results.tools import Tools
from penstock.gui.live.start import start_viewer
from penstock.processing.models import Result

MEMORY = "results"
"""File of the user's settings in which choices are kept for each pipeline."""
SAID_MS = 8000
"""Milliseconds for which it says what was done."""


class ResultsView(qt.QMainWindow):
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
        super().__init__(parent)
        self.keeps_size = True
        """Whether its size is that of a window, and is remembered."""
        self._feed, self._memory = feed, memory
        self._snapshot = Snapshot(url=feed.source().address, is_file=feed.source().is_file)
        self._shown: Shown | None = None
        """What is on the screen."""
        self._page: Page | None = None
        self._ways: dict[str, Page] = {}
        """How the user has chosen to see each result."""
        self.prefers: Page | None = None
        """How results are shown of which the user has not said it, where they can be."""
        self._drawn, self._began = 0, 0.0
        self._drawing = False
        """Whether what was shown last is not on the screen yet."""
        self._progress = Progress()
        self._frames_per_second = 0.0
        self.opens: Callable[[str], None] = self._open_elsewhere
        """Opens a file that the user has chosen, or dropped here: by default in a window of its own."""
        self.setAcceptDrops(True)
        self.banner = StateBanner(self)
        self.plate = Plate(self)
        self.results = ResultList(self)
        self.plots = ResultPages(self)
        self.caption = CaptionLine(parent=self)
        self.save = SaveResult(self._what_is_shown, self)
        self.copy = CopyPicture(self.picture, self)
        self.open = OpenFile(lambda path: self.opens(path), self._file_on_show, self)
        self.tools = Tools(
            self.plots.curve, self.plots.image, self.plots.numbers, self, (self.open, self.save, self.copy)
        )
        self._whole = qt.QWidget(self)
        self.bar = PastBar(self._whole, saturated=False, parent=self)
        self.steps = Steps(self.bar, self)
        self._legend = BriefLabel(self)
        """What curve is held."""
        self._status = qt.QStatusBar(self)
        self._readout = Readout(self)
        self._address = qt.QLabel(self)
        self._idle = Idle(self._feed.drawn, self)
        self._lay_out()
        self._connect()
        self._clock = qt.QTimer(self)
        self._clock.setInterval(500)
        self._clock.timeout.connect(self._tick)
        self._refresh()

    # -- its life ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to follow; showing it for the first time does so too."""
        if not self._feed.was_started():
            self._clock.start()
            self._feed.start()

    def was_started(self) -> bool:
        """Return whether it has begun to follow."""
        return self._feed.was_started()

    def is_running(self) -> bool:
        """Return whether one of its threads lives: they end with the request under way."""
        return self._feed.is_running() or self.plots.image.is_running()

    def stop(self) -> None:
        """End it, for good: waits for the request under way."""
        self.ask_to_stop()
        self._feed.stop()
        self.plots.image.stop()

    def ask_to_stop(self) -> None:
        """End it, for good, without waiting for it."""
        self._clock.stop()
        self._feed.ask_to_stop()
        self.plots.image.ask_to_stop()

    def showEvent(self, event: qt.QShowEvent) -> None:
        """Ask for values, now that it is visible."""
        super().showEvent(event)
        self.start()
        self._tell_wanted()

    def hideEvent(self, event: qt.QHideEvent) -> None:
        """Ask for no values while it is not visible."""
        super().hideEvent(event)
        self.steps.stop_playing()
        self._tell_wanted()

    def closeEvent(self, event: qt.QCloseEvent) -> None:
        """End it; the widget goes first, since the request under way may take a moment."""
        self.hide()
        self.stop()
        super().closeEvent(event)

    def changeEvent(self, event: qt.QEvent) -> None:
        """Ask for no values while the window is minimised: it draws nothing."""
        super().changeEvent(event)
        if event.type() == qt.QEvent.WindowStateChange:
            self._tell_wanted()

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Leave out the address where there is no room."""
        super().resizeEvent(event)
        self._fit_address()

    def _tell_wanted(self) -> None:
        seen = self.isVisible() and not self.window().isMinimized()
        self._feed.set_wanted(seen and not self.tools.pause.isChecked())

    def _tick(self) -> None:
        self._frames_per_second = self._progress.rate(time.monotonic())
        self._show_banner()

    # -- what is on show -----------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return what is known."""
        return self._snapshot

    def shown(self) -> Shown | None:
        """Return what is on the screen; `None` before the first."""
        return self._shown

    def drawn(self) -> int:
        """Return how many times something new was drawn."""
        return self._drawn

    def page(self) -> Page | None:
        """Return how the result is shown; `None` before there is one."""
        return self._page

    def is_loading(self) -> bool:
        """Return whether what is wanted is not all on the screen yet, as far as is known."""
        return self._drawing or bool(getattr(self._shown, "loading", False))

    def why_never(self) -> str:
        """Return why a file that nobody writes any more will never show what is wanted; "" if it will."""
        snapshot = self._snapshot
        if not len(snapshot.codes):
            return ""
        if not self.results.names():
            return f"{snapshot.url} has no results"
        if lacking := self.lacking():
            return lacking
        is_asked = self._shown is None and self._page is not None and newest_done(snapshot.codes) is not None
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
        return self._readout.pixel_text()

    def picture(self) -> qt.QImage | None:
        """Return the picture as it is seen, with the line above it."""
        return None if self._shown is None else self._whole.grab().toImage()

    # -- what the user wants -------------------------------------------------------------------------

    def choose(self, name: str, page: Page | None = None) -> None:
        """Show a result, now or as soon as there is one of this name; `page`: how, by default as before."""
        if page is not None:
            self._ways[name] = page
        self.results.choose(name)
        self._follow_choice()

    def hold(self) -> None:
        """Keep the curve on show, to compare others with it."""
        self.tools.hold.setChecked(True)

    def set_form(self, form: Form) -> None:
        """Show all parts; as a tile, none beside the plot; bare, nothing but plot, state, count."""
        if form != self._forms.form:
            self._forms.take(form)
            self.plate.setVisible(form == "bare")
            self.plots.image.set_bare(form == "bare")
            self._refresh()

    def _choose_page(self, page: Page) -> None:
        self._ways[self.results.name()] = page
        self._follow_choice()

    def _follow_choice(self, *_: object) -> None:
        """Ask for what is chosen now."""
        result = self._result()
        ways = () if result is None else pages(result)
        chosen = self._ways.get(result.name, self.prefers) if result is not None else None
        page = chosen if chosen in ways else ways[0] if ways else None
        if page is not self._page:
            self._page = page
            self._read("")
        errors = result is not None and bool(result.errors)
        self.tools.show_page(page, ways, errors=errors)
        self._feed.wish(
            Wish(
                name="" if page is None else self.results.name(), page=page or Page.CURVE,
                frame=self._frame(),
                last=self.tools.last.value(), errors=self.tools.errors.isChecked(),
            )
        )  # fmt: skip
        self._show_bar()
        self._show_values(again=True)

    def _frame(self) -> int | None:
        return self.steps.frame()

    def _result(self) -> Result | None:
        name = self.results.name()
        return next((each for each in self._snapshot.results if each.name == name), None)

    def _toggle_hold(self, on: bool) -> None:
        name = self.plots.hold(on)
        self._legend.set_texts(f"▬ {name}" if name else "")
        self._legend.setVisible(bool(name))
        self._show_values(again=True)

    def _go_to_row(self, frame: int) -> None:
        self.steps.go(frame)
        self._choose_page(Page.CURVE)

    # -- from the feed to the screen -----------------------------------------------------------------

    def _refresh(self) -> None:
        before = self._snapshot
        snapshot = self._snapshot = self._feed.take()
        self._count(before, snapshot)
        self._show_banner()
        self._remember()
        self.steps.show_snapshot(snapshot)  # of another series the newest frame is wanted
        known = snapshot.results
        if known != before.results or snapshot.series != before.series:
            self.results.show_results(known, _first(known))
            self._follow_choice()
        self._show_values()
        self._show_bar()
        self._show_address()
        self.updated.emit()

    def _count(self, before: Snapshot, now: Snapshot) -> None:
        """Note frames that are done, for the rate."""
        series = now.status.series if now.status is not None else None
        if now.series != before.series:
            self._progress = Progress()
        if series is not None and now.status is not before.status:
            self._progress.note(time.monotonic(), series.counts.done)

    def _show_banner(self) -> None:
        snapshot = self._snapshot
        status = snapshot.status
        running = status is not None and status.state == "running"
        says = message(snapshot, self._frames_per_second if running else 0.0)
        self.banner.show_message(says)
        self.banner.setVisible(self._forms.form != "bare")
        name = PurePath(snapshot.url).name if snapshot.is_file else snapshot.url
        if status is not None and status.pipeline and not snapshot.is_file:
            name = status.pipeline
        counts = status.series.counts if status is not None and status.series is not None else None
        self.plate.show_plate(name, says, "" if counts is None else f"{counts.done:,} of {counts.frames:,}")
        self.setWindowTitle(f"{name} – {says.title.lower()} – Penstock")

    def _show_values(self, *, again: bool = False) -> None:
        """Draw what the feed has brought; `again`: also if it is on the screen."""
        shown, result = self._snapshot.shown, self._result()
        if shown is None or shown.name != self.results.name() or shown.page is not self._page:
            self._say_nothing(result)
            return
        if shown is not self._shown or again:
            self._began, self._drawing = time.thread_time(), True
            self.plots.show_values(self._snapshot, result, errors=self.tools.errors.isChecked())
            self._shown = shown
        self._show_caption()

    def _say_nothing(self, result: Result | None) -> None:
        self._shown, self._drawing = None, False
        self.plots.say(nothing(self._snapshot, result))
        self.caption.show_caption(None)
        self._feed.drawn()

    def _show_caption(self) -> None:
        said = caption(self._shown, self._snapshot, self._frame())
        self.caption.show_caption(said)

    def _read(self, text: str) -> None:
        """Say what is under the cursor."""
        self._readout.set_text(text or "Point at the plot to read a value")

    def _note_drawn(self) -> None:
        self._drawn += 1
        self._drawing = False
        self._idle.wait(time.thread_time() - self._began)
        self.steps.drawn()
        self.frame_drawn.emit(self._drawn)

    def _show_bar(self) -> None:
        """Show the slider where one frame is on show, of several."""
        result = self._result()
        of_frames = result is not None and result.kind == "value" and self._page in (Page.CURVE, Page.PICTURE)
        self.bar.setVisible(of_frames and self.bar.is_useful() and self._forms.form != "bare")

    # -- files ---------------------------------------------------------------------------------------

    def dragEnterEvent(self, event: qt.QDragEnterEvent) -> None:
        """Take files."""
        if dropped_files(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: qt.QDropEvent) -> None:
        """Open the files that are dropped."""
        for path in dropped_files(event.mimeData()):
            self.opens(path)
        event.acceptProposedAction()

    def _open_elsewhere(self, path: str) -> None:
        trouble = start_viewer(path)
        self.say(trouble or f"{path} opens in a window of its own.", bool(trouble))

    def _file_on_show(self) -> str:
        return self._snapshot.url if self._snapshot.is_file else ""

    def _what_is_shown(self) -> Table | None:
        picture = self.picture()
        return None if picture is None else self.plots.table(picture)

    def say(self, sentence: str, wrong: bool) -> None:
        """Say what was done, or why it was not, for a while."""
        self._readout.say(f"▲ {sentence}" if wrong else sentence, SAID_MS)

    def said(self) -> str:
        """Return what the line below says of what was done last."""
        return self._readout.said()

    # -- what is remembered --------------------------------------------------------------------------

    def _remember(self) -> None:
        """Choose what was kept for this pipeline, as soon as it is known."""
        status = self._snapshot.status
        pipeline = status.pipeline if status is not None else ""
        if self._memory is None or not pipeline or pipeline == self._memory.detector:
            return
        memory, self._memory = self._memory, None  # nothing is kept while it restores
        memory.begin(pipeline)
        size = memory.restore(self.plots.image.look, self._kept)
        if size is not None and self.keeps_size:
            window = self.window()  # it may have tabs around this
            room = window.screen().availableSize()
            window.resize((window.size() + size - self.size()).boundedTo(room.expandedTo(window.size())))
        self._memory = memory
        self.restored.emit()

    def _keep(self, *_: object) -> None:
        if self._memory is not None:
            self._memory.keep(self.plots.image.look, self._kept, self.size() if self.keeps_size else None)

    # -- where things stand --------------------------------------------------------------------------

    def _connect(self) -> None:
        self._feed.fresh.connect(self._refresh, qt.Qt.QueuedConnection)
        self.destroyed.connect(self._feed.ask_to_stop)
        self.results.chosen.connect(self._follow_choice)
        self.steps.changed.connect(self._follow_choice)
        self.tools.page_chosen.connect(self._choose_page)
        self.tools.last.valueChanged.connect(self._follow_choice)
        self.tools.errors.toggled.connect(self._follow_choice)
        self.tools.hold.toggled.connect(self._toggle_hold)
        self.tools.pause.toggled.connect(self._tell_wanted)
        self.tools.histogram.toggled.connect(self.plots.levels.setVisible)
        self.plots.read.connect(self._read)
        self.plots.drawn.connect(self._note_drawn)
        self.plots.image.frame_chosen.connect(self._go_to_row)
        self.save.said.connect(self.say)
        self.copy.said.connect(self.say)
        tools = self.tools
        self._kept = {
            "levels": tools.histogram, "log_x": tools.log_x, "log_y": tools.log_y, "errors": tools.errors,
        }  # fmt: skip
        self.plots.image.look.changed.connect(self._keep)
        for action in self._kept.values():
            action.toggled.connect(self._keep)

    def _lay_out(self) -> None:
        colours = theme.current()
        lines = qt.QVBoxLayout(self._whole)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(0)
        lines.addWidget(self.caption)
        lines.addWidget(self.plots, 1)
        right = qt.QWidget(self)
        column = qt.QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._whole, 1)
        column.addWidget(self.bar)
        self.caption.add(self.bar.line, lambda: Worth.ANSWER)
        self.caption.add(self._legend, lambda: Worth.SERIES)
        self._legend.setStyleSheet(f"color: {colours.warning};")
        self._legend.hide()
        middle = qt.QWidget(self)
        columns = qt.QHBoxLayout(middle)
        columns.setContentsMargins(0, 0, 0, 0)
        columns.setSpacing(0)
        columns.addWidget(self.results)
        columns.addWidget(right, 1)
        whole = qt.QWidget(self)
        rows = qt.QVBoxLayout(whole)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(0)
        rows.addWidget(self.banner)
        rows.addWidget(self.plate)
        rows.addWidget(middle, 1)
        self.setCentralWidget(whole)
        self.addToolBar(self.tools)
        self._readout.setStyleSheet("font-family: monospace; font-size: 11pt;")
        self._address.setStyleSheet(f"color: {colours.muted}; padding: 2px 8px;")
        self._status.setSizeGripEnabled(False)
        self._status.addWidget(self._readout, 1)
        self._status.addPermanentWidget(self._address)
        self.setStatusBar(self._status)
        self.plate.hide()
        around = [
            self.results,
            self.plots.levels,
            self.plots.colour_bar,
            self._status,
            self.caption,
            self.bar,
            self.tools,
        ]
        self._forms = Forms({"tile": [self.results, self.plots.levels, self._address], "bare": around})
        for action in (*self.tools.keys(), self.open, self.save, self.copy):
            # Beside other widgets a key is meant for the view only when the view has the focus.
            action.setShortcutContext(qt.Qt.WidgetWithChildrenShortcut)
            self.addAction(action)
        self.resize(1240, 760)

    def _show_address(self) -> None:
        self._fit_address()

    def _fit_address(self) -> None:
        address = self._snapshot.url
        room = self.width() - self._readout.room() - 60
        fits = self._address.fontMetrics().horizontalAdvance(address) <= room
        self._address.setText(address if fits else "")


def _first(results: Sequence[Result]) -> str:
    """Return what is shown unless the user chooses: the first curve, or else a number, or an image."""

    def worth(result: Result) -> int:
        if result.kind == "value":
            return {1: 0, 0: 1, 2: 2}.get(len(result.shape), 9)
        return 3 if pages(result) else 9

    listed = [each for each in results if each.kind != "axis"]
    errors = {each.errors for each in listed}
    return min(listed, key=lambda each: (worth(each), each.name in errors)).name if listed else ""
