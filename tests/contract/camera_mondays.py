"""The part of the cameras' suite about what happens between people: on a Monday nothing is as it was left."""

from __future__ import annotations

import time

import pytest

from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.settings import TriggerMode
from tests.contract.camera_hooks import CameraHooks
from tests.contract.camera_series import check_frames
from tests.streamer.rig import DEADLINE, Rig

ROWS, COLS = 8, 16
"""Of a region."""
ON_THE_WAY = {TriggerMode.INTERNAL: 50, TriggerMode.SOFTWARE: 0}
"""Most frames that may still come after a power cut."""
HEARTBEATS = 30.0
"""Seconds within which an SDK notices that its camera is gone."""
WRITE_ALL = "prepare has to write every setting: another program, or a power cut, may have changed it"


class CameraMondays(CameraHooks):
    """A region that changes, a power cut, another program."""

    def test_a_region_that_changes_between_series_is_that_of_the_next(self, rig: Rig) -> None:
        self.needs("region")
        region = dict(self.region(ROWS, COLS))
        mode = self.camera.trigger_modes[0]
        whole = {p.name: p.default for p in self.camera.parameters if p.name in region}
        first, _, _ = self.take(rig, mode)
        sensor = tuple(first.header.shape[-2:])
        for values, shape in ((region, (ROWS, COLS)), (whole, sensor), (region, (ROWS, COLS))):
            rig.until_state("idle")
            rig.arm(trigger_mode=mode, exposure_time=self.exposure, n_triggers=2, camera=values)
            self.trigger(rig, mode, 2)
            start, frames, _ = rig.receive_series()
            assert len(frames) == 2
            check_frames(start, frames, shape)

    def test_after_a_power_cut_between_series_the_next_one_is_whole(
        self, rig: Rig, mode: TriggerMode
    ) -> None:
        self.needs("power")
        before, _, _ = self.take(rig, mode)
        rig.until_state("idle")
        self.power(rig, on=False)
        self.power(rig, on=True)
        self.arm_again(rig, mode)
        self.trigger(rig, mode, 3)
        start, frames, end = rig.receive_series()
        assert [frame.image.frame for frame in frames] == [0, 1, 2], end.message or WRITE_ALL
        check_frames(start, frames, before.header.shape[-2:])

    def test_a_power_cut_in_a_series_is_a_fault_and_the_next_series_is_whole(
        self, rig: Rig, mode: TriggerMode
    ) -> None:
        self.needs("power")
        if mode not in ON_THE_WAY:
            pytest.skip("a camera that waits for edges need not notice; trouble() says it")
        self.arm(rig, mode, 100_000)
        self.trigger(rig, mode)
        rig.until(lambda status: status.acquired >= 1)
        if mode is TriggerMode.SOFTWARE:
            rig.until(lambda status: status.ready_for_trigger)
        self.power(rig, on=False)
        most = rig.engine.status().acquired + ON_THE_WAY[mode]
        self.trigger(rig, mode)
        ended = rig.until(
            lambda status: status.state in ("idle", "fault") or status.acquired > most, HEARTBEATS
        )
        assert ended.state == "fault" and ended.message, "a camera without power takes no frames"
        _, frames, end = rig.receive_series()
        assert (end.reason, end.sent) == ("fault", len(frames))
        self.power(rig, on=True)
        rig.engine.reset()
        self.arm_again(rig, mode)
        self.trigger(rig, mode, 3)
        assert [frame.image.frame for frame in rig.receive_series()[1]] == [0, 1, 2]

    def test_settings_that_another_program_has_left_change_no_series(
        self, rig: Rig, mode: TriggerMode
    ) -> None:
        self.needs("leave_settings")
        before, _, _ = self.take(rig, mode)
        rig.until_state("idle")
        self.leave_settings(rig)
        start, frames, end = self.take(rig, mode)
        assert [frame.image.frame for frame in frames] == [0, 1, 2], end.message or WRITE_ALL
        check_frames(start, frames, before.header.shape[-2:])
        assert start.header.frame_time == before.header.frame_time
        assert start.metadata["exptime"] == before.metadata["exptime"]

    def test_a_second_series_is_refused_while_one_waits_and_the_first_is_whole(
        self, rig: Rig, waiting_mode: TriggerMode
    ) -> None:
        self.arm(rig, waiting_mode, 2)
        with pytest.raises(Refused):
            self.arm(rig, waiting_mode, 5)
        self.trigger(rig, waiting_mode, 2)
        start, frames, end = rig.receive_series()
        assert (start.header.series, start.header.frames, end.reason) == (end.series, 2, "complete")
        assert [frame.image.frame for frame in frames] == [0, 1]

    def arm_again(self, rig: Rig, mode: TriggerMode) -> None:
        """Arm a series of three frames; a camera that was switched on just now may refuse at first."""
        deadline = time.monotonic() + DEADLINE
        while True:
            try:
                self.arm(rig, mode, 3)
            except Refused:
                if time.monotonic() > deadline:
                    raise
                if rig.engine.status().state == "fault":
                    rig.engine.reset()
            else:
                return
