"""What stands above the results: whose they are, the state, the account, and how many frames per second."""

from __future__ import annotations

import time
from collections import deque
from pathlib import PurePath

from silx.gui import qt

from penstock.gui.banner import StateBanner
from penstock.gui.live.results.sentences import message
from penstock.gui.live.results.sources.snapshot import Snapshot
from penstock.gui.live.texts.plate import Plate

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


TICK_MS = 500
"""Milliseconds after which the rate is another one, also where nothing new is known."""


class Heading(qt.QObject):
    """Says by a banner, or bare by a plate, what is known of the pipeline, and follows its rate.

    Args:
        banner: says it in a sentence.
        plate: says it to be read from afar.
    """

    titled = qt.Signal(str)
    """The title of the window."""

    def __init__(self, banner: StateBanner, plate: Plate, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._banner, self._plate = banner, plate
        self._snapshot = Snapshot()
        self._progress = Progress()
        self._frames_per_second = 0.0
        self._bare = False
        self._clock = qt.QTimer(self)
        self._clock.setInterval(TICK_MS)
        self._clock.timeout.connect(self._tick)

    def start(self) -> None:
        """Begin to follow the rate."""
        self._clock.start()

    def stop(self) -> None:
        """Follow it no longer."""
        self._clock.stop()

    def set_bare(self, bare: bool) -> None:
        """Say it by the plate; the banner goes with the next snapshot."""
        self._bare = bare
        self._plate.setVisible(bare)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Say what is known now."""
        before, self._snapshot = self._snapshot, snapshot
        self._count(before, snapshot)
        self._show()

    def _count(self, before: Snapshot, now: Snapshot) -> None:
        """Note frames that are done, for the rate."""
        series = now.status.series if now.status is not None else None
        if now.series != before.series:
            self._progress = Progress()
        if series is not None and now.status is not before.status:
            self._progress.note(time.monotonic(), series.counts.done)

    def _tick(self) -> None:
        self._frames_per_second = self._progress.rate(time.monotonic())
        self._show()

    def _show(self) -> None:
        snapshot = self._snapshot
        status = snapshot.status
        running = status is not None and status.state == "running"
        says = message(snapshot, self._frames_per_second if running else 0.0)
        self._banner.show_message(says)
        self._banner.setVisible(not self._bare)
        name = PurePath(snapshot.url).name if snapshot.is_file else snapshot.url
        if status is not None and status.pipeline and not snapshot.is_file:
            name = status.pipeline
        counts = status.series.counts if status is not None and status.series is not None else None
        self._plate.show_plate(name, says, "" if counts is None else f"{counts.done:,} of {counts.frames:,}")
        self.titled.emit(f"{name} – {says.title.lower()} – Penstock")
