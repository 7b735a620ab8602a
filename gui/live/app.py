"""Runs the viewer as an application: until its window is closed, or until its picture is taken."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from silx.gui import qt
from silx.gui.utils.glutils import isOpenGLAvailable

from penstock.gui import theme
from penstock.gui.live.feed import Feed
from penstock.gui.live.levels import Scale
from penstock.gui.live.memory import Memory
from penstock.gui.live.receiver_source import ReceiverSource
from penstock.gui.live.sentences import no_answer_yet
from penstock.gui.live.viewer import Viewer
from penstock.stins.texts import plural

PATIENCE = 1.0
"""Seconds without a first answer after which the terminal reports it."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line asks for."""

    url: str
    rate: float = 10.0
    logarithmic: bool = False
    downsample: int | None = None
    colours: str | None = None
    backend: str = "mpl"
    theme: theme.Name = "dark"
    screenshot: Path | None = None
    after_frames: int = 1
    deadline: float = 60.0
    """Seconds to wait for that many frames."""


def run(
    options: Options,
    ready: Callable[[], None] = lambda: None,
    waits: Callable[[str], None] = lambda why: None,
) -> str | None:
    """Open the window; returns once it is closed: `None`, or why there is no window or no picture.

    Args:
        ready: called once the window is on the screen.
        waits: called with a sentence if no receiver answers from the start, once: the address may be wrong.
    """
    application = qt.QApplication.instance() or qt.QApplication(["penstock view"])
    theme.apply(application, theme.of_name(options.theme, application))
    if options.backend == "gl" and not (check := isOpenGLAvailable()):
        reason = " ".join(str(check.error).split())
        return f"the backend gl cannot draw here ({reason}); leave --backend gl out: mpl draws everywhere"
    viewer = open_viewer(options)
    previous = signal.signal(signal.SIGINT, lambda *_: viewer.close())
    failure: list[str] = []
    if options.screenshot is not None:
        _arrange_screenshot(viewer, options, options.screenshot, failure)
    _tell_of_waiting(viewer, waits)
    viewer.start()
    qt.QTimer.singleShot(0, ready)
    try:
        application.exec_()  # the window's clock lets Python see the signal
    finally:
        signal.signal(signal.SIGINT, previous)
        viewer.close()
    return failure[0] if failure else None


def open_viewer(options: Options) -> Viewer:
    """Return the window for `options`, not yet shown."""
    feed = Feed(ReceiverSource.at(options.url), rate=options.rate)
    # A picture is of what the options say, whatever somebody has chosen in a window.
    memory = Memory("window") if options.screenshot is None else None
    viewer = Viewer(feed, backend=options.backend, memory=memory)
    if options.downsample is not None:
        viewer.controls.block.setValue(options.downsample)

    def choose() -> None:
        if options.logarithmic:
            viewer.plot.look.set_scale(Scale.LOG)
        if options.colours is not None:
            viewer.plot.look.set_colours(options.colours)

    choose()
    viewer.restored.connect(choose)
    return viewer


def _tell_of_waiting(viewer: Viewer, waits: Callable[[str], None]) -> None:
    timer = qt.QTimer(viewer)
    timer.setSingleShot(True)

    def look() -> None:
        snapshot = viewer.snapshot()
        if snapshot.status is None and not snapshot.trouble and timer.isActive():
            return
        timer.stop()
        viewer.updated.disconnect(look)
        if snapshot.status is None:
            waits(f"waits for a receiver: {no_answer_yet(snapshot)}")

    viewer.updated.connect(look)
    timer.timeout.connect(look)
    timer.start(int(PATIENCE * 1000))


def _arrange_screenshot(viewer: Viewer, options: Options, path: Path, failure: list[str]) -> None:
    def look() -> None:
        if viewer.drawn() < options.after_frames or viewer.banner.kind() == "connecting":
            return
        viewer.updated.disconnect(look)
        viewer.frame_drawn.disconnect(look)
        qt.QTimer.singleShot(0, take)

    def take() -> None:
        if not viewer.grab().save(str(path)):
            failure.append(
                f"the picture cannot be written to {path}; is the folder there and writable, "
                "and does the name end with .png or .jpg?"
            )
        viewer.close()

    def give_up() -> None:
        snapshot = viewer.snapshot()
        failure.append(
            f"no picture in {options.deadline:g} s: {no_answer_yet(snapshot)}"
            if snapshot.status is None
            else f"{viewer.drawn()} of {plural(options.after_frames, 'frame')} came from {options.url} in "
            f"{options.deadline:g} s ({viewer.banner.title().lower()}: {viewer.banner.text()}); "
            "start a series, or give --after-frames 0 to take the window as it is"
        )
        viewer.close()

    viewer.updated.connect(look)
    viewer.frame_drawn.connect(look)
    deadline = qt.QTimer(viewer)
    deadline.setSingleShot(True)
    deadline.timeout.connect(give_up)
    deadline.start(int(options.deadline * 1000))
