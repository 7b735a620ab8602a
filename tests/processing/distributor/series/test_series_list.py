"""Which series the frames of the stream belong to, whatever else the receiver says meanwhile."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
import zmq

from penstock.processing import wire
from penstock.processing.config.pipeline_config import PipelineConfig
from penstock.processing.distributor.connections import Connections, Peer
from penstock.processing.distributor.frames.schedule import Schedule
from penstock.processing.distributor.link import Setup
from penstock.processing.distributor.receiver.events import Over
from penstock.processing.distributor.series.ending import Ending
from penstock.processing.distributor.series.from_files import AT_ONCE
from penstock.processing.distributor.series.run import Phase
from penstock.processing.distributor.series.series_list import SeriesList
from penstock.processing.distributor.versions import Versions
from penstock.processing.distributor.workers import Member, Workers
from penstock.receiver.config import ForwardConfig
from penstock.receiver.forward.shared import SharedSlots
from penstock.stins.messages import Header, SeriesEnd, SharedMemory
from penstock.stins.shared import Reference


@pytest.fixture
def series() -> Iterator[SeriesList]:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    connections = Connections(context)
    config = PipelineConfig(name="mine", steps=())
    schedule = Schedule()
    workers = Workers(connections, schedule, Versions({}), config, ())
    found = SeriesList(Setup(config=config, steps=(), since=0.0), schedule, workers)
    yield found
    found.close()
    connections.close()
    context.term()


def over(series: str, path: Path) -> Over:
    with h5py.File(path, "w") as file:
        file["entry/data/data"] = np.zeros((3, 2, 2), "u2")
    return Over(series, str(path), "", 0.0, 1.0, 3, (), "")


def test_a_frame_belongs_to_the_series_of_the_stream_when_the_receiver_tells_of_an_earlier_one_after_it(
    series: SeriesList, tmp_path: Path
) -> None:
    series.began(Header(filename="", series="second", frames=5), b"{}")
    series.is_over(over("first", tmp_path / "first.h5"))
    series.by_value(0, [b"header", b"blob"])
    assert series.runs["second"].account.counts.queued == 1
    assert series.runs["first"].account.counts.pending == 3


def test_a_frame_belongs_to_a_series_that_goes_on_after_its_receiver_was_killed(
    series: SeriesList, tmp_path: Path
) -> None:
    again = Header(filename="", series="goes on", frames=5)
    series.began(again, b"{}")
    series.is_over(over("another", tmp_path / "another.h5"))
    series.began(again, b"{}")
    series.by_value(4, [b"header", b"blob"])
    assert series.runs["goes on"].account.counts.queued == 1


def test_a_start_message_that_comes_when_the_file_is_read_already_begins_nothing_anew(
    series: SeriesList, tmp_path: Path
) -> None:
    series.is_over(over("first", tmp_path / "first.h5"))
    run = series.runs["first"]
    Ending(series).step()
    assert run.phase is Phase.REST and run.account.counts.queued == 3
    series.began(Header(filename="", series="first", frames=3), b"{}")
    series.by_value(0, [b"header", b"blob"])
    assert run.phase is Phase.REST and run.numbers == [1]
    assert series.answers.value_bytes == 0
    series.ended(SeriesEnd())
    assert series.streamed is run


def test_the_end_of_a_series_is_asked_for_as_soon_as_the_stream_brings_no_more_of_it(
    series: SeriesList,
) -> None:
    asked: list[str] = []
    series.ask_end = asked.append
    series.began(Header(filename="", series="ends", frames=5), b"{}")
    series.ended(SeriesEnd())
    series.began(Header(filename="", series="breaks off", frames=5), b"{}")
    series.stream_has_ended()
    assert asked == ["ends", "breaks off"]


def test_of_a_series_that_the_receiver_has_forgotten_what_did_not_come_is_dropped_at_once(
    series: SeriesList,
) -> None:
    series.began(Header(filename="", series="old", frames=5), b"{}")
    series.by_value(0, [b"header", b"blob"])
    series.is_forgotten("old")
    Ending(series).step()
    run = series.runs["old"]
    assert (run.account.counts.queued, run.account.counts.pending) == (1, 5 - 1)
    series.ended(SeriesEnd())
    Ending(series).step()
    assert (run.account.counts.queued, run.account.counts.dropped) == (1, 4)
    assert "does not know this series (any more)" in run.status("").reason


def test_frames_of_no_series_are_given_back_to_the_receiver(series: SeriesList, tmp_path: Path) -> None:
    config = ForwardConfig(
        name="live", endpoint="tcp://127.0.0.1:*", shared=True, queue_mb=1, shared_folder=str(tmp_path)
    )
    slots = SharedSlots(config, "sim-1")
    slots.lay_out(1000)
    try:
        shared = SharedMemory(str(slots.path), slots.nonce.hex(), slots.layout.slots, 1000)
        series.began(Header(filename="", series="finished", frames=2, shared=shared), b"{}")
        found = [Reference(index, slots.put(b"header", [b"blob"]), 6, (4,)) for index in range(2)]
        series.forget(series.runs["finished"])  # an earlier distributor had done it
        series.referenced(found)
        assert slots.taken == 0
    finally:
        slots.close()


def test_only_of_the_series_of_the_stream_more_is_expected(series: SeriesList, tmp_path: Path) -> None:
    series.began(Header(filename="", series="second", frames=5), b"{}")
    series.is_over(over("first", tmp_path / "first.h5"))
    assert series.runs["second"].expects_more
    series.stream_has_ended()
    assert not series.runs["second"].expects_more


def test_of_a_series_that_is_over_only_what_is_said_of_it_is_kept(series: SeriesList, tmp_path: Path) -> None:
    series.is_over(over("first", tmp_path / "first.h5"))
    run = series.runs["first"]
    store, account = weakref.ref(run.store), weakref.ref(run.account)
    series.forget(run)
    del run
    gc.collect()
    assert store() is None and account() is None
    assert [(past.id, past.counts.frames) for past in series.past.last(1)] == [("first", 3)]


def test_of_very_many_series_that_nobody_has_taken_a_few_are_open_at_a_time(
    series: SeriesList, tmp_path: Path
) -> None:
    ending = Ending(series)
    for number in range(AT_ONCE + 3):
        series.is_over(over(f"s{number}", tmp_path / f"{number}.h5"))
    assert list(series.runs) == [f"s{number}" for number in range(AT_ONCE)]
    series.began(Header(filename="", series=f"s{AT_ONCE + 1}", frames=3), b"{}")  # told later by the stream
    for name in ("s0", "s1", "s2", "s3"):
        series.forget(series.runs[name])
    ending.step()
    assert [name for name in series.runs if int(name[1:]) >= AT_ONCE - 1] == ["s15", "s17", "s16", "s18"]
    assert series.runs["s17"].numbers == [17], "the one that has begun meanwhile is not begun twice"
    assert series.runs["s17"].over is not None


def test_series_that_wait_for_their_turn_are_not_begun_once_all_are_stopped(
    series: SeriesList, tmp_path: Path
) -> None:
    ending = Ending(series)
    for number in range(AT_ONCE + 3):
        series.is_over(over(f"s{number}", tmp_path / f"{number}.h5"))
    ending.stop("", "stopped by the user")
    for name in list(series.runs):
        series.forget(series.runs[name])
    ending.step()
    assert not series.runs


def test_a_worker_that_cannot_read_the_memory_has_used_no_parameters_and_its_frames_are_pending_again(
    series: SeriesList,
) -> None:
    series.began(Header(filename="", series="a", frames=5), b"{}")
    series.by_value(0, [b"header", b"blob"])
    run = series.runs["a"]
    series.schedule.join(1, shares=False, batch=1)
    bunch = series.schedule.next(0.0)
    assert bunch is not None
    member = Member(1, Peer(b"", 0), "w", "h", 1)
    unread = wire.Done(series=run.number, bunch=bunch.number, version=0, seconds=0.0, unread=(0,))
    series.answers.done(member, unread, [], 0.0)
    assert run.account.counts.pending == 5  # none of them is lost, or done
    series.by_value(0, [b"header", b"blob"])
    bunch = series.schedule.next(0.0)
    assert bunch is not None
    with pytest.raises(wire.WireError, match="no change 7 of the parameters was taken"):
        series.answers.done(
            member, wire.Done(series=run.number, bunch=bunch.number, version=7, seconds=0.0), [], 0.0
        )
