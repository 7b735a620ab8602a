"""Frames that are not in the file, as ranges."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.gui.live.sources import ranges
from penstock.receiver.models import FrameStatus

GAPS = ((2, 3, "missing"), (7, 7, "partial"), (8, 8, "corrupt"))


def test_statuses_become_ranges_and_what_is_pending_is_none() -> None:
    statuses = np.array([1, 1, 0, 0, 1, 1, 1, 6, 4, 255, 1, 2], np.uint8)
    assert ranges.of_statuses(statuses) == GAPS
    assert ranges.of_statuses(np.zeros(0, np.uint8)) == ()
    assert ranges.of_statuses(np.full(5, FrameStatus.NOT_TRIGGERED, np.uint8)) == ((0, 4, "not_triggered"),)


def test_frames_that_are_met_one_by_one_grow_together() -> None:
    found: tuple = ()
    for index in (5, 3, 4, 4, 9):
        found = ranges.with_one(found, index, "missing")
    assert found == ((3, 5, "missing"), (9, 9, "missing"))
    assert ranges.with_one(found, 6, "corrupt") == ((3, 5, "missing"), (6, 6, "corrupt"), (9, 9, "missing"))
    assert ranges.number(found) == 4


@pytest.mark.parametrize(("index", "shown"), [(0, 0), (2, 4), (3, 4), (7, 7), (8, 9), (20, 20)])
def test_play_goes_on_with_the_next_frame_that_has_pixels(index: int, shown: int) -> None:
    assert ranges.next_shown(GAPS, index) == shown


def test_gaps_are_found_from_anywhere() -> None:
    assert [ranges.next_gap(GAPS, index) for index in (0, 2, 7, 8)] == [2, 7, 8, None]
    assert [ranges.gap_before(GAPS, index) for index in (2, 3, 9)] == [None, 2, 8]
    assert [ranges.fate_at(GAPS, index) for index in (1, 2, 3, 4, 8)] == [
        None, "missing", "missing", None, "corrupt",
    ]  # fmt: skip
