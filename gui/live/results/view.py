"""The results of a pipeline as a widget: banner, list, curves or images, slider and tools."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.labels import BriefLabel
from penstock.gui.layouts import in_column, in_row
from penstock.gui.live.actions.colours import levels_in_sight
from penstock.gui.live.actions.parts import Form
from penstock.gui.live.following import FollowingView
from penstock.gui.live.memory import Kept, Memory
from penstock.gui.live.past.bar import PastBar
from penstock.gui.live.results.choice import Choice
from penstock.gui.live.results.drawer import Drawer
from penstock.gui.live.results.listing import ResultList
from penstock.gui.live.results.pages.pages import ResultPages
from penstock.gui.live.results.pages.save import SaveResult, Table
from penstock.gui.live.results.sentences import message, no_answer_yet
from penstock.gui.live.results.sources.feed import ResultsFeed
from penstock.gui.live.results.sources.held import newest_done
from penstock.gui.live.results.sources.snapshot import Page, Shown, Snapshot
from penstock.gui.live.results.steps import Progress, Steps
from penstock.gui.live.results.tools import Tools
from penstock.gui.live.texts.caption import Worth
from penstock.gui.live.texts.status_line import StatusLine

MEMORY = "results"
"""File of the user's settings in which choices are kept for each pipeline."""
KEPT = {"levels": "histogram", "log_x": "log_x", "log_y": "log_y", "errors": "errors"}
"""Tools that are kept, by the name under which they are."""


class ResultsView(FollowingView):
    """Follows a pipeline, or a result file, from when it is first shown until `stop`.

    Args:
        feed: source of snapshots.
        memory: where choices are kept for each pipeline; `None`: nowhere.
    """

    _feed: ResultsFeed
    _snapshot: Snapshot

    def __init__(
        self, feed: ResultsFeed, *, memory: Memory | None = None, parent: qt.QWidget | None = None
    ) -> None:
        super().__init__(feed, StatusLine("Point at the plot to read a value"), parent=parent)
        self._progress = Progress()
        self._frames_per_second = 0.0
        self.results = ResultList(self)
        self.plots = ResultPages(self)
        self.save = SaveResult(self._what_is_shown, self)
        self.levels_in_sight = levels_in_sight(self.plots.image.take_levels, self)
        rare = (self.open, self.save, self.copy, self.levels_in_sight)
        self.tools = Tools(self.plots.curve, self.plots.image, self.plots.numbers, self, rare)
        self._picture = qt.QWidget(self)
        """The plots, and the line above them."""
        self.bar = PastBar(self, saturated=False, parent=self)
        self.steps = Steps(self.bar, self)
        self.choice = Choice(self.results, self.steps, self.tools, self.snapshot, self)
        self._legend = BriefLabel(self)
        """What curve is held."""
        self._drawer = Drawer(self.plots, self.caption, self._feed.drawn, self)
        self._lay_out()
        self._take_keys((*self.tools.keys(), *rare))
        self.resize(1240, 760)
        self._connect()
        tools = {name: getattr(self.tools, tool) for name, tool in KEPT.items()}
        look = self.plots.image.look
        self._kept = Kept(memory, look, tools, self._size_kept, self._take_size, self)
        self._kept.restored.connect(self.restored)
        self._refresh()

    def _lay_out(self) -> None:
        whole = qt.QWidget(self)
        right = in_column((self._picture, 1), self.bar, spacing=0)
        middle = in_row(self.results, (right, 1), spacing=0)
        in_column(self.banner, self.plate, (middle, 1), of=whole, spacing=0)
        in_column(self.caption, (self.plots, 1), of=self._picture, spacing=0)
        self.caption.add(self.bar.line, lambda: Worth.ANSWER)
        self.caption.add(self._legend, lambda: Worth.SERIES)
        self._legend.setStyleSheet(f"color: {theme.current().warning};")
        self._legend.hide()
        self.setCentralWidget(whole)
        self.addToolBar(self.tools)
        beside = [self.results, self.plots.levels]
        around = [self.plots.colour_bar, self._status, self.caption, self.bar, self.tools]
        self._forms.hide_in("tile", [*beside, self._status.address])
        self._forms.hide_in("bare", [*beside, *around])

    def _connect(self) -> None:
        self.choice.changed.connect(self._follow_choice)
        self.tools.hold.toggled.connect(self._toggle_hold)
        self.tools.pause.toggled.connect(self._tell_wanted)
        self.tools.histogram.toggled.connect(lambda on: self._forms.show(self.plots.levels, on))
        self.plots.read.connect(self._status.read)
        self._drawer.drawn.connect(self._note_drawn)
        self.plots.image.frame_chosen.connect(self.choice.go_to_row)
        self.save.said.connect(self.say)

    def _threads(self) -> Sequence[Any]:
        return self._feed, self.plots.image

    def _wants(self) -> bool:
        return not self.tools.pause.isChecked()

    def _suit_form(self, form: Form) -> None:
        self.plots.image.set_bare(form == "bare")

    def hideEvent(self, event: qt.QHideEvent) -> None:
        """Play no further while it is not visible."""
        super().hideEvent(event)
        self.steps.stop_playing()

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

    def is_ready(self, count: int) -> bool:
        """Return whether so many were drawn, and all of the last is on the screen."""
        return self.drawn() >= count and not (count and self.is_loading())

    def is_loading(self) -> bool:
        """Return whether what is wanted is not all on the screen yet, as far as is known."""
        return self._drawer.is_loading()

    def frame(self) -> int | None:
        """Return the index of the frame on show; `None` if there is none."""
        return getattr(self.shown(), "frame", None)

    def why_never(self, frame: int | None) -> str:
        """Return why a file, or an idle pipeline, will never show what is wanted; "" if it may."""
        snapshot = self.snapshot()
        status = snapshot.status
        if not snapshot.is_file:
            return self.lacking() if status is not None and status.state == "idle" else ""
        if status is None:
            return snapshot.trouble
        if status.state == "running" or not len(snapshot.codes):
            return ""
        if not self.results.names():
            return f"{snapshot.url} has no results"
        if lacking := self.lacking():
            return lacking
        is_asked = (
            self.shown() is None and self.page() is not None and newest_done(snapshot.codes) is not None
        )
        return "" if is_asked else self.says()

    def no_answer_yet(self) -> str:
        """Return why it waits, if it has never had an answer, and what to look at."""
        return no_answer_yet(self.snapshot())

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
        return self._status.readout.pixel_text()

    def picture(self) -> qt.QImage | None:
        """Return the picture as it is seen, with the line above it."""
        return None if self.shown() is None else self._picture.grab().toImage()

    # -- what the user wants -------------------------------------------------------------------------

    def choose(self, name: str, page: Page | None = None) -> None:
        """Show a result, now or as soon as there is one of this name; `page`: how, by default as before."""
        self.choice.choose(name, page)

    def hold(self) -> None:
        """Keep the curve on show, to compare others with it."""
        self.tools.hold.setChecked(True)

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
        status = snapshot.status
        series = status.series if status is not None else None
        if snapshot.series != before.series:
            self._progress = Progress()
        if series is not None and status is not before.status:
            self._progress.note(time.monotonic(), series.counts.done)
        self._show_state()
        self._kept.show(status.pipeline if status is not None else "")
        self.steps.show_snapshot(snapshot)  # of another series the newest frame is wanted
        self.choice.offer(before)
        self._show_values()
        self._show_bar()
        self._status.show_address(snapshot.url)
        self.updated.emit()

    def _tick(self) -> None:
        self._frames_per_second = self._progress.rate(time.monotonic())
        self._show_state()

    def _show_state(self) -> None:
        """Say what is known of the pipeline, in a sentence and to be read from afar."""
        snapshot = self.snapshot()
        status = snapshot.status
        running = status is not None and status.state == "running"
        says = message(snapshot, self._frames_per_second if running else 0.0)
        self.banner.show_message(says)
        self.banner.setVisible(self._forms.form != "bare")
        name = PurePath(snapshot.url).name if snapshot.is_file else snapshot.url
        if status is not None and status.pipeline and not snapshot.is_file:
            name = status.pipeline
        counts = status.series.counts if status is not None and status.series is not None else None
        self._show_head(name, says, "" if counts is None else f"{counts.done:,} of {counts.frames:,}")

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

    def _what_is_shown(self) -> Table | None:
        picture = self.picture()
        return None if picture is None else self.plots.table(picture)
