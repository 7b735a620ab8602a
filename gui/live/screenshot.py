"""Takes a picture of the window once all that is in sight has drawn its frames, and closes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from silx.gui import qt

from penstock.gui.application import take_picture
from penstock.gui.background import later
from penstock.gui.live.window import View, Window
from penstock.stins.texts import plural

LOOK = 500
"""Milliseconds between two looks at whether a picture can still come."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The picture that is to be taken."""

    path: Path
    after_frames: int = 1
    frame: int | None = None
    """The frame of files that has to be on show."""
    deadline: float = 60.0
    """Seconds to wait for it."""


class Screenshot(qt.QObject):
    """Waits for what is wanted, takes the picture and closes the window.

    Args:
        window: the window, not yet shown.
        wanted: the picture.
    """

    def __init__(self, window: Window, wanted: Wanted) -> None:
        super().__init__(window)
        self.failure: str | None = None
        """Why there is no picture, in a sentence."""
        self._window = window
        self._wanted = wanted
        self._said = ""
        self._signals: list[qt.Signal] = []
        self._listen()
        window.changed.connect(self._listen)
        self._doubts = qt.QTimer(self)
        self._doubts.timeout.connect(self._doubt)
        if wanted.after_frames:
            self._doubts.start(LOOK)
        self._deadline = later(self._give_up, self)
        self._deadline.start(int(wanted.deadline * 1000))

    def _listen(self) -> None:
        """Look whenever a view has something new."""
        for view in self._window.views():
            for signal in view.changes():
                if signal not in self._signals:
                    signal.connect(self._look)
                    self._signals.append(signal)

    def _in_sight(self) -> list[View]:
        """Return the views that will be in the picture; one behind another tab draws nothing."""
        return self._window.views() if self._window.is_tiled() else [self._window.current()]

    def _look(self) -> None:
        if any(self._is_late(view) for view in self._in_sight()):
            return
        for signal in self._signals:
            signal.disconnect(self._look)
        # Behind what follows a drawn frame, such as its histogram (`ImagePlot.drawn`).
        qt.QTimer.singleShot(0, lambda: qt.QTimer.singleShot(0, self._take))

    def _is_late(self, view: View) -> bool:
        wanted = self._wanted
        if wanted.frame is not None and view.frame() != wanted.frame:
            return True
        return not view.is_ready(wanted.after_frames) or view.banner.kind() == "connecting"

    def _take(self) -> None:
        self._end(take_picture(self._window, self._wanted.path))

    def _give_up(self) -> None:
        wanted, views = self._wanted, self._in_sight()
        late = next((view for view in views if view.drawn() < wanted.after_frames), views[0])
        snapshot = late.snapshot()
        if lacking := late.lacking():
            self._end(f"no picture: {lacking}")
            return
        self._end(
            f"no picture in {wanted.deadline:g} s: {late.no_answer_yet()}"
            if snapshot.status is None
            else f"{late.drawn()} of {plural(wanted.after_frames, 'frame')} came from {snapshot.url} in "
            f"{wanted.deadline:g} s ({late.banner.title().lower()}: {late.banner.text()}); "
            "start a series, or give --after-frames 0 to take the window as it is"
        )

    def _doubt(self) -> None:
        reasons = (view.why_never(self._wanted.frame) for view in self._in_sight())
        why = next(filter(None, reasons), "")
        if why and why == self._said:  # twice: a file that is being written may look damaged for a moment
            self._end(f"no picture: {why}")
        self._said = why

    def _end(self, failure: str | None) -> None:
        self._doubts.stop()
        self._deadline.stop()
        self.failure = failure
        self._window.close()
