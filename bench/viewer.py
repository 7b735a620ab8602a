"""What a viewer costs the data path: one running series, with and without a viewer.

The data path is the thread that every frame passes through, from the socket to the file: its time per frame
limits the rate. The whole data process, whose second thread makes the copy for the viewer, and the HTTP
process, which answers, are measured, too.

Windows with and without a viewer follow each other within one series, so that a busy machine slows both;
a ratio is taken of neighbours, and the median of the ratios counts, with its standard error. Handing over one
frame is also measured alone: that figure has little noise, but does not include what a copy does to caches
and memory bandwidth.
"""

from __future__ import annotations

import json
import math
import os
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.bench.contenders import line_with
from penstock.hosts.child import PENSTOCK, Child, free_port
from penstock.receiver.client import ReceiverClient
from penstock.receiver.live import last_frame
from penstock.receiver.models import Status
from penstock.stins.messages import Frame, Image

LOOKS = 5.0
"""Frames per second that the viewer requests, in full size, like the silx viewer."""
BAR = 1.02
"""Maximum ratio of the processor time per frame with a viewer to that without."""
WINDOW = 0.6
"""Seconds of one window."""
PATTERN = (False, True, True, False) * 2
"""Windows of one series, without and with a viewer; then its file is removed."""
SERIES_A_ROUND = 2
HAND_OVERS = 50
DEADLINE = 60.0


@dataclass(frozen=True, kw_only=True)
class Case:
    """Frames of 4 million pixels at the rate of a camera that has them."""

    name: str
    dtype: str
    compression: str
    pattern: str
    rate: float

    @property
    def nbytes(self) -> int:
        """Bytes of one frame, plain."""
        return 4_000_000 * np.dtype(self.dtype).itemsize

    @property
    def argv(self) -> tuple[str, ...]:
        """Options of `penstock generate`."""
        return (
            "--shape", "2000,2000", "--dtype", self.dtype, "--compression", self.compression,
            "--pattern", self.pattern, "--rate", f"{self.rate:g}",
        )  # fmt: skip


CASES = (
    Case(name="uint16, 8 MB", dtype="uint16", compression="none", pattern="noise", rate=40),
    Case(name="uint32, 16 MB", dtype="uint32", compression="none", pattern="noise", rate=20),
    Case(name="uint16, bslz4", dtype="uint16", compression="bslz4", pattern="powder", rate=40),
)


@dataclass(frozen=True, kw_only=True)
class Window:
    """Processor time in µs per frame, over one window."""

    thread: float
    """Of the data path."""
    process: float
    """Of the data process, all threads."""
    http: float
    """Of the HTTP process."""
    frames: int
    looks: float
    """Frames per second that the viewer got."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One case: windows without and with a viewer, as neighbours."""

    case: Case
    pairs: list[tuple[Window, Window]]
    hand_over: float
    """Processor time in µs that it takes the data path to hand one frame over."""

    @property
    def share(self) -> float:
        """Share of the data path's processor time that handing over takes."""
        return self.hand_over * LOOKS / (self.median("thread", seen=False) * self.case.rate)

    @property
    def ratios(self) -> list[float]:
        """Processor time per frame of the data path, with a viewer to without, of each pair."""
        return [seen.thread / unseen.thread for unseen, seen in self.pairs]

    @property
    def ratio(self) -> float:
        """Median of the ratios."""
        return statistics.median(self.ratios)

    @property
    def error(self) -> float:
        """Standard error of the median, from the spread of the middle half: a busy machine has outliers."""
        low, _, high = statistics.quantiles(self.ratios, n=4)
        return 1.253 * (high - low) / 1.349 / math.sqrt(len(self.ratios))

    @property
    def reached(self) -> bool:
        """True if the bar was reached, within the error, and the viewer got the frames that it requested."""
        within = self.ratio - self.error <= BAR and self.share <= BAR - 1
        return within and self.median("looks") >= 0.8 * LOOKS

    def median(self, figure: str, *, seen: bool = True) -> float:
        """Return the median of one figure, with the viewer or without."""
        return statistics.median(float(getattr(pair[seen], figure)) for pair in self.pairs)


class Receiver:
    """One receiver, and the processor time of its processes so far."""

    def __init__(self, url: str, pid: int) -> None:
        self.url = url
        self.client = ReceiverClient(url, timeout=5.0)
        self._http = pid
        self._data = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])

    def after_next(self) -> tuple[int, float, float, float]:
        """Wait for further frames; return how many were received, and the processor time in seconds of
        thread, process and HTTP so far."""
        status = self.client.status()
        before = status.counts.received
        due = time.monotonic() + DEADLINE
        while status.counts.received == before and time.monotonic() < due:
            status = self.client.status(seen=status.version, wait=1.0)
        data, http = self._data, self._http
        return status.counts.received, _spent(data, data), _spent(data), _spent(http)

    def spent(self) -> tuple[float, float]:
        """Return the processor time of the receiving thread and of the data process so far, in seconds."""
        return _spent(self._data, self._data), _spent(self._data)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Its processes do nothing from here to the end of the block (SIGSTOP)."""
        pids = (self._http, self._data)
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    def ended(self) -> Status:
        """Wait until the series has ended."""
        due = time.monotonic() + DEADLINE
        status = self.client.status()
        while status.series is None or status.series.active:
            if time.monotonic() > due:
                raise RuntimeError("the series does not end")
            status = self.client.status(seen=status.version, wait=1.0)
        return status


def measure(
    folder: Path, rounds: int, progress: Callable[[str], None], cases: tuple[Case, ...] = CASES
) -> Iterator[Result]:
    """Measure each case with so many series, of four pairs of windows each.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: a series was not complete, so its figures say nothing.
    """
    for case in cases:
        pairs: list[tuple[Window, Window]] = []
        endpoint = f"tcp://127.0.0.1:{free_port()}"
        with receiving(folder, endpoint) as receiver:
            for number in range(1, rounds * SERIES_A_ROUND + 1):
                progress(f"{case.name}: series {number} of {rounds * SERIES_A_ROUND}")
                pairs += _series(receiver, endpoint, case, folder / "viewer.h5")
        yield Result(case=case, pairs=pairs, hand_over=hand_over(case.nbytes))


def hand_over(nbytes: int) -> float:
    """Return the median processor time, in µs, of a thread that hands over a frame as the data path does."""
    memory = last_frame.create()
    ours, viewers = last_frame.LastFrame(memory), last_frame.LastFrame(memory)
    image = Image(shape=(1, nbytes), type="uint8", compression="none")
    frame = Frame(image, [memoryview(bytearray(nbytes))])
    spent = []
    for number in range(HAND_OVERS):
        viewers.want()
        ours.offer("", number, frame)
        began = time.thread_time()
        ours.step(1.0 + number)
        spent.append(time.thread_time() - began)
        while viewers.version < 2 * number + 2:
            time.sleep(0.0005)  # the copy is under way
    os.close(memory)
    return statistics.median(spent) * 1e6


def _series(receiver: Receiver, endpoint: str, case: Case, file: Path) -> list[tuple[Window, Window]]:
    frames = int(case.rate * ((WINDOW + 0.3) * len(PATTERN) + 1.0))
    argv = (
        *PENSTOCK, "generate", "--json", "--endpoint", endpoint, *case.argv, "--frames", str(frames),
        "--filename", str(file),
    )  # fmt: skip
    try:
        with Child("generator", argv, line_with("data"), deadline=DEADLINE):
            receiver.after_next()
            windows = [_window(receiver, looking=looking) for looking in PATTERN]
            status = receiver.ended()
        if status.series is None or not status.series.complete:
            raise RuntimeError(f"the receiver did not take the whole series: {status.error or status.series}")
        neighbours = zip(windows[::2], windows[1::2], strict=True)
        return [(first, second) if second.looks else (second, first) for first, second in neighbours]
    finally:
        file.unlink(missing_ok=True)


def _window(receiver: Receiver, *, looking: bool) -> Window:
    ends, looks = threading.Event(), [0]
    viewer = threading.Thread(target=_look, args=(receiver.url, ends, looks))
    if looking:
        viewer.start()
    began = time.monotonic()
    first = receiver.after_next()
    ends.wait(WINDOW)
    last = receiver.after_next()
    seconds = time.monotonic() - began
    ends.set()
    if looking:
        viewer.join()
    frames = last[0] - first[0]
    thread, process, http = (
        (late - early) / frames * 1e6 for early, late in zip(first[1:], last[1:], strict=True)
    )
    return Window(thread=thread, process=process, http=http, frames=frames, looks=looks[0] / seconds)


def _look(url: str, ends: threading.Event, looks: list[int]) -> None:
    client, seen, due = ReceiverClient(url, timeout=5.0), None, time.monotonic()
    while not ends.is_set():
        frame = client.last_frame(seen=seen)
        if frame is not None:
            seen, looks[0] = frame.version, looks[0] + 1
            due += 1 / LOOKS
        # If there is nothing newer yet, one of the next frames will bring it.
        ends.wait(max(0.005, due - time.monotonic()) if frame is not None else 0.01)


@contextmanager
def receiving(folder: Path, endpoint: str) -> Iterator[Receiver]:
    config = folder / "viewer.yaml"
    entry = {"source": {"endpoints": [endpoint], "high_water_mark": 8}, "data_root": str(folder)}
    config.write_text(json.dumps({"receivers": {"bench": entry}}))  # JSON is YAML too
    argv = (*PENSTOCK, "receiver", "bench", "--config", str(config), "--http", "127.0.0.1:0", "--json")
    with Child("receiver", argv, line_with("http"), deadline=DEADLINE) as process:
        yield Receiver(process.answer["http"], process.answer["pid"])


def _spent(pid: int, thread: int | None = None) -> float:
    """Return the processor time of a process, or of one of its threads, in seconds (schedstat)."""
    threads = [str(thread)] if thread is not None else os.listdir(f"/proc/{pid}/task")
    total = 0
    for number in threads:
        try:
            total += int(Path(f"/proc/{pid}/task/{number}/schedstat").read_text().split()[0])
        except FileNotFoundError:
            continue  # it ended meanwhile
    return total / 1e9
