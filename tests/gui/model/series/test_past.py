"""Past series in words, searched and sorted."""

from __future__ import annotations

import time
from typing import Any

import pytest

from penstock.gui.model.series.outcome import Outcome
from penstock.gui.model.series.past import COLUMNS, DAY, FRAMES, VERDICT, PastRow, filtered
from penstock.receiver.models import Counts, PastSeries, Series

NOW = time.mktime((2026, 3, 5, 15, 0, 0, 0, 0, -1))
DAY_LONG = 86_400.0


def row(
    id: str, ago: float = 60.0, file: str | None = "/data/a.h5", complete: bool = True, reason: str = "",
    taken: bool = True, lost: list[Any] | None = None, **counts: Any,
) -> PastRow:  # fmt: skip
    series = Series(
        id=id, filename=file, active=False, complete=complete, reason=reason, taken=taken,
        started=NOW - ago, ended=NOW - ago + 4, lost=lost or [],
    )  # fmt: skip
    return PastRow(PastSeries(series=series, counts=Counts(**counts)), NOW)


COMPLETE = row("a", 3600, planned=5, stored=5)
LOSSES = row("b", DAY_LONG, "/data/raw/scan_7.h5", False, "10 of 14 frames: 4 missing", planned=14, stored=10,
             missing=4, lost=[(2, 4, "missing"), (7, 7, "missing")])  # fmt: skip
REFUSED = row("c", 3 * DAY_LONG, None, False, "not taken: the disk is full", taken=False, planned=100)
LIVE = row("d", 60, None, False, "stop requested", planned=1_000_000, delivered=50, not_triggered=999_950)
ALL = [COMPLETE, LOSSES, REFUSED, LIVE]


@pytest.mark.parametrize(
    ("row", "outcome"),
    [(COMPLETE, Outcome.COMPLETE), (LOSSES, Outcome.INCOMPLETE), (REFUSED, Outcome.NOT_TAKEN),
     (LIVE, Outcome.ENDED)],
)  # fmt: skip
def test_each_has_its_verdict(row: PastRow, outcome: Outcome) -> None:
    assert row.outcome is outcome


def test_cells_are_as_one_says_them() -> None:
    assert [column.text(LOSSES) for column in COLUMNS] == [
        "yesterday", "15:00:00", "4 s", "10 of 14", "▲ Incomplete", "scan_7.h5", "/data/raw",
    ]  # fmt: skip
    assert [column.text(REFUSED) for column in COLUMNS] == [
        "Mon 2 Mar", "15:00:00", "4 s", "0 of 100", "✕ Not taken", "no file", "",
    ]  # fmt: skip


def test_details_say_why_and_which_frames() -> None:
    details = dict(LOSSES.details())
    assert details["Verdict"] == "▲ Incomplete: 10 of 14 frames: 4 missing"
    assert details["Lost frames"] == "missing 2–4, 7 (counted from 0)"
    assert details["Frames"] == "10 of 14: stored 10, missing 4"
    assert (details["Series"], "Lost frames" in dict(COMPLETE.details())) == ("b", False)
    assert dict(REFUSED.details())["Verdict"] == "✕ Not taken: the disk is full"


def test_every_range_of_lost_frames_is_named() -> None:
    many = row("e", complete=False, lost=[(2 * n, 2 * n, "corrupt") for n in range(100)], planned=200)
    assert dict(many.details())["Lost frames"].startswith("corrupt 0, 2, 4") and " 198 " in many.lost + " "


@pytest.mark.parametrize(
    ("words", "ids"),
    [("yesterday", "b"), ("2026-03-02", "c"), ("SCAN incomplete", "b"), ("disk full", "c"), ("", "dabc"),
     ("yesterday complete /nowhere", "")],
)  # fmt: skip
def test_words_find_series(words: str, ids: str) -> None:
    assert "".join(row.past.series.id for row in filtered(ALL, words, DAY, falling=True)) == ids


def test_numbers_sort_as_numbers_and_faults_before_the_rest() -> None:
    def order(column: int, falling: bool) -> str:
        return "".join(row.past.series.id for row in filtered(ALL, "", column, falling=falling))

    assert order(FRAMES, True) == "dbac"
    assert order(VERDICT, False) == "cbda"
