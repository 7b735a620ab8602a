"""Threads that compute the values of every frame, separate from the thread that receives.

A frame is held until its values are computed. If too many frames wait, `offer` blocks, and frames wait at
the streamer, as for any transform.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Mapping
from queue import SimpleQueue
from typing import Any

from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.models import Roi
from penstock.receiver.regions.memory import RegionMemory
from penstock.receiver.regions.pixels import VALUES
from penstock.receiver.regions.series import RegionSeries
from penstock.receiver.transforms.steps.chain import PackedFrame
from penstock.stins.errors import StinsError
from penstock.stins.messages import Frame

log = logging.getLogger(__name__)

FRAMES_PER_THREAD = 4
"""Frames that may wait per thread; more would only cost memory."""
BYTES = 256_000_000
"""Most bytes of waiting frames; one frame may always wait."""


class RegionThreads:
    """The computation of the values of one series after another.

    Args:
        memory: shared memory in which the HTTP process finds the values.
        threads: number of threads; they are started with the first series that has regions.
    """

    def __init__(self, memory: RegionMemory, threads: int) -> None:
        self.rois: Mapping[str, Rectangle] = {}
        """Rectangles of the next series."""
        self.active: RegionSeries | None = None
        """The running series, if it has regions."""
        self._last: RegionSeries | None = None
        self._memory = memory
        self._number = threads
        self._frames = threads * FRAMES_PER_THREAD
        self._threads: list[threading.Thread] = []
        self._queue: SimpleQueue[tuple[RegionSeries, int, Frame] | None] = SimpleQueue()
        self._changed = threading.Condition()
        self._pending: Counter[int] = Counter()  # indices of frames without values yet
        self.nbytes = 0
        """Bytes of the waiting frames."""
        self._accounted = 0

    def begin(self, series: RegionSeries) -> None:
        """Begin a series."""
        self._accounted = 0
        self._memory.begin(series.id, series.rois)
        self._last = series
        self.active = series if series.rois else None
        for index, row in series.known.items():
            self._memory.put(index, row, series.time_known(index))
        series.known.clear()
        if self.active is not None and not self._threads:
            self._threads = [
                threading.Thread(target=self._run, name=f"rois {number}", daemon=True)
                for number in range(self._number)
            ]
            for thread in self._threads:
                thread.start()

    def offer(self, index: int, frame: Frame) -> None:
        """Take a frame of the running series; block while too many frames wait."""
        assert self.active is not None
        size = _size(frame)
        with self._changed:
            while self._pending and (self._pending.total() >= self._frames or self.nbytes + size > BYTES):
                self._changed.wait()
            self._pending[index] += 1
            self.nbytes += size
        self._queue.put((self.active, index, frame))

    def step(self, accounted: int) -> list[StinsError]:
        """Set the index below which every frame is accounted for; return messages for the user."""
        series = self.active
        if series is None:
            return []
        if accounted != self._accounted:
            with self._changed:
                self._accounted = accounted
                self._publish_progress()
        return [series.sentences.popleft() for _ in range(len(series.sentences))]

    def drain(self) -> None:
        """Wait until all offered frames have their values."""
        with self._changed:
            while self._pending:
                self._changed.wait()

    def end(self, frames: int) -> None:
        """End the series, whose file is closed; `frames` is its highest index, plus one."""
        self._memory.end(frames)
        self.active = None

    def now(self) -> list[Roi]:
        """Return the regions of the running or last series with their newest values; before the first series,
        the regions that it will have."""
        series = self._last
        rois = self.rois if series is None else series.rois
        newest = None if series is None else series.newest
        frame = None if newest is None else newest[0]
        found = []
        for number, (name, region) in enumerate(rois.items()):
            values = (
                dict.fromkeys(VALUES) if newest is None
                else {key: _known(value) for key, value in zip(VALUES, newest[1][number], strict=True)}
            )  # fmt: skip
            found.append(
                Roi(name=name, x=region.x, y=region.y, width=region.width, height=region.height,
                    frame=frame, **values)
            )  # fmt: skip
        return found

    def close(self) -> None:
        """End the threads."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _publish_progress(self) -> None:
        self._memory.finalize(min(self._accounted, min(self._pending, default=self._accounted)))

    # -- the threads ---------------------------------------------------------------------------

    def _run(self) -> None:
        while self._next():
            pass

    def _next(self) -> bool:  # a function of its own, so that nothing holds the frame afterwards
        order = self._queue.get()
        if order is None:
            return False
        series, index, frame = order
        row = None
        try:
            row = series.row(frame)
        except Exception:
            log.exception("regions of interest: frame %d has no values", index)
        with self._changed:
            if row is not None:
                self._memory.put(index, row, frame.image.timestamp)
                series.take(index, row)
            self.nbytes -= _size(frame)
            self._pending[index] -= 1
            if not self._pending[index]:
                del self._pending[index]
            self._publish_progress()
            self._changed.notify_all()
        return True


def _size(frame: Frame) -> int:
    pixels = frame.pixels.nbytes if isinstance(frame, PackedFrame) else 0
    return pixels + sum(map(len, frame.blobs))


def _known(value: Any) -> float | None:
    """Return a finite value, or `None`: JSON has neither NaN nor infinity."""
    number = float(value)
    return number if abs(number) < float("inf") else None
