"""The frame that is wanted, how one gets to another by slider and keys, and how fast frames are done."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from silx.gui import qt

from penstock.gui.background import later
from penstock.gui.live.past.bar import PastBar
from penstock.gui.live.results.sources.held import gaps, newest_done, state_of
from penstock.gui.live.results.sources.snapshot import Snapshot
from penstock.gui.live.sources import ranges

SPAN = 5.0
"""Seconds looked back at."""


class Progress:
    """Follows a number that grows; times are seconds of any one clock that never goes back."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def note(self, now: float, done: int) -> None:
        """Note how many there are now."""
        if self._seen and done < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, done))
        while len(self._seen) > 2 and self._seen[1][0] < now - SPAN:
            self._seen.popleft()

    def rate(self, now: float) -> float:
        """Return how many more there are per second, over the last seconds."""
        if len(self._seen) < 2:
            return 0.0
        (first, before), (_, done) = self._seen[0], self._seen[-1]
        return (done - before) / max(now - first, 1e-3)


PLAY_MS = 100
"""Milliseconds from one frame to the next, at least."""


class Steps(qt.QObject):
    """Follows the newest frame until the user wants another one, and again when the user says so.

    Args:
        bar: what the user moves.
    """

    changed = qt.Signal()
    """`frame` is another one."""

    def __init__(self, bar: PastBar, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self.bar = bar
        self._frame: int | None = None
        self._snapshot = Snapshot()
        self._ranges: Sequence[ranges.Range] = ()
        self._timer = later(self._go_on, self, PLAY_MS)
        bar.asked.connect(self.go)
        bar.moved.connect(self._move)
        bar.jumped.connect(self._jump)
        bar.lived.connect(self.go_live)
        bar.played.connect(self._play)

    def frame(self) -> int | None:
        """Return the frame that is wanted; `None`: the newest."""
        return self._frame

    def go(self, index: int) -> None:
        """Show a frame."""
        self.bar.stop_playing()
        self._set(index)

    def go_live(self) -> None:
        """Follow the newest frame."""
        self.bar.stop_playing()
        self._set(None)

    def drawn(self) -> None:
        """Go on, while it plays: the frame is on the screen."""
        if self.bar.is_playing() and not self._timer.isActive():
            self._timer.start()

    def stop_playing(self) -> None:
        """Play no further, as while the window is hidden."""
        self.bar.stop_playing()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Follow the states of frames, and another series."""
        before, self._snapshot = self._snapshot, snapshot
        if snapshot.series != before.series:
            self.bar.stop_playing()
            self._frame = None
        if snapshot.codes is not before.codes or snapshot.beyond != before.beyond:
            series = snapshot.status.series if snapshot.status is not None else None
            frames = series.counts.frames if series is not None and series.id == snapshot.series else 0
            self._ranges = gaps(snapshot.codes, frames, snapshot.beyond)
            self.bar.slider.set_ranges(self._ranges)
        self._show()

    def _show(self) -> None:
        status, codes = self._snapshot.status, self._snapshot.codes
        series = status.series if status is not None else None
        running = status is not None and status.state == "running"
        planned = series.planned if series is not None and series.id == self._snapshot.series else None
        count = max(len(codes), planned or 0)
        newest = newest_done(codes)
        can_live = not self._snapshot.is_file or running
        self.bar.show_frames(0, count - 1 if count else None, newest if running else None, can_live=can_live)
        here = newest if self._frame is None else self._frame
        self.bar.show_index(here, "", live=self._frame is None)

    def status_of(self, frame: int) -> str:
        """Return the state of a frame in a word."""
        return state_of(self._snapshot.codes, frame, self._snapshot.beyond)

    def _set(self, frame: int | None) -> None:
        if frame != self._frame:
            self._frame = frame
            self._show()
            self.changed.emit()

    def _here(self) -> int | None:
        return newest_done(self._snapshot.codes) if self._frame is None else self._frame

    def _move(self, step: int) -> None:
        here = self._here()
        if here is not None:
            self.go(min(max(here + step, 0), max(0, len(self._snapshot.codes) - 1)))

    def _jump(self, direction: int) -> None:
        find = ranges.next_gap if direction > 0 else ranges.gap_before
        place = find(self._ranges, -1 if self._frame is None and direction > 0 else self._here() or 0)
        if place is None:
            self.bar.say(f"no frame {'after' if direction > 0 else 'before'} this one is lost")
        else:
            self.bar.say("")
            self.go(place)

    def _play(self, on: bool) -> None:
        self._timer.stop()
        if not on:
            return
        newest = newest_done(self._snapshot.codes)
        if newest is None:
            self.bar.stop_playing()
        elif self._frame is None or self._frame >= newest:
            self._set(ranges.next_shown(self._ranges, 0))
        else:
            self._go_on()

    def _go_on(self) -> None:
        """Show the next frame of those that are done."""
        newest = newest_done(self._snapshot.codes)
        if not self.bar.is_playing() or self._frame is None or newest is None:
            return
        index = ranges.next_shown(self._ranges, self._frame + 1)
        if index > newest:
            self.bar.stop_playing()
            return
        self._set(index)
