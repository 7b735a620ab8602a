"""A series that an earlier process of a device has begun, and that the receiver still waits for.

Either device server and streamer were killed together, and both were back before the receiver missed them:
the new streamer does not know the series. Or its end message was lost, and no device was there to find out.
It is looked for once after each connection to a streamer.
"""

from __future__ import annotations

from penstock.devices._series.machine.draft import Draft
from penstock.receiver.models import Series

RESTARTED = "the device server was restarted during the series, and nothing more came"
"""Why such a series is ended."""


def left_over(draft: Draft) -> Series | None:
    """Return the series, if there is one; to be asked often while the device is idle.

    Either the streamer has ended it, or the receiver says itself that it lost the series' streamer, is
    connected to the next one, and has received nothing of the series from that one.
    """
    facts = draft.facts
    running = facts.receiver_status.series if facts.receiver_takes and facts.receiver_status else None
    if facts.found_idle_at is not None and facts.receiver_answered > facts.found_idle_at:
        draft.set(found_idle_at=None, left_over=running.id if running is not None else "")
    known = draft.facts.left_over
    if running is None or not known or running.id != known:
        return None
    streamer = facts.streamer_status
    if streamer is None or streamer.state != "idle":
        return None
    is_abandoned = running.id == streamer.series or (running.unconfirmed and bool(streamer.peers))
    return running if is_abandoned else None
