"""What a start message does: each line of the table of `succession`, by what the collector makes of it."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from penstock.receiver.connection.known_starts import REMEMBERED
from penstock.receiver.connection.reorder_buffer import FIRST_SECONDS
from penstock.receiver.series.account import Account
from penstock.receiver.series.kills import Interruption
from penstock.receiver.series.running_series import ResumedSeries
from penstock.stins.errors import BlobError, RemoteError
from penstock.stins.messages import Frame, Message, RefusedImage, Start
from tests.receiver.sample_series import Bench, end, frame, start

ONE: dict[str, dict[str, int]] = {}
TWO = {"source": {"sockets": 2}}


def named(
    filename: str, number: int | None = None, series: str | None = "a", frames: int | None = 2
) -> Start:
    """A start message of another file."""
    made = start(number, series, frames=frames)
    return Start(msgspec.structs.replace(made.header, filename=filename), {})


def ids(bench: Bench) -> list[str | None]:
    """The files of the series that have begun."""
    return [series.header.filename for series in bench.sink.begun]


def complete(bench: Bench) -> list[bool]:
    return [outcome.complete for _, outcome in bench.sink.ended]


@pytest.mark.parametrize("sockets", [ONE, TWO], ids=["one socket", "two sockets"])
def test_a_start_message_that_comes_again_after_its_series_touches_no_file(sockets: dict) -> None:
    bench = Bench(**sockets)
    whole = [named("/a.h5", 0), frame(0, 1), frame(1, 2), end(3)]
    bench.say(*whole, whole[0], whole[3])
    bench.wait(10.0)
    assert (ids(bench), bench.running, bench.collector.drained) == (["/a.h5"], False, 2)
    bench.say(named("/b.h5", 4, "b"), frame(0, 5, "b"), frame(1, 6, "b"), end(7, "b"))
    assert (ids(bench), complete(bench)) == (["/a.h5", "/b.h5"], [True, True])


@pytest.mark.parametrize("name", ["a", None])
def test_the_same_series_once_more_begins_with_its_first_frame(name: str | None) -> None:
    bench = Bench()
    whole: list[Message] = [
        named("/a.h5", None, name),
        *(frame(n, None, name) for n in (0, 1)),
        end(None, name),
    ]
    bench.say(*whole, whole[0])
    assert not bench.running
    bench.say(*whole[1:])
    assert (ids(bench), complete(bench)) == (["/a.h5", "/a.h5"], [True, True])
    assert (bench.sink.indices, bench.collector.drained) == ([0, 1, 0, 1], 0)


@pytest.mark.parametrize("sockets", [ONE, TWO], ids=["one socket", "two sockets"])
def test_a_name_that_has_been_is_a_new_series_where_its_header_is_another(sockets: dict) -> None:
    bench = Bench(**sockets)
    bench.say(named("/a.h5", 0), frame(0, 1), frame(1, 2), end(3))
    bench.say(named("/b.h5", 0), frame(0, 1), frame(1, 2), end(3))
    assert (ids(bench), complete(bench)) == (["/a.h5", "/b.h5"], [True, True])


def test_a_running_series_whose_name_comes_with_another_header_has_lost_its_end() -> None:
    """`penstock replay` twice at once, or a detector that counts from 1 again after a restart."""
    bench = Bench()
    bench.say(named("/a.h5"), frame(0), named("/b.h5"), frame(0), frame(1), end())
    assert (ids(bench), complete(bench)) == (["/a.h5", "/b.h5"], [False, True])
    assert "end message was lost" in bench.sink.ended[0][1].reason


def test_a_restarted_detector_that_counts_anew_gets_every_series_though_an_old_one_runs() -> None:
    bench = Bench()
    bench.say(named("/1.h5", series="1"), frame(0, None, "1"), frame(1, None, "1"), end(None, "1"))
    bench.say(named("/2.h5", series="2"), frame(0, None, "2"))
    bench.say(named("/3.h5", series="1"), frame(0, None, "1"), frame(1, None, "1"), end(None, "1"))
    bench.say(named("/4.h5", series="2"), frame(0, None, "2"), frame(1, None, "2"), end(None, "2"))
    assert ids(bench) == ["/1.h5", "/2.h5", "/3.h5", "/4.h5"]
    assert complete(bench) == [True, False, True, True]


def test_the_same_header_from_a_connection_that_was_lost_is_a_new_series() -> None:
    bench = Bench(peer_gone=3.0)
    bench.say(named("/a.h5"), frame(0))
    bench.lose()
    bench.wait(1.0)
    bench.reconnect()
    bench.wait(0.5)
    bench.say(named("/a.h5"), frame(0), frame(1), end())
    assert complete(bench) == [False, True]


def test_frames_that_overtake_the_start_message_of_a_restarted_streamer_are_of_its_series() -> None:
    bench = Bench(peer_gone=3.0, **TWO)
    bench.say(named("/a.h5", 0, frames=3), frame(0, 1))
    bench.lose()
    bench.wait(1.0)
    bench.reconnect()
    bench.wait(0.1)
    bench.say(frame(1, 2), frame(0, 1), named("/a.h5", 0, frames=3), frame(2, 3), end(4))
    assert complete(bench) == [False, True]
    assert [series.account.counts().received for series, _ in bench.sink.ended] == [1, 3]


@pytest.mark.parametrize("hold_mb", [1.0, 1e-4], ids=["for a moment", "while there is room"])
def test_a_streamer_that_was_only_connected_again_goes_on_with_its_series(hold_mb: float) -> None:
    bench = Bench(peer_gone=3.0, hold_mb=hold_mb, **TWO)
    bench.say(named("/a.h5", 0, frames=5), frame(0, 1))
    bench.lose()
    bench.wait(1.0)
    bench.reconnect()
    bench.wait(0.1)
    bench.say(frame(2, 3), frame(1, 2))
    bench.wait(FIRST_SECONDS + 0.1)
    bench.say(frame(4, 5), frame(3, 4), end(6))
    assert (complete(bench), bench.sink.errors) == ([True], [])


def in_doubt(**keys: Any) -> Bench:
    """A series whose connections were lost, and are made again."""
    bench = Bench(peer_gone=3.0, **keys, **TWO)
    bench.say(named("/a.h5", 0, frames=5), frame(0, 1))
    bench.lose()
    bench.wait(0.3)
    bench.reconnect()
    return bench


def test_what_waits_for_a_start_message_is_not_lost_when_the_connection_is_lost_again() -> None:
    bench = in_doubt()
    bench.say(frame(1, 2), frame(2, 3), frame(3, 4), frame(4, 5), end(6))
    bench.wait(0.1)
    bench.lose()
    bench.reconnect()
    assert (complete(bench), bench.sink.errors) == ([True], [])


def test_what_waits_for_a_start_message_is_of_the_series_that_is_stopped() -> None:
    bench = in_doubt()
    bench.say(frame(1, 2), frame(2, 3))
    bench.stop("stopped")
    bench.say(frame(3, 4), end(5), named("/b.h5", 6, frames=2), frame(0, 7), frame(1, 8), end(9))
    assert [series.account.counts().received for series, _ in bench.sink.ended] == [3, 2]


def test_a_number_that_has_been_is_of_another_streamer_whose_start_message_takes_its_time() -> None:
    bench = in_doubt()
    bench.say(frame(0, 1), frame(1, 2))
    bench.wait(1.5)
    bench.say(named("/a.h5", 0, frames=2), end(3))
    assert [series.account.counts().received for series, _ in bench.sink.ended] == [1, 2]


@pytest.mark.parametrize("sockets", [ONE, TWO], ids=["one socket", "two sockets"])
@pytest.mark.parametrize("overtaken", [False, True])
def test_a_series_that_is_over_comes_again_from_a_streamer_that_was_restarted(
    sockets: dict, overtaken: bool
) -> None:
    bench = Bench(**sockets)
    whole = [named("/a.h5", 0), frame(0, 1), frame(1, 2), end(3)]
    bench.say(*whole)
    bench.lose()
    bench.wait(0.3)
    bench.reconnect()
    if overtaken and sockets is TWO:
        whole = [*whole[1:], whole[0]]
    bench.say(*whole)
    assert complete(bench) == [True, True]
    assert bench.sink.errors == []


def test_behind_the_death_of_the_receiver_the_name_of_its_series_is_no_proof_either() -> None:
    bench = Bench(peer_gone=3.0, **TWO)
    opening = named("/a.h5", 0, frames=2)
    bench.collector.resume(
        opening, ResumedSeries(Account(2), (Interruption(0, -1),), "/a.h5", 0.0), bench.now
    )
    bench.say(frame(0, 1), frame(1, 2), end(3), opening)
    assert [series.account.counts().received for series, _ in bench.sink.ended] == [0, 2]


def test_a_series_that_has_to_prove_itself_ends_the_one_that_runs_with_its_first_frame() -> None:
    bench = Bench()
    bench.say(named("/a.h5"), frame(0), frame(1), end())
    bench.say(named("/b.h5", series="b"), frame(0, None, "b"), named("/a.h5"))
    assert bench.running
    bench.say(frame(0), frame(1), end())
    assert (ids(bench), complete(bench)) == (["/a.h5", "/b.h5", "/a.h5"], [True, False, True])


@pytest.mark.parametrize("with_names", [True, False], ids=["named", "by message number"])
def test_short_series_behind_a_lost_end_all_have_their_turn(with_names: bool) -> None:
    bench = Bench(gap={"seconds": 2.0}, **TWO)
    number = 0
    for series in range(20):
        name = str(series) if with_names else None
        said: list[Message] = [named(f"/{series}.h5", number, name)]
        said += [frame(index, number + 1 + index, name) for index in range(2)]
        if series:
            said.append(end(number + 3, name))
        bench.say(*said)
        bench.wait(0.7)
        number += 4
    bench.wait(3.0)
    assert ids(bench) == [f"/{series}.h5" for series in range(20)]
    assert complete(bench) == [True] * 20
    assert (bench.sink.errors, bench.collector.drained) == ([], 0)


def test_start_messages_that_overtake_each_other_have_their_turn_by_number() -> None:
    bench = Bench(gap={"seconds": 2.0}, **TWO)
    bench.say(named("/0.h5", 0, None), frame(0, 1, None))
    bench.say(named("/2.h5", 8, None), named("/1.h5", 4, None))
    for first in (4, 8):
        bench.say(frame(0, first + 1, None), frame(1, first + 2, None), end(first + 3, None))
    bench.say(frame(1, 2, None), end(3, None))
    assert (ids(bench), complete(bench)) == (["/0.h5", "/1.h5", "/2.h5"], [True] * 3)


def test_frames_ahead_of_their_header_fill_no_gap_of_a_series_whose_end_was_lost() -> None:
    bench = Bench(gap={"seconds": 2.0}, **TWO)
    bench.say(named("/a.h5", 0, None), frame(1, 2, None))  # frame 0 and the end are lost
    bench.say(frame(0, 5, None), named("/b.h5", 4, None), frame(1, 6, None), end(7, None))
    bench.wait(3.0)
    assert bench.sink.frames == [
        (bench.sink.begun[0].id, 1, 1),
        *((bench.sink.begun[1].id, n, 1) for n in (0, 1)),
    ]
    assert complete(bench) == [False, True]


def test_frames_ahead_of_their_header_fill_no_gap_of_a_series_that_waits_for_its_last() -> None:
    bench = Bench(gap={"seconds": 2.0}, **TWO)
    bench.say(start(0, None), frame(1, 2, None), end(3, None), frame(0, 5, None), named("/b.h5", 4, None))
    bench.say(frame(1, 6, None), end(7, None))
    bench.wait(3.0)
    assert bench.sink.indices == [1, 0, 1]
    assert bench.sink.ended[0][0].account.counts().missing == 1
    assert complete(bench) == [False, True]


@pytest.mark.parametrize("ended", [True, False])
def test_a_sender_that_sends_each_frame_twice_loses_none(ended: bool) -> None:
    bench = Bench(gap={"seconds": 2.0}, **TWO)
    bench.say(named("/a.h5", 0, None, 3))
    for number in range(3):
        bench.say(frame(number, 1 + 2 * number, None), frame(number, 2 + 2 * number, None))
    if ended:
        bench.say(end(7, None))
    bench.wait(8.0)
    assert (complete(bench), bench.sink.counts.duplicate, bench.sink.errors) == ([True], 3, [])


def test_the_others_have_their_turn_after_one_that_cannot_be() -> None:
    bench = Bench(gap={"seconds": 2.0}, **TWO)
    bad = start(4, "b", shape=(0, 0), type="uint16")
    bench.say(
        named("/a.h5", 0), frame(0, 1), bad, named("/c.h5", 8, "c"), frame(0, 9, "c"), frame(1, 10, "c")
    )
    with pytest.raises(Exception, match="shape"):
        bench.wait(2.1)
    bench.say(end(11, "c"))
    bench.wait(0.1)
    assert (ids(bench), complete(bench)) == (["/a.h5", "/c.h5"], [False, True])


class Split:
    """Messages of one streamer that come over several sockets: in order in each, by chance otherwise."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def __call__(self, messages: list[Message]) -> Iterator[Message]:
        count = self.chance.choice([2, 4])
        sockets = [deque(messages[first::count]) for first in range(count)]
        while any(sockets):
            socket = self.chance.choice([socket for socket in sockets if socket])
            for _ in range(self.chance.choice([1, 3, 50])):
                if socket:
                    yield socket.popleft()


@pytest.mark.parametrize("seed", range(300))
def test_without_names_every_frame_is_in_its_own_series_in_whatever_order_sockets_are_read(seed: int) -> None:
    split, bench = Split(seed), Bench(hold_mb=1000, **TWO)
    announced = split.chance.choice([True, False])
    messages: list[Message] = []
    before = split.chance.choice([0, 41])  # messages that others have had
    for series in range(12):
        frames, first = split.chance.randrange(1, 8), before + len(messages)
        messages.append(named(f"/{series}.h5", first, None, frames if announced else None))
        messages += [frame(n, first + 1 + n, None, exposure_time=float(series)) for n in range(frames)]
        messages.append(end(first + 1 + frames, None))
    seen: list[tuple[str | None, float | None]] = []
    bench.sink.frame = lambda series, index, frame, status: seen.append(  # type: ignore[method-assign]
        (series.header.filename, frame.image.exposure_time)
    )
    bench.say(*split(messages))
    bench.wait(1.0)
    assert ids(bench) == [f"/{series}.h5" for series in range(12)]
    assert complete(bench) == [True] * 12
    assert all(name == f"/{series:g}.h5" for name, series in seen)
    assert bench.buffer is not None
    assert (len(seen), bench.buffer.nbytes) == (len(messages) - 24, 0)


@pytest.mark.parametrize("series", ["a", None])
def test_a_stream_without_numbers_is_refused_on_several_sockets(series: str | None) -> None:
    bench = Bench(**TWO)
    with pytest.raises(RemoteError, match=r"no msg_number .*; set source\.sockets to 1"):
        bench.say(named("/a.h5", None, series))


def test_a_lost_message_holds_the_others_up_for_the_gap_clock_only() -> None:
    bench = Bench(gap={"seconds": 2.0}, **TWO)
    bench.say(named("/a.h5", 0, None, 3), frame(1, 2, None), frame(2, 3, None), end(4, None))
    bench.wait(1.9)
    assert bench.sink.indices == []
    bench.wait(0.3)
    assert (bench.sink.indices, bench.sink.counts.missing) == ([1, 2], 1)


def test_a_restarted_streamer_without_names_counts_from_zero_again_on_several_sockets() -> None:
    bench = Bench(gap={"seconds": 2.0}, **TWO)
    bench.say(named("/a.h5", 0, None, 9), frame(0, 1, None), frame(5, 6, None))
    bench.lose()
    bench.wait(0.5)
    bench.reconnect()
    bench.wait(0.1)
    bench.say(frame(1, 2, None), frame(0, 1, None), named("/b.h5", 0, None), end(3, None))
    bench.wait(0.1)
    assert (ids(bench), complete(bench)) == (["/a.h5", "/b.h5"], [False, True])
    assert bench.sink.indices == [0, 5, 0, 1]


def test_what_waits_behind_a_series_that_cannot_be_is_not_lost_with_it() -> None:
    bench = Bench(gap={"seconds": 2.0}, **TWO)
    bench.say(
        named("/x.h5", 0, "x"),
        frame(0, 1, "x"),
        named("/a.h5", 4, "a"),
        start(8, "b", shape=(0, 0), type="uint16"),
    )
    bench.say(named("/c.h5", 12, "c"))
    for name, first in (("a", 4), ("b", 8), ("c", 12)):
        bench.say(frame(0, first + 1, name), frame(1, first + 2, name), end(first + 3, name))
    with pytest.raises(BlobError, match="shape"):
        bench.wait(2.1)
    bench.wait(0.1)
    assert (ids(bench), complete(bench)) == (["/x.h5", "/a.h5", "/c.h5"], [False, True, True])
    assert (bench.sink.errors, bench.collector.drained) == ([], 3)


def test_a_name_that_comes_again_on_several_sockets_is_told_by_number() -> None:
    bench = Bench(gap={"seconds": 2.0}, **TWO)
    bench.say(named("/a.h5", 0, frames=3), frame(0, 1), named("/b.h5", 5, frames=3), frame(0, 6))
    bench.say(frame(1, 2), frame(2, 3), end(4), frame(1, 7), frame(2, 8), end(9))
    assert (ids(bench), complete(bench)) == (["/a.h5", "/b.h5"], [True, True])


def test_a_start_message_that_comes_again_in_mid_series_cuts_nothing_in_two() -> None:
    bench = Bench(peer_gone=3.0)
    bench.say(named("/a.h5", frames=3), frame(0))
    bench.lose()
    bench.wait(1.0)
    bench.reconnect()
    bench.wait(0.5)
    bench.say(frame(1), named("/a.h5", frames=3), frame(2), end())
    assert (ids(bench), complete(bench)) == (["/a.h5"], [True])


@pytest.mark.parametrize("sockets", [ONE, TWO], ids=["one socket", "two sockets"])
def test_a_series_without_a_name_whose_start_message_comes_again_stays_whole(sockets: dict) -> None:
    bench = Bench(**sockets)
    opening = named("/a.h5", 0, None)
    bench.say(opening, opening, frame(0, 1, None), frame(1, 2, None), end(3, None), opening)
    bench.wait(5.0)
    assert (ids(bench), complete(bench), bench.running) == (["/a.h5"], [True], False)


def test_as_many_series_are_remembered_as_are_said_to_be() -> None:
    bench = Bench()
    for series in range(REMEMBERED + 1):
        name = str(series)
        bench.say(named("/x.h5", series=name, frames=1), frame(0, None, name), end(None, name))
    bench.say(named("/x.h5", series="1", frames=1))
    assert not bench.running
    bench.say(named("/x.h5", series="0", frames=1))
    assert bench.running


def test_a_lost_frame_is_missing_though_another_was_doubled_on_the_way() -> None:
    bench = Bench()
    bench.say(start(4, None, frames=3), frame(0, 5, None), frame(0, 5, None), frame(1, 6, None), end(8, None))
    assert (bench.sink.counts.missing, bench.sink.counts.not_triggered) == (1, 0)


def test_a_frame_doubled_on_the_way_ends_no_series_before_the_last_has_come() -> None:
    bench = Bench(**TWO)
    bench.say(start(0, frames=3), frame(0, 1), frame(0, 1), frame(1, 2), end(4, triggered=3))
    assert bench.running
    bench.say(frame(2, 3))
    assert bench.sink.outcome.complete


# -- streams without names -------------------------------------------------------------------------


def unnamed(*indices: int, numbered: bool = False, first: int = 0) -> list[Message]:
    """Frames without a name; with `numbered`, with a msg_number that counts from `first`."""
    return [frame(n, first + place if numbered else None, None) for place, n in enumerate(indices)]


@pytest.mark.parametrize("before", [0, 1, 2], ids=["first", "second", "third"])
def test_a_start_message_that_comes_again_in_a_series_without_a_name_is_a_duplicate_if_it_goes_on(
    before: int,
) -> None:
    bench, opening = Bench(), named("/a.h5", None, None, 4)
    for _ in range(before):
        bench.say(opening, *unnamed(0, 1, 2, 3), end(None, None))
    bench.say(opening, *unnamed(0, 1), opening, *unnamed(2, 3), end(None, None))
    assert complete(bench) == [True] * (before + 1)
    assert bench.sink.counts.duplicate == 0
    bench.say(frame(0, None, None))
    assert not bench.running, "the start message is forgotten"


@pytest.mark.parametrize("frames", [4, None])
@pytest.mark.parametrize("before", [0, 1, 2], ids=["first", "second", "third"])
def test_it_begins_the_next_series_if_an_index_comes_that_was_counted_already(
    before: int, frames: int | None
) -> None:
    bench, opening = Bench(), named("/a.h5", None, None, frames)
    for _ in range(before):
        bench.say(opening, *unnamed(0, 1, 2, 3), end(None, None))
    bench.say(opening, *unnamed(0, 1, 2), opening)
    assert len(bench.sink.ended) == before, "it may be a duplicate"
    bench.say(*unnamed(0, 1, 2, 3), end(None, None))
    assert complete(bench) == [*[True] * before, False, True]
    assert "its end message was lost, the next series has begun" in bench.sink.ended[before][1].reason
    assert bench.sink.indices == [*[0, 1, 2, 3] * before, 0, 1, 2, 0, 1, 2, 3]
    assert bench.collector.drained == 0


def test_an_index_that_was_given_up_continues_the_series() -> None:
    bench, opening = Bench(gap={"seconds": 2.0}), named("/a.h5", None, None, 4)
    bench.say(opening, *unnamed(0, 2))
    bench.wait(3.0)
    bench.say(opening, *unnamed(1, 3), end(None, None))
    assert (complete(bench), bench.sink.counts.late) == ([True], 1)


def test_frames_without_any_number_belong_to_the_latest_start_message() -> None:
    bench, opening = Bench(), named("/a.h5", None, None, 2)
    anonymous = frame(None, None, None)
    bench.say(opening, anonymous, opening, anonymous, anonymous, end(None, None))
    assert complete(bench) == [False, True]


def test_a_streamer_that_restarts_behind_a_proxy_begins_a_series_with_the_same_numbers() -> None:
    bench, opening = Bench(), named("/a.h5", 0, None, 3)
    bench.say(opening, *unnamed(0, 1, numbered=True, first=1))
    bench.say(opening, *unnamed(0, 1, 2, numbered=True, first=1), end(4, None))
    assert complete(bench) == [False, True]


def test_frames_without_a_name_or_a_start_message_are_reported_once_per_series() -> None:
    bench = Bench()
    whole = [named("/a.h5", 0, None), *unnamed(0, 1, numbered=True, first=1), end(3, None)]
    bench.say(*whole)
    assert (bench.sink.errors, bench.sink.refusals) == ([], [])
    bench.say(*unnamed(0, 1, numbered=True, first=5), end(7, None))
    assert (bench.sink.errors, bench.collector.drained) == (["no_header"], 3)
    assert "start message was not received" in bench.sink.refusals[0]
    bench.say(*unnamed(0, 1, numbered=True, first=9), end(11, None))
    assert bench.sink.errors == ["no_header"] * 2


@pytest.mark.parametrize("series", ["a", None])
def test_frames_after_a_reset_in_mid_series_are_reported(series: str | None) -> None:
    bench = Bench()
    bench.say(named("/a.h5", None, series, 9), frame(0, None, series))
    bench.collector.fail("the disk is full")
    bench.collector.on_reset()
    bench.say(frame(1, None, series), frame(2, None, series), end(None, series))
    assert (bench.sink.errors, len(bench.sink.refusals)) == (["no_header"], 1)


def test_what_is_left_of_a_series_that_somebody_stopped_is_not_reported() -> None:
    bench = Bench()
    bench.say(named("/a.h5", None, None, 9), *unnamed(0))
    bench.stop("stop requested")
    bench.say(*unnamed(1, 2), end(None, None))
    assert (bench.sink.errors, bench.collector.drained) == ([], 3)


def test_a_late_frame_of_a_series_that_has_ended_is_not_reported() -> None:
    bench = Bench(gap={"seconds": 2.0}, **TWO)
    bench.say(named("/a.h5", 0, None, 2), frame(1, 2, None), end(3, None))
    bench.wait(3.0)
    bench.say(frame(0, 1, None))
    assert (bench.running, bench.sink.errors, bench.collector.drained) == (False, [], 1)


@pytest.mark.parametrize("bits", [16, 32])
@pytest.mark.parametrize("sockets", [ONE, TWO], ids=["one socket", "two sockets"])
def test_a_counter_that_wraps_ends_a_series_without_a_name(bits: int, sockets: dict) -> None:
    bench = Bench(**sockets)
    bench.say(named("/a.h5", 2**bits - 3, None, 9))
    bench.wait(1.0)
    bench.say(*unnamed(0, 1, numbered=True, first=2**bits - 2), *unnamed(2, 3, numbered=True))
    bench.wait(1.0)
    assert (bench.running, bench.sink.counts.stored, bench.sink.counts.missing) == (False, 2, 7)
    assert f"msg_number fell back from {2**bits - 1} to 0 in the series" in bench.sink.outcome.reason
    assert bench.sink.errors == ["no_header"]
    bench.say(end(2, None), named("/b.h5", 3, None, 1), frame(0, 4, None), end(5, None))
    bench.wait(1.0)
    assert complete(bench) == [False, True]


@pytest.mark.parametrize("bits", [16, 32])
@pytest.mark.parametrize("series", [None, "a"], ids=["without a name", "with a name"])
@pytest.mark.parametrize("lost", [None, 4], ids=["all come", "the last before it wraps is lost"])
@pytest.mark.parametrize("seed", range(3))
def test_a_counter_that_wraps_before_the_first_message_of_a_session_has_passed(
    bits: int, series: str | None, lost: int | None, seed: int
) -> None:
    size = 2**bits
    sent = [named("/a.h5", size - 6, series, None)]
    sent += [frame(n, (size - 5 + n) % size, series) for n in range(10) if n != lost]
    sent.append(end(5, series))
    random.Random(seed).shuffle(sent)  # as several sockets may be read
    bench = Bench(**TWO, gap={"seconds": 2.0})
    bench.say(*sent)
    bench.wait(2.6)  # gap.seconds, and what a start message waits for those before it
    assert not bench.running
    if series is not None:
        assert bench.sink.indices == [n for n in range(10) if n != lost]
        assert complete(bench) == [lost is None]
        return
    assert bench.sink.indices == [n for n in range(5) if n != lost]
    assert (
        f"msg_number fell back from {size - 1 - (lost is not None)} to 0 in the series"
        in bench.sink.outcome.reason
    )


def test_the_end_message_may_be_the_one_that_falls_back() -> None:
    bench = Bench()
    bench.say(
        named("/a.h5", 2**16 - 3, None, 2), *unnamed(0, 1, numbered=True, first=2**16 - 2), end(0, None)
    )
    assert (complete(bench), bench.running) == ([True], False)
    assert "msg_number fell back from 65535 to 0" in bench.sink.outcome.reason


def test_a_series_that_began_with_number_zero_ends_where_its_counter_wraps() -> None:
    bench = Bench()
    bench.say(named("/a.h5", 0, None), frame(0, 1, None), frame(65534, 65535, None), frame(65535, 0, None))
    assert not bench.running
    assert "msg_number fell back from 65535 to 0" in bench.sink.outcome.reason


def test_a_number_that_is_always_the_same_is_no_counter() -> None:
    bench = Bench()
    bench.say(named("/a.h5", 7, None, None), *(frame(n, 7, None) for n in range(3)), end(7, None))
    assert (complete(bench), bench.sink.indices) == ([True], [0, 1, 2])


def test_numbers_equal_to_those_of_the_frames_lose_none() -> None:
    bench = Bench()
    bench.say(named("/a.h5", 0, None, None), *(frame(n, n, None) for n in range(10)), end(10, None))
    assert (complete(bench), bench.sink.indices) == ([True], list(range(10)))


def test_a_refused_frame_of_no_series_is_counted_as_a_message_that_could_not_be_read() -> None:
    bench = Bench()
    refused = Frame(RefusedImage(frame=1, kind="missing_key", why="the shape is missing", msg_number=3), ())
    bench.say(start(7, "a", frames=1), refused, frame(0, 8), end(9))
    assert (bench.sink.errors, bench.sink.counts.undecodable) == (["missing_key"], 1)
    assert not bench.sink.outcome.complete
