"""Our trigger modes, and those of the control unit.

[um] chapter 9 "Trigger and Gating"; Lima-camera-eiger `src/EigerCamera.cpp` (`setTrigMode`, `prepareAcq`).

| ours | trigger_mode | ntrigger | nimages |
|---|---|---|---|
| SOFTWARE | ints ([um] 9.2) | nTriggers | nFramesPerTrigger |
| the same, SoftwareTriggerMode inte | inte ([um] 9.3): each trigger carries its exposure | all | 1 |
| INTERNAL | ints, triggered once | 1 | all |
| EXTERNAL | exts ([um] 9.4) | 1 | all |
| EXTERNAL_MULTI | exts | nTriggers | nFramesPerTrigger |
| EXTERNAL_MULTI_GATE | exte ([um] 9.5): counts while the gate is high, one frame per gate | all | 1 |
| the same, GateTriggerMode extg | extg ([um] 9.7): Nexpi gates added up in each frame | 1 | all |
| the same, GateTriggerMode eies | eies ([um] 9.6): each frame lasts from one edge to the next | all + 1 | 1 |
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.devices._dectris.parameters import DETECTOR
from penstock.stins.messages import IndexSource
from penstock.streamer.camera.settings import Settings, TriggerMode, Value
from penstock.streamer.camera.unit import CameraError

ENABLE = ("exte", "inte", "eies")
"""Modes that the box accepts only while nimages is 1 ([um] 9.5 implies it)."""


def plan(settings: Settings, local: Mapping[str, Value]) -> dict[str, Value]:
    """Return keys and values of a series' triggers, in the order in which the box accepts them.

    Args:
        settings: settings of the series.
        local: values of `parameters.LOCAL` by name.

    Raises:
        CameraError: more than one frame per gate, or per trigger that carries its exposure.
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
                triggers, images = settings.frames + (mode == "eies"), 1
    named: dict[str, Value] = {f"{DETECTOR}/trigger_mode": mode}
    if mode == "extg":
        # In the other mode, double, each gate gives two images ([um] 9.7.3).
        named[f"{DETECTOR}/extg_mode"] = "single"
    if mode == "eies":
        named[f"{DETECTOR}/ntriggers_skipped"] = 0  # every edge ends a frame ([um] 9.6)
    counted: dict[str, Value] = {f"{DETECTOR}/nimages": images, f"{DETECTOR}/ntrigger": triggers}
    return counted | named if mode in ENABLE else named | counted


def index_source(mode: TriggerMode) -> IndexSource:
    """Return how frames are assigned to triggers.

    The box numbers the frames that it takes. If its own clock or answered commands start them, this number
    gives the trigger. If each edge starts frames, a missed edge shifts all later frames unnoticed.
    """
    if mode in (TriggerMode.EXTERNAL_MULTI, TriggerMode.EXTERNAL_MULTI_GATE):
        return IndexSource.ARRIVAL
    return IndexSource.HARDWARE_COUNTER


def exposure_of_trigger(settings: Settings, local: Mapping[str, Value]) -> float | None:
    """Return the exposure that a software trigger carries, in seconds; `None` if it carries none.

    [um] 9.3; `trigger_exposure` in fastcs-eiger, `trigger` in ADEiger `restApi.cpp`.
    """
    carried = settings.trigger_mode is TriggerMode.SOFTWARE and local["SoftwareTriggerMode"] == "inte"
    return settings.exposure_time if carried else None


def frames_of_trigger(settings: Settings) -> int:
    """Return the number of frames that a software trigger starts; the box answers after the last one."""
    return settings.frames if settings.trigger_mode is TriggerMode.INTERNAL else settings.n_frames_per_trigger
