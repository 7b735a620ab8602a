"""A series that the receiver was told to expect, since its stream has no start message: what to say of it.

Until its first frame the receiver does not take it, and there is no file.
"""

from __future__ import annotations

from penstock.devices._series.machine.draft import Draft
from penstock.devices._series.machine.facts import Facts
from penstock.stins.texts import plural
from penstock.streamer.camera.settings import TriggerMode

BY_ANOTHER = "another client has ended this series at the detector"


def reason_of(facts: Facts) -> str:
    """Return why frames lack that the receiver waits for; "" if they were lost.

    Frames that a box has not dropped and that are missing at the end alone were never exposed, unless another
    consumer takes frames from the box: then some are missing in between.
    """
    status, view = facts.own_streamer_status, facts.view
    if status is None or facts.aborted or facts.stopped_by:
        return ""
    taken = 0 if view.latest_frame is None else view.latest_frame + 1
    counts = view.counts
    contiguous = counts.missing == 0 and counts.pending == (counts.planned or 0) - taken
    early = contiguous if status.ended_early is None else status.ended_early
    return (status.ended_by or BY_ANOTHER) if early else ""


def warning(facts: Facts) -> str:
    """Return a warning that the receiver takes another series while it waits for this one; "" if not."""
    if not (facts.receiver_expects and facts.receiver_takes):
        return ""
    return "The receiver takes a series that somebody else has started; this one waits for its first frame."


def forgotten(facts: Facts) -> str:
    """Return why a series fails that the receiver neither expects nor takes any more."""
    takes = ", and takes a series that it counts as somebody else's" if facts.receiver_takes else ""
    return (
        "the receiver no longer knows this series: it was restarted, or another device has announced one in "
        f"its place, or ArmedTimeLimit was raised after Arm{takes}; the detector was aborted"
    )


def is_over(draft: Draft, patience: float) -> bool:
    """Return whether no first frame is to come, now that the box has ended the series.

    Args:
        draft: facts of the series.
        patience: seconds that a frame may be under way.
    """
    return not draft.view.acquired or draft.without_progress() > patience


def lost(facts: Facts) -> str:
    """Return why a series fails whose frames were taken, none of which has arrived; "" if none was taken."""
    if not facts.view.acquired:
        return ""
    return (
        f"the detector has taken {plural(facts.view.acquired, 'frame')}, and none has reached the receiver; "
        "does the detector's software publish every frame, and at the endpoint of the receiver's source?"
    )


def verdict(facts: Facts) -> str:
    """Return how a series has ended of which no frame was taken: "0 of 5 triggers: ended by stop, …"."""
    settings = facts.settings
    internal = settings is not None and settings.trigger_mode is TriggerMode.INTERNAL
    each = "frame" if internal else "trigger"
    account = (
        f"0 of {plural(settings.n_triggers, each)}" if settings and settings.n_triggers else f"0 {each}s"
    )
    status = facts.own_streamer_status
    why = facts.stopped_by or facts.announced_end or (status.ended_by if status else "") or BY_ANOTHER
    return f"{account}: {why}, before the first frame; no file was written."
