"""A series that cannot be begun: whose fault it is says the state, and it is the last series all the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.cli.main import main
from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import SeriesCheck, Status
from tests import hostile
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer


def series_is(name: str) -> Callable[[Status], bool]:
    """Whether the last series is this one, and has ended."""
    return lambda status: status.series is not None and status.series.id == name and not status.series.active


@pytest.mark.parametrize("bad", hostile.STARTS, ids=lambda item: item.name)
def test_a_start_message_that_is_at_fault_is_refused_and_leaves_idle(
    bad: hostile.BadStart, receiver: ReceiverProcess, streamer: Streamer
) -> None:
    receiver.ended(streamer.series_of(str(receiver.root / "first.h5"), 3))
    refused = streamer.start(str(receiver.root / "x.h5"), frames=2, **bad.keys)
    for number in range(2):
        streamer.frame(number)
    streamer.end()
    status = receiver.wait(lambda status: status.drained == 3)
    assert (status.state, status.error) == ("idle", "")
    assert status.refused and status.series.reason == f"not taken: {status.refused}"
    assert (status.series.id, status.series.complete, status.series.filename) == (refused, False, None)
    assert not status.series.taken
    assert (status.counts.received, status.counts.stored, status.counts.planned) == (0, 0, 2)
    assert main(["status", receiver.client.url]) == 1
    taken = receiver.ended(streamer.series_of(str(receiver.root / "x.h5"), 2))
    assert (taken.state, taken.refused, taken.counts.stored) == ("idle", "", 2)


def test_a_file_that_cannot_be_begun_is_an_error_and_the_counts_are_not_those_of_the_series_before(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    path = str(receiver.root / "x.h5")
    receiver.ended(streamer.series_of(path, 3))
    refused = streamer.start(path, frames=2)
    streamer.frame(0)
    status = receiver.wait(lambda status: status.state == "error")
    assert "exists" in status.error and status.refused == ""
    assert status.error.endswith("overwrite), then reset the receiver")
    assert (status.series.id, status.series.complete) == (refused, False)
    assert status.series.reason == f"not taken: {status.error}"
    assert (status.counts.received, status.counts.planned) == (0, 2)


def test_before_arm_an_existing_file_asks_for_no_reset(receiver: ReceiverProcess, streamer: Streamer) -> None:
    path = str(receiver.root / "x.h5")
    receiver.ended(streamer.series_of(path, 3))
    with pytest.raises(ReceiverRefused, match=r"exists and is not overwritten; .* overwrite\)$"):
        receiver.client.check(SeriesCheck(filename=path))


def test_a_series_that_is_dropped_in_error_is_logged_once(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    path = str(receiver.root / "x.h5")
    receiver.ended(streamer.series_of(path, 1))
    streamer.series_of(path, 1)
    receiver.wait(lambda status: status.state == "error" and status.drained == 2)
    dropped = [streamer.series_of(str(receiver.root / name), 20) for name in ("y.h5", "z.h5")]
    receiver.wait(lambda status: status.drained == 2 + 2 * 22)
    lines = [line for line in receiver.log.read_text().splitlines() if "is dropped" in line]
    for line, name, series in zip(lines, ("y.h5", "z.h5"), dropped, strict=True):
        words = (
            f"sim-1: {receiver.root / name} is dropped: the receiver is in Error, reset it (series {series})"
        )
        assert line.endswith(words)


def test_a_series_of_nothing_but_corrupt_frames_has_a_file_that_says_so_and_leaves_idle(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    series = streamer.start(str(receiver.root / "x.h5"), frames=2)
    for number in range(2):
        streamer.frame(number, blobs=[b"cut"])
    streamer.end()
    status = receiver.ended(series)
    assert (status.state, status.refused, status.series.complete) == ("idle", "", False)
    assert (status.counts.corrupt, status.counts.stored) == (2, 0)
