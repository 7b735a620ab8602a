"""What is shown of the past, and how one gets there: between the bar, the source, and what is kept here."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import cast, get_args

from silx.gui import qt

from penstock.gui.background import later
from penstock.gui.live.past.asker import Asker, Wish
from penstock.gui.live.past.bar import PastBar
from penstock.gui.live.sources import ranges
from penstock.gui.live.sources.follower import Snapshot
from penstock.gui.live.sources.source import NoAnswer, Part, Refused, Source
from penstock.receiver.client import LastFrame
from penstock.receiver.models import Fate, FrameStatus, Lost, Status

CAPACITY = 256 * 1024 * 1024
"""Bytes."""


class Kept:
    """The newest whole frames of one series, up to `capacity` bytes; one frame is kept however large.

    Args:
        capacity: bytes.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._frames: OrderedDict[int, LastFrame] = OrderedDict()
        self._bytes = 0
        self._series = ""

    def __len__(self) -> int:
        return len(self._frames)

    def begin(self, series: str) -> None:
        """Keep frames of this series; those of another are forgotten."""
        if series != self._series:
            self._series = series
            self._frames.clear()
            self._bytes = 0

    def keep(self, frame: LastFrame) -> None:
        """Keep a frame, unless it is of another series, or was reduced on its way."""
        if frame.series != self._series or frame.downsample > 1:
            return
        before = self._frames.pop(frame.frame, None)
        self._bytes += frame.array.nbytes - (0 if before is None else before.array.nbytes)
        self._frames[frame.frame] = frame
        while self._bytes > self._capacity and len(self._frames) > 1:
            _, oldest = self._frames.popitem(last=False)
            self._bytes -= oldest.array.nbytes

    def frame(self, index: int) -> LastFrame | None:
        """Return a frame; `None` if it is not kept."""
        return self._frames.get(index)

    def indices(self) -> list[int]:
        """Return the indices of the frames, in order."""
        return sorted(self._frames)

    def nearest(self, index: int) -> int | None:
        """Return the index of the frame nearest to one; `None` if none is kept."""
        return min(self._frames, key=lambda each: abs(each - index), default=None)


NOT_KEPT = "of a live series only what a window has shown is kept, by the window"

OF_BEFORE = "of the series before"


class Past(qt.QObject):
    """Follows the newest frame until the user wants another one, and again when the user says so.

    Args:
        bar: what the user moves.
        part: what of a frame is transferred now.
        rate: most frames per second to play.
    """

    frame = qt.Signal(object)
    """`LastFrame` to be shown, which is not the newest."""
    live_changed = qt.Signal(bool)

    def __init__(
        self,
        bar: PastBar,
        part: Callable[[], Part],
        rate: Callable[[], float],
        parent: qt.QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.bar = bar
        self.kept = Kept()
        self._part, self._rate = part, rate
        self._source: Source | None = None
        self._status: Status | None = None
        self._live = True
        self._index: int | None = None
        """The frame on show, or the one that is asked for."""
        self._on_screen: int | None = None
        """The frame on show; the newest has come, and is drawn, some time after it was told."""
        self._of = ""
        """Series of the frame on show, or of the one that is asked for."""
        self._ranges: tuple[Lost, ...] = ()
        self._so_far = True
        self._wish: Wish | None = None
        self._trouble = ""
        self._began = 0.0
        self._next = later(self._go_on, self)
        self.asker = Asker()  # outlives the widget by the request under way
        self.asker.got.connect(self._take, qt.Qt.QueuedConnection)
        self.asker.failed.connect(self._fail, qt.Qt.QueuedConnection)
        self.asker.waits.connect(self._wait, qt.Qt.QueuedConnection)
        self.asker.passed.connect(self._pass, qt.Qt.QueuedConnection)
        self.asker.lost.connect(self._take_lost, qt.Qt.QueuedConnection)
        bar.asked.connect(self.go)
        bar.moved.connect(self._move)
        bar.jumped.connect(self._jump)
        bar.played.connect(self._play)
        bar.lived.connect(self.go_live)
        bar.searched.connect(self._search)
        self._show()

    # -- what the window tells -----------------------------------------------------------------------

    def is_live(self) -> bool:
        """Return whether the newest frame is followed."""
        return self._live

    def set_source(self, source: Source | None) -> None:
        """Ask this one from now on."""
        self._source = source
        self.asker.set_source(source)
        self._status, self._index, self._wish, self._trouble = None, None, None, ""
        self._on_screen, self._of = None, ""
        self._ranges, self._so_far = (), True
        self.kept.begin("")
        self._set_live(True)
        self.bar.stop_playing()
        self._show()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Follow the status: another series, and the end of one."""
        before, now = self._status, snapshot.status
        if now is None or now.version == (before.version if before is not None else None):
            return
        self._status = now
        series, was = now.series, before.series if before is not None else None
        if (series.id if series is not None else "") != (was.id if was is not None else ""):
            self._begin(series.id if series is not None else "")
        if self._is_file():
            assert self._source is not None
            self._ranges, self._so_far = self._source.lost(), now.state == "running"
            if before is not None and not self._live and not self._so_far and self._index is not None:
                self._ask(min(self._index, self._last() or 0))  # it was read again
        elif series is not None and not series.active and (was is None or was.active or was.id != series.id):
            # The status has the first of them at once, the receiver all of them.
            self._ranges, self._so_far = tuple(series.lost), False
            self.asker.ask_lost()
        self._show()

    def take_newest(self, frame: LastFrame) -> None:
        """Note the newest frame, which the window shows unless the user looks at another one."""
        if self._is_live_only():
            self.kept.keep(frame)
        if not self._live:
            return
        self._index, self._of = frame.frame, frame.series
        self._meet(frame)
        if self._is_file() and not self._is_running():
            self._set_live(False)
        self._show()

    def shown(self, frame: LastFrame) -> None:
        """Note the frame on the screen."""
        self._on_screen = frame.frame
        if self._live:
            self._show_index()

    def drawn(self) -> None:
        """Go on: the frame is on the screen, and the window has nothing else to do."""
        if self.bar.is_playing() and self._wish is None and not self._next.isActive():
            left = self._began + 1 / self._rate() - time.monotonic()
            self._next.start(max(0, int(left * 1000)))

    def stop_playing(self) -> None:
        """Play no further, as while the window is hidden."""
        self.bar.stop_playing()

    def is_running(self) -> bool:
        """Return whether the thread lives."""
        return self.asker.is_running()

    def ask_to_stop(self) -> None:
        """End the thread, without waiting for it."""
        self._next.stop()
        self.asker.ask_to_stop()

    def stop(self) -> None:
        """End the thread, and wait for it."""
        self._next.stop()
        self.asker.stop()

    def again(self) -> None:
        """Ask once more for the frame on show, of which something else is wanted now."""
        if not self._live and self._index is not None and not self._is_before():
            self._ask(self._index)

    def status_of(self, index: int) -> str:
        """Return the status of a frame in a word, where it is known; else ""."""
        fate = ranges.fate_at(self._ranges, index)
        if fate is not None:
            return fate.replace("_", " ")
        known = self._source.frame_status(index) if self._source is not None else None
        if known is None and self._source is not None and not self._is_file() and not self._so_far:
            there = self._last()
            in_file = not self._is_live_only() and there is not None and index <= there
            known = FrameStatus.STORED if in_file else None
        return "" if known is None else known.name.lower().replace("_", " ")

    def trouble(self) -> str:
        """Return why the frame that was asked for is not on show; "" if it is, or may still come."""
        return self._trouble

    # -- what the user wants -------------------------------------------------------------------------

    def go_live(self) -> None:
        """Follow the newest frame."""
        if self._is_file() and not self._is_running():
            return
        self.bar.stop_playing()
        self._forget()
        self._set_live(True)
        self._show()

    def go(self, index: int) -> None:
        """Show a frame."""
        self.bar.stop_playing()
        self._ask(index)

    def _move(self, step: int) -> None:
        if self._index is None:
            return
        first, last = self._first(), self._last()
        if self._is_before():
            target: int | None = first if step > 0 else last
        elif self._is_live_only():
            kept = self.kept.indices()
            if step > 0:
                target = next((each for each in kept if each >= self._index + step), last)
            else:
                target = next((each for each in reversed(kept) if each <= self._index + step), first)
        else:
            target = self._index + step
        if last is not None and target is not None:
            self.go(min(max(target, first), last))

    def _jump(self, direction: int) -> None:
        here = 0 if self._index is None or self._is_before() else self._index
        find = ranges.next_gap if direction > 0 else ranges.gap_before
        place = find(self._ranges, here)
        if place is None:
            where = "after" if direction > 0 else "before"
            self._say(f"no frame {where} this one is lost{' so far' if self._so_far else ''}")
        else:
            self.go(place)

    def _play(self, on: bool) -> None:
        if not on:
            self._next.stop()
            return
        if self._live and self._is_running():
            self.bar.stop_playing()  # it plays already
            return
        last = self._last()
        if self._index is not None and last is not None and (self._is_before() or self._index >= last):
            self._ask(self._from(self._first()))
        else:
            self._go_on()

    def _go_on(self) -> None:
        """Show the next frame of those that are there."""
        if not self.bar.is_playing() or self._index is None or self._is_before():
            return
        index, last = self._from(self._index + 1), self._last()
        if last is None or index > last:
            self.bar.stop_playing()
            if self._is_running():
                self.go_live()
            return
        self._ask(index)

    def _from(self, index: int) -> int:
        """Return the first frame from `index` on that is there, as far as is known."""
        if self._is_live_only():
            return next((each for each in self.kept.indices() if each >= index), (self._last() or 0) + 1)
        return ranges.next_shown(self._ranges, index)

    def _search(self) -> None:
        """Find the next saturated frame."""
        last = self._last()
        if self._index is None or last is None:
            return
        here = self._first() - 1 if self._is_before() else self._index
        if here >= last:
            self._say("this is the last frame; go back to look for saturated ones from there")
            return
        self.bar.stop_playing()
        self._set_live(False)
        self._say(f"looking for a saturated pixel from frame {here + 1:,} on …")
        # Whole: of a block's pixels those at the type's greatest value, which may be saturated, take no part.
        self._wish = self.asker.ask(here + 1, replace(self._part(), block=1), stop=last + 1)

    def _ask(self, index: int) -> None:
        self._began, self._trouble = time.monotonic(), ""
        self._set_live(False)
        self._index, self._of = index, self._series()
        if self._is_live_only():
            self._show_kept(index)
        else:
            self._wish = self.asker.ask(index, self._part())
        self._show()

    def _show_kept(self, index: int) -> None:
        near = self.kept.nearest(index)
        if near is None:
            self._trouble = NOT_KEPT
            return
        self._index = near
        frame = self.kept.frame(near)
        assert frame is not None
        self.frame.emit(frame)

    # -- what is answered ----------------------------------------------------------------------------

    def _take(self, wish: Wish, frame: LastFrame) -> None:
        if not self._is_wanted(wish):
            return
        self._wish, self._trouble, self._index, self._of = None, "", frame.frame, frame.series
        self._meet(frame)
        self._show()
        self.frame.emit(frame)

    def _fail(self, wish: Wish, error: NoAnswer) -> None:
        if not self._is_wanted(wish):
            return
        self._wish, self._trouble = None, str(error)
        kind = error.kind if isinstance(error, Refused) else ""
        if kind in get_args(Fate) and wish.stop is None:
            self._add(wish.index, cast(Fate, kind))
            if self.bar.is_playing():
                self._go_on()
                return
        else:
            self.bar.stop_playing()
        self._show()

    def _wait(self, wish: Wish, why: str) -> None:
        if self.asker.is_current(wish):
            self._say(f"waiting for the receiver's turn to read frame {wish.index:,} …")

    def _pass(self, wish: Wish, index: int) -> None:
        if self.asker.is_current(wish) and index % 10 == 0:
            self._say(f"looking for a saturated pixel: frame {index:,} of {(self._last() or 0) + 1:,} …")

    def _take_lost(self, source: Source, found: tuple[Lost, ...]) -> None:
        if source is self._source and not self._is_running():
            self._ranges, self._so_far = found, False
            self._show()

    def _is_wanted(self, wish: Wish) -> bool:
        return self._wish is not None and self._wish.number == wish.number and self.asker.is_current(wish)

    # -- gaps ----------------------------------------------------------------------------------------

    def _meet(self, frame: LastFrame) -> None:
        """Note what a frame says of itself, while nobody has the complete list."""
        if frame.status == "partial":
            self._add(frame.frame, "partial")

    def _add(self, index: int, fate: Fate) -> None:
        if self._so_far and not self._is_file():
            self._ranges = ranges.with_one(self._ranges, index, fate)

    # -- what is said --------------------------------------------------------------------------------

    def _begin(self, series: str) -> None:
        """Another series has begun: what is on show stays until the user wants something else."""
        self._forget()
        self.bar.stop_playing()
        self.kept.begin(series)
        self._ranges, self._so_far, self._trouble = (), True, ""
        self._on_screen = None

    def _forget(self) -> None:
        self._wish, self._trouble = None, ""
        self.asker.forget()

    def _set_live(self, live: bool) -> None:
        if live != self._live:
            self._live = live
            self.live_changed.emit(live)

    def _is_file(self) -> bool:
        return self._source is not None and self._source.is_file

    def _series(self) -> str:
        series = self._status.series if self._status is not None else None
        return "" if series is None else series.id

    def _is_before(self) -> bool:
        """Return whether the frame on show is of a series before the one that the bar is about."""
        return self._index is not None and not self._is_file() and self._of != self._series()

    def _is_running(self) -> bool:
        return self._status is not None and self._status.state == "running"

    def _is_live_only(self) -> bool:
        series = self._status.series if self._status is not None else None
        return series is not None and series.filename is None

    def _first(self) -> int:
        return (self.kept.indices() or [0])[0] if self._is_live_only() else 0

    def _last(self) -> int | None:
        """Return the last frame that can be asked for; `None`: there is none."""
        if self._status is None:
            return None
        if self._is_live_only():
            kept = self.kept.indices()
            return kept[-1] if kept else None
        latest, count = self._status.latest_frame, self._source.count() if self._source is not None else None
        if self._is_running():
            return latest
        return count - 1 if count else latest

    def _show(self) -> None:
        status, last = self._status, self._last()
        planned = self._source.count() if self._source is not None and not self._is_live_only() else None
        end = last if last is None or not planned else max(last, planned - 1)
        known = last if self._is_running() else None
        self.bar.show_frames(
            self._first(), end, known, can_live=not (self._is_file() and not self._is_running())
        )
        self.bar.slider.set_ranges(self._ranges)
        self._show_index()
        if self._trouble:
            self._say(self._trouble, wrong=True)
        else:
            self._say(self._gaps() if status is not None else "")

    def _show_index(self) -> None:
        seen = self._on_screen if self._live else None
        index = self._index if seen is None else seen
        if self._is_before():
            self.bar.show_index(None, OF_BEFORE, live=self._live)
        elif index is not None:
            self.bar.show_index(index, self.status_of(index), live=self._live)

    def _gaps(self) -> str:
        said = []
        if self._is_live_only():
            count = len(self.kept)
            # Short: in a tile there is no room for more.
            kept = f"last {count:,} frames are" if count > 1 else "last frame is"
            said.append(f"in no file: the {kept} kept here")
        if self._ranges:
            count = ranges.number(self._ranges)
            words = "frame is" if count == 1 else "frames are"
            so_far = " so far" if self._so_far else ""
            said.append(f"{count:,} {words} lost or not whole{so_far}")
        return "; ".join(said)

    def _say(self, words: str, *, wrong: bool = False) -> None:
        self.bar.say(words[:1].upper() + words[1:], wrong=wrong)
