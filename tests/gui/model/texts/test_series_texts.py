"""What a panel says of a series: progress, the bar of fates, the buffers, the ending."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from penstock.gui.model.attributes.attribute import Value
from penstock.gui.model.series.account import FATES, Account
from penstock.gui.model.series.fate_bar import in_words, legend, segments
from penstock.gui.model.series.outcome import Outcome, ending, outcome
from penstock.gui.model.series.plan import plan
from penstock.gui.model.tango.answers import LastSeries
from penstock.gui.model.texts.progress import Progress, fills, notice, progress
from penstock.gui.model.texts.sentences import message, stop_question, why_locked
from penstock.gui.model.view import DetectorView, Presence
from penstock.gui.words import when
from penstock.receiver.models import Counts
from tests.gui.model.stand_in import VALUES


def account(planned: int, *, endless: bool = False, **fates: int) -> Account:
    known = sum(fates.values())
    return Account(
        planned=planned,
        fates={**dict.fromkeys(FATES, 0), "pending": planned - known, **fates},
        endless=endless,
    )


def seen(state: str, **values: Value | None) -> DetectorView:
    return DetectorView(
        name="sim/det/1", presence=Presence.HERE, state=state, values={**VALUES, "State": state, **values}
    )


def running(**values: Value | None) -> DetectorView:
    told: dict[str, Value | None] = {
        "nFramesPlanned": 1000, "nFramesWritten": 412, "nFramesPending": 588, "FileWritten": "/data/a.h5",
        "FrameRateMeasured": 49.8, "ArmedBy": "Python or C++ client, PID 4321 on daq-1",
    }  # fmt: skip
    return seen("RUNNING", **{**told, **values})


# -- progress --------------------------------------------------------------------------------------


def test_progress_of_a_running_series() -> None:
    assert progress(running()) == Progress(
        frames="412 of 1,000 frames", percent="41 %", rate="49.8 frames/s", left="11.8 s left",
        file="/data/a.h5", armed_by="armed by Python or C++ client, PID 4321 on daq-1",
    )  # fmt: skip


def test_it_is_not_all_of_them_before_the_last() -> None:
    said = progress(running(nFramesWritten=999, nFramesPending=1))
    assert (said.frames, said.percent) == ("999 of 1,000 frames", "99 %")


def test_an_endless_series_has_neither_percent_nor_time_left() -> None:
    values: dict[str, Value | None] = {
        "nFramesPlanned": -1, "nFramesWritten": 0, "nFramesDelivered": 1234,
        "nFramesPending": 0, "FileWritten": "",
    }  # fmt: skip
    said = progress(running(**values))
    assert (said.frames, said.percent, said.left) == ("1,234 frames", "", "until stopped")
    assert said.file == "Live view only: nothing is written"
    assert progress(seen("ON", **values)).left == "stopped"


def test_a_series_without_a_number_into_a_file_shows_what_is_stored_until_it_is_stopped() -> None:
    values: dict[str, Value | None] = {
        "nFramesPlanned": -1, "nFramesWritten": 1234, "nFramesPending": 0, "FileWritten": "/data/a.h5",
    }  # fmt: skip
    view = running(**values)
    said = progress(view)
    assert (said.frames, said.percent, said.left) == ("1,234 frames", "", "until stopped")
    assert said.file == "/data/a.h5"
    assert in_words(view.account) == "stored 1,234"
    said = progress(seen("ON", **{**values, "nFramesPlanned": 1234}))
    assert (said.frames, said.percent) == ("1,234 of 1,234 frames", "100 %")


def test_a_plan_without_a_number_says_until_when() -> None:
    values = {"nFramesPerTrigger": 1, "FrameTime": 0.1, "FrameBytes": 8, "TriggerMode": "INTERNAL"}
    assert plan({"nTriggers": 0, **values}).sentence() == "frames until Stop"
    assert plan({"nTriggers": 2, **values}).sentence() == "2 frames, 200 ms, 16 B"
    assert plan({}).sentence() == ""


@pytest.mark.parametrize(("mode", "left"), [("INTERNAL", "1 min 40 s left"), ("SOFTWARE", "")])
def test_before_the_first_frame_only_the_detectors_own_pace_tells_the_time(mode: str, left: str) -> None:
    view = running(
        nFramesWritten=0, nFramesPending=1000, FrameRateMeasured=0.0, FrameTime=0.1, TriggerMode=mode
    )
    assert progress(view).left == left


def test_an_ended_series_keeps_its_counts_and_has_no_rate() -> None:
    said = progress(seen("ON", nFramesPlanned=1, nFramesWritten=1, FrameRateMeasured=0.0))
    assert (said.frames, said.percent, said.rate, said.left) == ("1 of 1 frame", "100 %", "", "ended")


def test_before_the_first_series() -> None:
    assert progress(seen("ON")).frames == "No series yet"
    assert progress(DetectorView(name="sim/det/1")).frames == "Not known yet"


# -- the bar ---------------------------------------------------------------------------------------


def test_the_parts_fill_the_bar_in_the_order_of_the_fates() -> None:
    parts = segments(account(1000, stored=250, missing=250), 600)
    assert [(part.fate, part.left, part.width) for part in parts] == [
        ("stored", 0, 150), ("missing", 150, 150), ("pending", 300, 300)
    ]  # fmt: skip


@pytest.mark.parametrize("width", [40, 333, 600, 1900])
def test_one_frame_of_a_million_is_seen(width: int) -> None:
    parts = segments(account(1_000_000, stored=700_000, missing=1, corrupt=1, pending=299_998), width)
    assert {part.fate: part.width for part in parts if part.loss} == {"missing": 2, "corrupt": 2}
    assert sum(part.width for part in parts) == width
    assert all(a.left + a.width == b.left for a, b in pairwise(parts))


def test_losses_stand_at_their_place_in_the_series() -> None:
    lost = [(100, 149, "missing"), (900, 900, "corrupt"), (950, 999, "not_triggered")]
    view = account(1000, stored=899, missing=50, corrupt=1, not_triggered=50)
    parts = {part.fate: part for part in segments(view, 1000, lost)}
    assert (parts["missing"].left, parts["missing"].width) == (100, 50)
    assert (parts["corrupt"].left, parts["corrupt"].width) == (900, 2)
    assert parts["missing"].words() == "frames 100 to 149 missing: triggered or sent, but not received"
    assert parts["corrupt"].words() == "frame 900 corrupt: arrived corrupt, and is not in the file"
    assert parts["stored"].width + parts["not_triggered"].width == 1000, "the others fill the bar below them"


def test_losses_whose_place_is_not_known_stand_after_the_others() -> None:
    view = account(1000, stored=900, missing=100)
    places = {(part.frames, part.count) for part in segments(view, 1000, [(10, 19, "missing")]) if part.loss}
    assert places == {((10, 19), 10), (None, 90)}


def test_places_of_another_series_are_not_used() -> None:
    view = account(10, stored=9, missing=1)
    assert segments(view, 100, [(10, 19, "missing")]) == segments(view, 100)


def test_while_a_series_runs_its_losses_stand_among_the_frames_so_far() -> None:
    view = account(1000, stored=250, missing=250, pending=500)
    stored, pending, missing = segments(view, 1000, [(0, 249, "missing")])
    assert (missing.left, missing.width, missing.frames) == (0, 250, (0, 249))
    assert (stored.left, stored.width) == (0, 500), "what is stored ends at the latest frame"
    assert (pending.left, pending.width) == (500, 500)


def test_what_is_listed_and_not_yet_counted_is_not_drawn() -> None:
    view = account(100, stored=50, missing=3, pending=47)
    lost = [(10, 11, "missing"), (40, 44, "missing"), (50, 51, "corrupt")]
    parts = [part for part in segments(view, 100, lost) if part.loss]
    assert [(part.frames, part.count) for part in parts] == [((10, 11), 2), ((40, 40), 1)]


def test_losses_too_close_to_be_drawn_apart_are_one_part_that_says_how_many() -> None:
    lost = [(number, number, "missing") for number in range(0, 100_000, 2)]
    view = account(1_000_000, stored=50_000, missing=50_000, pending=900_000)
    (missing,) = [part for part in segments(view, 500, lost) if part.loss]
    assert (missing.left, missing.width, missing.count) == (0, 52, 50_000)
    assert missing.words().startswith("50,000 of the frames 0 to 99,998 missing: ")


def test_nothing_planned_is_no_bar() -> None:
    assert segments(account(0), 600) == []


def test_an_endless_series_shows_what_came() -> None:
    view = account(-1, endless=True, delivered=99, missing=1)
    assert [part.fate for part in segments(view, 100)] == ["delivered", "missing"]
    assert in_words(view) == "delivered live 99, missing 1"


def test_the_legend_names_what_there_is_and_always_stored_and_pending() -> None:
    assert legend(account(10)) == [("stored", "stored", 0), ("pending", "pending", 10)]
    assert in_words(account(2000, stored=1500, missing=2)) == "stored 1,500, missing 2, pending 498"


# -- the buffers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ring", "notice"), [(0.0, False), (75.0, False), (76.0, True), (100.0, True)])
def test_a_buffer_that_fills_is_said(ring: float, notice: bool) -> None:
    first, second = fills(running(RingFill=ring, ReceiverQueue=3.0))
    assert first.text == f"{ring:.0f} %"
    assert bool(first.notice) is notice
    assert not notice or "receiver is slower than the detector" in first.notice
    assert (second.text, second.notice) == ("3 %", "")


def test_a_buffer_that_nobody_knows_is_a_dash() -> None:
    assert fills(running(RingFill=None))[0].text == "–"
    away = DetectorView(name="a", presence=Presence.AWAY, values={"RingFill": 90.0})
    assert [fill.notice for fill in fills(away)] == ["", ""]


def test_a_slow_receiver_is_said_once() -> None:
    assert notice(running(RingFill=90.0, ReceiverQueue=97.0)).startswith("Transforming or writing is slower")
    assert notice(running(RingFill=90.0, ReceiverQueue=3.0)).startswith("The receiver is slower")
    assert notice(running(RingFill=20.0, ReceiverQueue=3.0)) == ""


def test_figures_of_a_device_that_is_away_are_as_of_then() -> None:
    view = replace(running(), presence=Presence.AWAY, since=time.mktime((2026, 3, 1, 14, 2, 11, 0, 0, -1)))
    said = progress(view)
    assert (said.frames, said.rate, said.left) == ("412 of 1,000 frames", "", "as of 14:02:11")


# -- the ending --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        ({"complete": True, "file": "/data/a.h5"}, Outcome.COMPLETE),
        ({"complete": True}, Outcome.ENDED),
        ({"file": "/data/a.h5", "counts": Counts(received=3)}, Outcome.INCOMPLETE),
        ({"file": "/data/a.h5"}, Outcome.INCOMPLETE),
        ({}, Outcome.NOT_TAKEN),
    ],
)
def test_outcome(series: dict[str, Any], expected: Outcome) -> None:
    assert outcome(LastSeries(series="1", **series)) is expected


def test_an_ending_names_the_lost_frames_and_the_time_it_took() -> None:
    now = time.time()
    said = ending(
        LastSeries(
            series="1", file="/data/a.h5", verdict="8 of 10 frames stored.", lost=[(3, 4, "missing")],
            started=now - 30, ended=now - 10,
        ),
        now,
    )  # fmt: skip
    assert said.lost == "missing 3–4"
    assert said.time.endswith(", took 20 s")


# -- times -------------------------------------------------------------------------------------------


def at(*day: int) -> float:
    return time.mktime((*day, 14, 2, 11, 0, 0, -1))


@pytest.mark.parametrize(
    ("then", "words"),
    [
        ((2026, 3, 1), "14:02:11"),
        ((2026, 2, 28), "yesterday 14:02:11"),
        ((2026, 2, 27), "Fri 27 Feb 14:02:11"),
        ((2025, 12, 31), "Wed 31 Dec 2025 14:02:11"),
    ],
)
def test_a_time_as_one_says_it(then: tuple[int, int, int], words: str) -> None:
    assert when(at(*then), at(2026, 3, 1)) == words


# -- a detector's own box ------------------------------------------------------------------------------


def test_a_box_that_takes_settings_runs_no_series() -> None:
    ended = {"nFramesPlanned": 10, "nFramesWritten": 10, "nFramesPending": 0, "FileWritten": "/data/a.h5",
             "ArmedBy": "somebody", "FrameRateMeasured": 0.0}  # fmt: skip
    view = replace(seen("MOVING", **ended), status="Energy is being set in the detector.")
    assert view.configuring
    assert why_locked(view) == "The detector is busy. Settings can be changed when its State is ON."
    assert message(view).text == "Energy is being set in the detector."
    assert stop_question(view) == ""
    assert progress(view).left == "ended"
    arming = seen("MOVING", nFramesPlanned=10, nFramesPending=10)
    assert not arming.configuring
    assert progress(arming).left == "being armed"
