"""The part of the cameras' suite about frames: their shape, their buffers, their triggers, their period."""

from __future__ import annotations

import time
from itertools import pairwise
from math import prod

import numpy as np
import pytest

from penstock.stins import blobs
from penstock.stins.messages import Frame, SeriesEnd, Start
from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.settings import TriggerMode
from tests.contract.camera_hooks import EDGES, SLOTS, CameraHooks
from tests.streamer.rig import Rig, done, settings

LEND_AGAIN = "frames are missing; lend the SDK another buffer after each frame that is yielded"
RAISE_OVERRUN = "raise Overrun for frames for which the SDK had no buffer"
BURST = 3
"""Frames of a trigger."""


class CameraSeries(CameraHooks):
    """What a series relies on."""

    def test_a_frame_has_the_rows_and_columns_of_the_data_sheet(self, rig: Rig) -> None:
        if self.shape is None:
            pytest.skip("no shape: the test class does not say what the data sheet has")
        assert self.shape[-2] != self.shape[-1], "frames as wide as high do not show which is which"
        mode = self.camera.trigger_modes[0]
        start, frames, _ = self.take(rig, mode)
        assert tuple(start.header.shape) == self.shape, "shape is (rows, cols)"
        for frame in frames:
            assert tuple(frame.image.shape) == self.shape

    @pytest.mark.parametrize("at", [(0, 1), (1, 0)], ids=["row-0-col-1", "row-1-col-0"])
    def test_a_pixel_is_where_its_row_and_column_say(self, rig: Rig, at: tuple[int, int]) -> None:
        self.needs("mark")
        self.mark(rig, *at)
        _, frames, _ = self.take(rig, self.camera.trigger_modes[0])
        for frame in frames:
            pixels = np.frombuffer(frame.blobs[0], frame.image.type).reshape(frame.image.shape[-2:])
            assert np.argwhere(pixels == pixels.max()).tolist() == [list(at)], "rows come one after another"

    def test_a_series_longer_than_the_ring_has_every_frame(
        self, tight_rig: Rig, waiting_mode: TriggerMode
    ) -> None:
        """A trigger is given when a buffer is free: nobody has to be fast."""
        if waiting_mode is TriggerMode.EXTERNAL:
            pytest.skip("one edge starts all frames, however slowly they are sent")
        planned = 3 * SLOTS + 1
        self.arm(tight_rig, waiting_mode, planned)
        if waiting_mode is TriggerMode.SOFTWARE:
            self.trigger(tight_rig, waiting_mode, planned)
            _, frames, end = tight_rig.receive_series()
        else:
            assert isinstance(tight_rig.receive(), Start)
            frames = []
            for _ in range(planned):
                self.trigger(tight_rig, waiting_mode)
                frames.append(tight_rig.receive())
            end = tight_rig.receive()
        assert isinstance(end, SeriesEnd)
        assert [frame.image.frame for frame in frames] == list(range(planned)), f"{LEND_AGAIN}: {end.message}"
        pixels = [b"".join(bytes(blob) for blob in frame.blobs) for frame in frames]
        assert all(one != next_ for one, next_ in pairwise(pixels))
        tight_rig.until_state("idle")
        self.take(tight_rig, waiting_mode)

    def test_frames_that_find_no_buffer_are_a_fault_that_counts_them(self, tight_rig: Rig) -> None:
        """Nobody takes frames, and the camera does not wait for anybody."""
        modes = [m for m in (TriggerMode.INTERNAL, *EDGES) if m in self.camera.trigger_modes]
        if not modes:
            pytest.skip("each of its frames waits for a trigger, and that for a buffer")
        wanted = settings(trigger_mode=modes[0], exposure_time=self.exposure, n_triggers=20 * SLOTS)
        done(tight_rig.engine.prepare(wanted))
        done(tight_rig.engine.announce())
        assert isinstance(tight_rig.receive(), Start)
        tight_rig.disconnect()
        done(tight_rig.engine.start())
        if modes[0] in EDGES:
            self.trigger(tight_rig, modes[0], 20 * SLOTS)
        tight_rig.until(lambda status: bool(status.lost) or status.state != "acquiring")
        tight_rig.connect()
        frames = []
        while isinstance(message := tight_rig.receive(), Frame):
            frames.append(message)
        assert isinstance(message, SeriesEnd)
        assert message.reason == "fault" and (message.lost or {}).get("overrun", 0) >= 1, RAISE_OVERRUN
        assert message.triggered == len(frames) + sum((message.lost or {}).values())
        assert [frame.image.frame for frame in frames] == list(range(len(frames)))
        tight_rig.until_state("fault")
        tight_rig.engine.reset()
        assert len(self.take(tight_rig, modes[0], SLOTS // 2)[1]) == SLOTS // 2

    def test_each_trigger_gives_its_frames(self, rig: Rig, mode: TriggerMode) -> None:
        """All nFramesPerTrigger of them; a camera that cannot refuses, and names the attribute."""
        wanted = {"trigger_mode": mode, "exposure_time": self.exposure, "n_frames_per_trigger": BURST}
        refused = ""
        try:
            rig.arm(n_triggers=2, **wanted)
        except Refused as error:
            refused = str(error)
        if refused:
            assert "nFramesPerTrigger" in refused
            return
        for trigger in range(0 if mode in (TriggerMode.INTERNAL, TriggerMode.EXTERNAL) else 2):
            self.trigger(rig, mode)
            rig.until(lambda s, due=BURST * (trigger + 1): s.acquired >= due or s.ready_for_trigger)
            if mode is TriggerMode.SOFTWARE and trigger == 0:
                rig.until(lambda status: status.ready_for_trigger)
                assert rig.engine.status().acquired == BURST
        if mode is TriggerMode.EXTERNAL:
            self.trigger(rig, mode)
        _, frames, end = rig.receive_series()
        assert [frame.image.frame for frame in frames] == list(range(2 * BURST))
        assert (end.reason, end.triggered, end.lost) == ("complete", 2 * BURST, None)

    def test_frames_are_at_least_exposure_and_latency_apart(self, rig: Rig) -> None:
        """The period is in the start message, and it is kept: a busy computer only makes it longer."""
        if TriggerMode.INTERNAL not in self.camera.trigger_modes:
            pytest.skip("whoever triggers it gives the period")
        changes = {"exposure_time": self.exposure, "latency_time": self.latency, "n_triggers": 4}
        prepared = done(rig.engine.prepare(settings(trigger_mode=TriggerMode.INTERNAL, **changes)))
        assert prepared.frames == 4
        done(rig.engine.announce())
        begun = time.monotonic()
        done(rig.engine.start())
        start, frames, _ = rig.receive_series()
        took = time.monotonic() - begun
        assert len(frames) == 4
        period = start.header.frame_time
        assert period >= 0.95 * (self.exposure + self.latency)
        assert took >= 0.95 * 3 * period, "frames follow each other faster than LatencyTime allows"


def check_frames(start: Start, frames: list[Frame], shape: tuple[int, int]) -> None:
    """Check that a series has frames of this shape, as announced."""
    assert tuple(start.header.shape[-2:]) == shape
    for frame in frames:
        assert frame.image.shape == start.header.shape
        blobs.check(frame)
        if frame.image.compression == "none":
            size = prod(frame.image.shape) * np.dtype(frame.image.type).itemsize
            assert sum(map(len, frame.blobs)) == size
