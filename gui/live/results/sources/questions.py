"""What is asked of a source in one step: its status, what results there are, and the values that are wanted.

Values are asked for only of frames that are done and not here yet.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from penstock.gui.live.results.sources import held
from penstock.gui.live.results.sources.held import Account, Grid, One, Ones
from penstock.gui.live.results.sources.snapshot import (
    Curves,
    OverFrames,
    Page,
    Picture,
    Rectangle,
    Shown,
    Snapshot,
    Wish,
)
from penstock.processing.client import Newest, Rows, States
from penstock.processing.models import Result, Series, Status


class ResultSource(Protocol):
    """The results of the running or last series. It is asked by one thread.

    Each call answers within a few seconds, or raises `Away` or `Refused` of `gui.live.source`.
    """

    @property
    def address(self) -> str:
        """What the user has given: a URL, or the path of a file."""

    @property
    def is_file(self) -> bool:
        """True if it is a file, which has no pipeline behind it."""

    def status(self) -> Status:
        """Return the pipeline's state, and the account of its newest series."""

    def results(self) -> list[Result]:
        """Return what results there are by now; nothing if the series has none yet."""

    def states(self, first: int, end: int | None = None) -> States:
        """Return the states of the frames from `first` on, and before `end`."""

    def rows(self, name: str, first: int, end: int, step: int = 1, *, values: bool = True) -> Rows:
        """Return values of the frames from `first` on and before `end`, of every `step`-th.

        Args:
            name: of a result per frame.
            first: index of a frame.
            end: likewise.
            step: 1 or more.
            values: if false, only which frames have a value, and how many events.
        """

    def newest(self, name: str) -> Newest | None:
        """Return the newest value of any result; `None` before the first."""

    def sentence(self, frame: int) -> str:
        """Return why a frame has failed, where that is known; else ""."""


STATUS, LIST, ALL_STATES = 0.5, 2.0, 2.0
"""Seconds between two questions for the status, for what results there are, and for all states."""
AT_ONCE = 3
"""Ranges of frames that are asked for in one step."""


class _Series:
    """What is held of one series."""

    def __init__(self, series: str) -> None:
        self.id = series
        self.account = Account()
        self.results: tuple[Result, ...] = ()
        self.axes: dict[str, np.ndarray[Any, Any]] = {}
        self.ones: tuple[str, Ones] = ("", Ones())
        self.grid: tuple[tuple[str, Page], Grid] | None = None
        self.newest: tuple[str, int | None] = ("", None)
        self.shown: Shown | None = None

    def result(self, name: str) -> Result | None:
        return next((each for each in self.results if each.name == name), None)

    def is_shown(self, wish: Wish) -> bool:
        shown = self.shown
        return shown is not None and (shown.name, shown.series) == (wish.name, self.id)


class Questions:
    """The questions to one source, and what is held of its answers.

    Args:
        source: the source.
    """

    def __init__(self, source: ResultSource) -> None:
        self._source = source
        self._held = _Series("")
        self._status_due = self._list_due = self._all_due = 0.0

    def ask(self, wish: Wish, before: Snapshot, *, values: Callable[[], bool]) -> Snapshot:
        """Ask for what is due, and return what is to be seen now.

        Args:
            wish: what is wanted.
            before: the snapshot before this one.
            values: returns whether values are asked for. It is called once the states are here: so of a
                frame that is done after a pause has begun, none is.

        Raises:
            Away: the source does not answer.
            Refused: it refuses a question.
        """
        now, status = time.monotonic(), before.status
        if status is None or before.trouble or now >= self._status_due:
            status = self._source.status()
            self._status_due = now + STATUS
        series = status.series
        if series is not None and series.id != self._held.id:
            self._held = _Series(series.id)
            self._list_due = self._all_due = 0.0
        mine = self._held
        if series is not None and series.result_file is not None:
            self._look(mine, now, series)
            if mine.id == series.id and mine.result(wish.name) is not None and values():
                mine.shown = self._show(mine, wish)
        frame = wish.frame
        return Snapshot(
            url=before.url, is_file=before.is_file, status=status, series=mine.id,
            results=mine.results or before.results,  # those before, until there are some
            axes={**before.axes, **mine.axes}, codes=mine.account.codes, beyond=mine.account.beyond,
            shown=mine.shown or before.shown,
            sentence="" if frame is None else self._source.sentence(frame),
        )  # fmt: skip

    def _look(self, mine: _Series, now: float, series: Series) -> None:
        """Ask what results there are, and for the states of frames."""
        if now >= self._list_due:
            mine.results = tuple(self._source.results())
            self._list_due = now + (LIST if mine.results else STATUS)
        if not series.active and mine.account.is_over(series.counts.frames):
            return
        all_of_them = now >= self._all_due
        first, end = mine.account.open(all_of_them=all_of_them)
        if series.rows is not None and series.rows < series.counts.frames:
            end = None  # no more are told apart than have come
        states = self._source.states(first, end)
        if states.series != mine.id:  # another series has begun
            self._status_due = 0.0
            return
        mine.account.take(states.first, states.codes, states.beyond)
        if all_of_them:
            self._all_due = now + ALL_STATES

    def _show(self, mine: _Series, wish: Wish) -> Shown | None:
        result = mine.result(wish.name)
        assert result is not None
        for axis in result.axes:
            if axis not in mine.axes and (found := self._source.newest(axis)) is not None:
                mine.axes[axis] = found.value
        if wish.page in (Page.FRAMES, Page.OVER_FRAMES):
            return self._grid(mine, result, wish)
        if result.kind in ("accumulated", "whole"):
            return self._accumulated(mine, wish)
        return self._ones(mine, result, wish)

    def _grid(self, mine: _Series, result: Result, wish: Wish) -> Shown | None:
        """Values of all frames, as far as they fit."""
        key = (wish.name, wish.page)
        if mine.grid is None or mine.grid[0] != key:
            over = wish.page is Page.OVER_FRAMES
            made = Grid(1, np.float64, held.MOST_NUMBERS) if over else Grid(result.shape[0])
            mine.grid = key, made
        grid, codes = mine.grid[1], mine.account.codes
        newest = held.newest_done(codes)
        before = grid.rows, grid.step
        grid.reach(0 if newest is None else newest + 1)
        missing, changed = grid.missing(codes), (grid.rows, grid.step) != before
        for first, end in missing[:AT_ONCE]:
            rows = self._source.rows(wish.name, first, end, grid.step, values=result.kind != "events")
            if rows.series != mine.id:
                self._status_due = 0.0
                return mine.shown
            values = rows.values if rows.counts is None else rows.counts
            grid.take(rows, held.as_real(values).reshape(len(rows.has), -1))
            changed = True
        if mine.is_shown(wish) and mine.shown is not None and mine.shown.page is wish.page and not changed:
            return mine.shown
        over = wish.page is Page.OVER_FRAMES
        kind, every = (OverFrames, grid.values()[:, 0].copy()) if over else (Rectangle, grid.values())
        return kind(
            series=mine.id, name=wish.name, page=wish.page, values=every, step=grid.step,
            loading=len(missing) > AT_ONCE,
        )  # fmt: skip

    def _accumulated(self, mine: _Series, wish: Wish) -> Shown | None:
        found = self._source.newest(wish.name)
        if found is None or found.series != mine.id:
            return mine.shown
        shown = mine.shown
        same = isinstance(shown, (Curves, Picture)) and mine.is_shown(wish)
        if same and mine.newest == (wish.name, found.n) and found.n is not None:
            return shown
        mine.newest = wish.name, found.n
        value = held.as_real(found.value)
        if wish.page is Page.CURVE:
            one = One(-1, value)
            return Curves(series=mine.id, name=wish.name, page=wish.page, n=found.n, curves=(one,))
        return Picture(series=mine.id, name=wish.name, page=wish.page, n=found.n, value=value)

    def _ones(self, mine: _Series, result: Result, wish: Wish) -> Shown | None:
        """Values of single frames: the wanted one, and those before it."""
        if mine.ones[0] != wish.name:
            mine.ones = wish.name, Ones()
        codes = mine.account.codes
        frame = held.newest_done(codes) if wish.frame is None else wish.frame
        if frame is None:
            return None
        found = self._fetched(mine, result, frame, wish)
        if wish.frame is None and not (found and found[-1].frame == frame):
            # Not every frame has a value of this name.
            newest = self._source.newest(wish.name)
            if newest is not None and newest.series == mine.id and newest.frame is not None:
                frame = newest.frame
                found = self._fetched(mine, result, frame, wish)
        shown = mine.shown
        if wish.page is Page.PICTURE:
            value = found[-1].y if found and found[-1].frame == frame else None
            same = isinstance(shown, Picture) and (shown.name, shown.frame) == (wish.name, frame)
            if same and isinstance(shown, Picture) and shown.value is value:
                return shown
            return Picture(series=mine.id, name=wish.name, page=wish.page, frame=frame, value=value)
        same = mine.is_shown(wish) and isinstance(shown, Curves) and shown.frame == frame
        if same and isinstance(shown, Curves) and shown.curves == found:
            return shown
        return Curves(series=mine.id, name=wish.name, page=wish.page, frame=frame, curves=found)

    def _fetched(self, mine: _Series, result: Result, frame: int, wish: Wish) -> tuple[One, ...]:
        """Return the values of a frame and of those before it, as far as they have some."""
        ones = mine.ones[1]
        before = np.flatnonzero(mine.account.codes[: frame + 1] == held.DONE)[-wish.last :]
        frames = [int(each) for each in before]
        for first, end in ones.missing(frames):
            self._fetch(mine, result, first, end, errors=wish.errors)
        return tuple(one for each in frames if (one := ones.get(each)) is not None)

    def _fetch(self, mine: _Series, result: Result, first: int, end: int, *, errors: bool) -> None:
        rows = self._source.rows(result.name, first, end)
        if rows.series != mine.id:
            self._status_due = 0.0
            return
        sigmas = None
        if errors and result.errors and mine.result(result.errors) is not None:
            sigmas = self._source.rows(result.errors, first, end)
        for place in np.flatnonzero(rows.states == held.DONE).tolist():
            one = None
            if rows.has[place]:
                has_sigma = sigmas is not None and place < len(sigmas.has) and bool(sigmas.has[place])
                sigma = held.as_real(sigmas.values[place]) if sigmas is not None and has_sigma else None
                one = One(rows.first + place, held.as_real(rows.values[place]), sigma)
            mine.ones[1].put(rows.first + place, one)
