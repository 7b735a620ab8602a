"""Pipelines that come, or come back, within a series: what is live from then on, and what stays closed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.processing.distributor.receiver.events import SECONDS, Running, Unheard
from penstock.processing.models import Series, Status
from tests.processing.distributor.opened import opened
from tests.processing.distributor.pipelines import (
    NUMBER,
    Pipeline,
    column,
    entry,
    pipeline,
    results,
    statuses,
)
from tests.processing.distributor.small_series import SHAPE
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

Start = Callable[..., ReceiverProcess]


def send(streamer: Streamer, receiver: ReceiverProcess, begin: int, end: int) -> None:
    for number in range(begin, end):
        streamer.frame(number, pixels(number, SHAPE))
    receiver.received(end)


def start(streamer: Streamer, receiver: ReceiverProcess, file: str, frames: int) -> str:
    path = str(receiver.root / file)
    return streamer.start(path, frames=frames, shape=SHAPE, type="uint16", compression="none")


def live(made: Pipeline, name: str, frames: int) -> Series:
    """The series once so many frames are done, while it runs."""

    def has(status: Status) -> bool:
        return status.series is not None and status.series.id == name and status.series.counts.done == frames

    series = made.wait(has).series
    assert series is not None and series.active and series.from_file == 0
    return series


def each_once(series: Series, frames: int, from_file: int) -> None:
    """Pixel 0 of frame n of 4 x 6 pixels is 24 n."""
    assert (series.counts.done, series.counts.frames, series.from_file) == (frames, frames, from_file)
    assert series.reason == ""
    with results(series) as file:
        assert column(file, "number").tolist() == [24 * number for number in range(frames)]
        assert column(file, "index").tolist() == list(range(frames))
        assert statuses(file).tolist() == [1] * frames


def test_after_sigkill_of_the_distributor_frames_are_live_again_and_those_between_come_from_the_file(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with pipeline(NUMBER, receiver, workers=1) as made:
        name = start(sender, receiver, "killed.h5", 60)
        send(sender, receiver, 0, 20)
        live(made, name, 20)
        made.kill()
        receiver.wait(lambda status: status.consumers[0].connected == 0)
        send(sender, receiver, 20, 35)
        made.start()
        made.work()
        receiver.wait(lambda status: status.consumers[0].connected > 0)
        send(sender, receiver, 35, 59)
        # 20 by the first distributor, and 24 by this one. The last one keeps the receiver from the end.
        assert live(made, name, 44).counts.pending == 16
        assert made.status.duplicates == 0
        send(sender, receiver, 59, 60)
        sender.end(reason="complete", triggered=60, sent=60)
        each_once(made.over(name), 60, 15)


def test_a_pipeline_that_is_started_in_the_middle_of_a_series_processes_what_follows_at_once(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    name = start(sender, receiver, "late.h5", 30)
    send(sender, receiver, 0, 12)
    with pipeline(NUMBER, receiver, workers=1) as made:
        send(sender, receiver, 12, 29)
        assert live(made, name, 17).counts.pending == 13
        send(sender, receiver, 29, 30)
        sender.end(reason="complete", triggered=30, sent=30)
        each_once(made.over(name), 30, 12)


@pytest.mark.slow
def test_a_distributor_that_is_started_again_opens_no_series_that_is_over_and_tells_of_it_as_before(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with pipeline(NUMBER, receiver, workers=1) as made:
        names = [sender.series_of(str(receiver.root / f"over_{number}.h5"), 2) for number in range(3)]
        for name in names:
            made.over(name)
        before = made.status
        made.kill()
        with opened(receiver.root) as files:
            made.start(again=True)
            made.work()
            receiver.wait(lambda status: status.consumers[0].connected > 0)
            assert (made.status.series, made.status.others[:2]) == (before.series, before.others[:2])
            last = sender.series_of(str(receiver.root / "next.h5"), 4)
            assert made.over(last).counts.done == 4
            found = files.names()
            assert any("next.mine.h5" in name for name in found)
            assert not [name for name in found if "over_" in name]
        assert [each.id for each in (made.status.series, *made.status.others)][:4] == [last, *reversed(names)]


@pytest.mark.slow
def test_by_a_plain_entry_it_says_that_it_waits_for_the_end_and_takes_all_from_the_file(
    start_receiver: Start, tmp_path: Path, streamer: Streamer
) -> None:
    receiver = start_receiver(forward=[entry(tmp_path, shared=False)])
    receiver.connected()
    name = start(streamer, receiver, "a.h5", 30)
    send(streamer, receiver, 0, 12)
    with pipeline(NUMBER, receiver, workers=1, consumer="live") as made:
        status = made.wait(lambda status: status.waits_for)
        assert status.waits_for == (
            f"waits for the end of series {name}, of whose start this pipeline was not told: its frames are "
            f"taken from {receiver.root / 'a.h5'} then, and live results begin with the next series"
        )
        send(streamer, receiver, 12, 30)
        streamer.end(reason="complete", triggered=30, sent=30)
        each_once(made.over(name), 30, 30)
        assert not made.wait(lambda status: not status.waits_for).waits_for
        again = streamer.series_of(str(receiver.root / "b.h5"), 5)
        assert made.over(again).from_file == 0


def test_a_series_is_unheard_once_the_receiver_has_said_so_for_a_while_and_nobody_knows_it() -> None:
    unheard, nobody = Unheard(), lambda _: False
    assert unheard.sentence(nobody, 100.0) == ""
    unheard.take(Running("a", None), 100.0)
    assert unheard.sentence(nobody, 100.0 + SECONDS / 2) == "", "its start message may be on its way"
    said = unheard.sentence(nobody, 100.0 + SECONDS)
    assert "series a" in said and "none of its frames is processed, since it is not written to a file" in said
    assert unheard.sentence(lambda series: series == "a", 100.0 + SECONDS) == ""
    unheard.take(Running("a", "/data/a.h5"), 101.0)
    assert "taken from /data/a.h5" in unheard.sentence(nobody, 101.0), "it is the same series"
    unheard.take(Running("", None), 102.0)
    assert unheard.sentence(nobody, 110.0) == ""
