"""What belongs to one trigger is joined, and nothing waits for what does not come."""

from __future__ import annotations

import msgspec
import pytest

from penstock.receiver.account import FrameStatus
from penstock.receiver.collector import GapError
from penstock.receiver.series import held_bytes
from penstock.stins.errors import BlobError
from tests.receiver.modules.streams import GAP, GONE, HEADERS, ModuleBench, corrupt, end, frame, start
from tests.receiver.series import DAY

STORED, PARTIAL, MISSING, CORRUPT = (
    FrameStatus.STORED, FrameStatus.PARTIAL, FrameStatus.MISSING, FrameStatus.CORRUPT,
)  # fmt: skip


def room_for(messages: int) -> float:
    """Megabytes that so many frames of a module take while they wait, and half a one more."""
    return (messages + 0.5) * held_bytes(frame(0)) / 1e6


def running(frames: int | None = 3, **keys: object) -> ModuleBench:
    """A series has begun."""
    bench = ModuleBench(**keys)
    bench.say_all(start(frames=frames, trigger_mode="SOFTWARE"))
    assert bench.running
    return bench


# -- the beginning ---------------------------------------------------------------------------------


def test_running_needs_the_start_messages_of_all_modules_and_says_whose_is_missing() -> None:
    bench = ModuleBench()
    bench.say(0, start())
    bench.say(2, start(), frame(0, 2))
    assert not bench.running
    assert bench.joiner.waits_for == "2 of 3 modules have begun a series; waits for tcp://m1:9010"
    bench.say(1, start())
    assert bench.running
    assert bench.joiner.waits_for == ""


def test_frames_ahead_of_another_modules_start_message_are_kept() -> None:
    bench = ModuleBench()
    bench.say(0, start(frames=1), frame(0, 0), end())
    bench.say(1, start(frames=1), frame(0, 1), end())
    bench.say(2, start(frames=1), frame(0, 2), end())
    assert bench.sink.frames == [("a", 0, STORED)]
    assert bench.sink.outcome.complete


def test_a_start_message_that_does_not_come_in_time_is_an_error_and_what_was_held_is_counted() -> None:
    bench = ModuleBench()
    bench.say(0, start(), frame(0, 0))
    bench.say(1, start())
    bench.wait(HEADERS + 1)
    assert bench.sink.errors == ["no_module_header"]
    assert (bench.collector.drained, bench.joiner.waits_for) == (3, "")
    bench.say(2, start(), frame(0, 2))
    bench.say(0, frame(1, 0), end())
    assert not bench.running
    assert bench.collector.drained == 7


def test_the_next_series_is_taken_after_one_whose_start_message_was_lost() -> None:
    bench = ModuleBench()
    bench.say(0, start(), frame(0, 0), end(), start("b"))
    bench.say(1, start(), frame(0, 1), end(), start("b"))
    bench.say(2, frame(0, 2), end(), start("b"))
    assert bench.running
    assert bench.sink.begun[0].id == "b"
    assert bench.sink.errors == ["no_module_header", "no_module_header"]


def test_what_waits_for_start_messages_is_bounded_in_bytes() -> None:
    bench = ModuleBench(hold_mb=room_for(2))
    bench.say(0, start(frames=9), *(frame(number, 0) for number in range(9)))
    assert bench.sink.errors == ["hold_overflow"] * 7
    bench.say(1, start(frames=9))
    bench.say(2, start(frames=9))
    bench.wait(2 * GAP)
    assert bench.sink.indices == [7, 8], "the oldest were dropped"


def test_empty_blobs_and_end_messages_that_wait_are_bounded_too() -> None:
    bench = ModuleBench(hold_mb=0.05)
    empty = msgspec.structs.replace(frame(0), blobs=[b""])
    bench.say(0, start(), *[empty] * 1000)
    assert bench.joiner.held_bytes <= 50_000
    assert bench.sink.errors.count("hold_overflow") > 950
    bench.say(0, *[end()] * 1000)
    assert bench.joiner.held_bytes <= 50_000
    assert bench.collector.drained > 1900
    bench.say(1, start())
    bench.say(2, start())
    assert bench.running
    assert bench.joiner.held_bytes == 0


def test_a_message_that_waits_counts_its_header_and_each_of_its_blobs() -> None:
    assert held_bytes(frame(0)) - len(frame(0).blobs[0]) > 1000
    many = msgspec.structs.replace(frame(0), blobs=[b""] * 1000)
    assert held_bytes(many) > 500_000
    wordy = frame(0, partial="x" * 100_000)
    assert held_bytes(wordy) > 400_000


def test_modules_that_name_different_series_are_an_error_with_both_names() -> None:
    bench = ModuleBench()
    bench.say(0, start("a"))
    bench.say(1, start("b"))
    bench.say(2, start("a"))
    assert "a at tcp://m0:9010, b at tcp://m1:9010" in bench.joiner.waits_for
    bench.wait(HEADERS + 1)
    assert bench.sink.errors == ["series_differ"]
    assert not bench.running


@pytest.mark.parametrize("key", ["shape", "type"])
def test_modules_of_different_shape_or_type_are_refused(key: str) -> None:
    bench = ModuleBench()
    usual = {"shape": (4, 6), "type": "uint16"}
    bench.say(0, start(**usual))
    bench.say(1, start(**usual))
    bench.say(2, start(**{**usual, key: {"shape": (4, 7), "type": "uint8"}[key]}))
    assert (bench.running, bench.sink.errors) == (False, ["modules_differ"])
    bench.say_all(start("b"))
    assert bench.running, "the next series is taken"


def test_modules_that_announce_different_numbers_of_frames_have_partial_ones() -> None:
    bench = ModuleBench()
    bench.say(0, start(frames=2), frame(0, 0), frame(1, 0), end())
    bench.say(1, start(frames=1), frame(0, 1), end())
    bench.say(2, start(frames=2), frame(0, 2), frame(1, 2), end())
    assert bench.sink.frames == [("a", 0, STORED), ("a", 1, PARTIAL)]
    assert (bench.sink.counts.planned, bench.sink.outcome.complete) == (2, False)


# -- frames ----------------------------------------------------------------------------------------


def test_a_frame_is_joined_when_its_last_module_has_come_whatever_the_order() -> None:
    bench = running(2)
    bench.say(2, frame(1, 2), frame(0, 2))
    bench.say(0, frame(0, 0), frame(1, 0))
    assert bench.sink.frames == []
    bench.say(1, frame(1, 1), frame(0, 1))
    assert bench.sink.indices == [1, 0]
    assert bench.sink.blobs[1, 2] == frame(1, 2).blobs[0]
    bench.say_all(end(sent=2, triggered=2))
    assert bench.sink.outcome.complete


def test_a_missing_module_is_left_out_after_the_gap_clock() -> None:
    bench = running()
    bench.say(0, frame(0, 0))
    bench.say(2, frame(0, 2))
    bench.wait(0.9 * GAP)
    assert bench.sink.frames == []
    bench.wait(0.2 * GAP)
    assert bench.sink.frames == [("a", 0, PARTIAL)]
    assert bench.sink.modules(1).tolist() == [[STORED, MISSING, STORED]]
    assert bench.joiner.warning == "frames are partial: tcp://m1:9010 sends nothing"


def test_the_gap_clock_stands_while_something_of_the_module_waits_to_be_read() -> None:
    bench = running()
    bench.say(0, frame(0, 0))
    bench.say(2, frame(0, 2))
    bench.idle[1] = False
    bench.wait(10 * GAP)
    assert bench.sink.frames == []


def test_a_module_that_was_missing_is_not_waited_for_until_it_sends_again() -> None:
    bench = running(9)
    bench.say(0, frame(0, 0), frame(1, 0))
    bench.say(2, frame(0, 2), frame(1, 2))
    bench.wait(2 * GAP)
    bench.say(0, frame(2, 0))
    bench.say(2, frame(2, 2))
    assert bench.sink.indices == [0, 1, 2], "at once"
    bench.say(1, frame(3, 1))
    bench.say(0, frame(3, 0))
    assert bench.sink.indices == [0, 1, 2], "it is waited for again, and so are the others"
    bench.say(2, frame(3, 2))
    assert bench.sink.frames[-1] == ("a", 3, STORED)


def test_a_module_that_lost_one_frame_is_waited_for_in_the_next() -> None:
    bench = running(9)
    bench.say(0, frame(0, 0))
    bench.say(1, frame(0, 1))
    bench.wait(GAP / 2)
    bench.say(2, frame(1, 2))  # it left out frame 0
    bench.wait(0.75 * GAP)
    assert bench.sink.frames == [("a", 0, PARTIAL)]
    bench.say(0, frame(1, 0))
    bench.wait(GAP / 8)
    assert bench.sink.indices == [0]
    bench.say(1, frame(1, 1))
    assert bench.sink.frames[-1] == ("a", 1, STORED)


def test_a_late_module_is_stored_where_it_belongs() -> None:
    bench = running(1)
    bench.say(0, frame(0, 0))
    bench.say(2, frame(0, 2))
    bench.wait(1.5 * GAP)
    bench.say(1, frame(0, 1))
    assert bench.sink.late == [0]
    assert bench.sink.blobs[0, 1] == frame(0, 1).blobs[0]
    bench.say_all(end())
    assert (bench.sink.counts.stored, bench.sink.counts.partial, bench.sink.counts.late) == (1, 0, 1)
    assert bench.sink.outcome.complete


def test_a_module_that_comes_twice_is_counted_and_the_first_is_kept() -> None:
    bench = running(1)
    bench.say(0, frame(0, 0), frame(0, 0))
    bench.say(1, frame(0, 1))
    bench.say(2, frame(0, 2), frame(0, 2))
    bench.say_all(end())
    assert (bench.sink.counts.duplicate, bench.sink.counts.stored) == (2, 1)


def test_a_sound_copy_replaces_a_corrupt_one() -> None:
    bench = running(1)
    bench.say(0, corrupt(0), frame(0, 0))
    bench.say(1, frame(0, 1))
    bench.say(2, frame(0, 2))
    bench.say_all(end())
    assert (bench.sink.counts.stored, bench.sink.counts.duplicate, bench.sink.errors) == (
        1,
        0,
        ["blob_length"],
    )


def test_a_corrupt_module_leaves_the_others_of_its_frame() -> None:
    bench = running(2)
    bench.say(0, frame(0, 0), corrupt(1))
    bench.say(1, corrupt(0), corrupt(1))
    bench.say(2, frame(0, 2), corrupt(1))
    bench.say_all(end())
    assert bench.sink.frames == [("a", 0, PARTIAL)]
    assert (bench.sink.counts.partial, bench.sink.counts.corrupt) == (1, 1)
    assert bench.sink.modules(2).tolist() == [[STORED, CORRUPT, STORED], [CORRUPT] * 3]


def test_frames_that_wait_for_a_module_are_bounded_in_bytes_and_completed_later() -> None:
    bench = running(9, hold_mb=room_for(4))
    for number in range(9):
        bench.say(0, frame(number, 0))
        bench.say(2, frame(number, 2))
    assert [index for _, index, status in bench.sink.frames if status is PARTIAL] == [0, 1, 2, 3, 4, 5, 6]
    bench.say(1, *(frame(number, 1) for number in range(9)))
    bench.say_all(end())
    assert bench.sink.counts.stored == 9


def test_streams_that_name_no_series_are_joined_though_they_number_from_different_origins() -> None:
    bench = ModuleBench()
    for module, origin in enumerate((0, 1, 17)):
        bench.say(module, start(None, number=40))
        bench.say(module, *(frame(origin + n, module, None, msg_number=41 + n) for n in range(3)))
        bench.say(module, end(None, msg_number=44))
    assert [status for _, _, status in bench.sink.frames] == [STORED] * 3
    assert bench.sink.outcome.complete
    assert bench.sink.blobs[2, 2] == frame(19, 2).blobs[0]


def test_streams_without_frame_numbers_are_joined_by_their_order() -> None:
    bench = ModuleBench()
    for module in range(3):
        bench.say(module, start(None, number=None))
        for number in range(3):
            sound = frame(number, module, None)
            bench.say(module, type(sound)(type(sound.image)(
                shape=sound.image.shape, type="uint16", compression="none"), sound.blobs))  # fmt: skip
    assert [status for _, _, status in bench.sink.frames] == [STORED] * 3


def test_the_configured_origin_is_that_of_every_stream() -> None:
    bench = ModuleBench(source={"frame_origin": 1})
    bench.say_all(start(frames=2), frame(1), frame(2), end())
    assert bench.sink.indices == [0, 1]
    assert [joined.image.frame for joined in bench.sink.joined] == [1, 2], "numbers stay as they were sent"


def test_a_frame_number_out_of_range_is_counted_once_a_frame() -> None:
    bench = running(3)
    bench.say_all(frame(10**9), frame(0))
    bench.say_all(end())
    assert (bench.sink.counts.out_of_range, bench.sink.counts.stored) == (1, 1)


def test_messages_of_an_older_series_are_stale() -> None:
    bench = running(1)
    bench.say_all(frame(0), end(), start("b", frames=1))
    bench.say(1, frame(0, 1, "a"), end("a"), start("a"))
    bench.say_all(frame(0, series="b"), end("b"))
    assert (bench.sink.counts.stale, bench.sink.counts.stored, bench.sink.counts.duplicate) == (3, 1, 0)


# -- the end ---------------------------------------------------------------------------------------


def test_a_series_ends_with_the_last_modules_end_message() -> None:
    bench = running(1)
    bench.say_all(frame(0))
    bench.say(0, end())
    bench.say(1, end())
    assert bench.running
    bench.say(2, end())
    assert not bench.running
    assert bench.sink.outcome.reason == "all 1 frames are there"


def test_a_lost_end_message_ends_the_series_after_the_others_and_names_the_module() -> None:
    bench = running(2)
    bench.say_all(frame(0))
    bench.say(0, frame(1, 0), end())
    bench.say(1, frame(1, 1), end())
    bench.wait(2 * GAP)
    assert bench.running, "it may be behind"
    bench.wait(HEADERS)
    assert not bench.running
    assert "tcp://m2:9010: its end message was lost" in bench.sink.outcome.reason
    assert bench.sink.frames[-1] == ("a", 1, PARTIAL)


def test_a_paused_triggered_series_waits_for_a_day() -> None:
    bench = running(2)
    bench.say_all(frame(0))
    bench.wait(DAY)
    assert bench.running
    bench.say_all(frame(1), end())
    assert bench.sink.outcome.complete


def test_a_paused_series_waits_too_while_a_module_is_missing() -> None:
    bench = running(2)
    bench.say(0, frame(0, 0))
    bench.say(1, frame(0, 1))
    bench.wait(DAY)
    assert bench.running


def test_the_worst_reason_of_all_end_messages_counts() -> None:
    bench = running(1)
    bench.say(0, frame(0, 0), end(reason="complete", triggered=1, sent=1))
    bench.say(1, frame(0, 1), end(reason="fault", message="the module is too hot", triggered=1, sent=1))
    bench.say(2, frame(0, 2), end(reason="stop", triggered=1, sent=1))
    assert bench.sink.outcome.reason.endswith("ended by fault: tcp://m1:9010: the module is too hot")


def test_a_module_whose_streamer_died_is_not_waited_for_and_the_others_go_on() -> None:
    bench = running(3)
    bench.say_all(frame(0))
    bench.connected[1] = False
    bench.say(0, frame(1, 0))
    bench.say(2, frame(1, 2))
    bench.wait(GONE + 0.5)
    assert bench.sink.errors == ["module_gone"]
    assert bench.sink.frames[-1] == ("a", 1, PARTIAL)
    assert "tcp://m1:9010: its streamer is gone" in bench.joiner.warning
    bench.say(0, frame(2, 0), end())
    bench.say(2, frame(2, 2), end())
    assert not bench.running, "its end message is not waited for"
    assert bench.sink.outcome.reason.startswith(
        "1 of 3 frames: 2 partial; tcp://m1:9010: its streamer is gone"
    )


def test_a_module_that_is_back_takes_part_again() -> None:
    bench = running(2)
    bench.connected[1] = False
    bench.wait(GONE + 1)
    bench.connected[1] = True
    bench.say_all(frame(0), frame(1), end())
    assert bench.sink.outcome.complete


def test_the_death_of_all_streamers_ends_the_series() -> None:
    bench = running(3)
    bench.say_all(frame(0))
    bench.say(0, frame(1, 0))
    bench.connected = [False] * 3
    bench.wait(GONE + 0.5)
    assert not bench.running
    assert bench.sink.frames == [("a", 0, STORED), ("a", 1, PARTIAL)], "what was there is kept"
    assert bench.sink.outcome.reason.count("its streamer is gone") == 3


def test_a_module_that_begins_the_next_series_has_lost_its_end_message() -> None:
    bench = running(1)
    bench.say_all(frame(0))
    bench.say(0, start("b", frames=1), frame(0, 0, "b"))
    bench.say(1, end(), start("b", frames=1), frame(0, 1, "b"))
    assert bench.sink.ended == []
    bench.say(2, end(), start("b", frames=1), frame(0, 2, "b"))
    assert [series.id for series, _ in bench.sink.ended] == ["a"]
    assert "has begun the next series" in bench.sink.outcome.reason
    bench.say_all(end("b"))
    assert bench.sink.outcome.complete


def test_the_policy_fail_ends_the_series_at_the_first_missing_module() -> None:
    bench = running(2, gap={"seconds": GAP, "policy": "fail"})
    bench.say(0, frame(0, 0))
    bench.say(1, frame(0, 1))
    with pytest.raises(GapError, match=r"frame 0 has come without tcp://m2:9010"):
        bench.wait(2 * GAP)


def test_after_an_error_everything_that_is_held_is_dropped_and_counted() -> None:
    bench = running(2)
    bench.say(0, frame(0, 0))
    bench.say(1, frame(0, 1))
    assert bench.joiner.forget() == 2
    bench.collector.forget()
    bench.say_all(frame(1), end())
    bench.say_all(start("b", frames=1), frame(0, series="b"), end("b"))
    assert bench.sink.outcome.complete


def test_frames_whose_modules_overlap_cannot_be_assembled_and_are_corrupt() -> None:
    bench = ModuleBench(2, transforms=[{"type": "assemble"}])
    bench.say_all(start(frames=1, metadata={"x": 0, "y": 0}), frame(0), end())
    assert (bench.sink.counts.corrupt, bench.sink.errors) == (1, ["not_assembled"])
    assert bench.sink.modules(1).tolist() == [[CORRUPT, CORRUPT]]


def test_a_series_whose_modules_are_announced_and_overlap_is_not_taken_by_assemble() -> None:
    bench = ModuleBench(2, transforms=[{"type": "assemble"}])
    known = {"shape": (4, 6), "type": "uint16", "compression": "none"}
    bench.say(0, start(metadata={"x": 0, "y": 0}, **known))
    with pytest.raises(BlobError, match="modules 0 and 1 overlap"):
        bench.say(1, start(metadata={"x": 0, "y": 0}, **known))
    assert not bench.running
