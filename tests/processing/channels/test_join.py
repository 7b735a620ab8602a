"""Joining: equal to a plain loop over all values, whatever they are."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.processing.channels.join import NONE, Rule, by_frame, by_time, is_decided
from penstock.processing.channels.joining import Channel
from penstock.processing.channels.recording import ENDED, NO_NUMBER
from penstock.processing.config.pipeline_config import ChannelConfig

EPOCH = 1_790_000_000.0
TIMES = st.one_of(
    # On a grid, so that times are equal and windows end at them; with an epoch's rounding, too.
    st.integers(-20, 20).map(lambda n: n / 8),
    st.integers(-20, 20).map(lambda n: EPOCH + n / 1000),
    st.floats(-3, 3).map(lambda time: round(time, 9)),  # the loop rounds differences of smaller ones away
)
FRAMES = st.lists(st.one_of(TIMES, st.just(math.nan)), max_size=12)
RULES = st.builds(
    Rule,
    st.sampled_from(["exact", "nearest", "hold"]),
    st.one_of(st.sampled_from([0.0, 0.125, 0.5, 0.002, math.inf]), st.floats(0, 4)),
    st.one_of(st.sampled_from([0.0, 0.125, -0.25, 0.003]), st.floats(-2, 2)),
)


def plainly(rule: Rule, frame: float, recorded: list[float]) -> int:
    """The place of one frame's value, by looking at every value."""
    wanted, best = frame + rule.offset, NONE
    window = [
        place
        for place, time in enumerate(recorded)
        if wanted - rule.tolerance <= time <= wanted + rule.tolerance
    ]
    if rule.how == "exact":
        return window[-1] if len({recorded[place] for place in window}) == 1 else NONE
    for place in window:
        time = recorded[place]
        if rule.how == "hold":
            if time <= wanted:
                best = place
        elif best == NONE or time == recorded[best] or abs(time - wanted) < abs(recorded[best] - wanted):
            best = place
    return best


@given(RULES, FRAMES, st.lists(TIMES, max_size=20))
def test_a_join_by_time_is_that_of_a_plain_loop(
    rule: Rule, frames: list[float], recorded: list[float]
) -> None:
    recorded.sort()
    found = by_time(rule, np.array(frames), np.array(recorded))
    assert found.tolist() == [plainly(rule, frame, recorded) for frame in frames]


@given(st.lists(st.integers(0, 9), max_size=12), st.lists(st.integers(-2, 11), max_size=20))
def test_a_join_by_number_takes_the_last_value_of_each_frame(frames: list[int], numbers: list[int]) -> None:
    found = by_frame(np.array(frames, np.int64), np.array(numbers, np.int64))
    last = {number: place for place, number in enumerate(numbers)}
    assert found.tolist() == [last.get(frame, NONE) for frame in frames]


@given(RULES, TIMES, st.lists(TIMES, min_size=1, max_size=10), st.lists(TIMES, max_size=10))
def test_what_is_decided_stays_as_it_is_when_later_values_come(
    rule: Rule, frame: float, recorded: list[float], later: list[float]
) -> None:
    recorded.sort()
    more = sorted([*recorded, *(time for time in later if time >= recorded[-1])])
    if is_decided(rule, frame, recorded[-1]):
        before, after = (by_time(rule, np.array([frame]), np.array(each))[0] for each in (recorded, more))
        assert before == after


def test_two_values_in_the_window_of_an_exact_join_are_nobodys() -> None:
    rule = Rule("exact", 0.01)
    assert by_time(rule, np.array([1.0]), np.array([0.995, 1.005])).tolist() == [NONE]
    assert by_time(rule, np.array([1.0]), np.array([0.9, 1.005])).tolist() == [1]


def test_a_value_with_an_offset_belongs_to_the_frame_that_was_taken_so_much_earlier() -> None:
    recorded = np.array([0.0, 1.0, 2.0])
    found = by_time(Rule("nearest", 0.1, offset=1.0), np.array([0.0, 1.0, 2.0]), recorded)
    assert found.tolist() == [1, 2, NONE]


def test_what_holds_is_over_where_it_was_said_to_end_until_the_next_value() -> None:
    held = Channel(ChannelConfig(name="x", attribute="a/b/c/d", how="hold"))
    times, values = np.array([10.0, 12.0, 14.0]), np.array([1.5, np.nan, 2.5])
    held.history.add(times, values, np.array([NO_NUMBER, ENDED, NO_NUMBER]))
    assert held.history.total == 2
    frames = np.array([9.9, 10.0, 11.9, 12.0, 13.9, 14.0, 20.0])
    places, found = held.places(np.arange(7), frames, 0.0)
    assert places.tolist() == [NONE, 0, 0, NONE, NONE, 2, 2] and found[2] == 2.5
