"""Indices from the frame ids of all three kinds of cameras."""

from __future__ import annotations

import pytest

from penstock.devices._genicam.frame_ids import GIGE, GIGE_EXTENDED, USB3, FrameIds, Habit, Kind


def series(ids: FrameIds, *numbers: int, exact: bool = True) -> list[int]:
    """The indices of one series."""
    indices = [ids.index(number) for number in numbers]
    ids.end(exact=exact)
    return indices


def test_16_bit_ids_go_from_65535_to_1() -> None:
    assert series(FrameIds(GIGE), 65534, 65535, 1, 2) == [0, 1, 2, 3]


def test_200_ids_across_the_wrap_are_200_indices() -> None:
    numbers = [(65401 + index - 1) % 65535 + 1 for index in range(200)]
    assert numbers[134:136] == [65535, 1]
    assert series(FrameIds(GIGE), *numbers) == list(range(200))


@pytest.mark.parametrize(("kind", "start"), [(GIGE_EXTENDED, 65534), (USB3, 65534), (USB3, 2**32 - 2)])
def test_64_bit_ids_do_not_wrap(kind: Kind, start: int) -> None:
    assert series(FrameIds(kind), *range(start, start + 4)) == [0, 1, 2, 3]


def test_0_is_an_id_of_usb3_and_of_extended_ids() -> None:
    assert series(FrameIds(USB3), 0, 1, 3) == [0, 1, 3]
    assert series(FrameIds(GIGE_EXTENDED), 0, 1, 3) == [0, 1, 3]


@pytest.mark.parametrize("kind", [GIGE, GIGE_EXTENDED, USB3])
def test_a_lost_frame_leaves_its_gap(kind: Kind) -> None:
    assert series(FrameIds(kind), 5, 6, 9) == [0, 1, 4]


def test_frames_that_are_lost_at_the_wrap_leave_their_gap() -> None:
    assert series(FrameIds(GIGE), 65533, 2) == [0, 4]


def test_a_late_frame_has_an_index_below_the_last_one() -> None:
    assert series(FrameIds(GIGE), 65534, 1, 65535) == [0, 2, 1]


def test_at_first_the_first_frame_is_index_0_and_the_start_is_not_known() -> None:
    ids = FrameIds(GIGE)
    assert ids.start is Habit.UNKNOWN
    assert series(ids, 777, 778) == [0, 1]
    assert ids.start is Habit.UNKNOWN


@pytest.mark.parametrize(("kind", "first"), [(GIGE, 1), (GIGE_EXTENDED, 1), (USB3, 0)])
def test_ids_that_begin_anew_show_that_the_first_frames_are_lost(kind: Kind, first: int) -> None:
    ids = FrameIds(kind)
    series(ids, *range(first, first + 2000))
    assert series(ids, first, first + 1) == [0, 1]
    assert ids.start is Habit.RESTARTS
    assert series(ids, first + 2, first + 3) == [2, 3]


@pytest.mark.parametrize(("kind", "last"), [(GIGE, 65535), (GIGE_EXTENDED, 70000), (USB3, 2**40)])
def test_ids_that_continue_show_that_the_first_frames_are_lost(kind: Kind, last: int) -> None:
    ids = FrameIds(kind)
    series(ids, last - 1, last)
    assert series(ids, kind.after(last), kind.after(last, 2)) == [0, 1]
    assert ids.start is Habit.CONTINUES
    assert series(ids, kind.after(last, 5), kind.after(last, 6)) == [2, 3]


def test_if_the_last_id_is_not_known_the_first_frame_is_index_0() -> None:
    ids = FrameIds(GIGE)
    series(ids, 3000, 3001)
    series(ids, 3002, 3003, exact=False)
    assert ids.start is Habit.UNKNOWN
    assert series(ids, 3010, 3011) == [0, 1]
    assert ids.start is Habit.CONTINUES


def test_a_series_without_frames_changes_nothing() -> None:
    ids = FrameIds(GIGE)
    series(ids, 3000)
    series(ids, 3001)
    series(ids)
    assert ids.start is Habit.CONTINUES
    assert series(ids, 3003) == [1]


def test_a_series_whose_frames_are_all_lost_makes_the_start_unknown() -> None:
    ids = FrameIds(GIGE)
    series(ids, 3000)
    series(ids, 3001)
    series(ids, exact=False)
    assert ids.start is Habit.UNKNOWN


def test_ids_from_nowhere_are_no_index_of_a_thousand() -> None:
    """The camera was switched off and on in between, say."""
    ids = FrameIds(GIGE)
    series(ids, 3000)
    series(ids, 3001)
    assert series(ids, 20000, 20001) == [0, 1]
    assert ids.start is Habit.UNKNOWN


def test_frames_without_an_id_before_the_first_one_with_an_id_are_counted() -> None:
    ids = FrameIds(GIGE)
    ids.lost()
    ids.lost()
    assert series(ids, 777, 778) == [2, 3]
    assert series(ids, 779) == [0]


def continuing() -> FrameIds:
    """Of a camera whose ids are known to continue; the last one was 1002."""
    ids = FrameIds(USB3)
    series(ids, 999, 1000)
    assert series(ids, 1001, 1002) == [0, 1] and ids.start is Habit.CONTINUES
    return ids


@pytest.mark.parametrize(
    ("first", "passed", "index"),
    [
        (1003, 0, 0), (1012, 8, 0), (1012, 9, 9), (1012, 200, 9), (1012, None, 0), (7, 200, 0),
        (10**6, 200, 0),
    ],
    ids=["no jump", "9 periods have not passed", "they have", "long since", "no clock", "back", "far"],
)  # fmt: skip
def test_ids_that_may_have_jumped_are_bound_by_the_time_since_the_start(
    first: int, passed: int | None, index: int
) -> None:
    ids = continuing()
    ids.disturb()
    assert ids.start is Habit.DISTURBED and ids.start.value.startswith("uncertain")
    assert ids.index(first, passed) == index
    assert ids.index(first + 1, passed) == index + 1
    ids.end(exact=True)
    assert ids.start is Habit.CONTINUES, "nothing was written since the last id"
    assert ids.index(first + 4, 2) == 2


@pytest.mark.parametrize(("passed", "index"), [(None, 1), (1, 1), (0, 0)])
def test_a_frame_of_the_series_before_that_has_come_very_late_shifts_nothing(
    passed: int | None, index: int
) -> None:
    """It has taken the id that was expected, and no period has passed since the start."""
    ids = continuing()
    assert ids.start is Habit.CONTINUES
    assert ids.index(1004, passed) == index


def test_a_jump_teaches_nothing() -> None:
    ids = FrameIds(USB3)
    series(ids, 0, 1)
    ids.disturb()
    assert series(ids, 5000, 5001) == [0, 1]
    assert ids.start is Habit.UNKNOWN
    ids = continuing()
    ids.disturb()
    series(ids, 10**6, 10**6 + 1)
    assert ids.start is Habit.CONTINUES


def test_ids_that_begin_anew_do_so_whatever_is_written() -> None:
    ids = FrameIds(GIGE)
    series(ids, *range(1, 2001))
    series(ids, 1, 2)
    ids.disturb()
    assert ids.start is Habit.RESTARTS
    assert ids.index(3, 0) == 2
