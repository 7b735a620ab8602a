"""Pictures of the window of live results, in every state.

The results are in real result files; what a pipeline would say of itself is said in its place, since an
Error, or a worker that is waited for, does not keep still for a picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from penstock.gui.live.results.sources.feed import ResultsFeed
from penstock.gui.live.results.sources.file_source import ResultFileSource
from penstock.gui.live.results.sources.snapshot import Page
from penstock.gui.live.results.view import ResultsView
from penstock.gui.live.sources.source import Away
from penstock.gui.live.window import Window
from penstock.processing.describe import Axis, Plot
from penstock.processing.models import Status
from penstock.processing.results.layout import DONE
from penstock.processing.results.result_file import ResultFile
from penstock.processing.wire import Array
from penstock.streamer.simulated.patterns import powder
from tests.gui.photographer import Photographer, photograph
from tests.processing.results.made import begun

POINTS = 1000
Q = np.linspace(0.5, 30.0, POINTS)
LINES = ((8.1, 4000.0), (12.9, 2500.0), (15.2, 900.0), (19.4, 1500.0), (24.7, 800.0))
MANY = 10_000
GAPS = {120: 2, 121: 2, 122: 2, 300: 3, 301: 3, 410: 2}
"""States, by frame, of those that are not done."""
CURVE, ERRORS = (Array(name=name, dtype="<f8", shape=(1, POINTS)) for name in ("I", "I_errors"))
TOTAL, PEAKS = (Array(name=name, dtype="<f8", shape=(1,)) for name in ("total", "width"))


def curves(frames: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A powder that is heated: lines move, and one phase gives way to another."""
    share = (frames / frames.max() if len(frames) > 1 else frames)[:, np.newaxis]
    found = 2000 * np.exp(-Q / 9) * (1 + 0.1 * np.sin(frames / 60)[:, np.newaxis])
    for place, height in LINES:
        found = found + height * (1 - 0.8 * share) * np.exp(-(((Q - place * (1 - 0.02 * share)) / 0.12) ** 2))
    found = found + 3500 * share**2 * np.exp(-(((Q - 10.4) / 0.15) ** 2))
    return np.random.default_rng(7).poisson(found).astype(np.float64)


def write(path: Path, frames: int, planned: int) -> ResultFile:
    """A result file of so many frames, of which some are not done."""
    file = ResultFile.create(path, begun(planned=planned, pipeline="azim"), overwrite=True)
    axis = Axis("q", Q, unit="1/nm")
    file.describe([Plot("I", errors="I_errors", axes=(axis,), label="intensity", unit="counts")])
    every = np.arange(frames)
    values = curves(every)
    lost = [frame for frame in GAPS if frame < frames]
    done = np.setdiff1d(every, lost)
    for at in range(0, len(done), 500):
        part = done[at : at + 500]
        file.rows(CURVE, part, values[part])
        file.rows(ERRORS, part, np.sqrt(np.maximum(values[part], 1)))
        file.rows(TOTAL, part, values[part].sum(1))
        file.rows(PEAKS, part, 0.12 + 0.02 * np.sin(part / 30))
        file.status(part, DONE)
    spots = Array(name="spots", dtype="<f4", shape=(3, 2), kind="events", counts=(1, 2))
    file.rows(spots, done[:2], np.ones((3, 2), "f4"))
    for frame in lost:
        if GAPS[frame] == 2:
            file.error(frame, "ValueError: no beam (azim.py, line 31)")
        file.status(np.array([frame]), GAPS[frame])
    mean = powder(514, 1030) * 40.0
    array = Array(name="mean", dtype="<f8", shape=mean.shape, kind="mean", n=len(done))
    file.accumulated([array], [mean * len(done)], done)
    return file


class Posed(ResultFileSource):
    """A pipeline that says of itself what a picture needs."""

    is_file = False

    def __init__(self, path: Path, **says: Any) -> None:
        super().__init__(path)
        self.says = says

    @property
    def address(self) -> str:
        """As if it were one."""
        return "http://hpc7:5100"

    def status(self) -> Status:
        """Return it."""
        says = dict(self.says)
        if says.pop("away", False):
            raise Away("pipeline at http://hpc7:5100 does not answer (nobody listens there)")
        found = super().status()
        assert found.series is not None
        series = replace(found.series, file="/data/raw/ceo2-heated-0042.h5")
        return replace(found, **{"series": series, **says})


@contextmanager
def opened(camera: Photographer, source: ResultFileSource, *, drawn: bool = True) -> Iterator[ResultsView]:
    """Open the window."""
    view = ResultsView(ResultsFeed(source, rate=50.0))
    window = Window([view], lambda path: view)
    window.show()
    try:
        if drawn:
            camera.until(lambda: view.drawn() and not view.is_loading(), "drawn")
        camera.process_events()
        yield view
    finally:
        window.close()
        window.deleteLater()
        camera.process_events(0.05)


def loaded(camera: Photographer, view: ResultsView, name: str, page: Page | None = None) -> None:
    """Choose a result, and wait until it is there."""
    before = view.drawn()
    view.choose(name, page)
    camera.until(lambda: view.drawn() > before and not view.is_loading(), name)
    camera.process_events(1.0)


def draw_all(camera: Photographer, scratch: Path) -> None:
    """Take them all."""
    live = write(scratch / "ceo2-heated-0042.azim.h5", 600, 1000)
    many = write(scratch / "many.azim.h5", MANY, MANY)
    empty = ResultFile.create(scratch / "empty.azim.h5", begun(planned=100, pipeline="azim"), overwrite=True)
    for _ in camera.each_theme():
        with opened(camera, Posed(live.path)) as view:
            view.tools.last.setValue(8)
            camera.process_events(0.5)
            camera.take("results_running", view.window())
            loaded(camera, view, "I", Page.FRAMES)
            camera.take("results_gap", view.window())
            loaded(camera, view, "mean")
            camera.take("results_accumulated", view.window())
            loaded(camera, view, "total")
            camera.take("results_numbers", view.window(), all_sizes=False)
            loaded(camera, view, "I", Page.CURVE)
            view.steps.go(40)
            camera.process_events(1.0)
            view.hold()
            view.steps.go(560)
            view.tools.log_y.setChecked(True)
            camera.process_events(1.0)
            camera.take("results_held", view.window(), all_sizes=False)
            view.steps.go(121)
            camera.until(view.says, "a frame that failed")
            camera.take("results_failed-frame", view.window(), all_sizes=False)
        waits = Posed(
            empty.path, waits_for="waits for a worker; `penstock worker tcp://hpc7:5101` starts one"
        )
        with opened(camera, waits, drawn=False) as view:
            camera.until(view.says, "waiting")
            camera.take("results_waiting", view.window())
        with opened(camera, Posed(empty.path, state="idle", series=None), drawn=False) as view:
            camera.until(view.says, "no series")
            camera.take("results_no-series", view.window())
        error = "100 frames in a row have failed: ValueError: no beam (azim.py, line 31)"
        with opened(camera, Posed(live.path, state="error", error=error)) as view:
            camera.take("results_error", view.window())
        source = Posed(live.path)
        with opened(camera, source) as view:
            source.says["away"] = True
            camera.until(lambda view=view: view.banner.kind() == "away", "away")
            camera.take("results_away", view.window(), all_sizes=False)
        with opened(camera, ResultFileSource(many.path)) as view:
            loaded(camera, view, "I", Page.FRAMES)
            camera.take("results_10000-frames", view.window())
            loaded(camera, view, "total")
            camera.take("results_10000-numbers", view.window(), all_sizes=False)
    for file in (live, many, empty):
        file.close()


def main() -> int:
    """Take those that the command line asks for."""
    return photograph("Pictures of the window of live results", draw_all)
