"""What a device shows of both sides' snapshots: its own series only, and no finer than anybody reads."""

from __future__ import annotations

import pytest

from penstock.devices._detector.view_attributes import VIEW_ATTRIBUTES
from penstock.devices._series.machine.states import SeriesState
from penstock.devices._series.machine.view import SeriesView, remedied
from penstock.devices._tango.attributes import Unread
from penstock.receiver.models import Series, Status
from penstock.streamer.remote.client import StreamerStatus

OWN = SeriesView(series="a")


def test_reset_in_a_file_name_is_not_the_remedy() -> None:
    assert remedied("it failed. File: /data/Reset_1.h5") == "it failed. File: /data/Reset_1.h5. Call Reset."
    assert remedied("in /Reset.h5") == "in /Reset.h5. Call Reset."
    for text in ("Call Reset and Arm.", "call Reset.", "Reset and Arm take it as it is now."):
        assert remedied(text) == text


def test_a_reservation_ends_before_the_last_series() -> None:
    view = SeriesView(
        state=SeriesState.IDLE, sentence="Ready. Last series: 3 of 3.", reservation="it is away"
    )
    assert view.status == "Ready, but it is away. Last series: 3 of 3."
    assert SeriesView(sentence="Is it there?", warning="Look.").status == "Is it there? Look."


def value_of(view: SeriesView, name: str) -> object:
    (attribute,) = (each for each in VIEW_ATTRIBUTES if each.parameter.name == name)
    return attribute.value(view)


def receiver(
    series: str = "a", state: str = "running", rate: float = 0.0, queue: tuple[int, int] = (0, 0)
) -> Status:
    return Status(
        state=state, series=Series(id=series, filename=None, active=True), frame_rate=rate,  # type: ignore[arg-type]
        queue_bytes=queue[0], queue_limit_bytes=queue[1],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("used", "total", "percent"), [(0, 0, 0.0), (0, 4, 0.0), (1, 4, 25.0), (7, 65536, 0.0), (4, 4, 100.0)]
)
def test_a_ring_is_filled_by_whole_percents(used: int, total: int, percent: float) -> None:
    status = StreamerStatus(state="idle", ring_used=used, ring_total=total)
    assert value_of(OWN.with_streamer(status), "RingFill") == percent


@pytest.mark.parametrize(
    ("queue", "percent"), [((0, 0), 0.0), ((50, 200), 25.0), ((1, 10**9), 0.0), ((200, 200), 100.0)]
)
def test_the_receivers_queue_is_filled_by_whole_percents(queue: tuple[int, int], percent: float) -> None:
    assert value_of(OWN.with_receiver(receiver(queue=queue)), "ReceiverQueue") == percent


def test_a_rate_is_that_of_the_own_series_while_it_runs_to_three_digits() -> None:
    assert value_of(OWN.with_receiver(receiver(rate=998.7654)), "FrameRateMeasured") == 999.0
    assert value_of(OWN.with_receiver(receiver(rate=0.123456)), "FrameRateMeasured") == 0.123
    assert value_of(OWN.with_receiver(receiver(rate=5.0, state="idle")), "FrameRateMeasured") == 0.0
    assert value_of(OWN.with_receiver(receiver(rate=5.0, series="b")), "FrameRateMeasured") == 0.0


def test_a_side_that_does_not_answer_has_no_values() -> None:
    view = OWN.with_receiver(receiver(rate=5.0, queue=(1, 2)))
    view = view.with_streamer(StreamerStatus(state="idle", ring_used=1, ring_total=2))
    assert value_of(view.without_streamer(), "RingFill") == Unread(0.0)
    assert value_of(view.without_streamer(), "FrameRateMeasured") == 5.0
    for name in ("FrameRateMeasured", "ReceiverQueue"):
        assert value_of(view.without_receiver(), name) == Unread(0.0)
    assert value_of(view.without_receiver(), "RingFill") == 50.0
