"""Who starts a frame: our trigger modes, and what the control unit calls them.

[um] chapter 9 "Trigger and Gating"; Lima-camera-eiger `src/EigerCamera.cpp` (`setTrigMode`, `prepareAcq`).

| ours | trigger_mode | ntrigger | nimages |
|---|---|---|---|
| SOFTWARE | ints ([um] 9.2) | nTriggers | nFramesPerTrigger |
| the same, SoftwareTriggerMode inte | inte ([um] 9.3): each trigger says its exposure | all | 1 |
| INTERNAL | ints, triggered once | 1 | all |
| EXTERNAL | exts ([um] 9.4) | 1 | all |
| EXTERNAL_MULTI | exts | nTriggers | nFramesPerTrigger |
| EXTERNAL_MULTI_GATE | exte ([um] 9.5): counts while the gate is high, one frame per gate | all | 1 |
| the same, GateTriggerMode extg | extg ([um] 9.7): Nexpi gates added up in each frame | 1 | all |

`eies` (9.6) takes n + 1 edges for n frames, without a gap; no mode of ours says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.devices._dectris.parameters import DETECTOR
from penstock.stins.messages import IndexSource
from penstock.streamer.settings import Settings, TriggerMode, Value
from penstock.streamer.unit import CameraError

ENABLE = ("exte", "inte")
"""Modes that the box takes only while nimages is 1 ([um] 9.5: it is implied)."""


def plan(settings: Settings, local: Mapping[str, Value]) -> dict[str, Value]:
    """Keys and values of a series' triggers, in the order in which the box takes them.

    Args:
        settings: of the series.
        local: `parameters.LOCAL` by name.

    Raises:
        CameraError: more than one frame per gate, or per trigger that says its exposure.
    """
    triggers, images, mode = 1, settings.frames, "exts"
    match settings.trigger_mode:
        case TriggerMode.INTERNAL:
            mode = "ints"
        case TriggerMode.SOFTWARE:
            triggers, images = settings.n_triggers, settings.n_frames_per_trigger
            mode = str(local["SoftwareTriggerMode"])
            if mode == "inte" and images > 1:
                raise CameraError(
                    "in SoftwareTriggerMode inte each trigger exposes one frame; set nFramesPerTrigger to 1"
                )
        case TriggerMode.EXTERNAL_MULTI:
            triggers, images = settings.n_triggers, settings.n_frames_per_trigger
        case TriggerMode.EXTERNAL_MULTI_GATE:
            if settings.n_frames_per_trigger > 1:
                raise CameraError("each gate exposes one frame; set nFramesPerTrigger to 1")
            mode = str(local["GateTriggerMode"])
            if mode in ENABLE:
                triggers, images = settings.frames, 1
    named: dict[str, Value] = {f"{DETECTOR}/trigger_mode": mode}
    if mode == "extg":
        # The other of its modes, double, makes two images of each gate ([um] 9.7.3).
        named[f"{DETECTOR}/extg_mode"] = "single"
    counted: dict[str, Value] = {f"{DETECTOR}/nimages": images, f"{DETECTOR}/ntrigger": triggers}
    return counted | named if mode in ENABLE else named | counted


def index_source(mode: TriggerMode) -> IndexSource:
    """Return how a frame's number belongs to its trigger.

    The box numbers the frames that it takes. Where it takes them by its own clock, or by commands that it
    answers, that is the trigger's number. Where each edge starts frames, an edge that it misses shifts all
    that follow, and nothing says so.
    """
    if mode in (TriggerMode.EXTERNAL_MULTI, TriggerMode.EXTERNAL_MULTI_GATE):
        return IndexSource.ARRIVAL
    return IndexSource.HARDWARE_COUNTER


def exposure_of_trigger(settings: Settings, local: Mapping[str, Value]) -> float | None:
    """Exposure that a software trigger says, in seconds; `None` where it says none.

    [um] 9.3; `trigger_exposure` in fastcs-eiger, `trigger` in ADEiger `restApi.cpp`.
    """
    said = settings.trigger_mode is TriggerMode.SOFTWARE and local["SoftwareTriggerMode"] == "inte"
    return settings.exposure_time if said else None


def frames_of_trigger(settings: Settings) -> int:
    """Frames that a software trigger starts, whose answer comes after the last of them."""
    return settings.frames if settings.trigger_mode is TriggerMode.INTERNAL else settings.n_frames_per_trigger
