"""One series of a detector that streams by itself, as its engine knows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.settings import SHOWN_AS, Settings, TriggerMode, Value
from penstock.streamer.camera.unit import FrameFormat


class LostSettings:
    """The settings that a box has lost; nothing is written for the user, who may no longer want them.

    Args:
        set_by_reset: names of settings that a reset itself sets.
    """

    def __init__(self, set_by_reset: frozenset[str] = frozenset()) -> None:
        self._set_by_reset = set_by_reset
        self._written: set[str] = set()
        self._lost: dict[str, str] = {}

    @property
    def sentence(self) -> str:
        """The lost settings with both values, in words; "" if there are none."""
        return "; ".join(self._lost.values())

    def wrote(self, names: Iterable[str]) -> None:
        """Note that these settings were written."""
        wrote = set(names)
        self._written |= wrote - self._set_by_reset
        self._lost = {name: said for name, said in self._lost.items() if name not in wrote}

    def compare(self, before: Mapping[str, Value], now: Mapping[str, Value]) -> None:
        """Find the written settings that a reset has changed.

        Args:
            before: values before the reset; empty if they are unknown.
            now: the box's values after it.
        """
        for name in sorted(before.keys() & self._written):
            if before[name] != now.get(name):
                said = f"{name} was {_shown(before[name])}, is {_shown(now.get(name))}: write it again"
                self._lost = self._lost | {name: said}

    def refuse(self) -> None:
        """Refuse a series while settings are lost.

        Raises:
            Refused: the sentence names them.
        """
        if self._lost:
            raise Refused("settings_lost", f"the detector has lost settings: {self.sentence}")


def _shown(value: Value | None) -> str:
    if value is None:
        return "unknown"
    return SHOWN_AS % value if isinstance(value, float) else str(value)


ON_TIME = 0.99
"""Share of a trigger's length before which a box cannot have taken all its frames; clocks differ by less."""


class Series:
    """A series; see the module.

    Args:
        ident: unique id of the series and of its arming.
        settings: complete settings.
        frames: format of the frames, from the box.
        plan: number of planned frames; `None` if frames come until Stop.
    """

    def __init__(self, ident: str, settings: Settings, frames: FrameFormat, plan: int | None) -> None:
        self.id = ident
        self.plan = plan
        self.settings = settings
        self.frames = frames
        self.acquired: int | None = None
        """Frames that the box has taken; `None` if it does not count them."""
        self.sent: int | None = None
        """Frames that have left the box; `None` if it does not count them."""
        self.armed = False
        self.ended = False
        self.triggering = settings.trigger_mode is TriggerMode.INTERNAL
        """True while a software trigger is running; in INTERNAL mode the start of the series."""
        self.software_triggers = 0
        self.armed_at = self.ended_at = self.triggered_at = self.sent_at = 0.0
        """Times at which arming, the end and the last trigger began, and `sent` last changed, by the engine's
        clock."""
        self.ended_early: bool | None = False
        """See `StreamerStatus`."""
        self.ended_by = ""
        """See `StreamerStatus`."""

    @property
    def as_set(self) -> Settings:
        """The settings as a client has set them, without the number that only the box needs."""
        return self.settings if self.plan else msgspec.structs.replace(self.settings, n_triggers=0)

    @property
    def ready_for_trigger(self) -> bool:
        """True if a software trigger would be taken now."""
        settings = self.settings
        return (
            settings.trigger_mode is TriggerMode.SOFTWARE
            and not self.triggering
            and self.software_triggers < settings.n_triggers
        )

    @property
    def triggered(self) -> int:
        """Frames that were triggered, as far as is known here: by software, or by what the box has taken."""
        settings, acquired = self.settings, self.acquired or 0
        if settings.trigger_mode is TriggerMode.SOFTWARE:
            return max(acquired, self.software_triggers * settings.n_frames_per_trigger)
        return (
            acquired if self.plan is None or settings.trigger_mode is not TriggerMode.INTERNAL else self.plan
        )

    def ends_early(self, now: float, period: float, dropped: int | None) -> bool | None:
        """Return whether the box, which is idle now by itself, has left frames out; `None` if unknown.

        Args:
            now: time of the engine's clock.
            period: time from frame to frame, in seconds.
            dropped: frames that the box has taken but not sent; `None` if unknown.
        """
        settings = self.settings
        if self.acquired is not None:
            return self.acquired < settings.frames
        if settings.trigger_mode in (TriggerMode.SOFTWARE, TriggerMode.INTERNAL):
            frames, triggers = settings.n_frames_per_trigger, settings.n_triggers
            if settings.trigger_mode is TriggerMode.INTERNAL:
                frames, triggers = settings.frames, 0
            least = (frames - 1) * period + settings.exposure_time
            return self.software_triggers < triggers or now - self.triggered_at < ON_TIME * least
        return None if dropped == 0 else False

    def trigger(self) -> None:
        """Count a software trigger that begins.

        Raises:
            Refused: the box is not waiting for one now; nothing was triggered.
        """
        settings = self.settings
        if settings.trigger_mode is not TriggerMode.SOFTWARE:
            raise Refused("not_ready", f"SoftwareTrigger refused: TriggerMode is {settings.trigger_mode}")
        if self.software_triggers >= settings.n_triggers:
            raise Refused(
                "not_ready",
                f"SoftwareTrigger refused: all {settings.n_triggers} triggers were given; Arm again",
            )
        if self.triggering:
            raise Refused(
                "not_ready",
                f"SoftwareTrigger {self.software_triggers} refused, the detector is still busy with the last "
                "one; wait for ReadyForSwTrigger",
            )
        self.software_triggers += 1
        self.triggering = True
