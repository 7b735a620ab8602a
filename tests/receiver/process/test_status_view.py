"""What is view of the running, or else the last, series."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from penstock.receiver.config import ReceiverConfig, SourceConfig
from penstock.receiver.files.recovery.recover import Recovered
from penstock.receiver.models import Counts, FrameStatus, PastSeries, Series
from penstock.receiver.process.status_view import StatusView
from penstock.receiver.series.running_series import RunningSeries
from tests.receiver.sample_series import start

PATH = Path("/data/x.h5")


@pytest.fixture
def view() -> StatusView:
    return StatusView(
        ReceiverConfig(source=SourceConfig(endpoints=("tcp://127.0.0.1:1",)), data_root="/data"), "eiger-1"
    )


def test_before_the_first_series_there_is_none(view: StatusView) -> None:
    assert view.now(None, "") == (None, Counts())
    assert view.id is None


def test_a_series_is_shown_from_its_beginning_to_the_beginning_of_the_next(view: StatusView) -> None:
    series = RunningSeries(start(frames=3, series="a"))
    view.begin(series, PATH, 12.5)
    series.account.take(0, FrameStatus.STORED)
    found, counts = view.now(series, "")
    assert found is not None
    assert (found.id, found.filename, found.started, found.active, found.complete) == (
        "a", "/data/x.h5", 12.5, True, None,
    )  # fmt: skip
    assert (counts.stored, counts.pending) == (1, 2)
    series.close("stopped")
    assert (found.ended, found.lost) == (0.0, [])
    before = time.time()
    view.end(series.account, complete=False, reason="stopped")
    found, counts = view.now(None, "")
    assert found is not None
    assert (found.id, found.active, found.complete, found.reason) == ("a", False, False, "stopped")
    assert before <= found.ended <= time.time()
    assert found.lost == [(1, 2, "missing")]
    assert (counts.stored, counts.missing) == (1, 2)
    view.begin(RunningSeries(start(series="b")), None, 13.0)
    assert view.id == "b"


def test_a_series_whose_streamer_was_lost_and_is_back_is_unconfirmed(view: StatusView) -> None:
    series = RunningSeries(start())
    view.begin(series, PATH, 0.0)
    found, _ = view.now(series, "", suspended=True)
    assert found is not None and found.unconfirmed
    assert found.reason == (
        "the streamer was lost during the series, and its next message has not arrived yet"
    )
    found, _ = view.now(series, "")
    assert found is not None and not found.unconfirmed


def test_what_holds_a_series_up_is_said_as_long_as_it_does(view: StatusView) -> None:
    series = RunningSeries(start())
    view.begin(series, PATH, 0.0)
    found, _ = view.now(series, "viewer")
    assert found is not None
    assert found.reason == "waits for consumer viewer (when_full: block); does it read?"
    found, _ = view.now(series, "")
    assert found is not None
    assert found.reason == ""


def test_what_an_earlier_process_left_is_shown_until_a_series_begins(view: StatusView) -> None:
    left = Series(id="old", filename="/data/old.h5", active=False, complete=False, reason="it was killed")
    view.recovered(Recovered([PastSeries(series=left, counts=Counts(planned=3, stored=1))]))
    assert view.now(None, "") == (left, Counts(planned=3, stored=1))
    view.recovered(Recovered())
    assert view.id == "old"


def look(view: StatusView) -> tuple[list[int], str, str]:
    found, _ = view.now(None, "")
    assert found is not None
    return found.shape, found.dtype, found.dataset


def test_where_the_frames_lie_and_what_they_are_is_said_from_the_beginning(view: StatusView) -> None:
    series = RunningSeries(start(shape=(3, 4), type="uint32", compression="none"))
    view.begin(series, PATH, 0.0)
    assert look(view) == ([3, 4], "uint32", "entry/instrument/eiger_1/data")
    view.first_frame(series, (3, 4), "uint32")
    series.close("stopped")
    view.end(series.account, complete=False, reason="stopped")
    assert look(view) == ([3, 4], "uint32", "entry/instrument/eiger_1/data")
    (past,) = view.ended
    assert (past.series.shape, past.series.dtype) == ([3, 4], "uint32")
    view.begin(RunningSeries(start(shape=(3, 4), type="uint8", compression="none")), None, 0.0)
    assert look(view) == ([3, 4], "uint8", ""), "no file"


def test_the_first_frame_says_what_the_start_message_does_not(view: StatusView) -> None:
    series = RunningSeries(start(shape=None, type=None, compression=None))
    view.begin(series, PATH, 0.0)
    assert look(view)[:2] == ([], "")
    view.first_frame(series, (5, 6), "int32")
    assert look(view)[:2] == ([5, 6], "int32")


@pytest.mark.parametrize(
    ("channels", "shape"),
    [(None, [2, 3, 4]), (("low", "high"), [3, 4]), (("one", "two", "three"), [2, 3, 4])],
)
def test_a_frame_has_the_shape_that_it_has_in_its_dataset(
    view: StatusView, channels: tuple[str, ...] | None, shape: list[int]
) -> None:
    series = RunningSeries(start(shape=(2, 3, 4), type="uint16", compression="none", channels=channels))
    view.begin(series, PATH, 0.0)
    assert look(view)[0] == shape
