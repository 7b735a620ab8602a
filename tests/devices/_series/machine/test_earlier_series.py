"""The receiver's newest series, which an earlier process of the device has taken."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from penstock.devices._series.machine.earlier_series import summary
from penstock.receiver.models import Counts, Series
from tests.devices._series.machine.test_left_over import SERIES, Restarted
from tests.devices._series.test_control import settings

OVER = Series(
    id="before", filename="/data/x.h5", active=False, complete=False, started=1e9, ended=1e9 + 5,
    reason="7 of 10 frames: 3 not triggered; ended by fault: the streamer was told to end",
)  # fmt: skip
COUNTS = Counts(planned=10, received=7, stored=7, not_triggered=3)
ACCOUNT = "7 of 10 frames stored in /data/x.h5, 3 not triggered"
BY_ITS_END = f"{ACCOUNT}: ended by the end of the device server."
RESTARTED = "the device server was restarted during the series, and nothing more came"
GONE = "the streamer at tcp://dcu:9999 is gone"


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [
        ("ended by fault: the streamer was told to end", BY_ITS_END),
        (RESTARTED, BY_ITS_END),
        ("ended by abort: the end of the device server", BY_ITS_END),
        ("", f"{ACCOUNT}."),
        (GONE, f"{ACCOUNT}: {GONE}."),
        ("ended by abort: aborted", f"{ACCOUNT}: ended by abort: aborted."),
    ],
)
def test_what_is_said_of_an_incomplete_one(reason: str, verdict: str) -> None:
    series = replace(OVER, reason=f"7 of 10 frames: 3 not triggered{'; ' if reason else ''}{reason}")
    last, note = summary(series, COUNTS)
    assert note == f"Last series of the receiver: {verdict}"
    said = json.loads(last)
    assert said["verdict"] == verdict and said["complete"] is False
    assert (said["series"], said["file"], said["planned"]) == ("before", "/data/x.h5", 10)
    assert (said["started"], said["ended"], said["armed_by"]) == (1e9, 1e9 + 5, "")


def test_a_complete_one_is_the_last_series_and_no_more() -> None:
    whole = replace(OVER, complete=True, reason="")
    last, note = summary(whole, Counts(planned=10, received=10, stored=10))
    assert note == "" and json.loads(last)["verdict"] == "10 of 10 frames stored in /data/x.h5."


def restarted(series: Series) -> Restarted:
    loop = Restarted(series)
    loop.receiver.state, loop.receiver.counts = ("running" if series.active else "idle"), COUNTS
    return loop


def test_it_is_taken_over_once_and_said_until_the_next_arm() -> None:
    loop = restarted(OVER)
    assert loop.control.view.last_series == "", "the receiver has not answered yet"
    loop.wait(0.1)
    said = f"Ready. Last series of the receiver: {BY_ITS_END}"
    assert loop.control.view.status == said
    assert loop.control.record.entered()[-1].status == said
    loop.control.arm(settings(1))
    assert loop.control.view.note == ""
    assert json.loads(loop.control.view.last_series)["verdict"] == BY_ITS_END


def test_a_refused_arm_leaves_the_sentence() -> None:
    loop = restarted(OVER)
    loop.wait(0.1)
    loop.receiver.deaf = True
    with pytest.raises(Exception, match="has not begun the series"):
        loop.control.arm(settings(1))
    assert loop.control.view.note.endswith(BY_ITS_END)


def test_one_that_the_receiver_still_takes_is_waited_for() -> None:
    loop = restarted(SERIES)
    loop.wait(3.0)
    assert loop.receiver.stops and loop.control.view.last_series == ""
    loop.receiver.series = replace(
        OVER,
        reason=f"7 of 10 frames: 3 not triggered; {RESTARTED}",
    )
    loop.receiver.state = "idle"
    loop.wait(0.1)
    assert json.loads(loop.control.view.last_series)["verdict"] == BY_ITS_END


@pytest.mark.parametrize("why", ["it was not taken", "this device has one", "this device has armed"])
def test_one_that_is_not_this_devices_last_is_left(why: str) -> None:
    loop = restarted(replace(OVER, taken=False) if why == "it was not taken" else OVER)
    own = '{"series": "own"}' if why == "this device has one" else ""
    loop.control.record.remember(own, "")
    if why == "this device has armed":
        loop.receiver.series = None
        loop.control.arm(settings(1))
        loop.receiver.series, loop.receiver.state = OVER, "idle"
    loop.wait(0.1)
    assert loop.control.view.last_series == own
