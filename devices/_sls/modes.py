"""Our trigger modes, and those of the detector.

slsDetectorPackage 10, `Detector.h` (`setTimingMode`, `setNumberOfTriggers`, `startDetector`). JUNGFRAU has no
gates (`timinglist`: AUTO_TIMING, TRIGGER_EXPOSURE).

| ours           | timing           | triggers  | frames            | started by                   |
|----------------|------------------|-----------|-------------------|------------------------------|
| SOFTWARE       | AUTO_TIMING      | 1         | nFramesPerTrigger | `start`, once per trigger    |
| INTERNAL       | AUTO_TIMING      | 1         | all               | `start`, once                |
| EXTERNAL       | TRIGGER_EXPOSURE | 1         | all               | `start` at Arm, then an edge |
| EXTERNAL_MULTI | TRIGGER_EXPOSURE | nTriggers | nFramesPerTrigger | `start` at Arm, then edges   |

slsReceiver goes on between the starts of a SOFTWARE series, and counts its frames on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from penstock.stins.messages import IndexSource
from penstock.streamer.camera.settings import Settings, TriggerMode


class Plan(NamedTuple):
    """The triggers of one series."""

    timing: str
    """Name of the member of slsdet's `timingMode`."""
    triggers: int
    frames: int
    """Frames of each trigger, as the detector counts triggers."""
    starts: int
    """How often `start` is called after arming for all frames of the series; 0: once, when it is armed."""

    def least_time(self, exposure: float, frame_time: float) -> float:
        """Return the seconds from one `start` that the detector needs at least, unless it is stopped.

        Args:
            exposure: seconds of each exposure.
            frame_time: seconds from one frame to the next.
        """
        return self.triggers * ((self.frames - 1) * frame_time + exposure)


def plan(settings: Settings) -> Plan:
    """Return the triggers of a series."""
    match settings.trigger_mode:
        case TriggerMode.SOFTWARE:
            return Plan("AUTO_TIMING", 1, settings.n_frames_per_trigger, settings.n_triggers)
        case TriggerMode.EXTERNAL:
            return Plan("TRIGGER_EXPOSURE", 1, settings.frames, 0)
        case TriggerMode.EXTERNAL_MULTI:
            return Plan("TRIGGER_EXPOSURE", settings.n_triggers, settings.n_frames_per_trigger, 0)
    return Plan("AUTO_TIMING", 1, settings.frames, 1)


INDEX_SOURCES: Mapping[TriggerMode, IndexSource] = {
    # If each edge starts frames, a missed edge shifts all later frames unnoticed.
    TriggerMode.EXTERNAL_MULTI: IndexSource.ARRIVAL,
}


def index_source(mode: TriggerMode) -> IndexSource:
    """Return how frames are assigned to triggers: by the detector's own number of frames, or by arrival."""
    return INDEX_SOURCES.get(mode, IndexSource.HARDWARE_COUNTER)
