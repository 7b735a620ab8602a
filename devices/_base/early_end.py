"""The end of a series that its box has ended by itself, before the last frame: by whom, and what was taken.

The end message of a box gives neither a reason nor a number of frames; so the receiver waits for a moment for
this device to say whether frames were lost, or never exposed.
"""

from __future__ import annotations

from penstock.devices._base.series_record import SeriesRecord

BY_ANOTHER = "another client has ended this series at the detector"


def reason_of(record: SeriesRecord) -> str:
    """Return why frames lack that the receiver waits for; "" if they were lost.

    Frames that a box has not dropped and that are missing at the end alone were never exposed, unless another
    consumer takes frames from the box: then some are missing in between.
    """
    status, view = record.own_streamer_status, record.view
    if status is None or record.aborted or record.stopped_by:
        return ""
    taken = 0 if view.latest_frame is None else view.latest_frame + 1
    counts = view.counts
    contiguous = counts.missing == 0 and counts.pending == (counts.planned or 0) - taken
    early = contiguous if status.ended_early is None else status.ended_early
    return (status.ended_by or BY_ANOTHER) if early else ""
