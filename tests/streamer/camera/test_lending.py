"""Buffers that are lent to an SDK, which fills several in turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from penstock.streamer.camera.contract import Acquisition, Exposure
from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.camera.unit import FrameFormat, Overrun
from tests.streamer.rig import DEADLINE, FakeCamera, Rig, done, settings

SLOTS, FRAME = 4, 24


def rig_of(script: Callable[[Acquisition], Iterator[Exposure]]) -> Rig:
    camera = FakeCamera({})
    camera.script = script
    return Rig(camera, buffers=SLOTS * FRAME)


def lent(acquisition: Acquisition) -> list[tuple[int, np.ndarray]]:
    """All buffers that are free."""
    return list(iter(acquisition.lend, None))


def fill(buffer: np.ndarray, index: int) -> None:
    buffer.view("uint16")[:] = index


def test_lent_buffers_come_back_full_in_any_order_and_are_sent_as_they_are() -> None:
    places: list[int] = []

    def several(acquisition: Acquisition) -> Iterator[Exposure]:
        buffers = lent(acquisition)
        acquisition.ready()
        for index, (slot, buffer) in enumerate(reversed(buffers)):
            fill(buffer, index)
            places.append(buffer.ctypes.data)
            yield Exposure(index=index, slot=slot)

    with rig_of(several) as rig:
        rig.connect()
        rig.arm(n_triggers=SLOTS)
        _, frames, end = rig.receive_series()
        assert [np.frombuffer(frame.blobs[0], "uint16").tolist() for frame in frames] == [
            [index] * 12 for index in range(SLOTS)
        ]
        assert len(set(places)) == SLOTS
        assert (end.reason, end.sent) == ("complete", SLOTS)
        rig.until(lambda status: status.ring_used == 0)


def test_when_none_is_free_none_is_lent_and_they_are_lent_again_once_sent() -> None:
    def in_turn(acquisition: Acquisition) -> Iterator[Exposure]:
        buffers = lent(acquisition)
        assert len(buffers) == SLOTS and acquisition.lend() is None
        acquisition.ready()
        for index in range(acquisition.settings.frames):
            while not buffers and acquisition.wait_until(acquisition.now() + 0.001):
                buffers += lent(acquisition)
            slot, buffer = buffers.pop(0)
            fill(buffer, index)
            yield Exposure(index=index, slot=slot)

    with rig_of(in_turn) as rig:
        rig.connect()
        rig.arm(n_triggers=3 * SLOTS)
        frames = rig.receive_series()[1]
        assert [frame.image.frame for frame in frames] == [*range(3 * SLOTS)]


def test_what_was_not_given_back_is_free_again_once_acquire_has_ended() -> None:
    def keeps(acquisition: Acquisition) -> Iterator[Exposure]:
        (slot, buffer), *_ = lent(acquisition)
        acquisition.ready()
        fill(buffer, 0)
        yield Exposure(index=0, slot=slot)
        acquisition.wait_until(float("inf"))

    with rig_of(keeps) as rig:
        rig.connect()
        for _ in range(2):
            rig.arm(n_triggers=2)
            rig.until(lambda status: status.acquired == 1)
            rig.engine.stop()
            rig.receive_series()
            assert rig.until_state("idle").ring_used == 0


def test_the_buffers_that_an_sdk_has_yet_to_fill_do_not_count_as_used() -> None:
    def waits(acquisition: Acquisition) -> Iterator[Exposure]:
        (slot, buffer), *_ = lent(acquisition)
        if acquisition.wait_trigger():
            fill(buffer, 0)
            yield Exposure(index=0, slot=slot)

    with rig_of(waits) as rig:
        rig.connect()
        rig.arm(n_triggers=1, trigger_mode=TriggerMode.SOFTWARE)
        assert rig.until(lambda status: status.ready_for_trigger).ring_used == 0
        rig.engine.trigger()
        assert rig.receive_series()[2].reason == "complete"


@pytest.mark.parametrize(
    ("slots", "words"),
    [
        ((7,), "gave frame 0 in buffer 7, which is not lent to it"),
        ((0, 0), "gave frame 1 in buffer 0, which is"),
    ],
)
def test_a_buffer_that_is_not_lent_cannot_be_given_back(slots: tuple[int, ...], words: str) -> None:
    def wrong(acquisition: Acquisition) -> Iterator[Exposure]:
        lent(acquisition)
        acquisition.ready()
        for index, slot in enumerate(slots):
            yield Exposure(index=index, slot=slot)

    with rig_of(wrong) as rig:
        rig.connect()
        rig.arm(n_triggers=2)
        end = rig.receive_series()[2]
        assert end.reason == "fault" and words in (end.message or "")


def test_frames_that_the_sdk_lost_for_want_of_buffers_are_an_overrun() -> None:
    def loses(acquisition: Acquisition) -> Iterator[Exposure]:
        (slot, buffer), *_ = lent(acquisition)
        acquisition.ready()
        fill(buffer, 0)
        yield Exposure(index=0, slot=slot)
        acquisition.triggered(4)
        raise Overrun("the SDK had no buffer for 3 frames; take frames more slowly", 3)

    with rig_of(loses) as rig:
        rig.connect()
        rig.arm(n_triggers=9)
        end = rig.receive_series()[2]
        assert (end.reason, end.triggered, end.sent, end.lost) == ("fault", 4, 1, {"overrun": 3})
        assert end.message == "the SDK had no buffer for 3 frames; take frames more slowly"
        assert rig.until_state("fault").message == end.message


def test_a_buffer_may_be_larger_than_its_frame_and_begins_where_sdks_want_it() -> None:
    found: list[tuple[int, int]] = []

    def with_trailer(acquisition: Acquisition) -> Iterator[Exposure]:
        buffers = lent(acquisition)
        found.extend((buffer.nbytes, buffer.ctypes.data % 64) for _, buffer in buffers)
        acquisition.ready()
        slot, buffer = buffers[0]
        buffer[:FRAME], buffer[FRAME:] = 5, 99
        yield Exposure(index=0, slot=slot)

    class WithTrailer(FakeCamera):
        def prepare(self, settings: object) -> FrameFormat:
            return FrameFormat(shape=self.shape, dtype=self.dtype, frame_bytes=FRAME, buffer_bytes=FRAME + 13)

    camera = WithTrailer({})
    camera.script = with_trailer
    with Rig(camera, buffers=SLOTS * (FRAME + 13)) as rig:
        rig.connect()
        rig.arm(n_triggers=1, rotation=180)
        start, (frame,), _ = rig.receive_series()
        assert bytes(frame.blobs[0]) == bytes([5]) * FRAME
        assert start.header.frame_bytes == FRAME
        assert found == [(FRAME + 13, 0)] * SLOTS


@pytest.mark.slow
def test_an_sdk_thread_that_writes_late_still_has_its_buffers() -> None:
    """Until `acquire` has returned: only then another series may have them, or the memory be freed."""
    revoke, hangs, wrote = threading.Event(), threading.Event(), threading.Event()

    def slow_to_end(acquisition: Acquisition) -> Iterator[Exposure]:
        buffers = lent(acquisition)

        def write() -> None:
            while not revoke.wait(0.001):
                for _, buffer in buffers:
                    buffer[:] = 77
                wrote.set()

        sdk = threading.Thread(target=write)
        sdk.start()
        acquisition.ready()
        acquisition.wait_until(float("inf"))
        hangs.set()
        assert revoke.wait(DEADLINE)
        sdk.join()
        yield from ()

    with rig_of(slow_to_end) as rig:
        rig.connect()
        rig.arm(n_triggers=2)
        assert wrote.wait(DEADLINE)
        series = rig.engine._series
        assert series is not None
        ring = series.ring
        rig.engine.abort()
        assert hangs.wait(DEADLINE)
        rig.until_state("fault")  # it has not ended its acquisition after Abort
        assert ring.used == SLOTS
        rig.camera.shape = (30, 40)
        with pytest.raises(Refused, match=r"has not returned from the last call \(acquire\)"):
            done(rig.engine.prepare(settings()))
        assert rig.engine._ring is ring
        revoke.set()
        rig.until(lambda status: ring.used == 0)
        rig.receive_series()
        rig.engine.reset()
        rig.camera.script = rig.camera.all_frames
        rig.arm(n_triggers=2)
        assert len(rig.receive_series()[1]) == 2
