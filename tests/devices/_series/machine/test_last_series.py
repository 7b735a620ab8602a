"""LastSeries: what stands there after each kind of end, and what does not touch it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from penstock.devices._series.machine.states import SeriesState
from penstock.devices._series.refusals import ArmRefused
from penstock.devices._series.settings import live_settings
from penstock.receiver.models import Counts
from tests.devices._series.beamside import refused
from tests.devices._series.test_control import LIMITS, Loop, settings

CLIENT = "Python or C++ client, PID 4321 on daq-1"
KEYS = (
    "series", "file", "complete", "verdict", "planned", "counts", "lost", "started", "ended", "armed_by",
)  # fmt: skip


@pytest.fixture
def loop() -> Loop:
    return Loop()


def last(loop: Loop) -> dict[str, Any]:
    said = json.loads(loop.control.view.last_series)
    assert tuple(said) == KEYS
    assert said["counts"] == asdict(Counts(**said["counts"]))
    return said


def finish(loop: Loop, reason: str = "") -> None:
    loop.streamer.say(state="idle", end_sent=True)
    loop.control.step()
    loop.receiver.end(reason)
    loop.observe()
    loop.control.step()


def test_a_complete_series(loop: Loop) -> None:
    assert loop.control.view.last_series == ""
    loop.control.arm(settings(2), CLIENT)
    assert loop.control.view.last_series == "" and loop.control.view.armed_by == CLIENT
    loop.frame()
    loop.frame()
    loop.receiver.series = replace(loop.receiver.series, started=1e9, ended=1e9 + 5)  # type: ignore[type-var]
    finish(loop)
    said = last(loop)
    assert said["series"] == "series-1" and said["file"] == "/data/x.h5" and said["complete"] is True
    assert said["verdict"] == "2 of 2 frames stored in /data/x.h5."
    assert said["planned"] == 2 and said["counts"]["stored"] == 2 and said["lost"] == []
    assert (said["started"], said["ended"], said["armed_by"]) == (1e9, 1e9 + 5, CLIENT)


def test_it_is_there_with_the_state_that_follows(loop: Loop) -> None:
    loop.control.arm(settings(1))
    loop.frame()
    finish(loop)
    told = [(view.state, bool(view.last_series)) for view in loop.control.record.entered()]
    assert told[-2:] == [(SeriesState.CLOSING, False), (SeriesState.IDLE, True)]


def test_an_incomplete_series_names_its_lost_frames(loop: Loop) -> None:
    loop.control.arm(settings(3))
    loop.frame()
    loop.receiver.series = replace(loop.receiver.series, lost=[(1, 2, "not_triggered")])  # type: ignore[type-var]
    finish(loop, "1 of 3 frames: 2 not triggered; stopped")
    said = last(loop)
    assert said["complete"] is False and said["lost"] == [[1, 2, "not_triggered"]]
    assert said["verdict"] == "1 of 3 frames stored in /data/x.h5, 2 not triggered (stopped)."


def test_it_is_ascii_as_tango_wants_it(loop: Loop) -> None:
    loop.control.arm(settings(1), "…")
    finish(loop, "…")
    assert loop.control.view.last_series.isascii() and last(loop)["armed_by"] == "…"


def test_a_fault(loop: Loop) -> None:
    loop.control.arm(settings(3), CLIENT)
    loop.frame()
    loop.link.death = "the streamer was killed by signal 9"
    loop.wait(4.0)
    assert loop.state is SeriesState.FAULT
    said = last(loop)
    assert said["complete"] is False and said["armed_by"] == CLIENT
    assert said["verdict"].startswith("The streamer was killed by signal 9. 1 of 3 frames stored")
    assert "Reset" not in said["verdict"]
    assert said["ended"] > said["started"] > 1e9


def test_a_live_series_has_nothing_that_lacks(loop: Loop) -> None:
    loop.control.arm(live_settings(settings()))
    loop.receiver.series = replace(
        loop.receiver.series,
        filename=None,
        lost=[(3, 3, "missing")],  # type: ignore[type-var]
    )
    loop.receiver.counts = replace(loop.receiver.counts, planned=8, received=7, delivered=7, missing=1)
    loop.control.stop()
    finish(loop, "stopped")
    said = last(loop)
    assert said["planned"] == said["counts"]["planned"] == 8
    assert said["counts"]["delivered"] == 7 and said["counts"]["missing"] == 1
    assert said["counts"]["not_triggered"] == said["counts"]["pending"] == 0
    assert said["lost"] == [[3, 3, "missing"]] and said["complete"] is False
    assert said["verdict"] == "7 frames for live view, 1 missing (stopped)."


def test_a_live_series_that_lost_nothing_is_complete(loop: Loop) -> None:
    loop.control.arm(live_settings(settings()))
    loop.control.stop()
    loop.receiver.counts = replace(loop.receiver.counts, planned=0)
    finish(loop)
    said = last(loop)
    assert said["complete"] is True and said["planned"] == 0


def test_a_series_that_the_receiver_has_not_taken_is_none(loop: Loop) -> None:
    loop.control.arm(settings(1), CLIENT)
    loop.frame()
    finish(loop)
    before = loop.control.view
    loop.receiver.refuses = "/data/x.h5: too large"
    with pytest.raises(ArmRefused):
        loop.control.arm(settings(3), "somebody else")
    view = loop.control.view
    assert view.last_series == before.last_series
    assert (view.series, view.filename, view.armed_by) == (before.series, before.filename, before.armed_by)
    assert (view.planned, view.acquired, view.counts) == (1, before.acquired, before.counts)
    assert loop.sentence == (
        "Ready. The last Arm was refused: the receiver at http://stand-in refused the series: /data/x.h5: "
        "too large"
    )


def test_hardware_that_refuses_after_the_file_was_made(loop: Loop) -> None:
    loop.streamer.refuses["start"] = refused()
    with pytest.raises(ArmRefused):
        loop.control.arm(settings(3))
    assert last(loop)["verdict"] == "Arm was refused: the hardware says no."


def test_an_arm_that_is_refused_before_a_series_began_changes_nothing(loop: Loop) -> None:
    loop.control.arm(settings(1), CLIENT)
    loop.frame()
    finish(loop)
    before = loop.control.view.last_series
    loop.streamer.refuses["prepare"] = refused()
    with pytest.raises(ArmRefused):
        loop.control.arm(settings(3), "somebody else")
    assert loop.control.view.last_series == before and loop.control.view.armed_by == CLIENT


def test_a_streamer_that_dies_between_two_series_changes_nothing(loop: Loop) -> None:
    loop.control.arm(settings(1))
    loop.frame()
    finish(loop)
    before = loop.control.view.last_series
    loop.link.death = "the streamer was killed by signal 9"
    loop.control.step()
    assert loop.state is SeriesState.FAULT and loop.control.view.last_series == before


def test_a_receiver_that_was_given_up_and_answers_again_has_the_last_word(loop: Loop) -> None:
    loop.control.arm(settings(3))
    loop.frame()
    loop.wait(0.1)
    loop.receiver.away = True
    loop.streamer.say(peers=0)
    loop.wait(LIMITS.receiver_timeout + LIMITS.final_counts + 1.0)
    assert loop.state is SeriesState.FAULT
    given_up = last(loop)
    assert (given_up["complete"], given_up["counts"]["stored"], given_up["counts"]["pending"]) == (
        False,
        1,
        2,
    )
    loop.receiver.away = False
    loop.receiver.take(2)
    loop.receiver.end()
    loop.wait(0.1)
    assert loop.state is SeriesState.FAULT
    said = last(loop)
    assert (said["complete"], said["counts"]["stored"], said["counts"]["pending"]) == (True, 3, 0)
    assert said["verdict"].endswith(
        "The receiver has ended the series since: 3 of 3 frames stored in /data/x.h5."
    )
