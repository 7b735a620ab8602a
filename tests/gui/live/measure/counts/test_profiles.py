"""Profiles along a line and of rows and columns, and the tab that draws them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.gui.live.measure.counts.counts import Counted, Kind, along, projected
from penstock.gui.live.measure.counts.profile_tab import BLOCKS, NO_LINE
from penstock.gui.live.view import Viewer
from penstock.receiver.models import Rectangle
from tests.gui.live.stand_in import StandIn

IMAGE = np.arange(4800, dtype=np.int32).reshape(60, 80)
PLACE = Rectangle(x=20, y=10, width=30, height=20)
PART = IMAGE[10:30, 20:50]
DEADLINE = 10_000


def test_a_line_has_the_pixels_under_it() -> None:
    across = along(Counted(IMAGE), (10.0, 5.5), (20.0, 5.5))
    assert across.x.tolist() == [each + 0.5 for each in range(10)]
    assert across.y.tolist() == IMAGE[5, 10:20].tolist()
    diagonal = along(Counted(IMAGE), (0.0, 0.0), (10.0, 10.0))
    assert set(diagonal.y) == set(np.diag(IMAGE)[:10].astype(float))
    backwards = along(Counted(IMAGE), (20.0, 5.5), (10.0, 5.5))
    assert backwards.y.tolist() == IMAGE[5, 10:20][::-1].tolist()


def test_of_a_line_what_does_not_count_or_is_beside_the_frame_is_a_gap() -> None:
    mask = np.zeros(IMAGE.shape)
    mask[5, 12] = 1
    found = along(Counted(IMAGE, mask=mask), (-3.0, 5.5), (15.0, 5.5))
    missing = np.flatnonzero(np.isnan(found.y)).tolist()
    assert missing == [0, 1, 2, 15]
    assert np.isnan(along(Counted(IMAGE), (-9.0, -9.0), (-2.0, -2.0)).y).all()
    assert along(Counted(IMAGE), (3.2, 4.2), (3.2, 4.2)).y.tolist() == [IMAGE[4, 3]]


def test_rows_and_columns_of_a_rectangle_are_added_or_averaged() -> None:
    columns = projected(Counted(IMAGE), PLACE, Kind.COLUMNS, mean=False)
    assert columns.x[0] == 20.5 and columns.y.tolist() == PART.sum(0).tolist()
    rows = projected(Counted(IMAGE), PLACE, Kind.ROWS, mean=True)
    assert rows.x[0] == 10.5 and np.allclose(rows.y, PART.mean(1))
    assert projected(Counted(IMAGE), None, Kind.ROWS, mean=False).y.tolist() == IMAGE.sum(1).tolist()


def test_pixels_that_do_not_count_are_in_no_sum_and_a_gap_is_nan() -> None:
    mask = np.zeros(IMAGE.shape)
    mask[:, 25] = 1
    mask[12, :] = 1
    found = projected(Counted(IMAGE, mask=mask), PLACE, Kind.COLUMNS, mean=True)
    assert np.isnan(found.y[5])
    assert found.y[0] == np.delete(IMAGE[10:30, 20], 2).mean()


def test_the_tab_draws_the_line_and_the_rectangle(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    viewer = show(receiver.url)
    viewer.show_measure.setChecked(True)
    tab = viewer.measure.profile
    viewer.measure.tabs.setCurrentWidget(tab)
    receiver.frame(IMAGE, 0)
    qtbot.waitUntil(lambda: viewer.drawn() == 1, timeout=DEADLINE)
    assert tab.says() == NO_LINE
    tab.set_line((10.0, 5.5), (20.0, 5.5))
    qtbot.waitUntil(lambda: tab.curve.values()[1] == IMAGE[5, 10:20].tolist(), timeout=DEADLINE)
    receiver.frame(IMAGE * 2, 1)
    qtbot.waitUntil(lambda: tab.curve.values()[1] == (2 * IMAGE[5, 10:20]).tolist(), timeout=DEADLINE)
    viewer.measure.rectangle.set_place(PLACE)
    tab.kind.setCurrentText("columns of the rectangle")
    qtbot.waitUntil(lambda: tab.curve.values()[1] == (2 * PART).sum(0).tolist(), timeout=DEADLINE)
    tab.value.setCurrentText("mean")
    qtbot.waitUntil(lambda: tab.curve.getYAxis().getLabel() == "mean of counts", timeout=DEADLINE)
    tab.curve._follow_cursor({"event": "mouseMoved", "x": 20.4, "y": 0.0})
    qtbot.waitUntil(lambda: tab.says().startswith("pixel 20   columns of the rectangle: "), timeout=DEADLINE)
    viewer.controls.block.setValue(4)
    qtbot.waitUntil(lambda: tab.says() == BLOCKS, timeout=DEADLINE)
    assert tab.curve.curves() == ()
