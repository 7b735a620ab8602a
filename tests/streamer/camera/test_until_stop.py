"""A series without a planned number of frames: nTriggers 0, until Stop."""

from __future__ import annotations

import pytest

from penstock.stins.messages import EndReason
from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.settings import MOST_TRIGGERS, Settings, TriggerMode
from penstock.streamer.camera.unit import FrameFormat
from tests.streamer.rig import FakeCamera, Rig, done, settings


class Asked(FakeCamera):
    """Remembers the settings that it was prepared with, and takes 1000 frames at most."""

    def most_frames(self) -> int:
        return 1000

    def prepare(self, settings: Settings) -> FrameFormat:
        self.asked = settings
        return super().prepare(settings)


@pytest.mark.parametrize(("how", "reason"), [("stop", EndReason.STOP), ("abort", EndReason.ABORT)])
def test_the_start_message_has_no_number_the_camera_gets_its_most_and_the_end_says_what_was_taken(
    how: str, reason: EndReason
) -> None:
    with Rig(Asked({})) as rig:
        rig.connect()
        prepared = rig.arm(n_triggers=0, n_frames_per_trigger=3, exposure_time=0.001, filename="/data/x.h5")
        status = rig.until(lambda status: status.sent > 2)
        assert (prepared.frames, status.planned) == (0, 0)
        done(getattr(rig.engine, how)())
        start, frames, end = rig.receive_series()
        assert (start.header.frames, start.header.filename) == (None, "/data/x.h5")
        assert start.metadata["acquisition"]["triggers"] == 0
        assert rig.camera.asked.frames == 999
        assert (end.reason, end.sent) == (reason.value, len(frames))
        assert rig.until_state("idle").message.endswith(f"{end.sent} frames sent")


def test_a_camera_without_a_limit_of_its_own_is_asked_for_the_most_triggers() -> None:
    assert FakeCamera({}).most_frames() == MOST_TRIGGERS
    assert settings(n_triggers=0, n_frames_per_trigger=1).numbered(MOST_TRIGGERS).frames == MOST_TRIGGERS


@pytest.mark.parametrize("mode", [TriggerMode.SOFTWARE, TriggerMode.EXTERNAL_MULTI])
def test_triggered_modes_need_a_number(mode: TriggerMode) -> None:
    with Rig() as rig, pytest.raises(Refused, match=f"INTERNAL only; now it is {mode}: set nTriggers to 1"):
        done(rig.engine.prepare(settings(n_triggers=0, trigger_mode=mode)))
