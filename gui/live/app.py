"""Runs the viewer as an application: until its window is closed, or until its picture is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from silx.gui import qt
from silx.gui.utils.glutils import isOpenGLAvailable

from penstock.gui import theme
from penstock.gui.application import application, closing
from penstock.gui.background import later
from penstock.gui.live.drawing.levels import Scale
from penstock.gui.live.memory import Memory
from penstock.gui.live.plot.look import Look
from penstock.gui.live.results.sources.feed import ResultsFeed
from penstock.gui.live.results.sources.file_source import ResultFileSource
from penstock.gui.live.results.sources.pipeline_source import PipelineSource
from penstock.gui.live.results.sources.snapshot import Page
from penstock.gui.live.results.view import MEMORY, ResultsView
from penstock.gui.live.screenshot import Screenshot, Wanted
from penstock.gui.live.sources.feed import Feed
from penstock.gui.live.sources.file_source import FileSource
from penstock.gui.live.sources.receiver_source import PIPELINE, ReceiverSource
from penstock.gui.live.sources.source import Source
from penstock.gui.live.view import Viewer
from penstock.gui.live.window import View, Window
from penstock.processing.client import NoAnswer, what_answers
from penstock.processing.results.read import is_result_file

_OF_RESULTS = (PipelineSource, ResultFileSource)
Anything = Source | PipelineSource | ResultFileSource
"""What a view can be of."""
PATIENCE = 1.0
"""Seconds without a first answer after which the terminal reports it."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line asks for."""

    url: str = ""
    """Address of a receiver, where there is one picture."""
    sources: tuple[Anything, ...] = ()
    """All that is to be shown, instead of `url`."""
    tiles: bool = False
    wall: bool = False
    frame: int | None = None
    """The frame of files to begin with."""
    rate: float = 10.0
    logarithmic: bool = False
    downsample: int | None = None
    colours: str | None = None
    result: str = ""
    """The result of pipelines and result files to begin with; "": the first curve."""
    all_frames: bool = False
    """True for all curves, one row per frame."""
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
    running = application("penstock view", options.theme)
    if options.backend == "gl" and not (check := isOpenGLAvailable()):
        reason = " ".join(str(check.error).split())
        return f"the backend gl cannot draw here ({reason}); leave --backend gl out: mpl draws everywhere"
    window = open_window(options)
    screenshot = None
    if options.screenshot is not None:
        wanted = Wanted(
            path=options.screenshot, after_frames=options.after_frames, frame=options.frame,
            deadline=options.deadline,
        )  # fmt: skip
        screenshot = Screenshot(window, wanted)
    for view in window.views():
        if screenshot is None or not view.snapshot().is_file:  # there, that ends the command
            _tell_of_waiting(view, waits)
    window.show()
    if options.wall:
        window.toggle_wall()
    qt.QTimer.singleShot(0, ready)
    with closing(window, window.failure):
        running.exec_()  # the window's clock lets Python see the signal
    return None if screenshot is None else screenshot.failure


def open_window(options: Options) -> Window:
    """Return the window for `options`, not yet shown."""
    views = [_open(replace(options, sources=(source,))) for source in _sources(options)]

    def make(what: str) -> View:
        source = PipelineSource.at(what) if "://" in what else source_of_file(what)
        return _open(replace(options, sources=(source,), frame=None))

    return Window(views, make, tiles=options.tiles)


def sources_of(names: Sequence[str]) -> tuple[Anything, ...]:
    """Return what these addresses, and absolute paths of files, are; asks all of them at the same time.

    Where nobody answers at an address, a receiver is waited for.
    """
    with ThreadPoolExecutor(max_workers=len(names)) as askers:
        return tuple(askers.map(_source_of, names))


def _source_of(name: str) -> Anything:
    if "://" not in name:
        return source_of_file(name)
    try:
        is_pipeline = what_answers(name) == PIPELINE
    except NoAnswer:
        is_pipeline = False
    return PipelineSource.at(name) if is_pipeline else ReceiverSource.at(name)


def source_of_file(path: str) -> FileSource | ResultFileSource:
    """Return the source of a file: of frames, or of a pipeline's results."""
    return ResultFileSource(path) if is_result_file(path) else FileSource(path)


def _sources(options: Options) -> tuple[Anything, ...]:
    return options.sources or (ReceiverSource.at(options.url),)


def _open(options: Options) -> View:
    (source,) = options.sources
    return open_results(options) if isinstance(source, _OF_RESULTS) else open_viewer(options)


def open_results(options: Options) -> ResultsView:
    """Return the view of a pipeline, or of a result file, for `options`, not yet shown."""
    (source,) = options.sources
    assert isinstance(source, _OF_RESULTS)
    memory = Memory("window", qt.QSettings("Penstock", MEMORY)) if options.screenshot is None else None
    view = ResultsView(ResultsFeed(source, options.rate), memory=memory)
    if options.all_frames:
        view.choice.ways.prefers = Page.FRAMES
    if options.result:
        view.choose(options.result)

    look = view.plots.image.look
    _choose(view, look, options, lambda: view.tools.log_y.setChecked(True))
    if options.frame is not None and source.is_file:
        _begin_with(view, options.frame, lambda: len(view.snapshot().codes) > 0, view.steps.go)
    return view


def open_viewer(options: Options) -> Viewer:
    """Return the view for `options`, not yet shown."""
    source = _sources(options)[0]
    assert not isinstance(source, _OF_RESULTS)
    feed = Feed(source, rate=options.rate)
    # A picture is of what the options say, whatever somebody has chosen in a window.
    memory = Memory("window") if options.screenshot is None else None
    viewer = Viewer(feed, backend=options.backend, memory=memory)
    if options.downsample is not None:
        viewer.controls.block.setValue(options.downsample)

    _choose(viewer, viewer.plot.look, options)
    if options.frame is not None:
        _begin_with(viewer, options.frame, lambda: not viewer.past.is_live(), viewer.past.go)
    return viewer


def _choose(view: View, look: Look, options: Options, also: Callable[[], None] = lambda: None) -> None:
    """Choose scale and colours as the options say, whatever was kept; `also`: what else is logarithmic."""

    def choose() -> None:
        if options.logarithmic:
            look.set_scale(Scale.LOG)
            also()
        if options.colours is not None:
            look.set_colours(options.colours)

    choose()
    view.restored.connect(choose)


def _begin_with(view: View, frame: int, is_known: Callable[[], bool], go: Callable[[int], None]) -> None:
    """Show a frame as soon as it is known which there are."""

    def look() -> None:
        if is_known():
            view.updated.disconnect(look)
            go(frame)

    view.updated.connect(look)


def _tell_of_waiting(viewer: View, waits: Callable[[str], None]) -> None:
    def look() -> None:
        snapshot = viewer.snapshot()
        if snapshot.status is None and not snapshot.trouble and timer.isActive():
            return
        timer.stop()
        viewer.updated.disconnect(look)
        if snapshot.status is None:
            who = "pipeline" if isinstance(viewer, ResultsView) else "receiver"
            what = "cannot read the file" if snapshot.is_file else f"waits for a {who}"
            waits(f"{what}: {viewer.no_answer_yet()}")

    viewer.updated.connect(look)
    timer = later(look, viewer, int(PATIENCE * 1000))
    timer.start()
