"""Do the live windows keep up, and do they ever stall? And how fast does a long file open?

The window of `penstock view`, 1920 x 1080 pixels, follows a real receiver, with figures, histogram, marked
pixels, one region of interest and its curve on show. Twice in each run the receiver is stopped for a while
(SIGSTOP), as by a file system that hangs: it must not be felt. What is measured is how many frames are drawn;
how late the window's event loop gets to what is posted to it every 10 ms, which is what a hand on the mouse
feels; and the processor time of the window's thread.

The window of live results follows a pipeline with one worker, whose class makes a curve of 1,000 points with
errors and a number of each frame: it shows the last five curves, then all frames as an image, then the number
over frames. Every run is two series: one without the window, one with it.

A file of 100,000 frames that a real receiver has written is opened in a window that is there, until its first
frame is on the screen; and by the whole `penstock view FILE`, most of which is Python that loads modules.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from penstock.hosts.child import PENSTOCK
from penstock.receiver.models import Rectangle
from penstock_bench.receivers import DEADLINE, Pipeline, Receiver, per_frame, poll, sending, since
from penstock_bench.results import Frames, Turn, Turns
from penstock_bench.runner import Bench

SIZE = (1920, 1080)
WARM_UP = 3.0
"""Seconds before the measurement begins: the first frames make fonts and layouts."""
REGION = Rectangle(x=500, y=500, width=400, height=300)
PERIOD = 0.01
"""Seconds between two events that are posted to the window's loop."""
LAST, LOOK = 5, 0.25
"""Curves on show; seconds between two looks at how many frames are done."""
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


class Delays:
    """How late the event loop gets to what a thread posts to it on a fixed schedule.

    The schedule counts, not the moment of posting: also a thread that cannot post is a delay.
    """

    def __init__(self) -> None:
        from silx.gui import qt

        class Bell(qt.QObject):  # type: ignore[misc]
            rung = qt.Signal(float)

        self._bell = Bell()
        self._late: list[float] = []
        self._bell.rung.connect(self._note, qt.Qt.QueuedConnection)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._ring, daemon=True)
        self._thread.start()

    def end(self) -> list[float]:
        """Stop, and return seconds late of each event that was due."""
        self._ends.set()
        self._thread.join()
        return self._late

    def figures(self) -> Turn:
        """Stop, and return the figures."""
        late = self.end()
        return {"late, 99 %, ms": float(np.percentile(late, 99)) * 1e3, "late, worst, ms": max(late) * 1e3}

    def _ring(self) -> None:
        due = time.monotonic()
        while not self._ends.wait(max(0.0, due - time.monotonic())):
            self._bell.rung.emit(due)
            due += PERIOD

    def _note(self, due: float) -> None:
        self._late.append(time.monotonic() - due)


def frames(bench: Bench, load: Frames) -> Turns:
    """Let the window follow a receiver of frames of this size."""
    seconds, pause = bench.options["seconds"], bench.options["pause"]
    endless = load.of(int((seconds + pause + 2 * DEADLINE) * load.rate))

    def follow() -> Turn:
        with ExitStack() as processes:
            receiver = Receiver(bench.folder, load, processes, source={"high_water_mark": 8})
            receiver.client.put_rois({"peak": REGION})
            processes.enter_context(sending(receiver.endpoint, endless, None))
            return _follow(receiver, load.rate, seconds, pause)

    return bench.in_turn({"window": follow})


def _follow(receiver: Receiver, rate: float, seconds: float, pause: float) -> Turn:
    from penstock.gui.live.sources.feed import Feed
    from penstock.gui.live.sources.receiver_source import ReceiverSource
    from penstock.gui.live.view import Viewer

    with _shown(lambda: Viewer(Feed(ReceiverSource.at(receiver.url), rate=rate))) as (viewer, process_events):
        viewer.start()
        viewer.show_regions.setChecked(True)
        _drawn(viewer, process_events)
        process_events(WARM_UP)
        delays, busy, began = Delays(), time.thread_time(), time.monotonic()
        drawn, live = 0, 0.0
        working, halted = ((seconds - pause) / 3, False), (pause / 2, True)
        # In one part, a receiver may end the series: to it, the streamer was silent for as long.
        for part, is_halted in (working, halted, working, halted, working):
            before, since = viewer.drawn(), time.monotonic()
            with _stopped(receiver) if is_halted else nullcontext():
                process_events(part)
            if not is_halted:
                drawn, live = drawn + viewer.drawn() - before, live + time.monotonic() - since
        share = (time.thread_time() - busy) / (time.monotonic() - began)
        late = delays.figures()
        if viewer.snapshot().status.state != "running":
            raise RuntimeError(f"the series has ended meanwhile: {viewer.banner.text()}")
        return {"drawn/s": drawn / live, **late, "thread busy, %": 100 * share}


def results(bench: Bench, load: Frames) -> Turns:
    """Let the window of live results follow a pipeline, in turns with a series without it."""
    seconds, root = bench.options["seconds"], str(bench.folder)
    series = load.of(round(seconds * load.rate))
    with ExitStack() as processes:
        receiver = Receiver(bench.folder, load, processes, forward={"shared": True, "queue_mb": 16})
        pipeline = Pipeline(bench.folder, receiver, SOURCE, 1, processes, results_root=root)
        looks: dict[str, Callable[[], Turn]] = {
            "without": dict,
            "with the window": partial(_look_at, pipeline, seconds),
        }
        takers = {name: partial(_processed, receiver, pipeline, series, look) for name, look in looks.items()}
        return bench.in_turn(takers)


def _processed(receiver: Receiver, pipeline: Pipeline, series: Frames, look: Callable[[], Turn]) -> Turn:
    spent, began = since(pipeline.seconds), time.monotonic()
    seen, over = list[tuple[float, int]](), threading.Event()

    def count() -> None:
        while not over.wait(LOOK):
            seen.append((time.monotonic(), pipeline.done()))

    with ThreadPoolExecutor(1) as beside:
        counting = beside.submit(count)
        try:
            with receiver.taking(series):
                turn = look()
            pipeline.over(series.count)
        finally:
            over.set()
        counting.result()
        found, share = spent(), 100 / (time.monotonic() - began)
    ours = per_frame({name: found[name] for name in ("distributor", "workers")}, series.count)
    http = {"HTTP process, % of a core": share * found["pipeline's HTTP"]}
    return {"frames done/s": _rate(seen)} | ours | http | turn


def _rate(seen: list[tuple[float, int]]) -> float:
    """Return how many frames are done per second, from the first look at which there are more to the last."""
    growing = [now for (_, last), now in pairwise([(0.0, 0), *seen]) if now[1] > last]
    (first, least), (last, most) = growing[0], growing[-1]
    return (most - least) / (last - first) if last > first else 0.0


def _look_at(pipeline: Pipeline, seconds: float) -> Turn:
    from penstock.gui.live.results.sources.feed import ResultsFeed
    from penstock.gui.live.results.sources.pipeline_source import PipelineSource
    from penstock.gui.live.results.sources.snapshot import Page
    from penstock.gui.live.results.view import ResultsView

    url = pipeline.client.url
    with _shown(lambda: ResultsView(ResultsFeed(PipelineSource.at(url)))) as (view, process_events):
        view.show()
        _drawn(view, process_events)
        view.tools.last.setValue(LAST)
        drawn, began, delays = view.drawn(), time.monotonic(), Delays()
        for name, page in (("I", Page.CURVE), ("I", Page.FRAMES), ("total", None)):
            view.choose(name, page)
            process_events(max(1.0, (seconds - WARM_UP) / 3))
        drawn, took = view.drawn() - drawn, time.monotonic() - began
        return {"drawn/s": drawn / took} | delays.figures()


def file(bench: Bench, load: Frames) -> Turns:
    """Open a file of so many frames in both ways."""
    path = bench.folder / "long.h5"
    with ExitStack() as processes, Receiver(bench.folder, load, processes).taking(load, path):
        pass
    ways = {"in the window": _in_window, "by the command": _by_command}
    return bench.in_turn({name: partial(way, path) for name, way in ways.items()})


def _in_window(path: Path) -> Turn:
    from penstock.gui.live.sources.feed import Feed
    from penstock.gui.live.view import Viewer

    with _shown(lambda: Viewer(Feed(None))) as (viewer, process_events):
        viewer.start()
        process_events(0.1)
        moments, began = list[float](), time.monotonic()
        viewer.frame_drawn.connect(lambda _: moments.append(time.monotonic()))
        viewer.open_file(str(path))
        poll(lambda: moments, len, f"nothing is drawn of {path}", sleep=process_events)
        return {"opened in, s": moments[0] - began}


def _by_command(path: Path) -> Turn:
    began = time.monotonic()
    argv = [*PENSTOCK, "view", str(path), "--screenshot", str(path.with_suffix(".png"))]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=DEADLINE, check=False)
    if done.returncode:
        raise RuntimeError(f"penstock view: {done.stderr.strip()}")
    return {"opened in, s": time.monotonic() - began}


@contextmanager
def _shown(make: Callable[[], Any]) -> Iterator[tuple[Any, Callable[[float], None]]]:
    """A window, and what lets it live for so many seconds."""
    from silx.gui import qt

    from penstock.gui import theme

    application = qt.QApplication.instance() or qt.QApplication(["bench-window"])
    qt.qInstallMessageHandler(lambda *_: None)
    theme.apply(application)
    window = make()

    def process_events(seconds: float) -> None:
        loop = qt.QEventLoop()
        qt.QTimer.singleShot(int(seconds * 1000), loop.quit)
        loop.exec_()

    try:
        window.resize(*SIZE)
        yield window, process_events
    finally:
        window.close()
        window.deleteLater()


def _drawn(window: Any, process_events: Callable[[float], None]) -> None:
    """Wait until some frames were drawn."""
    poll(window.drawn, lambda drawn: drawn >= 3, "nothing is drawn", pause=0.1, sleep=process_events)


@contextmanager
def _stopped(receiver: Receiver) -> Iterator[None]:
    """The receiver's processes do nothing from here to the end of the block (SIGSTOP)."""
    with ExitStack() as going_on:
        for pid in (receiver.http, receiver.data):
            going_on.callback(os.kill, pid, signal.SIGCONT)
            os.kill(pid, signal.SIGSTOP)
        yield
