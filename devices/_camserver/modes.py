"""Our trigger modes, and camserver's.

[um] 7.3 p. 25-29 and chapter 14 p. 52-53; [ad] lines 1108-1120; [lima] `startAcquisition`.

| ours | command | NImages | once per |
|---|---|---|---|
| INTERNAL | Exposure | all | series |
| SOFTWARE | Exposure | nFramesPerTrigger | trigger |
| EXTERNAL | ExtTrigger: an edge starts all images | all | series |
| EXTERNAL_MULTI | ExtMTrigger: an edge starts an image | all | series |
| EXTERNAL_MULTI_GATE | ExtEnable: NExpFrame gates are an image | all | series |
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.stins.messages import IndexSource
from penstock.streamer.camera.settings import Settings, TriggerMode
from penstock.streamer.camera.unit import CameraError

MOST_IMAGES = 65535
"""Most images of one command ([um] p. 53)."""
READOUT = 0.95e-3
"""Seconds by which the period has to be longer than the exposure ([um] p. 53)."""
DIGITS = 7
"""Decimals of seconds that camserver keeps ([um] p. 53). Rounded by itself, a period that is just long enough
might be too short for the rounded exposure."""
LEAST_PERIOD = 2e-3
"""Seconds ([um] p. 53)."""
COMMANDS: Mapping[TriggerMode, str] = {
    TriggerMode.INTERNAL: "Exposure",
    TriggerMode.SOFTWARE: "Exposure",
    TriggerMode.EXTERNAL: "ExtTrigger",
    TriggerMode.EXTERNAL_MULTI: "ExtMTrigger",
    TriggerMode.EXTERNAL_MULTI_GATE: "ExtEnable",
}
BY_EDGES = (TriggerMode.EXTERNAL_MULTI, TriggerMode.EXTERNAL_MULTI_GATE)
"""Modes in which each image has its own edge."""
BY_COMMAND = (TriggerMode.INTERNAL, TriggerMode.SOFTWARE)
"""Modes in which Exposure is given with the trigger, not when it is armed."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What camserver does in a series."""

    mode: TriggerMode
    command: str
    images: int
    """Number of images of each command."""
    exposures: int
    """How often the command is given."""
    exposure: float
    period: float
    receiver_away: float = 0.0
    """Seconds for which frames wait for a receiver that is away."""

    @property
    def frames(self) -> int:
        """Number of frames of the series."""
        return self.images * self.exposures


def plan(settings: Settings) -> Plan:
    """Return what camserver has to do.

    Raises:
        CameraError: it cannot do it.
    """
    mode = settings.trigger_mode
    software = mode is TriggerMode.SOFTWARE
    images = settings.n_frames_per_trigger if software else settings.frames
    if mode in BY_EDGES and settings.n_frames_per_trigger > 1:
        what = "gate" if mode is TriggerMode.EXTERNAL_MULTI_GATE else "edge"
        raise CameraError(f"each {what} exposes one frame; set nFramesPerTrigger to 1")
    if images > MOST_IMAGES:
        each = " for each trigger" if software else " in a series"
        raise CameraError(
            f"camserver takes at most {MOST_IMAGES} images{each}, {images} are asked for; take fewer, or use "
            "TriggerMode SOFTWARE, in which each trigger has so many"
        )
    exposure = round(settings.exposure_time, DIGITS)
    return Plan(
        mode=mode, command=COMMANDS[mode], images=images, exposures=settings.n_triggers if software else 1,
        exposure=exposure,
        period=max(round(exposure + max(settings.latency_time, READOUT), DIGITS), LEAST_PERIOD),
        receiver_away=settings.receiver_away,
    )  # fmt: skip


def index_source(mode: TriggerMode) -> IndexSource:
    """Return how frames are assigned to triggers.

    camserver numbers its files. If its own clock or answered commands start the images, this number gives the
    trigger. If each edge starts an image, a missed edge shifts all later ones unnoticed.
    """
    return IndexSource.ARRIVAL if mode in BY_EDGES else IndexSource.HARDWARE_COUNTER
