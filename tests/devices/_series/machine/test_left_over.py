"""A device server that was killed with its streamer in a series, and was started again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.devices._series.control import SeriesControl
from penstock.devices._series.machine.states import SeriesState
from penstock.receiver.models import Series
from tests.devices._series.beamside import HeldClock, StandInLink, StandInReceiver, StandInStreamer
from tests.devices._series.test_control import LIMITS, Loop, settings

SERIES = Series(id="before", filename="/data/x.h5", active=True, unconfirmed=True)


class Restarted(Loop):
    """A device that was started while the receiver takes a series."""

    def __init__(self, series: Series) -> None:
        self.clock = HeldClock()
        self.receiver = StandInReceiver(self.clock)
        self.receiver.begin("before", 10)
        self.receiver.series = series
        self.streamer = StandInStreamer(self.receiver)
        self.link = StandInLink(self.streamer)
        self.control = SeriesControl(self.link, self.receiver, clock=self.clock, limits=LIMITS)  # type: ignore[arg-type]
        self.control.step()


def test_the_series_that_nobody_continues_is_ended_within_seconds() -> None:
    loop = Restarted(SERIES)
    loop.wait(1.0)
    assert loop.state is SeriesState.IDLE
    assert (
        loop.control.view.warning == "The receiver ends the series of an earlier device server (/data/x.h5)."
    )
    assert loop.receiver.stops == []
    loop.wait(2.0)
    assert loop.receiver.stops == ["the device server was restarted during the series, and nothing more came"]
    loop.receiver.end("stopped")
    loop.wait(0.1)
    assert loop.control.view.warning == ""


def test_one_whose_streamer_has_ended_it_is_ended_at_the_receiver_too() -> None:
    loop = Restarted(replace(SERIES, unconfirmed=False))
    loop.streamer.say(series="before")
    loop.wait(LIMITS.left_over + 0.5)
    assert len(loop.receiver.stops) == 1


@pytest.mark.parametrize("why", ["its streamer is connected as before", "no streamer is connected"])
def test_a_series_that_may_be_somebody_elses_is_left_alone(why: str) -> None:
    loop = Restarted(SERIES if why.startswith("no") else replace(SERIES, unconfirmed=False))
    if why.startswith("no"):
        loop.streamer.say(peers=0)
    loop.wait(60.0)
    assert loop.receiver.stops == []
    assert loop.control.view.warning == ""


def test_one_that_begins_later_is_left_alone() -> None:
    loop = Restarted(SERIES)
    loop.receiver.state = "idle"
    loop.wait(0.1)
    loop.receiver.begin("somebody else's", 10)
    loop.receiver.series = replace(SERIES, id="somebody else's")
    loop.wait(60.0)
    assert loop.receiver.stops == []


def test_the_next_series_may_be_armed_at_once() -> None:
    loop = Restarted(SERIES)
    loop.wait(0.1)
    loop.control.arm(settings(3))
    loop.wait(60.0)
    assert loop.state is SeriesState.TAKING
    assert loop.receiver.stops == []
