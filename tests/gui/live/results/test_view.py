"""The window over result files that are written meanwhile, and over the HTTP process of a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("silx.gui.plot", reason="the viewer needs the extra gui")

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.app import Options, open_window, run, sources_of
from penstock.gui.live.results.sources.feed import ResultsFeed
from penstock.gui.live.results.sources.file_source import ResultFileSource
from penstock.gui.live.results.sources.pipeline_source import PipelineSource
from penstock.gui.live.results.sources.snapshot import Curves, OverFrames, Page, Picture, Rectangle
from penstock.gui.live.results.view import ResultsView
from penstock.gui.live.sources.receiver_source import ReceiverSource
from penstock.gui.live.view import LiveView
from penstock.processing.results.layout import DONE
from tests.gui.live.result_files import POINTS, Q, Written, curve
from tests.gui.live.stand_in import StandIn
from tests.processing.service.pipeline_process import PipelineProcess
from tests.processing.service.stand_in_distributor import FAILED, FRAMES

DEADLINE = 60_000
"""Milliseconds."""


@pytest.fixture
def opened(qtbot: Any) -> Iterator[Callable[..., ResultsView]]:
    """Opens views, and closes them when the test ends."""
    views: list[ResultsView] = []

    def make(what: Any) -> ResultsView:
        source = PipelineSource.at(what) if "://" in str(what) else ResultFileSource(what)
        view = ResultsView(ResultsFeed(source, rate=50.0))
        views.append(view)
        qtbot.addWidget(view)
        view.resize(1280, 800)
        view.show()
        return view

    yield make
    for view in views:
        view.close()


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Written]:
    made = Written(tmp_path / "x.azim.h5")
    yield made
    made.results.close()


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PipelineProcess]:
    running = PipelineProcess(tmp_path_factory.mktemp("pipeline"), workers=1)
    running.ready(1)
    yield running
    running.close()


def shows(
    qtbot: Any, view: ResultsView, kind: type, condition: Callable[[Any], bool] = lambda _: True
) -> Any:
    """Wait until such values are on the screen; return them."""
    qtbot.waitUntil(
        lambda: isinstance(view.shown(), kind) and view.drawn() > 0 and condition(view.shown()),
        timeout=DEADLINE,
    )
    return view.shown()


def test_the_newest_curve_is_followed_with_its_axis_its_errors_and_its_frame(
    qtbot: Any, opened: Callable[..., ResultsView], written: Written
) -> None:
    written.done([0, 1])
    view = opened(written.path)
    shows(qtbot, view, Curves, lambda shown: shown.frame == 1)
    (line,) = view.plots.curve.lines()
    assert np.array_equal(line.x, Q) and np.array_equal(line.y, curve(1))
    assert line.sigma is not None and np.allclose(line.sigma, np.sqrt(curve(1)))
    assert view.plots.curve.getXAxis().getLabel() == "q (1/nm)"
    assert view.plots.curve.getYAxis().getLabel() == "intensity (counts)"
    assert view.caption.text().startswith("frame 1 · done")
    assert view.plots.curve.text_at(5.0) == "q 5 1/nm   intensity 2,009 ± 44.8 counts"
    assert view.results.names() == ["I", "I_errors", "spots", "total"]
    assert (view.banner.title(), view.banner.text()[:23]) == ("BEING WRITTEN", "2 of 100 frames done. T")

    written.done([2])
    shows(qtbot, view, Curves, lambda shown: shown.frame == 2)
    assert view.plots.curve.lines()[-1].y[0] == 3000.0


def test_the_last_curves_are_drawn_over_each_other_and_one_is_held(
    qtbot: Any, opened: Callable[..., ResultsView], written: Written
) -> None:
    written.done(range(8))
    view = opened(written.path)
    shows(qtbot, view, Curves)
    view.hold()
    assert view.plots.curve.lines()[0].held and view._legend.whole() == "▬ frame 7 on hold"
    view.tools.last.setValue(3)
    shows(qtbot, view, Curves, lambda shown: len(shown.curves) == 3)
    written.done([8])
    shows(qtbot, view, Curves, lambda shown: shown.frame == 8)
    assert [line.name for line in view.plots.curve.lines()] == [
        "frame 7 on hold",
        "frame 6",
        "frame 7",
        "frame 8",
    ]
    view.tools.hold.setChecked(False)
    assert not any(line.held for line in view.plots.curve.lines())
    view.tools.errors.setChecked(False)
    assert view.plots.curve.lines()[-1].sigma is None


def test_the_newest_curve_is_that_of_the_newest_frame_that_has_one(
    qtbot: Any, opened: Callable[..., ResultsView], written: Written
) -> None:
    written.done([0, 1])
    written.results.status(np.array([2, 3]), 1)  # done, and without results
    view = opened(written.path)
    assert shows(qtbot, view, Curves).frame == 1 and view.says() == ""
    view.steps.go(3)
    qtbot.waitUntil(lambda: view.says() == "Frame 3 is done, and has no I.", timeout=DEADLINE)


def test_axes_may_be_logarithmic_and_a_zoom_stays_until_home_is_pressed(
    qtbot: Any, opened: Callable[..., ResultsView], written: Written
) -> None:
    written.done([0])
    view = opened(written.path)
    shows(qtbot, view, Curves)
    plot = view.plots.curve
    view.tools.log_y.setChecked(True)
    view.tools.log_x.setChecked(True)
    assert (plot.getXAxis().getScale(), plot.getYAxis().getScale()) == ("log", "log")
    assert 0 < plot.getXAxis().getLimits()[0] <= Q[0] and plot.getYAxis().getLimits()[0] > 0
    plot.setLimits(1.0, 2.0, 900.0, 1100.0)
    written.done([1])
    shows(qtbot, view, Curves, lambda shown: shown.frame == 1)
    assert plot.getXAxis().getLimits() == (1.0, 2.0) and not plot.follows()
    plot.resetZoom()
    assert plot.follows() and plot.getYAxis().getLimits()[1] > 2000


def test_rows_of_frames_that_are_not_done_are_a_gap_and_no_zero(
    qtbot: Any, opened: Callable[..., ResultsView], written: Written
) -> None:
    written.done([0, 1, 2, 5, 6])
    written.failed(3)
    written.lost([4])
    view = opened(written.path)
    view.choose("I", Page.FRAMES)
    shown = shows(qtbot, view, Rectangle, lambda shown: len(shown.values) == 7 and not shown.loading)
    assert np.isnan(shown.values[3:5]).all() and not np.isnan(np.delete(shown.values, [3, 4], 0)).any()
    plot = view.plots.image
    qtbot.waitUntil(plot.is_current, timeout=DEADLINE)
    assert view.plots.image.flags()[:, 0].tolist() == [0, 0, 0, 1, 1, 0, 0]
    drawn = plot._picture.picture().colours
    marks = (drawn[:, 0] == qt.QColor(theme.current().ends["failed"]).getRgb()).all(-1)
    grey = (drawn[:, 100] == qt.QColor(theme.current().invalid_pixel).getRgb()).all(-1)
    assert marks.sum() == grey.sum() + 2 > 2 and not marks[:5].any() and not marks[-5:].any()
    assert plot.getYAxis().getLabel() == "frame" and plot.getXAxis().getLabel() == "q (1/nm)"
    assert plot.reading(plot.pixel_at(0.5, 3.5)) == "frame 3   q 0.5 1/nm   intensity no value"
    assert plot.reading(plot.pixel_at(49.5, 6.5)) == "frame 6   q 25 1/nm   intensity 7,049"
    assert view.caption.text().startswith("frames 0 – 6")

    written.done([7])
    shown = shows(qtbot, view, Rectangle, lambda shown: len(shown.values) == 8)
    assert shown.values[7, 0] == 8000.0
    plot.frame_chosen.emit(5)
    shows(qtbot, view, Curves, lambda shown: shown.frame == 5)
    assert view.steps.frame() == 5 and view.tools.as_curve.isChecked()


def test_numbers_and_events_are_drawn_over_frames_with_their_gaps(
    qtbot: Any, opened: Callable[..., ResultsView], written: Written
) -> None:
    written.done([0, 1, 2, 4])
    written.failed(3)
    view = opened(written.path)
    view.choose("total")
    shown = shows(qtbot, view, OverFrames, lambda shown: len(shown.values) == 5)
    assert shown.values[:3].tolist() == [0, 10, 20] and np.isnan(shown.values[3]) and shown.values[4] == 40
    frames, values = view.plots.numbers.values()
    assert frames == [0, 1, 2, 3, 4] and np.isnan(values[3])
    view.choose("spots")
    shown = shows(qtbot, view, OverFrames, lambda shown: shown.name == "spots" and len(shown.values) == 5)
    assert np.nan_to_num(shown.values, nan=-1).tolist() == [-1, 1, 2, -1, 1]
    assert not view.bar.isVisible(), "there is no single frame on show"


def test_an_accumulated_image_says_over_how_many_frames_it_is_and_has_negative_numbers(
    qtbot: Any, opened: Callable[..., ResultsView], written: Written
) -> None:
    image = np.arange(600.0).reshape(20, 30) - 100
    image[3, 4] = np.nan
    written.done(range(4))
    written.mean(image, 4)
    view = opened(written.path)
    view.choose("mean")
    shown = shows(qtbot, view, Picture)
    assert np.array_equal(shown.value, image, equal_nan=True)
    assert view.caption.text().startswith("over 4 frames")
    plot = view.plots.image
    qtbot.waitUntil(plot.is_current, timeout=DEADLINE)
    assert np.flatnonzero(plot.flags()).tolist() == [94], "only what is no number is a gap"
    assert plot.look.levels().low < 0
    assert plot.reading(plot.pixel_at(0.5, 0.5)) == "row 0   column 0   value -100"


def test_any_frame_can_be_gone_to_and_one_that_is_not_done_says_why(
    qtbot: Any, opened: Callable[..., ResultsView], written: Written
) -> None:
    written.done([0, 1, 3, 4, 5])
    written.failed(2)
    view = opened(written.path)
    shows(qtbot, view, Curves, lambda shown: shown.frame == 5)
    assert [fate for _, _, fate in view.bar.slider.marks()] == ["failed"]
    view.bar.slider.setValue(1)
    shows(qtbot, view, Curves, lambda shown: shown.frame == 1)
    assert view.caption.text().endswith("not the newest frame")
    view.bar.moved.emit(1)
    shows(qtbot, view, Curves, lambda shown: shown.frame == 2)
    qtbot.waitUntil(lambda: "no beam" in view.says(), timeout=DEADLINE)
    assert view.says() == "Frame 2 has no I: it failed: ValueError: no beam (mine.py, line 3)"
    view.bar.moved.emit(1)
    shows(qtbot, view, Curves, lambda shown: shown.frame == 3)
    assert view.says() == ""
    view.steps.go(0)
    view.bar.jumped.emit(1)
    assert view.steps.frame() == 2
    view.bar.live.click()
    written.done([6])
    shows(qtbot, view, Curves, lambda shown: shown.frame == 6)


def test_of_another_series_the_newest_frame_is_followed_and_until_then_the_last_curve_is_old(
    qtbot: Any, opened: Callable[..., ResultsView], written: Written
) -> None:
    written.done([0, 1, 2])
    view = opened(written.path)
    shows(qtbot, view, Curves, lambda shown: shown.frame == 2)
    view.steps.go(1)
    shows(qtbot, view, Curves, lambda shown: shown.frame == 1)
    written.results.close()
    other = Written(written.path, series="s2")
    other.results.status(np.array([0]), DONE)  # it is done, and has no curve yet
    qtbot.waitUntil(lambda: view.caption.text().endswith("▲ OLD · last series"), timeout=DEADLINE)
    assert view.plots.curve.lines()[-1].y[0] == 2000.0
    other.done([0, 1, 2, 3])
    shows(qtbot, view, Curves, lambda shown: (shown.series, shown.frame) == ("s2", 3))
    assert view.steps.frame() is None and view.caption.text() == "frame 3 · done · series s2"
    other.results.close()


def test_a_pause_holds_what_is_on_show_and_the_counts_go_on(
    qtbot: Any, opened: Callable[..., ResultsView], written: Written
) -> None:
    written.done([0])
    view = opened(written.path)
    shows(qtbot, view, Curves)
    view.tools.pause.setChecked(True)
    written.done([1])
    qtbot.waitUntil(lambda: view.banner.text().startswith("2 of 100"), timeout=DEADLINE)
    assert view.shown().frame == 0
    view.tools.pause.setChecked(False)
    shows(qtbot, view, Curves, lambda shown: shown.frame == 1)


def test_a_file_without_results_and_one_that_is_gone_say_so(
    qtbot: Any, opened: Callable[..., ResultsView], written: Written, tmp_path: Path
) -> None:
    view = opened(written.path)
    qtbot.waitUntil(lambda: view.says().startswith("No results of series s1 yet"), timeout=DEADLINE)
    written.done([0])
    shows(qtbot, view, Curves)
    written.path.rename(tmp_path / "y.h5")
    qtbot.waitUntil(lambda: view.banner.title() == "NOT READ", timeout=DEADLINE)
    assert "does not exist" in view.banner.text() and isinstance(view.shown(), Curves)
    (tmp_path / "y.h5").rename(written.path)
    qtbot.waitUntil(lambda: view.banner.title() == "BEING WRITTEN", timeout=DEADLINE)


def test_what_is_on_show_is_saved_as_table_numbers_and_picture(
    qtbot: Any, opened: Callable[..., ResultsView], written: Written, tmp_path: Path
) -> None:
    written.done([0, 1])
    view = opened(written.path)
    shows(qtbot, view, Curves, lambda shown: shown.frame == 1)
    for name in ("a.csv", "a.npy", "a.png"):
        with qtbot.waitSignal(view.save.said, timeout=DEADLINE) as said:
            view.save.save(str(tmp_path / name))
        assert said.args == [f"Saved {tmp_path / name}.", False]
    table = np.loadtxt(tmp_path / "a.csv", delimiter=",", skiprows=1)
    assert (tmp_path / "a.csv").read_text().splitlines()[0] == "q,I frame 1,I frame 1 sigma"
    assert np.array_equal(table, np.stack([Q, curve(1), np.sqrt(curve(1))], 1))
    assert np.array_equal(np.load(tmp_path / "a.npy"), curve(1))
    assert not qt.QImage(str(tmp_path / "a.png")).isNull()
    with qtbot.waitSignal(view.save.said, timeout=DEADLINE) as said:
        view.save.save(str(tmp_path / "no" / "a.npy"))
    assert said.args[1] and "No such file" in said.args[0]


def test_a_pipeline_is_told_from_a_receiver_by_its_answer_and_shown_in_a_tab(
    qtbot: Any, pipeline: PipelineProcess, receiver: StandIn, written: Written
) -> None:
    written.done([0])
    names = [pipeline.client.url, receiver.url, str(written.path)]
    sources = sources_of(names)
    assert [type(each) for each in sources] == [PipelineSource, ReceiverSource, ResultFileSource]
    window = open_window(Options(sources=sources))
    qtbot.addWidget(window)
    window.show()
    view, other, file = window.views()
    assert isinstance(view, ResultsView) and isinstance(other, LiveView) and isinstance(file, ResultsView)
    shown = shows(qtbot, view, Curves)
    assert shown.frame == FRAMES - 1 and shown.curves[-1].y[0] == FRAMES - 1
    assert f"{FRAMES - 1} of {FRAMES} frames done · 1 failed" in view.banner.text()
    view.steps.go(FAILED)
    qtbot.waitUntil(lambda: view.says() == f"Frame {FAILED} has no curve: it failed.", timeout=DEADLINE)
    view.choose("mean")
    assert shows(qtbot, view, Picture).n == FRAMES - 1
    assert window.tabs.tabText(0) == "spots – idle"
    window.toggle_tiles()
    assert not view.results.isVisible() and view.banner.isVisible()
    window.toggle_wall()
    assert not view.banner.isVisible() and view.plate.text().startswith("spots · ")
    window.close()


def test_a_pipeline_that_was_not_there_at_first_takes_the_place_of_the_receiver_that_was_waited_for(
    qtbot: Any, pipeline: PipelineProcess, receiver: StandIn
) -> None:
    window = open_window(
        Options(sources=(ReceiverSource.at(receiver.url), ReceiverSource.at(pipeline.client.url)))
    )
    qtbot.addWidget(window)
    window.show()
    window.tabs.setCurrentIndex(1)
    qtbot.waitUntil(lambda: isinstance(window.views()[1], ResultsView), timeout=DEADLINE)
    assert window.current() is window.views()[1]
    shows(qtbot, window.current(), Curves)
    assert window.tabs.count() == 2 and window.tabs.tabText(1) == "spots – idle"
    window.close()


def test_only_rows_that_are_new_are_asked_for(qtbot: Any, written: Written) -> None:
    asked: list[tuple[int, int]] = []

    class Counting(ResultFileSource):
        def rows(self, name: str, first: int, end: int, step: int = 1, *, values: bool = True) -> Any:
            asked.append((first, end))
            return super().rows(name, first, end, step, values=values)

    written.done(range(10))
    view = ResultsView(ResultsFeed(Counting(written.path), rate=50.0))
    qtbot.addWidget(view)
    view.tools.errors.setChecked(False)
    view.choose("I", Page.FRAMES)
    view.show()
    shows(qtbot, view, Rectangle, lambda shown: len(shown.values) == 10)
    written.done([10, 11])
    shows(qtbot, view, Rectangle, lambda shown: len(shown.values) == 12 and not np.isnan(shown.values).any())
    frames = [frame for first, end in asked for frame in range(first, end)]
    assert sorted(frames) == list(range(12)), asked
    view.close()


def test_points_without_an_axis_are_counted(qtbot: Any, pipeline: PipelineProcess, opened: Any) -> None:
    view = opened(pipeline.client.url)
    shows(qtbot, view, Curves)
    assert view.plots.curve.getXAxis().getLabel() == "point"
    assert view.plots.curve.lines()[-1].x[:3].tolist() == [0, 1, 2] and POINTS != 512


def test_a_picture_of_a_result_file_is_taken_or_it_is_said_why_not(
    qtbot: Any, written: Written, tmp_path: Path
) -> None:
    written.done(range(6))
    written.finish(done=6)
    (source,) = sources_of([str(written.path)])

    def taken(name: str, **options: Any) -> str | None:
        return run(Options(sources=(source,), screenshot=tmp_path / name, deadline=60.0, **options))

    assert taken("curve.png") is None and taken("rows.png", all_frames=True) is None
    assert taken("frame.png", frame=2) is None
    pictures = [qt.QImage(str(tmp_path / name)) for name in ("curve.png", "rows.png", "frame.png")]
    assert not any(picture.isNull() for picture in pictures)
    assert pictures[0] != pictures[1] and pictures[0] != pictures[2]
    assert taken("no.png", result="nothing") == (
        f"no picture: {written.path} has no result nothing; it has I, I_errors, spots, total"
    )
