"""Series that a device has announced: the entry of one receiver, and the decoders that take it."""

from __future__ import annotations

import pytest

from penstock.receiver.sources.expected import ExpectedSeries
from penstock.receiver.sources.sls import SlsSource
from penstock.stins.errors import RemoteError
from penstock.stins.messages import Frame, SeriesEnd, Start
from penstock.stins.user_part import UserPart
from tests.receiver.sources.sls import DUMMY, message

OURS, NEXT = "0123456789abcdef", "fedcba9876543210"


def part(arm: str = OURS, **values: object) -> UserPart:
    return UserPart(arm=arm, filename="/data/scan.h5", **values)  # type: ignore[arg-type]


@pytest.fixture
def expected() -> ExpectedSeries:
    return ExpectedSeries()


# -- the entry -------------------------------------------------------------------------------------


def test_it_waits_until_its_series_begins(expected: ExpectedSeries) -> None:
    assert expected.waiting == ""
    expected.expect(part())
    assert expected.waiting == OURS
    assert expected.begin(OURS, "port") == part()
    assert expected.waiting == ""


def test_every_port_begins_it_once(expected: ExpectedSeries) -> None:
    expected.expect(part())
    assert expected.begin(OURS, 1) is not None
    assert expected.begin(OURS, 2) is not None
    assert expected.begin(OURS, 1) is None
    assert expected.begin(OURS, 2) is None


def test_another_id_is_somebody_elses_and_leaves_it_waiting(expected: ExpectedSeries) -> None:
    expected.expect(part())
    assert expected.begin(NEXT, "port") is None
    assert expected.waiting == OURS


def test_the_next_one_takes_its_place(expected: ExpectedSeries) -> None:
    expected.expect(part())
    expected.expect(part(NEXT))
    assert expected.begin(OURS, "port") is None
    assert expected.begin(NEXT, "port") is not None


def test_it_can_be_withdrawn_but_not_once_it_has_begun(expected: ExpectedSeries) -> None:
    expected.expect(part())
    expected.forget(NEXT)
    assert expected.waiting == OURS
    expected.forget(OURS)
    assert expected.begin(OURS, "port") is None
    expected.expect(part())
    assert expected.begin(OURS, 1) is not None
    expected.forget(OURS)
    assert expected.begin(OURS, 2) is not None, "a module that is late"


def test_it_is_forgotten_when_its_time_is_up_and_not_before(expected: ExpectedSeries) -> None:
    expected.expect(part(), until=70.0)
    expected.tick(69.9)
    assert expected.waiting == OURS
    expected.tick(70.0)
    assert expected.begin(OURS, "port") is None
    expected.expect(part())
    expected.tick(1e9)
    assert expected.waiting == OURS, "without a limit it waits for ever"


# -- the decoder -----------------------------------------------------------------------------------


def armed(index: int = 0, arm: str = OURS, **keys: object) -> list[bytes]:
    return message(index, addJsonHeader={"arm": arm}, **keys)


def test_its_first_frame_begins_the_series_as_it_was_announced(expected: ExpectedSeries) -> None:
    metadata = {"sample": {"name": "lysozyme"}, "description": "ours"}
    expected.expect(
        part(
            frames=6, frames_per_trigger=2, trigger_mode="SOFTWARE", index_source="hardware counter",
            overwrite=True, metadata=metadata,
        )
    )  # fmt: skip
    source = SlsSource(expected)
    start, frame = source.decode(armed(fname="/data/elsewhere", frames=99))  # type: ignore[misc]
    assert isinstance(start, Start) and isinstance(frame, Frame)
    header = start.header
    assert (header.series, header.filename, header.overwrite) == (OURS, "/data/scan.h5", True)
    assert (header.frames, header.trigger_mode) == (6, "SOFTWARE")
    assert start.metadata["sample"] == {"name": "lysozyme"}
    assert start.metadata["description"] == "JUNGFRAU", "what the stream says counts"
    assert "user" not in start.metadata
    assert (frame.image.series, frame.image.trigger) == (OURS, 0)
    third = source.decode(armed(2))
    assert isinstance(third, Frame) and third.image.trigger == 1
    assert source.decode([DUMMY]) == SeriesEnd(series=OURS)


def test_frames_until_stop_have_no_plan_whatever_the_progress_says(expected: ExpectedSeries) -> None:
    expected.expect(part(frames=0))
    start, _ = SlsSource(expected).decode(armed(frames=2**31))  # type: ignore[misc]
    assert isinstance(start, Start) and start.header.frames is None


def test_modules_begin_the_same_series_each_from_its_own_first_frame(expected: ExpectedSeries) -> None:
    expected.expect(part(frames=3))
    starts = [SlsSource(expected).decode(armed(index))[0] for index in (0, 1)]  # type: ignore[index]
    assert [start.header.series for start in starts] == [OURS, OURS]  # type: ignore[union-attr]


def test_other_values_of_the_json_header_are_kept(expected: ExpectedSeries) -> None:
    expected.expect(part())
    start, _ = SlsSource(expected).decode(message(0, addJsonHeader={"arm": OURS, "emin": "4500"}))  # type: ignore[misc]
    assert isinstance(start, Start) and start.metadata["user"] == {"emin": "4500"}
    expected.expect(part(metadata={"user": {"sample": "lysozyme"}}))
    start, _ = SlsSource(expected).decode(message(0, addJsonHeader={"arm": OURS, "emin": "4500"}))  # type: ignore[misc]
    assert isinstance(start, Start) and start.metadata["user"] == {"sample": "lysozyme"}


def test_two_armings_of_one_file_and_a_foreign_start_between_are_three_series(
    expected: ExpectedSeries,
) -> None:
    source, name = SlsSource(expected), {"fname": "/data/scan.h5", "frames": 2}
    expected.expect(part(frames=2))
    first = source.decode(armed(0, **name))
    source.decode(armed(1, **name))
    source.decode([DUMMY])
    expected.expect(part(NEXT, frames=2))
    foreign = source.decode(armed(0, first=3, **name))
    source.decode(armed(1, first=3, **name))  # its end is lost
    second = source.decode(armed(0, NEXT, first=5, **name))
    assert isinstance(first, tuple) and isinstance(foreign, tuple) and isinstance(second, tuple)
    error, start, frame = foreign
    assert isinstance(error, RemoteError) and error.kind == "stale_arm" and OURS in str(error)
    assert isinstance(start, Start) and start.header.filename is None and start.header.series is None
    assert isinstance(frame, Frame) and frame.image.series is None
    assert [begun[0].header.series for begun in (first, second)] == [OURS, NEXT]  # type: ignore[union-attr]


def test_a_series_that_nobody_has_announced_is_taken_without_a_file(expected: ExpectedSeries) -> None:
    error, start, _ = SlsSource(expected).decode(armed(fname="/data/scan.h5"))  # type: ignore[misc]
    assert isinstance(error, RemoteError) and "restarted" in str(error)
    assert isinstance(start, Start) and start.header.filename is None


def test_a_first_frame_that_cannot_be_used_leaves_the_series_to_the_second(expected: ExpectedSeries) -> None:
    expected.expect(part())
    source = SlsSource(expected)
    with pytest.raises(RemoteError):
        source.decode(armed(0)[:1])
    start, _ = source.decode(armed(1))  # type: ignore[misc]
    assert isinstance(start, Start) and start.header.series == OURS
    refused = source.decode(armed(2)[:1])
    assert isinstance(refused, Frame) and refused.image.series == OURS
