"""Which frame is on show is always in sight, and whether it is of now."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.texts.caption import APART, Need, Worth, rooms
from penstock.gui.live.texts.sentences import moment
from penstock.gui.live.view import LiveView, Viewer
from penstock.receiver.models import Counts, Series
from tests.gui.live.stand_in import StandIn

IMAGE = np.arange(4800, dtype=np.int32).reshape(60, 80)
DEADLINE = 10_000
"""Milliseconds."""


@pytest.mark.parametrize("compact", [False, True])
def test_number_time_and_series_are_in_sight_and_a_frame_of_the_last_series_is_marked(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer], compact: bool
) -> None:
    if compact:
        view: LiveView = LiveView(compact=True)
        qtbot.addWidget(view)
        view.set_receiver(receiver.url)
        view.resize(620, 420)
        view.show()
    else:
        view = show(receiver.url)
    taken = time.time()
    receiver.run()
    receiver.frame(IMAGE, 1234, time=taken)
    clock = moment(taken)

    def says(text: str) -> None:
        qtbot.waitUntil(lambda: view.caption.text() == text, timeout=DEADLINE)

    says(f"frame 1,234 · {clock} · scan-0007_sim-1.h5")
    assert view.caption.isVisible()
    series = receiver.status.series
    assert series is not None
    receiver.say(state="idle", series=Series(id=series.id, filename=series.filename, active=False))
    says(f"frame 1,234 · {clock} · scan-0007_sim-1.h5 · last series")

    receiver.say(  # the next one is armed
        state="running", latest_frame=None, series=Series(id="next", filename="/data/b.h5", active=True)
    )

    says(f"frame 1,234 · {clock} · scan-0007_sim-1.h5 · ▲ OLD · last series")
    bar = view.past.bar
    assert not bar.slider.is_placed() and bar.number.text() == "", "it is no frame of the series that runs"
    receiver.frame(IMAGE, 0, series="next")
    says("frame 0 · b.h5")
    assert bar.slider.is_placed() and bar.number.text() == "0"
    view.stop()


def test_the_number_is_that_of_the_picture_and_not_of_a_frame_that_is_still_being_drawn(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    viewer = show(receiver.url)
    receiver.run()
    receiver.frame(IMAGE, 5)
    qtbot.waitUntil(lambda: viewer.caption.text().startswith("frame 5"), timeout=DEADLINE)
    viewer.plot.ask_to_stop()  # a picture that never gets done
    receiver.frame(IMAGE + 1, 6)
    qtbot.waitUntil(lambda: viewer.snapshot().frame.frame == 6, timeout=DEADLINE)
    assert viewer.caption.text().startswith("frame 5")
    assert viewer.readings.value("Frame on show", "Number") == "5"
    assert viewer.past.bar.number.value() == viewer.past.bar.slider.value() == 5


def test_a_frame_that_cannot_be_drawn_is_said_and_the_next_one_is_asked_for(
    qtbot: Any, receiver: StandIn, show: Callable[..., Viewer]
) -> None:
    viewer = show(receiver.url)
    receiver.run()
    receiver.frame(IMAGE + 0.5j, 5)
    qtbot.waitUntil(lambda: "frame 5 cannot be drawn (ValueError" in viewer.caption.text(), timeout=DEADLINE)
    receiver.frame(IMAGE, 6)
    qtbot.waitUntil(lambda: viewer.caption.text().startswith("frame 6"), timeout=DEADLINE)


NEEDS = {
    "number": Need(60, 60, 60, Worth.KEPT), "time": Need(80, 80, 80, Worth.TIME),
    "series": Need(150, 120, 50, Worth.SERIES), "note": Need(200, 40, 40, Worth.NOTE),
    "warning": Need(500, 130, 130, Worth.KEPT), "mark": Need(70, 70, 70, Worth.KEPT),
}  # fmt: skip


def given(room: int) -> dict[str, int]:
    widths = dict(zip(NEEDS, rooms(list(NEEDS.values()), room), strict=True))
    shown = [width for width in widths.values() if width]
    assert sum(shown) + APART * (len(shown) - 1) <= room
    return {name: width for name, width in widths.items() if width}


def test_what_is_worth_less_goes_as_a_whole_before_anything_else_is_shortened() -> None:
    assert set(given(600)) == set(NEEDS)
    assert set(given(530)) == {"number", "time", "series", "warning", "mark"}, "the note first"
    assert set(given(450)) == {"number", "series", "warning", "mark"}, "then the time"
    assert given(450)["series"] >= 120
    assert given(400)["series"] == 98, "only then the name is shortened"
    assert set(given(340)) == {"number", "warning", "mark"}
    assert given(250) == {"number": 60, "warning": 92, "mark": 70}, "what is kept has what is left"


def test_what_is_left_makes_whole_what_is_not() -> None:
    wide = given(2000)
    assert wide == {name: need.whole for name, need in NEEDS.items()}


def test_a_narrow_picture_says_what_matters_after_a_series(qtbot: Any, receiver: StandIn) -> None:
    theme.apply(qt.QApplication.instance(), theme.DARK)
    view = LiveView(compact=True, memory=None)
    qtbot.addWidget(view)
    view.set_receiver(receiver.url)
    view.resize(525, 300)
    view.show()
    receiver.frame(IMAGE, 49, saturation=900, time=time.time())
    series = Series(id="5f0c", filename="/data/ceo2_0001.h5", active=False, complete=True)
    receiver.say(state="idle", series=series, counts=Counts(planned=50, received=50, stored=50))
    count = int((IMAGE >= 900).sum())
    warning = f"▲ {count:,} pixels saturated"
    wanted = ["frame 49", "ceo2_0001.h5", warning, "last series"]

    qtbot.waitUntil(lambda: view.caption.in_sight() == wanted, timeout=DEADLINE)

    assert view.caption.width() > view.plot.width(), "it has the room above the colour bar too"
    assert "stored" in view.caption.toolTip() and ":" in view.caption.toolTip()
    view.resize(1000, 300)
    qtbot.waitUntil(lambda: len(view.caption.in_sight()) == 6, timeout=DEADLINE)
    view.stop()


def test_a_time_of_another_day_has_its_date() -> None:
    noon = time.mktime((2026, 3, 4, 12, 0, 0, 0, 0, -1))
    assert moment(noon + 0.25, now=noon + 3600) == "12:00:00.250"
    assert moment(noon, now=noon + 86_400) == "2026-03-04 12:00:00.000"
    assert moment(None) == ""


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 1e300, -1e20])
def test_what_is_no_time_is_not_shown(seconds: float) -> None:
    assert moment(seconds) == ""
