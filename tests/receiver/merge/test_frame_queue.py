"""What belongs to one trigger is joined, and no frame waits for a module that does not come."""

from __future__ import annotations

import pytest

from penstock.receiver.models import FrameStatus
from tests.receiver.merge.streams import GAP, ModuleBench, corrupt, end, frame, room_for, running, start

STORED, PARTIAL, MISSING, CORRUPT = (
    FrameStatus.STORED,
    FrameStatus.PARTIAL,
    FrameStatus.MISSING,
    FrameStatus.CORRUPT,
)


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
    assert bench.merge.warning == "frames are partial: tcp://m1:9010 sends nothing"


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


def test_frames_that_wait_for_a_module_are_bounded_in_bytes_and_the_others_are_not_read_meanwhile() -> None:
    bench = running(9, hold_mb=room_for(4))
    for number in range(9):
        bench.say(0, frame(number, 0))
        bench.say(2, frame(number, 2))
    assert bench.sink.frames == []
    assert bench.merge.held_bytes <= room_for(5) * 1e6 and bench.unread[0]
    bench.say(1, *(frame(number, 1) for number in range(9)))
    bench.say_all(end())
    assert (bench.sink.counts.stored, bench.sink.counts.late) == (9, 0)


def test_a_frame_that_cannot_be_written_is_missing_with_its_modules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise OSError("the disk is full")

    bench = running(None)
    for module in range(3):
        bench.say(module, frame(0, module))
    monkeypatch.setattr(bench.sink, "frame", full)
    bench.say(0, frame(1, 0))
    bench.say(1, frame(1, 1))
    with pytest.raises(OSError, match="full"):
        bench.say(2, frame(1, 2))
    bench.collector.fail("the disk is full")
    assert (bench.sink.counts.planned, bench.sink.counts.stored, bench.sink.counts.missing) == (2, 1, 1)
    assert bench.sink.modules(2).tolist() == [[STORED] * 3, [MISSING] * 3]


def test_while_the_room_is_full_no_frame_waits_for_a_module_that_has_sent_a_later_one() -> None:
    bench = running(9, hold_mb=room_for(4))
    bench.say(1, frame(8, 1))  # it lost all others
    for number in range(9):
        bench.say(0, frame(number, 0))
        bench.say(2, frame(number, 2))
    assert bench.merge.held_bytes <= room_for(4) * 1e6
    bench.say_all(end())
    assert (bench.sink.counts.partial, bench.sink.counts.stored, bench.sink.counts.late) == (8, 1, 0)


def test_while_frames_that_wait_fill_the_room_a_dead_module_is_left_out_all_the_same() -> None:
    bench = running(9, hold_mb=room_for(4))
    for number in range(9):
        bench.say(0, frame(number, 0))
        bench.say(2, frame(number, 2))
    bench.wait(3 * GAP)
    assert [index for _, index, status in bench.sink.frames if status is PARTIAL] == list(range(9))


def test_streams_are_joined_by_their_first_frames_if_that_is_configured() -> None:
    bench = ModuleBench(source={"frame_origin": "first"})
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
    bench.say_all(end(triggered=2))
    assert (bench.sink.counts.out_of_range, bench.sink.counts.stored) == (1, 1)


def test_messages_of_an_older_series_are_stale() -> None:
    bench = running(1)
    bench.say_all(frame(0), end(), start("b", frames=1))
    bench.say(1, frame(0, 1, "a"), end("a"), start("a", frames=1, trigger_mode="SOFTWARE"))
    bench.say_all(frame(0, series="b"), end("b"))
    assert (bench.sink.counts.stale, bench.sink.counts.stored, bench.sink.counts.duplicate) == (3, 1, 0)
