"""Which frames are lost is asked of the receiver: seldom, only where it is news, and beside the windows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.gui.model.series import losses
from penstock.gui.model.series.losses import Losses, Lost
from penstock.receiver.client import ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import LostFrames, LostRange


class Asked:
    """A receiver with pages of two ranges, and a clock and threads that the test drives."""

    def __init__(self) -> None:
        self.now = 100.0
        self.seconds = 0.0
        """How long an answer takes."""
        self.ranges: list[LostRange] = []
        self.trouble: Exception | None = None
        self.on_request: Callable[[], object] = lambda: None
        self.requests: list[tuple[int, str | None]] = []
        self.found: list[Lost] = []
        self.waiting: list[Callable[[], object]] = []
        self.losses = Losses(lambda url: self, self.waiting.append, self.found.append, lambda: self.now)

    def lost_frames(self, first: int = 0, limit: int = 1000, series: str | None = None) -> LostFrames:
        self.requests.append((first, series))
        self.on_request()
        self.now += self.seconds
        if self.trouble is not None:
            raise self.trouble
        rest = [each for each in self.ranges if each.first >= first]
        more = rest[2].first if len(rest) > 2 else None
        return LostFrames(series=series or "", so_far=True, upto=1000, ranges=rest[:2], next=more)

    def follow(self, lost: int, series: str = "s1", *, running: bool = True) -> None:
        self.losses.follow("http://receiver", series, lost, running=running)

    def run(self) -> None:
        """Do what was begun."""
        while self.waiting:
            self.waiting.pop(0)()


class Later:
    """A timer that fires when the test says so."""

    made: list[Later]

    def __init__(self, seconds: float, call: Callable[[], object]) -> None:
        self.seconds, self.call, self.cancelled = seconds, call, False
        Later.made.append(self)

    def start(self) -> None:
        pass

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    Later.made = []
    monkeypatch.setattr(losses.threading, "Timer", Later)
    return Asked()


def test_all_pages_are_read(asked: Asked) -> None:
    asked.ranges = [LostRange(number, number + 1, "missing") for number in range(0, 50, 10)]
    asked.follow(10)
    assert asked.requests == [], "never in the thread that says it"
    asked.run()
    assert asked.requests == [(0, "s1"), (20, "s1"), (40, "s1")]
    assert asked.found == [Lost("s1", tuple((n, n + 1, "missing") for n in range(0, 50, 10)))]


def test_the_same_is_not_asked_twice_and_news_after_a_while(asked: Asked) -> None:
    asked.ranges = [LostRange(3, 3, "missing")]
    for _ in range(5):
        asked.follow(1)
    asked.run()
    asked.follow(1)
    asked.run()
    assert len(asked.requests) == 1
    for lost in range(2, 9):
        asked.follow(lost)
    asked.run()
    assert len(asked.requests) == 1
    (later,) = Later.made
    assert later.seconds == losses.EVERY
    later.call()
    asked.run()
    assert len(asked.requests) == 2, "all that was said meanwhile is one request"


def test_long_answers_are_asked_for_less_often(asked: Asked) -> None:
    asked.seconds = 1.0
    asked.follow(1)
    asked.run()
    asked.follow(2)
    assert Later.made[0].seconds == pytest.approx(1.0 / losses.SHARE)


def test_nothing_is_asked_without_losses_or_a_receiver(asked: Asked) -> None:
    asked.follow(0)
    asked.losses.follow("", "s1", 3, running=True)
    asked.follow(3, series="")
    assert asked.waiting == []


def test_the_end_of_a_series_is_news(asked: Asked) -> None:
    asked.follow(1)
    asked.run()
    asked.now += losses.EVERY
    asked.follow(1, running=False)
    asked.run()
    assert len(asked.requests) == 2


def test_a_busy_receiver_is_asked_again_when_it_says(asked: Asked) -> None:
    asked.trouble = ReceiverRefused("busy", "later", retry_after=7.0)
    asked.follow(1)
    asked.run()
    assert [later.seconds for later in Later.made] == [7.0]
    asked.trouble = None
    Later.made[0].call()
    asked.run()
    assert asked.found == [Lost("s1", ())]


def test_what_is_not_known_there_is_not_asked_again(asked: Asked) -> None:
    asked.trouble = ReceiverRefused("no_such_series", "another series has begun")
    asked.follow(1)
    asked.run()
    asked.follow(1)
    assert (Later.made, asked.found) == ([], [])


def test_a_receiver_that_is_away_is_asked_again_after_a_while(asked: Asked) -> None:
    asked.trouble = ReceiverUnavailable("nobody answers")
    asked.follow(1)
    asked.run()
    assert [later.seconds for later in Later.made] == [losses.EVERY]
    asked.losses.stop()
    assert Later.made[0].cancelled


def test_an_answer_about_the_series_before_is_dropped(asked: Asked) -> None:
    asked.ranges = [LostRange(number, number, "missing") for number in range(5)]
    asked.on_request = lambda: asked.follow(4, series="s2")
    asked.follow(5)
    asked.run()
    assert (asked.requests, asked.found) == ([(0, "s1")], [])
    Later.made[0].call()
    asked.run()
    assert [lost.series for lost in asked.found] == ["s2"]
