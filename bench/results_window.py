"""Does the window of live results keep up, and what does it take from the pipeline? 100 curves per second.

A generator, a receiver and a pipeline with one worker, whose class makes a curve of 1,000 points with errors
and a number of each frame. The window of `penstock view`, 1920 x 1080 pixels, shows the last five curves,
then all frames as an image, then the number over frames, a third of the time each. Every run is two series:
one without the window, one with it.

What is measured: how late the window's event loop gets to what is posted to it every 10 ms; how many times
per second it draws; the frames that are done per second without and with it; and the processor time per frame
of distributor and worker, and of the HTTP process, which is who is asked.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from penstock.bench.contenders import line_with
from penstock.bench.delays import Delays
from penstock.bench.pipeline import Frames, Pipeline, Receiver
from penstock.hosts.child import PENSTOCK, Child

SIZE = (1920, 1080)
RATE = 100.0
"""Frames, and so curves, per second."""
SOURCE = """
import numpy as np
from penstock.processing import Axis, Plot, Processor


class Bench(Processor):
    def start(self, series):
        self.q = np.linspace(0.5, 30.0, 1000)
        self.curve = 2000 * np.exp(-self.q / 9) + 4000 * np.exp(-(((self.q - 8.1) / 0.12) ** 2))

    def describe(self):
        return [Plot("I", errors="I_errors", axes=(Axis("q", self.q, unit="1/nm"),))]

    def process(self, frame):
        curve = self.curve * (1 + 0.3 * np.sin(frame.index / 40))
        return {"I": curve, "I_errors": np.sqrt(curve), "total": float(curve.sum())}
"""
FRAMES = Frames(name="8 kB", shape=(64, 64), count=0, rate=RATE)
LAST = 5
DEADLINE = 60.0
MOST_P99 = 0.05
"""Seconds late, for 99 of 100 events."""
LEAST_DRAWN = 5.0
"""Times per second; the window asks for ten."""
LEAST_RATE = 0.99
"""Of the frames per second without the window, at least."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one run has shown."""

    p99: float
    """Seconds late, for 99 of 100 events."""
    worst: float
    """Seconds late, for all of them."""
    drawn: float
    """Times per second that something new was drawn."""
    rates: tuple[float, float]
    """Frames that are done per second, without the window and with it."""
    spent: tuple[float, float]
    """Processor time of distributor and worker in ms per frame, likewise."""
    http: tuple[float, float]
    """Processor time of the HTTP process as a share of the time, likewise."""

    @property
    def ratio(self) -> float:
        """Frames per second with the window, of those without."""
        return self.rates[1] / self.rates[0]


@dataclass(frozen=True, kw_only=True)
class Result:
    """The runs."""

    runs: Sequence[Run]

    def median(self, figure: Callable[[Run], float]) -> float:
        """Return the median of one figure."""
        return statistics.median(map(figure, self.runs))

    @property
    def reached(self) -> bool:
        """Whether the medians reach the bars."""
        return (
            self.median(lambda run: run.p99) <= MOST_P99
            and self.median(lambda run: run.drawn) >= LEAST_DRAWN
            and self.median(lambda run: run.ratio) >= LEAST_RATE
        )  # fmt: skip


def measure(folder: Path, runs: int, seconds: float, progress: Callable[[str], None]) -> Result:
    """Measure so many runs.

    Args:
        folder: for configurations and result files.
        runs: how many.
        seconds: length of each of the two series of a run.
        progress: called with what is under way.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: not every frame is done, or nothing is drawn.
    """
    found = []
    with ExitStack() as processes:
        receiver = Receiver(folder, FRAMES, {"shared": True, "queue_mb": 16}, processes)
        pipeline = Pipeline(folder, receiver, SOURCE, 1, processes, results_root=str(folder))
        for number in range(1, runs + 1):
            progress(f"live results: run {number} of {runs}")
            found.append(_run(receiver, pipeline, seconds))
            for file in folder.glob("*.h5"):
                file.unlink()
    return Result(runs=found)


def _run(receiver: Receiver, pipeline: Pipeline, seconds: float) -> Run:
    count = round(seconds * RATE)
    with _series(receiver, pipeline, count) as without:
        time.sleep(seconds)
    late: list[float] = []
    with _series(receiver, pipeline, count) as beside, _window(pipeline.client.url) as (view, process_events):
        from penstock.gui.live.results.sources.snapshot import Page

        due = time.monotonic() + DEADLINE
        while view.drawn() < 3:
            if time.monotonic() > due:
                raise RuntimeError(f"nothing was drawn within {DEADLINE:g} s: {view.banner.text()}")
            process_events(0.1)
        view.tools.last.setValue(LAST)
        drawn, began, delays = view.drawn(), time.monotonic(), Delays()
        for name, page in (("I", Page.CURVE), ("I", Page.FRAMES), ("total", None)):
            view.choose(name, page)
            process_events(max(1.0, (seconds - 3.0) / 3))
        drawn, took = view.drawn() - drawn, time.monotonic() - began
        late = delays.end()
    return Run(
        p99=float(np.percentile(late, 99)), worst=max(late), drawn=drawn / took,
        rates=(without.rate, beside.rate), spent=(without.spent, beside.spent),
        http=(without.http, beside.http),
    )  # fmt: skip


@dataclass(kw_only=True)
class _Series:
    rate: float = 0.0
    spent: float = 0.0
    http: float = 0.0


@contextmanager
def _series(receiver: Receiver, pipeline: Pipeline, count: int) -> Iterator[_Series]:
    """A series of so many frames from here on; what it took is known after the block."""
    found = _Series()
    argv = (
        *PENSTOCK, "generate", "--json", "--endpoint", receiver.endpoint, "--frames", str(count),
        "--shape", ",".join(map(str, FRAMES.shape)), "--rate", f"{RATE:g}",
    )  # fmt: skip
    before, began, speed = pipeline.seconds(), time.monotonic(), _Speed(pipeline)
    with Child("generator", argv, line_with("data"), deadline=DEADLINE):
        try:
            yield found
            counts = pipeline.over()
        finally:
            speed.end()
    took = time.monotonic() - began
    if counts.done != count:
        raise RuntimeError(f"of {count} frames {counts.done} are done: {counts}")
    spent = {name: after - before[name] for name, after in pipeline.seconds().items()}
    found.rate = speed.rate()
    found.spent = (spent["distributor"] + spent["workers"]) / count * 1e3
    found.http = spent["pipeline's HTTP"] / took


class _Speed:
    """Looks now and then how many frames of the running series are done."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._client = pipeline.client
        self._seen: list[tuple[float, int]] = []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop looking."""
        self._ends.set()
        self._thread.join()

    def rate(self) -> float:
        """Return the frames that were done per second, from the first of them to the last."""
        growing = [
            (moment, done)
            for (_, before), (moment, done) in pairwise([(0.0, 0), *self._seen])
            if done > before
        ]
        (first, least), (last, most) = growing[0], growing[-1]
        return (most - least) / (last - first) if last > first else 0.0

    def _look(self) -> None:
        while not self._ends.wait(0.25):
            series = self._client.status().series
            if series is not None and series.active:
                self._seen.append((time.monotonic(), series.counts.done))


@contextmanager
def _window(url: str) -> Iterator[tuple[Any, Callable[[float], None]]]:
    """The window, and what lets it live for so many seconds."""
    from silx.gui import qt

    from penstock.gui import theme
    from penstock.gui.live.results.sources.feed import ResultsFeed
    from penstock.gui.live.results.sources.pipeline_source import PipelineSource
    from penstock.gui.live.results.view import ResultsView

    application = qt.QApplication.instance() or qt.QApplication(["bench-window"])
    qt.qInstallMessageHandler(lambda *_: None)
    theme.apply(application)
    view = ResultsView(ResultsFeed(PipelineSource.at(url)))

    def process_events(seconds: float) -> None:
        loop = qt.QEventLoop()
        qt.QTimer.singleShot(int(seconds * 1000), loop.quit)
        loop.exec_()

    try:
        view.resize(*SIZE)
        view.show()
        yield view, process_events
    finally:
        view.close()
        view.deleteLater()


def text(result: Result) -> str:
    """Return what was found, in lines."""
    lines = [
        f"Live results, {RATE:g} curves of 1,000 points per second: "
        f"{'every bar reached' if result.reached else 'NOT every bar reached'}"
    ]
    figures: tuple[tuple[str, Callable[[Run], float], str, str], ...] = (
        ("event loop late, 99 %", lambda run: run.p99 * 1e3, "ms", f"at most {MOST_P99 * 1e3:g}"),
        ("event loop late, worst", lambda run: run.worst * 1e3, "ms", "no bar"),
        ("drawn", lambda run: run.drawn, "/s", f"at least {LEAST_DRAWN:g}"),
        ("frames done, of without", lambda run: run.ratio * 1e2, "%", f"at least {LEAST_RATE * 1e2:g}"),
        ("time per frame, without", lambda run: run.spent[0], "ms", "distributor and worker"),
        ("time per frame, with it", lambda run: run.spent[1], "ms", "distributor and worker"),
        ("HTTP process, without", lambda run: run.http[0] * 1e2, "%", "of one core"),
        ("HTTP process, with it", lambda run: run.http[1] * 1e2, "%", "of one core"),
    )
    for name, figure, unit, bar in figures:
        each = ", ".join(f"{figure(run):.1f}" for run in result.runs)
        lines.append(f"  {name:24}{result.median(figure):7.1f} {unit:2} ({each}; {bar})")
    return "\n".join(lines)
