"""Runs the viewer as an application: until its window is closed, or until its picture is taken."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from silx.gui import qt
from silx.gui.utils.glutils import isOpenGLAvailable

from penstock.gui import theme
from penstock.gui.live.feed import Feed
from penstock.gui.live.file_source import FileSource
from penstock.gui.live.levels import Scale
from penstock.gui.live.memory import Memory
from penstock.gui.live.receiver_source import ReceiverSource
from penstock.gui.live.screenshot import Screenshot, Wanted
from penstock.gui.live.sentences import no_answer_yet
from penstock.gui.live.source import Source
from penstock.gui.live.view import LiveView
from penstock.gui.live.viewer import Viewer
from penstock.gui.live.window import Window

PATIENCE = 1.0
"""Seconds without a first answer after which the terminal reports it."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line asks for."""

    url: str = ""
    """Address of a receiver, where there is one picture."""
    sources: tuple[Source, ...] = ()
    """All that is to be shown, instead of `url`."""
    tiles: bool = False
    wall: bool = False
    frame: int | None = None
    """Of files: the frame to begin with."""
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
    window = open_window(options)
    previous = signal.signal(signal.SIGINT, lambda *_: window.close())
    hook, sys.excepthook = sys.excepthook, window.failure.say
    screenshot = _screenshot(window, options)
    for view in window.views():
        if screenshot is None or not view.snapshot().is_file:  # there, that ends the command
            _tell_of_waiting(view, waits)
    window.show()
    if options.wall:
        window.toggle_wall()
    qt.QTimer.singleShot(0, ready)
    try:
        application.exec_()  # the window's clock lets Python see the signal
    finally:
        signal.signal(signal.SIGINT, previous)
        sys.excepthook = hook
        window.close()
    return None if screenshot is None else screenshot.failure


def _screenshot(window: Window, options: Options) -> Screenshot | None:
    if options.screenshot is None:
        return None
    wanted = Wanted(
        path=options.screenshot, after_frames=options.after_frames, frame=options.frame,
        deadline=options.deadline,
    )  # fmt: skip
    return Screenshot(window, wanted)


def open_window(options: Options) -> Window:
    """Return the window for `options`, not yet shown."""
    views = [open_viewer(replace(options, sources=(source,))) for source in _sources(options)]

    def make(path: str) -> LiveView:
        return open_viewer(replace(options, sources=(FileSource(path),), frame=None))

    return Window(list(views), make, tiles=options.tiles)


def _sources(options: Options) -> tuple[Source, ...]:
    return options.sources or (ReceiverSource.at(options.url),)


def open_viewer(options: Options) -> Viewer:
    """Return the view for `options`, not yet shown."""
    feed = Feed(_sources(options)[0], rate=options.rate)
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
    if options.frame is not None:
        _begin_with(viewer, options.frame)
    return viewer


def _begin_with(viewer: LiveView, frame: int) -> None:
    def go() -> None:
        if viewer.snapshot().status is not None and not viewer.past.is_live():
            viewer.updated.disconnect(go)
            viewer.past.go(frame)

    viewer.updated.connect(go)


def _tell_of_waiting(viewer: LiveView, waits: Callable[[str], None]) -> None:
    timer = qt.QTimer(viewer)
    timer.setSingleShot(True)

    def look() -> None:
        snapshot = viewer.snapshot()
        if snapshot.status is None and not snapshot.trouble and timer.isActive():
            return
        timer.stop()
        viewer.updated.disconnect(look)
        if snapshot.status is None:
            what = "cannot read the file" if snapshot.is_file else "waits for a receiver"
            waits(f"{what}: {no_answer_yet(snapshot)}")

    viewer.updated.connect(look)
    timer.timeout.connect(look)
    timer.start(int(PATIENCE * 1000))
