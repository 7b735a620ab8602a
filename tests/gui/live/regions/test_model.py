"""Regions without a window: what is listed, what a change makes of them, which values a curve has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.gui.live.regions import history, model
from penstock.gui.live.regions.history import History
from penstock.receiver.models import Rectangle, Roi, RoiSeries, RoiValues

PEAK, EDGE = Rectangle(x=10, y=20, width=30, height=40), Rectangle(x=0, y=0, width=4, height=1)
BOTH = {"peak": PEAK, "edge": EDGE}
SEEN = Roi(name="peak", x=10, y=20, width=30, height=40, frame=7, sum=1200.0, mean=1.0, max=9.0, saturated=3)


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ((9.6, 20.4), (40.2, 59.8), (10, 20, 30, 40)),
        ((40.2, 59.8), (9.6, 20.4), (10, 20, 30, 40)),
        ((5.1, 5.1), (5.2, 5.2), (5, 5, 1, 1)),
        ((-20.0, -3.0), (10.0, 10.0), (0, 0, 10, 10)),
        ((90.0, 50.0), (130.0, 90.0), (90, 50, 10, 30)),
        ((200.0, 200.0), (300.0, 300.0), (99, 79, 1, 1)),
    ],
)
def test_a_drawn_rectangle_is_whole_pixels_of_the_frame(
    first: tuple[float, float], second: tuple[float, float], found: tuple[int, int, int, int]
) -> None:
    x, y, width, height = found
    assert model.rectangle(first, second, (100, 80)) == Rectangle(x=x, y=y, width=width, height=height)


def test_before_the_next_regions_are_known_those_of_the_series_are_listed() -> None:
    (row,) = model.rows([SEEN], None)
    assert (row.name, row.place, row.sum, row.mean, row.max, row.pending) == ("peak", PEAK, 1200, 1, 9, False)
    assert [model.marked(replace(row, saturated=count)) for count in (row.saturated, 0, None)] == [
        "▲ 3", "0", "–",
    ]  # fmt: skip


def test_what_differs_from_the_series_counts_from_the_next_one_on() -> None:
    listed = model.rows([SEEN], BOTH)
    assert [(row.name, row.pending, row.sum) for row in listed] == [
        ("peak", False, 1200),
        ("edge", True, None),
    ]
    assert model.footer(listed, kept=True) == "edge counts from the next series on."
    moved = model.rows([SEEN], {"peak": EDGE, "edge": EDGE})
    assert model.footer(moved, kept=True) == "peak and edge count from the next series on."
    assert "Kept" in model.footer(model.rows([SEEN], {"peak": PEAK}), kept=True)
    assert "Keep makes it remember" in model.footer(model.rows([SEEN], {"peak": PEAK}), kept=False)
    assert model.footer([], kept=False) == model.HOW_TO_BEGIN


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (38981897.0, "38,981,897"),
        (5414.15236, "5,414.15"),
        (1e20, "1e+20"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_numbers(value: float | None, text: str) -> None:
    assert model.number(value) == text


def test_changes_leave_the_rest_and_its_order() -> None:
    assert model.put("peak", EDGE)(BOTH) == {"peak": EDGE, "edge": EDGE}
    assert list(model.renamed("peak", "bragg")(BOTH)) == ["bragg", "edge"]
    assert model.without("peak")(BOTH) == {"edge": EDGE}
    assert model.without("gone")(BOTH) == BOTH
    assert model.edited("peak", "width", " 12 ")(BOTH)["peak"].width == 12
    assert model.free_name({"region_1": PEAK, "region_3": PEAK}) == "region_2"
    assert model.free_name({"region_2": PEAK, "peak": PEAK}) == "region_1"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (model.renamed("peak", "edge"), "edge is the name of another region already"),
        (model.renamed("gone", "new"), "gone no longer exists"),
        (model.edited("peak", "x", "ten"), "x of peak: 'ten' is not a whole number of pixels"),
    ],
)
def test_what_is_not_possible_is_a_sentence(change: model.Change, sentence: str) -> None:
    with pytest.raises(model.RegionError, match=sentence):
        change(BOTH)


def answer(first: int, values: list[float | None], *, ended: bool = False) -> RoiValues:
    known = {"peak": RoiSeries(sum=values, mean=values, max=values)}
    return RoiValues(series="s", first=first, upto=first + len(values), ended=ended, values=known)


def test_a_curve_grows_by_index_with_gaps_for_missing_frames() -> None:
    kept = History("s", None)
    assert kept.take(answer(0, [0.0, None, 2.0]))
    assert not kept.take(answer(0, [0.0, None, 2.0])), "an answer that came twice"
    assert kept.take(answer(3, [3.0]))
    frames, values = kept.curve("peak", "sum")
    assert frames.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(values, [0, np.nan, 2, 3])
    assert np.isnan(kept.curve("peak", "saturated")[1]).tolist() == [True] * 4, (
        "an older receiver counts none"
    )
    assert len(kept.curve("gone", "sum")[0]) == 0
    assert not kept.take(answer(4, [], ended=True))
    assert kept.ended


def test_a_curve_has_the_newest_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "FRAMES", 4)
    kept = History("s", latest=9)
    assert kept.next == 6
    kept.take(answer(6, [6.0, 7.0, 8.0]))
    kept.take(answer(9, [9.0, 10.0]))
    frames, values = kept.curve("peak", "max")
    assert frames.tolist() == values.tolist() == [7, 8, 9, 10]
