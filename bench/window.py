"""Does the live window keep up, and does it ever stall? Frames of 4 and 16 million pixels, 10 per second.

The window of `penstock view`, 1920 x 1080 pixels, follows a real receiver, with figures, histogram, marked
pixels, one region of interest and its curve on show. Twice in each run the receiver is stopped for a while
(SIGSTOP), as by a file system that hangs: it must not be felt.

What is measured is how many frames are drawn; how late the window's event loop gets to what is posted to it
every 10 ms, which is what a hand on the mouse feels; and the processor time of the window's thread. Several
runs, and the median counts. Then a file of 100,000 frames is written and opened; and the window of live
results follows a pipeline (`results_window`).
Exit status: 0 every bar is reached, 1 one is not, 2 it cannot be measured here.

Examples:
  python -m penstock.bench.window                        three runs of a minute for each part: 14 minutes
  python -m penstock.bench.window --runs 1 --seconds 20  a short look
  python -m penstock.bench.window --only results         live results: seven minutes
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.bench import opening, results_window
from penstock.bench.contenders import line_with
from penstock.bench.delays import Delays
from penstock.bench.viewer import DEADLINE, Receiver, receiving
from penstock.hosts.child import PENSTOCK, Child, ProcessFailed, free_port
from penstock.receiver.models import Rectangle

SIZE = (1920, 1080)
RATE = 10.0
"""Frames per second that the detector sends, and that the window asks for at most."""
WARM_UP = 3.0
"""Seconds before the measurement begins: the first frames make fonts and layouts."""
REGION = Rectangle(x=500, y=500, width=400, height=300)


@dataclass(frozen=True, kw_only=True)
class Case:
    """Frames of one size, and how many of them must be drawn."""

    name: str
    side: int
    """Rows, and columns."""
    least: float
    """Frames drawn per second."""


CASES = (
    Case(name="4 million pixels", side=2000, least=8.0),
    Case(name="16 million pixels", side=4000, least=4.0),
)
MOST_P99, MOST_EVER, MOST_BUSY = 0.05, 0.2, 0.5
"""Seconds late, for 99 of 100 events and for all; share of the thread's time."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one run has shown."""

    drawn: float
    """Frames drawn per second while the receiver was running."""
    p99: float
    """Seconds late, for 99 of 100 events."""
    worst: float
    """Seconds late, for all of them."""
    busy: float
    """Processor time of the window's thread, as a share of the time."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """The runs of one case."""

    case: Case
    runs: list[Run]

    def median(self, figure: str) -> float:
        """Return the median of one figure."""
        return statistics.median(float(getattr(run, figure)) for run in self.runs)

    @property
    def reached(self) -> bool:
        """Whether the medians reach every bar."""
        return (
            self.median("drawn") >= self.case.least
            and self.median("p99") <= MOST_P99
            and self.median("worst") <= MOST_EVER
            and self.median("busy") <= MOST_BUSY
        )


def measure(
    folder: Path, case: Case, runs: int, seconds: float, pause: float, progress: Callable[[str], None]
) -> Result:
    """Measure so many runs of one case.

    Args:
        folder: for the receiver's configuration; nothing else is written.
        case: size of the frames.
        runs: how many runs.
        seconds: length of a run.
        pause: seconds for which the receiver is stopped, in two parts.
        progress: called with what is under way.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: no frame is drawn, or the series ends before the run does.
    """
    found = []
    for number in range(1, runs + 1):
        progress(f"{case.name}: run {number} of {runs}")
        endpoint = f"tcp://127.0.0.1:{free_port()}"
        with receiving(folder, endpoint) as receiver:
            receiver.client.put_rois({"peak": REGION})
            with _sending(endpoint, case, seconds + pause + 2 * DEADLINE):
                found.append(_run(receiver, seconds, pause))
    return Result(case=case, runs=found)


def _run(receiver: Receiver, seconds: float, pause: float) -> Run:
    with _window(receiver.url) as (viewer, process_events):
        due = time.monotonic() + DEADLINE
        while viewer.drawn() < 3:
            if time.monotonic() > due:
                raise RuntimeError(f"no frame was drawn within {DEADLINE:g} s: {viewer.banner.text()}")
            process_events(0.1)
        process_events(WARM_UP)
        delays, busy, began = Delays(), time.thread_time(), time.monotonic()
        drawn, live = 0, 0.0
        working, halted = ((seconds - pause) / 3, False), (pause / 2, True)
        for part, stopped in (working, halted, working, halted, working):
            before, since = viewer.drawn(), time.monotonic()
            with receiver.stopped() if stopped else _nothing():
                process_events(part)
            if not stopped:
                drawn, live = drawn + viewer.drawn() - before, live + time.monotonic() - since
        share = (time.thread_time() - busy) / (time.monotonic() - began)
        late = delays.end()
        if viewer.snapshot().status.state != "running":
            raise RuntimeError(f"the series has ended meanwhile: {viewer.banner.text()}")
        return Run(drawn=drawn / live, p99=float(np.percentile(late, 99)), worst=max(late), busy=share)


@contextmanager
def _window(url: str) -> Iterator[tuple[Any, Callable[[float], None]]]:
    """The window, and what lets it live for so many seconds."""
    from silx.gui import qt

    from penstock.gui import theme
    from penstock.gui.live.sources.feed import Feed
    from penstock.gui.live.sources.receiver_source import ReceiverSource
    from penstock.gui.live.view import Viewer

    application = qt.QApplication.instance() or qt.QApplication(["bench-window"])
    qt.qInstallMessageHandler(lambda *_: None)
    theme.apply(application)
    viewer = Viewer(Feed(ReceiverSource.at(url), rate=RATE))

    def process_events(seconds: float) -> None:
        loop = qt.QEventLoop()
        qt.QTimer.singleShot(int(seconds * 1000), loop.quit)
        loop.exec_()

    try:
        viewer.resize(*SIZE)
        viewer.start()
        viewer.show_regions.setChecked(True)
        yield viewer, process_events
    finally:
        viewer.close()
        viewer.deleteLater()


@contextmanager
def _sending(endpoint: str, case: Case, seconds: float) -> Iterator[None]:
    argv = (
        *PENSTOCK, "generate", "--json", "--endpoint", endpoint, "--shape", f"{case.side},{case.side}",
        "--pattern", "noise", "--rate", f"{RATE:g}", "--frames", str(int(seconds * RATE)),
    )  # fmt: skip
    with Child("generator", argv, line_with("data"), deadline=DEADLINE):
        yield


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; return 0 if every bar is reached."""
    title, _, text = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=title, epilog=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0, help="length of a run (%(default)g)")
    parser.add_argument(
        # In one part, a receiver may end the series: to it, the streamer was silent for as long.
        "--pause",
        type=float,
        default=10.0,
        help="seconds for which the receiver is stopped (%(default)g)",
    )
    parser.add_argument("--only", choices=("frames", "results"), help="one of the two windows")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))  # and end what was started
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

    def say(what: str) -> None:
        print(what, file=sys.stderr, flush=True)

    results, opened, curves = [], None, None
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name:
        folder = Path(name)
        try:
            if args.only != "results":
                results = [measure(folder, case, args.runs, args.seconds, args.pause, say) for case in CASES]
                opened = opening.measure(folder, args.runs, say)
            if args.only != "frames":
                curves = results_window.measure(folder, args.runs, args.seconds, say)
        except (ProcessFailed, RuntimeError) as error:
            print(f"bench-window: {error}", file=sys.stderr)
            return 2
    every = [each for each in (opened, curves, *results) if each is not None]
    if args.json:
        print(json.dumps([{**asdict(each), "reached": each.reached} for each in every]))
    else:
        _print(results)
        for part in ([] if opened is None else [opening.text(opened)]) + (
            [] if curves is None else [results_window.text(curves)]
        ):
            print(part)
    return 0 if all(each.reached for each in every) else 1


def _print(results: Sequence[Result]) -> None:
    if not results:
        return
    print(
        f"Window of {SIZE[0]} x {SIZE[1]}, {RATE:g} frames/s sent and asked for; medians of "
        f"{len(results[0].runs)} (each run):"
    )
    for result in results:
        print(f"{result.case.name}: {'every bar reached' if result.reached else 'NOT every bar reached'}")
        for name, figure, unit, factor, bar in (
            ("drawn", "drawn", "/s", 1.0, f"at least {result.case.least:g}"),
            ("event loop late, 99 %", "p99", "ms", 1e3, f"at most {MOST_P99 * 1e3:g}"),
            ("event loop late, worst", "worst", "ms", 1e3, f"at most {MOST_EVER * 1e3:g}"),
            ("window's thread busy", "busy", "%", 100.0, f"at most {MOST_BUSY * 100:g}"),
        ):
            each = ", ".join(f"{getattr(run, figure) * factor:.1f}" for run in result.runs)
            print(f"  {name:24}{result.median(figure) * factor:7.1f} {unit:2} ({each}; {bar})")


if __name__ == "__main__":
    sys.exit(main())
