"""A result file with curves, errors, numbers, events and an accumulated image, written frame by frame."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from penstock.processing.describe import Axis, Plot
from penstock.processing.results.layout import DONE
from penstock.processing.results.result_file import ResultFile
from penstock.processing.wire import Array
from tests.processing.results.made import begun

POINTS = 50
Q = np.linspace(0.5, 25.0, POINTS)
FAILED, LOST = 2, 3
CURVE, ERRORS = (Array(name=name, dtype="<f8", shape=(1, POINTS)) for name in ("I", "I_errors"))
TOTAL = Array(name="total", dtype="<i8", shape=(1,))
PLOTS = (Plot("I", errors="I_errors", axes=(Axis("q", Q, unit="1/nm"),), label="intensity", unit="counts"),)


def curve(frame: int) -> np.ndarray[Any, Any]:
    """The curve of a frame: none of its numbers is another frame's."""
    return 1000.0 * (frame + 1) + np.arange(POINTS)


class Written:
    """A file in progress.

    Args:
        path: of it.
        planned: frames; `None`: nobody knows.
        series: id.
    """

    def __init__(self, path: Path, planned: int | None = 100, series: str = "s1") -> None:
        self.path = path
        self.results = ResultFile.create(path, begun(planned=planned, series=series), overwrite=True)
        self.results.describe(PLOTS)

    def done(self, frames: Iterable[int]) -> None:
        """These are done."""
        for frame in frames:
            index, row = np.array([frame]), curve(frame)[np.newaxis]
            self.results.rows(CURVE, index, row)
            self.results.rows(ERRORS, index, np.sqrt(row))
            self.results.rows(TOTAL, index, np.array([10 * frame]))
            count = frame % 3
            spots = Array(name="spots", dtype="<f4", shape=(count, 2), kind="events", counts=(count,))
            self.results.rows(spots, index, np.ones((count, 2), "f4"))
            self.results.status(index, DONE)

    def failed(self, frame: int, sentence: str = "ValueError: no beam (mine.py, line 3)") -> None:
        """This one has failed."""
        self.results.error(frame, sentence)
        self.results.status(np.array([frame]), FAILED)

    def lost(self, frames: Iterable[int]) -> None:
        """These are lost."""
        self.results.status(np.array(list(frames)), LOST)

    def mean(self, value: np.ndarray[Any, Any], frames: int) -> None:
        """An accumulated image over the first frames."""
        array = Array(name="mean", dtype="<f8", shape=value.shape, kind="mean", n=frames)
        self.results.accumulated([array], [value * frames], np.arange(frames))

    def finish(self, **counts: int) -> None:
        """The series is over."""
        every = {"done": 0, "failed": 0, "lost": 0, "dropped": 0, "absent": 0, **counts}
        self.results.finish(every, "complete", "")
