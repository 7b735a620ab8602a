"""How long a series waits for triggers: what is shown of it, and the limits that can be set.

A series at the detector's own pace (INTERNAL) waits for none.
"""

from __future__ import annotations

from penstock.devices._series.machine.draft import Draft
from penstock.devices._series.machine.events import Tick
from penstock.stins.texts import plural
from penstock.streamer.camera.settings import TriggerMode

SHOWN_AFTER = 5.0
"""Seconds without a trigger after which it is shown how long ago the last one was."""
STEPS = ((3600.0, 3600.0, "h"), (60.0, 60.0, "min"), (0.0, 1.0, "s"))
"""Units of time: from how many seconds on, seconds in one, name."""


def progress(draft: Draft) -> str:
    """Return the triggers so far and the time since the last one in words; "" if it was just now."""
    since, settings = _since_last(draft), draft.facts.settings
    if since < SHOWN_AFTER or settings is None:
        return ""
    triggers = -(-draft.facts.triggered_frames // settings.n_frames_per_trigger)
    many = (
        plural(triggers, "trigger")
        if settings.planned is None
        else f"{triggers:,} of {plural(settings.n_triggers, 'trigger')}"
    )
    return f"{many}, the last {_ago(since)} ago."


def exceeded(draft: Draft, tick: Tick) -> str:
    """Return why the series has to be stopped; "" while it may wait."""
    facts, settings = draft.facts, draft.facts.settings
    armed, limit = tick.armed_limit, tick.trigger_limit
    if facts.waits_for_first_trigger:
        if 0.0 < armed < facts.in_state(draft.now):
            return f"no trigger came within {armed:g} s of Arm (ArmedTimeLimit); the series was stopped"
    elif settings is not None and 0.0 < limit < _since_last(draft) - settings.exposure_time:
        return (
            f"no trigger came within {limit:g} s of the last trigger or frame (TriggerTimeLimit); "
            "the series was stopped"
        )
    return ""


def _since_last(draft: Draft) -> float:
    """Return the seconds since the last trigger or frame; 0 before the first, and without triggers."""
    settings = draft.facts.settings
    if settings is None or settings.trigger_mode is TriggerMode.INTERNAL:
        return 0.0
    return 0.0 if draft.facts.waits_for_first_trigger else draft.since_trigger()


def _ago(seconds: float) -> str:
    """Return a time in words, in whole units, so that it seldom changes: "25 s", "3 min"."""
    return next(f"{seconds // unit:.0f} {name}" for least, unit, name in STEPS if seconds >= least)
