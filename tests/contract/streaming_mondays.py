"""The part of the boxes' suite about what happens between people: on a Monday nothing is as it was left."""

from __future__ import annotations

import time

import pytest

from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.camera.unit import CameraError
from tests.contract.streaming_hooks import StreamingHooks
from tests.streamer.own_stream.rig import Rig, done
from tests.streamer.rig import DEADLINE

WRITE_ALL = "prepare has to bring every setting: another client, or a power cut, may have changed it"


class StreamingMondays(StreamingHooks):
    """A region that changes, a power cut, another client, a second series."""

    def test_a_region_that_changes_between_series_is_that_of_the_next(self, rig: Rig) -> None:
        self.needs("region")
        part, shape = self.region()
        before = {name: rig.engine.describe().values[name] for name in part}
        rig.arm(self.exposure, n_triggers=2)
        whole = tuple(rig.series()[1][0].image.shape)
        for values, wanted in ((part, shape), (before, whole), (part, shape)):
            rig.until_state("idle")
            prepared = rig.arm(self.exposure, n_triggers=2, camera=dict(values))
            _, frames, _ = rig.series()
            assert tuple(prepared.shape) == wanted
            assert [tuple(frame.image.shape) for frame in frames] == [wanted] * 2
            for frame in frames:
                self.check_blobs(frame)

    def test_settings_that_another_client_has_left_change_no_series(
        self, rig: Rig, mode: TriggerMode
    ) -> None:
        self.needs("leave_settings")
        self.take(rig, mode, 3)
        before, frames, _ = rig.series()
        rig.until_state("idle")
        self.leave_settings(rig.unit)
        begun = time.monotonic()
        self.take(rig, mode, 3)
        after, again, _ = rig.series()
        assert [frame.image.frame for frame in again] == [0, 1, 2], WRITE_ALL
        assert [frame.image.shape for frame in again] == [frame.image.shape for frame in frames]
        assert time.monotonic() - begun < DEADLINE, WRITE_ALL
        assert (after.header.frames, after.header.frame_time) == (3, before.header.frame_time)

    def test_after_a_power_cut_that_nobody_has_noticed_the_next_series_is_whole(self, rig: Rig) -> None:
        """Or it is refused, until Reset."""
        self.take(rig, TriggerMode.INTERNAL, 3)
        rig.series()
        rig.until_state("idle")
        self.power(rig.unit, on=False)
        self.power(rig.unit, on=True)
        deadline = time.monotonic() + DEADLINE
        while True:
            try:
                rig.arm(self.exposure, n_triggers=3)
                break
            except (CameraError, Refused):
                if time.monotonic() > deadline:
                    raise
            rig.until(lambda status: not rig.engine._busy and status.state in ("idle", "fault"))
            done(rig.engine.reset())
        assert [frame.image.frame for frame in rig.series()[1]] == [0, 1, 2], WRITE_ALL

    def test_a_second_series_is_refused_while_one_waits_and_the_first_is_whole(
        self, rig: Rig, waiting_mode: TriggerMode
    ) -> None:
        series = rig.arm(self.exposure, trigger_mode=waiting_mode, n_triggers=2).series
        with pytest.raises(Refused):
            rig.prepare(self.exposure, n_triggers=5)
        self.trigger(rig, waiting_mode, 2)
        start, frames, _ = rig.series()
        assert (start.header.series, [frame.image.frame for frame in frames]) == (series, [0, 1])
