"""What the window holds of a series, and what it says: without a window."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("silx.gui.plot", reason="the viewer needs the extra gui")

from penstock.gui.live.drawing.blocks import Reduction, Span
from penstock.gui.live.drawing.levels import Levels, Scale
from penstock.gui.live.drawing.picture import Port, Style, draw
from penstock.gui.live.plot.axes import Places, Ticks
from penstock.gui.live.results.pages.curve_plot import _is_out, _range
from penstock.gui.live.results.pages.image_plot import _Computed
from penstock.gui.live.results.pages.pages import is_scattered, thinned
from penstock.gui.live.results.sentences import account, describe, message, why_nothing
from penstock.gui.live.results.sources.file_source import ResultFileSource
from penstock.gui.live.results.sources.held import (
    Account,
    Grid,
    One,
    Ones,
    gaps,
    newest_done,
    rows_with_gaps,
    runs,
    state_of,
)
from penstock.gui.live.results.sources.questions import Questions
from penstock.gui.live.results.sources.snapshot import OverFrames, Page, Snapshot, Wish, pages
from penstock.gui.live.results.steps import Progress
from penstock.processing.client import Rows
from penstock.processing.models import Counts, Result, Series, Status
from penstock.processing.results.rows import Beyond
from penstock.receiver.client import LastFrame
from penstock.receiver.validity.pixels import Flag
from tests.gui.live.result_files import Written

DONE, FAILED, LOST, PENDING = 1, 2, 3, 255


def codes(*states: int) -> np.ndarray:
    return np.array(states, np.uint8)


def rows_of(first: int, step: int, states: np.ndarray, values: np.ndarray) -> Rows:
    return Rows("s1", first, step, states, states == DONE, values)


def test_only_what_may_still_change_is_asked_for_again() -> None:
    known = Account()
    assert known.open(all_of_them=True) == (0, None)
    assert known.take(0, codes(DONE, PENDING, DONE, FAILED))
    assert not known.take(2, codes(DONE, FAILED)), "nothing is new"
    assert known.open(all_of_them=True) == (1, None)
    before = known.codes
    assert known.take(1, codes(LOST))
    assert (before[1], known.codes[1]) == (PENDING, LOST), "who holds the old one sees no change"
    assert known.open(all_of_them=True) == (4, None)


def test_the_states_of_frames_that_are_done_now_are_asked_for_also_if_many_more_are_planned() -> None:
    known = Account()
    planned = np.full(1_000_000, PENDING, np.uint8)
    planned[:3000] = DONE
    planned[5] = PENDING
    known.take(0, planned)
    assert known.open(all_of_them=True) == (5, None)
    assert known.open(all_of_them=False) == (3000 - 512, 3000 + 16384)
    assert known.take(2990, np.full(20, DONE, np.uint8)) and len(known.codes) == 1_000_000
    assert known.open(all_of_them=False)[0] == 3010 - 512


def test_gaps_are_ranges_of_one_state_and_what_is_pending_is_none() -> None:
    known = codes(FAILED, DONE, LOST, LOST, FAILED, PENDING, DONE, FAILED)
    assert gaps(known) == ((0, 0, "failed"), (2, 3, "lost"), (4, 4, "failed"), (7, 7, "failed"))
    assert gaps(codes()) == () and gaps(codes(DONE, PENDING)) == ()
    assert (newest_done(known), newest_done(codes(FAILED))) == (6, None)
    assert [state_of(known, frame) for frame in (0, 5, 6, 99)] == ["failed", "pending", "done", "pending"]


@pytest.mark.parametrize(
    ("known", "frames", "beyond", "found"),
    [
        (codes(DONE, 5, DONE), 2**48, 5, ((1, 1, "absent"), (3, 2**48 - 1, "absent"))),
        (codes(DONE, 5, 5), 2**48, 5, ((1, 2**48 - 1, "absent"),)),
        (codes(DONE, LOST), 10, 5, ((1, 1, "lost"), (2, 9, "absent"))),
        (codes(), 10, 4, ((0, 9, "dropped"),)),
        (codes(DONE, LOST), 10, PENDING, ((1, 1, "lost"),)),
        (codes(DONE, LOST), 2, 5, ((1, 1, "lost"),)),
    ],
)
def test_frames_that_never_came_are_one_range(
    known: np.ndarray, frames: int, beyond: int, found: tuple[tuple[int, int, str], ...]
) -> None:
    assert gaps(known, frames, beyond) == found
    assert state_of(known, 2**40, beyond) == {5: "absent", 4: "dropped", PENDING: "pending"}[beyond]


def test_of_very_many_planned_frames_the_window_holds_those_that_came(tmp_path: Path) -> None:
    written = Written(tmp_path / "x.azim.h5", planned=2**48)
    written.done([0, 1, 3])
    questions = Questions(ResultFileSource(written.path))

    def seen() -> Snapshot:
        return questions.ask(Wish(name="total", page=Page.OVER_FRAMES), Snapshot(), values=lambda: True)

    running = seen()
    assert (running.codes.tolist(), running.beyond) == ([1, 1, PENDING, 1], PENDING)
    counts = {"planned": 2**48, "done": 3, "absent": 2**48 - 3}
    written.results.status(np.array([2]), 5)
    written.results.finish(counts, "incomplete", "stopped", beyond=Beyond(4, 2**48, 5))
    over = seen()
    assert over.status is not None and over.status.series is not None
    assert (over.codes.tolist(), over.beyond) == ([1, 1, 5, 1], 5)
    assert account(over.status.series.counts) == (
        "3 of 281,474,976,710,656 frames done · 281,474,976,710,653 absent"
    )
    assert why_nothing(2**40, "total", over) == "Frame 1,099,511,627,776 has no total: it is absent."
    assert isinstance(over.shown, OverFrames)
    assert over.shown.values[[0, 1, 3]].tolist() == [0, 10, 30] and np.isnan(over.shown.values[2])


def test_rows_of_several_frames_are_marked_if_one_of_them_is_lost() -> None:
    known = codes(DONE, FAILED, DONE, DONE, PENDING, DONE, LOST)
    assert rows_with_gaps(known, 4, 2).tolist() == [True, False, False, True]
    assert rows_with_gaps(known, 5, 1).tolist() == [False, True, False, False, False]
    assert rows_with_gaps(known[:1], 3, 4).tolist() == [False] * 3


def test_numbers_become_ranges_that_are_joined_where_they_are_near() -> None:
    assert runs(np.array([3, 4, 5, 8, 20, 21]), 100) == [(3, 9), (20, 22)]
    assert runs(np.arange(10), 4) == [(0, 4), (4, 8), (8, 10)]
    assert runs(np.array([], int), 4) == []


def test_a_row_of_a_frame_that_is_not_done_is_no_number() -> None:
    grid, states = Grid(2), codes(DONE, FAILED, DONE, PENDING, DONE)
    grid.reach(5)
    assert grid.missing(states) == [(0, 5)]
    grid.take(rows_of(0, 1, states, np.ones((5, 2))), np.zeros((5, 2)) + np.arange(5)[:, np.newaxis])
    assert np.isnan(grid.values()[:, 0]).tolist() == [False, True, False, True, False]
    assert grid.values()[4].tolist() == [4, 4]
    states[3] = DONE
    assert grid.missing(states) == [(3, 4)], "only what is new"


def test_too_many_frames_become_every_second_one_and_what_is_drawn_stays_as_it_is() -> None:
    grid = Grid(1, np.float64, most=100)
    numbers = np.arange(250.0)[:, np.newaxis]
    grid.reach(100)
    grid.take(rows_of(0, 1, np.full(100, DONE, np.uint8), numbers), numbers[:100])
    drawn = grid.values()
    grid.reach(250)
    assert (grid.step, grid.rows) == (4, 63)
    assert drawn[:, 0].tolist() == list(range(100))
    assert grid.values()[:25, 0].tolist() == list(range(0, 100, 4)) and np.isnan(grid.values()[25:]).all()
    states = np.full(250, DONE, np.uint8)
    assert grid.missing(states) == [(100, 249)]
    picked = numbers[100:249:4]
    grid.take(rows_of(100, 4, states[100:249:4], picked), picked)
    assert grid.values()[:, 0].tolist() == list(range(0, 250, 4))
    grid.take(rows_of(0, 2, states[::2], numbers[::2]), numbers[::2])  # asked for before the step was another
    assert grid.values()[1, 0] == 4


@pytest.mark.parametrize("frames", [0, 1, 64, 65, 4096, 4097, 100_000])
def test_the_image_of_all_frames_is_bounded(frames: int) -> None:
    grid = Grid(1000)
    grid.reach(frames)
    assert grid.rows <= 4096 and grid.values().nbytes <= 2**26
    assert grid.rows * grid.step >= frames > (grid.rows - 1) * grid.step or frames == 0


def test_curves_that_were_shown_are_kept_within_bounds() -> None:
    ones = Ones()
    ones.put(3, None)
    for frame in range(10, 20):
        ones.put(frame, One(frame, np.zeros(1 << 19)))  # 4 MB
    kept = [frame for frame in range(10, 20) if ones.get(frame) is not None]
    assert kept == list(range(13, 20))
    assert ones.missing([3, 12, 19]) == [(3, 4), (12, 13)]


def test_many_numbers_are_thinned_to_extremes_and_a_gap_stays_a_gap() -> None:
    frames, values = np.arange(100_000), np.zeros(100_000)
    values[12_345], values[67_890], values[50_000] = 9.0, -9.0, np.nan
    kept, few = thinned(frames, values)
    assert len(few) <= 4100 and (np.nanmax(few), np.nanmin(few)) == (9.0, -9.0)
    assert kept[np.nanargmax(few)] == 12_345, "it is where it was"
    assert np.isnan(few).sum() == 1 and abs(kept[np.isnan(few)][0] - 50_000) < 100
    assert thinned(frames[:4000], values[:4000])[1] is not None
    assert len(thinned(frames[:4000], values[:4000])[0]) == 4000
    assert np.isnan(thinned(frames, np.full(100_000, np.nan))[1]).all()


def test_a_gap_is_seen_also_where_several_rows_share_a_pixel_of_the_screen() -> None:
    values = np.ones((100, 4), np.float32)
    values[[10, 11, 12, 50]] = np.nan
    whole = _Computed(LastFrame(values, 0, "s1", 1, 1), 1, np.isnan(values[:, 0]))
    rows = Span(0, 100, 0, 50, 0.0, 2.0)  # two frames in each pixel
    style = Style(
        table=np.zeros((256, 4), np.uint8), scale=Scale.LIN, levels=Levels(0.0, 2.0), percentiles=None,
        reduction=Reduction.GREATEST, marks={Flag.INVALID: (9, 9, 9, 255)}, row_mark=(7, 7, 7, 255),
    )  # fmt: skip
    drawn = draw(whole, Port(rows, Span(0, 4, 0, 40, 0.0, 0.1)), style, (50, 40)).colours
    assert np.flatnonzero((drawn[:, -1] == 9).any(-1)).tolist() == [5], "of 12 and 50 the neighbour is seen"
    assert np.flatnonzero((drawn[:, 0] == 7).any(-1)).tolist() == [4, 5, 6, 7, 24, 25, 26], "but marked"


def test_numbers_that_stand_alone_are_dots() -> None:
    values = np.full(1000, np.nan)
    assert not is_scattered(values) and not is_scattered(np.zeros(0))
    values[::10] = 1.0
    assert is_scattered(values)
    values[:500] = 1.0
    assert not is_scattered(values)


def test_an_axis_has_round_numbers_where_they_are() -> None:
    places = Places.of(np.linspace(0.5, 25.0, 50), 50)
    assert places is not None and places.value(0.5) == 0.5 and places.value(49.5) == 25.0
    assert places.place(places.value(17.2)) == pytest.approx(17.2)
    ticks = Ticks(places)
    assert [round(places.value(at), 6) for at in ticks.tick_values(0, 50)] == [0, 5, 10, 15, 20, 25, 30]
    falling = Places.of(np.array([4.0, 2.0, 1.0]), 3)
    assert falling is not None and falling.place(1.5) == 2.0 and falling.value(0.0) == 5.0
    assert Places.of(np.array([1.0, 3.0, 2.0]), 3) is None and Places.of(np.arange(4.0), 3) is None
    assert Places.of(None, 3) is None


def test_axes_stay_until_curves_leave_them_or_need_much_less() -> None:
    assert _range([np.array([0.0, 10.0, np.nan])], False, 0.05) == (-0.5, 10.5)
    assert not _is_out((-0.5, 10.5), (-0.4, 10.2), False)
    assert _is_out((-0.5, 10.5), (-0.5, 12.0), False) and _is_out((0.0, 100.0), (0.0, 10.0), False)
    low, high = _range([np.array([-5.0, 0.0, 1.0, 100.0])], True, 0.05) or (0, 0)
    assert 0 < low < 1 and 100 < high < 200
    assert _is_out((0.0, 10.0), (1.0, 10.0), True)


def test_frames_per_second_are_those_of_the_last_seconds() -> None:
    progress = Progress()
    assert progress.rate(0.0) == 0
    for second in range(10):
        progress.note(float(second), 100 * second)
    assert progress.rate(9.0) == pytest.approx(100, rel=0.01)
    progress.note(10.0, 0)  # another series
    assert progress.rate(10.0) == 0


def result(kind: str, *shape: int, **keys: str) -> Result:
    return Result(name="x", kind=kind, dtype="float64", shape=list(shape), **keys)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("known", "ways", "words"),
    [
        (result("value"), (Page.OVER_FRAMES,), "number"),
        (result("value", 1000), (Page.CURVE, Page.FRAMES), "curve of 1,000"),
        (result("value", 20, 30), (Page.PICTURE,), "image of 20 × 30"),
        (result("value", 2, 20, 30), (), "2 × 20 × 30"),
        (result("events", 2), (Page.OVER_FRAMES,), "events"),
        (result("accumulated", 20, 30), (Page.PICTURE,), "accumulated image"),
        (result("accumulated", 20), (Page.CURVE,), "accumulated curve"),
        (result("whole"), (Page.NUMBER,), "number of the series"),
        (result("axis", 20), (), "curve of the series"),
    ],
)
def test_each_kind_of_result_has_its_ways_to_be_shown(
    known: Result, ways: tuple[Page, ...], words: str
) -> None:
    assert (pages(known), describe(known)) == (ways, words)


def status(**changes: object) -> Status:
    counts = Counts(frames=100, done=90, failed=2, lost=1, pending=7)
    known = Series(
        id="s1", active=True, planned=100, file="/data/x.h5", counts=counts, result_file="/d/x.a.h5"
    )
    return Status(**{"state": "running", "series": known, "pipeline": "a", **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("known", "title", "words"),
    [
        (status(), "RUNNING", "90 of 100 frames done · 2 failed · 1 lost · 12.5 frames/s · x.a.h5"),
        (status(waits_for="waits for a worker"), "WAITING", "Waits for a worker."),
        (status(state="error", error="100 frames have failed"), "ERROR", "100 frames have failed."),
        (status(state="idle"), "IDLE", "Ready for the next series. Last: x.h5, 90 of 100 frames done"),
        (status(state="idle", series=None), "IDLE", "Ready for the first series."),
        (status(state="idle", series=None, waits_for="no receiver"), "WAITING", "No receiver."),
        (None, "CONNECTING", "Asking http://x."),
    ],
)  # fmt: skip
def test_the_banner_says_state_counts_rate_and_what_is_waited_for(
    known: Status | None, title: str, words: str
) -> None:
    said = message(Snapshot(url="http://x", status=known), 12.5)
    assert said.title == title and words in said.text


def test_states_without_frames_are_left_out() -> None:
    counts = Counts(frames=1, done=1)
    assert account(counts) == "1 of 1 frame done"
    every = Counts(frames=10, failed=1, lost=2, dropped=3, absent=4)
    assert account(every) == "0 of 10 frames done · 1 failed · 2 lost · 3 dropped · 4 absent"


def test_every_file_says_something_when_it_is_over_and_when_it_is_not() -> None:
    said = []
    for state, active, failed in (("running", True, 0), ("idle", False, 0), ("idle", False, 2)):
        counts = Counts(frames=9, done=9 - failed, failed=failed)
        known = status(state=state, series=Series(id="s1", active=active, counts=counts, result_file="x"))
        said.append(message(Snapshot(url="/d/x.a.h5", is_file=True, status=known)))
    assert [each.title for each in said] == ["BEING WRITTEN", "FILE", "FILE"]
    assert [each.kind for each in said] == ["running", "idle", "notice"]
    assert all(one.text != other.text for one, other in itertools.combinations(said, 2))
