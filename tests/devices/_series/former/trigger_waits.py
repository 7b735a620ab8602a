"""How long a series waits for triggers: what is shown of it, and the limits that can be set."""

from __future__ import annotations

from collections.abc import Callable

from penstock.stins.texts import plural
from penstock.streamer.camera.settings import TriggerMode
from tests.devices._series.former.record import SeriesRecord

SHOWN_AFTER = 5.0
"""Seconds without a trigger after which it is shown how long ago the last one was."""
STEPS = ((3600.0, 3600.0, "h"), (60.0, 60.0, "min"), (0.0, 1.0, "s"))
"""Units of time: from how many seconds on, seconds in one, name."""


class TriggerWaits:
    """The waits of the running series for its first and for its next trigger.

    A series at the detector's own pace (INTERNAL) has none.

    Args:
        record: record of the device's series.
        armed_limit: returns the most seconds from Arm to the first trigger; 0 for ever.
        trigger_limit: returns the most seconds from a trigger or frame to the next; 0 for ever.
    """

    def __init__(
        self, record: SeriesRecord, armed_limit: Callable[[], float], trigger_limit: Callable[[], float]
    ) -> None:
        self._record = record
        self._armed_limit = armed_limit
        self._trigger_limit = trigger_limit

    def progress(self) -> str:
        """Return the triggers so far and the time since the last one in words; "" if it was just now."""
        since, settings = self._since_last(), self._record.settings
        if since < SHOWN_AFTER or settings is None:
            return ""
        triggers = -(-self._record.triggered_frames // settings.n_frames_per_trigger)
        many = (
            plural(triggers, "trigger")
            if settings.planned is None
            else f"{triggers:,} of {plural(settings.n_triggers, 'trigger')}"
        )
        return f"{many}, the last {_ago(since)} ago."

    def exceeded(self) -> str:
        """Return why the series has to be stopped; "" while it may wait."""
        record, settings = self._record, self._record.settings
        armed, limit = self._armed_limit(), self._trigger_limit()
        if record.waits_for_first_trigger:
            if 0.0 < armed < record.in_state():
                return f"no trigger came within {armed:g} s of Arm (ArmedTimeLimit); the series was stopped"
        elif settings is not None and 0.0 < limit < self._since_last() - settings.exposure_time:
            return (
                f"no trigger came within {limit:g} s of the last trigger or frame (TriggerTimeLimit); "
                "the series was stopped"
            )
        return ""

    def _since_last(self) -> float:
        """Return the seconds since the last trigger or frame; 0 before the first, and without triggers."""
        record = self._record
        if record.settings is None or record.settings.trigger_mode is TriggerMode.INTERNAL:
            return 0.0
        return 0.0 if record.waits_for_first_trigger else record.since_trigger()


def _ago(seconds: float) -> str:
    """Return a time in words, in whole units, so that it seldom changes: "25 s", "3 min"."""
    return next(f"{seconds // unit:.0f} {name}" for least, unit, name in STEPS if seconds >= least)
