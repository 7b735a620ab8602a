"""How fast does a file of 100,000 frames open? In a window that is there, and by the command.

A real receiver writes the file. What is measured is the time from when a file is opened until its first frame
is on the screen; and that of the whole `penstock view FILE`, from the start of its process to the picture in
a file, most of which is Python that loads modules.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.bench.contenders import line_with
from penstock.bench.viewer import DEADLINE, receiving
from penstock.hosts.child import PENSTOCK, Child, free_port

FRAMES = 100_000
SIDE = 64
"""Rows, and columns, of a frame: how large it is does not matter, since one is read."""
MOST = 1.0
"""Seconds until the first frame is on the screen."""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """Seconds of each run."""

    frames: int
    window: list[float]
    """In a window that is there."""
    command: list[float]
    """Of the whole command, with its picture written."""

    @property
    def reached(self) -> bool:
        """Whether the median of the window reaches the bar; the command has none."""
        return statistics.median(self.window) <= MOST


def measure(folder: Path, runs: int, progress: Callable[[str], None], frames: int = FRAMES) -> Opening:
    """Write a file of so many frames, and open it so many times in both ways.

    Args:
        folder: for the receiver's configuration and the file, which is removed.
        runs: how many times.
        progress: called with what is under way.
        frames: frames of the file.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: the file is not whole, or no frame is drawn.
    """
    file = folder / "long.h5"
    try:
        progress(f"a file of {frames:,} frames")
        _write(folder, file, frames)
        window, command = [], []
        for number in range(1, runs + 1):
            progress(f"opening: run {number} of {runs}")
            window.append(_in_window(file))
            command.append(_by_command(file, folder / "picture.png"))
        return Opening(frames=frames, window=window, command=command)
    finally:
        file.unlink(missing_ok=True)
        (folder / "picture.png").unlink(missing_ok=True)


def text(opening: Opening) -> str:
    """Return the figures as they are printed."""
    verdict = "the bar is reached" if opening.reached else "the bar is NOT reached"
    lines = [f"A file of {opening.frames:,} frames: {verdict}"]
    for name, each, bar in (
        ("open in the window", opening.window, f"at most {MOST:g}"),
        ("the whole command", opening.command, "no bar: it loads Python's modules"),
    ):
        runs = ", ".join(f"{seconds:.2f}" for seconds in each)
        lines.append(f"  {name:24}{statistics.median(each):7.2f} s  ({runs}; {bar})")
    return "\n".join(lines)


def _write(folder: Path, file: Path, frames: int) -> None:
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    argv = (
        *PENSTOCK, "generate", "--json", "--endpoint", endpoint, "--shape", f"{SIDE},{SIDE}", "--rate", "0",
        "--frames", str(frames), "--filename", str(file),
    )  # fmt: skip
    with (
        receiving(folder, endpoint) as receiver,
        Child("generator", argv, line_with("data"), deadline=DEADLINE),
    ):
        due = time.monotonic() + DEADLINE
        status = receiver.client.status()
        while status.series is None or status.series.active:
            if time.monotonic() > due:
                raise RuntimeError(f"the file is not written within {DEADLINE:g} s")
            status = receiver.client.status(seen=status.version, wait=1.0)
        if not status.series.complete:
            raise RuntimeError(f"the receiver did not take the whole series: {status.series.reason}")


def _in_window(file: Path) -> float:
    from silx.gui import qt

    from penstock.gui import theme
    from penstock.gui.live.sources.feed import Feed
    from penstock.gui.live.view import Viewer

    application = qt.QApplication.instance() or qt.QApplication(["bench-window"])
    theme.apply(application)
    viewer = Viewer(Feed(None))
    loop = qt.QEventLoop()
    viewer.frame_drawn.connect(lambda _: loop.quit())
    qt.QTimer.singleShot(int(DEADLINE * 1000), loop.quit)
    try:
        viewer.start()
        application.processEvents()
        began = time.monotonic()
        viewer.open_file(str(file))
        loop.exec_()
        if not viewer.drawn():
            raise RuntimeError(f"no frame was drawn within {DEADLINE:g} s: {viewer.banner.text()}")
        return time.monotonic() - began
    finally:
        viewer.close()
        viewer.deleteLater()


def _by_command(file: Path, picture: Path) -> float:
    began = time.monotonic()
    argv = [*PENSTOCK, "view", str(file), "--screenshot", str(picture)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=DEADLINE, check=False)
    if done.returncode:
        raise RuntimeError(f"penstock view: {done.stderr.strip()}")
    return time.monotonic() - began
