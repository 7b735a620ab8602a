"""What the viewer says about a snapshot, in words: pure functions, no widget."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from penstock.gui.live.sources.follower import Snapshot
from penstock.gui.live.sources.following import LAST_RETRY
from penstock.gui.message import Message
from penstock.gui.words import clock, sentence
from penstock.receiver.client import LastFrame
from penstock.receiver.models import Counts, Series, Status
from penstock.stins.texts import plural

NOT_NEWEST = "not the newest frame"
"""Mark of a frame that the user has chosen in a series that goes on."""

OLD = "▲ OLD · last series"
"""Mark of a frame of a series before the one that runs."""

NO_RECEIVER = "No receiver is known yet: its picture is shown here as soon as there is one."
NOTHING_YET = "No frame yet: the next one that the receiver gets is shown here."


def no_picture(snapshot: Snapshot) -> str:
    """Return what is said in place of the picture before the first frame."""
    if not snapshot.url:
        return NO_RECEIVER
    if snapshot.is_file and snapshot.content.images:
        return snapshot.trouble or ("" if snapshot.status is None else "No frame is in this file yet.")
    return NOTHING_YET if snapshot.content.images else snapshot.content.sentence()


def message(snapshot: Snapshot) -> Message:
    """Return the one sentence that the person in front of the screen needs now."""
    if snapshot.fault:
        return Message("fault", "VIEWER FAULT", sentence(snapshot.fault))
    if snapshot.is_file:
        return _of_file(snapshot)
    if snapshot.away_since is not None:
        return _away(snapshot, snapshot.away_since)
    if snapshot.trouble:
        return Message("notice", "REFUSED", sentence(snapshot.trouble))
    status = snapshot.status
    if status is None:
        return Message("connecting", "CONNECTING", f"Asking {snapshot.url} for its status.")
    if status.state == "error":
        return Message("error", "ERROR", _error(snapshot.url, status))
    if status.state == "running":
        return Message("running", "RUNNING", _running(status))
    return _idle(status, kept=snapshot.frame is not None)


@dataclass(frozen=True)
class Caption:
    """What is said of the frame on show."""

    number: str
    time: str
    series: str
    mark: str
    """Why the frame is not what is going on now; "" while it is of the running series."""


def caption(
    frame: LastFrame,
    status: Status | None,
    names: Mapping[str, str],
    *,
    live: bool = True,
    is_file: bool = False,
) -> Caption:
    """Return which frame it is.

    Args:
        frame: the frame on show.
        status: the newest status, which says what is running; `None` if that is not known.
        names: names of files, by the ids of their series.
        live: whether the newest frame is followed.
        is_file: whether it is shown from a file.
    """
    running = status.series if status is not None and status.state == "running" else None
    mark = ""
    if is_file:
        mark = "" if live or running is None else NOT_NEWEST
    elif running is None:
        mark = "last series"
    elif running.id != frame.series:
        mark = OLD
    elif not live:
        mark = NOT_NEWEST
    series = names.get(frame.series) or f"series {frame.series}"
    return Caption(f"frame {frame.frame:,}", moment(frame.time), series, mark)


def moment(seconds: float | None, now: float | None = None) -> str:
    """Return a local time, to the millisecond, with its day unless that is today; "" for `None`."""
    if seconds is None:
        return ""
    try:
        local, today = time.localtime(seconds), time.localtime(time.time() if now is None else now)
    except (OverflowError, ValueError, OSError):  # what its sender says need not be a time
        return ""
    day = "" if local[:3] == today[:3] else time.strftime("%Y-%m-%d ", local)
    return f"{day}{time.strftime('%H:%M:%S', local)}.{int(seconds % 1 * 1000):03d}"


def no_answer_yet(snapshot: Snapshot) -> str:
    """Return why a window waits whose receiver has never answered, and what to look at: the address may be
    wrong."""
    if snapshot.fault:
        return snapshot.fault
    if snapshot.is_file:
        return snapshot.trouble or f"{snapshot.url} is still being read"
    why = snapshot.trouble or f"nobody has answered yet at {snapshot.url}"
    if why.endswith("?"):
        return why
    return f"{why}; is this the address that `penstock receiver` printed, and that `penstock status` reaches?"


def _away(snapshot: Snapshot, since: float) -> Message:
    said = "No receiver has answered since" if snapshot.status is None else "Receiver away since"
    kept = " The picture is the last one received." if snapshot.frame is not None else ""
    return Message(
        "away", "AWAY",
        f"{said} {clock(since)}: {sentence(snapshot.trouble, first=False)}{kept}"
        f" Trying again at least every {LAST_RETRY:g} s.",
    )  # fmt: skip


def _of_file(snapshot: Snapshot) -> Message:
    """Return what is to be said of a file: what it has, and how its series ended."""
    name, status = PurePath(snapshot.url).name, snapshot.status
    if snapshot.trouble:
        kept = " The picture is the last that was read." if snapshot.frame is not None else ""
        why = sentence(snapshot.trouble)
        return Message("notice", "NOT READ", f"{why}{kept} It is tried again, at once with F5.")
    if status is None or status.series is None:
        return Message("connecting", "READING", f"Reading {name}.")
    series = status.series
    what = _frames_of(snapshot, series)
    if series.active:
        received = progress(status.counts)
        return Message(
            "running", "BEING WRITTEN", f"{received} so far. Looked at every second; its receiver shows more."
        )
    if not snapshot.content.images:
        return Message("notice", "NO IMAGES", f"{snapshot.content.sentence()}")
    if status.lacks:
        return Message("notice", "FILE", f"{what}. The series is incomplete: {sentence(series.reason)}")
    return Message("idle", "FILE", f"{what}{'; the series is complete' if series.complete else ''}.")


def name_on_plate(snapshot: Snapshot) -> str:
    """Return what a picture is of: the detector, or the file."""
    if snapshot.is_file:
        return PurePath(snapshot.url).name
    detector = snapshot.status.detector if snapshot.status is not None else ""
    return detector or snapshot.url


def count(snapshot: Snapshot) -> str:
    """Return how many frames there are, in figures."""
    status = snapshot.status
    if snapshot.is_file:
        return "" if snapshot.frames is None else f"{snapshot.frames:,}"
    if status is None or status.series is None:
        return ""
    planned = status.counts.planned
    return f"{status.counts.received:,}" if planned is None else f"{status.counts.received:,} of {planned:,}"


def _frames_of(snapshot: Snapshot, series: Series) -> str:
    count = snapshot.frames or 0
    size = " × ".join(map(str, series.shape))
    where = f", {series.dataset}" if series.dataset else ""
    return f"{plural(count, 'frame')} of {size}, {series.dtype}{where}"


def _error(url: str, status: Status) -> str:
    cause = sentence(status.error) if status.error else "The receiver gives no reason; see its log."
    return f"{cause} To reset it: penstock reset {url}, or Reset of its Tango device."


def _running(status: Status) -> str:
    parts = [progress(status.counts)]
    if status.series is not None:
        name = PurePath(status.series.filename).name if status.series.filename else None
        parts.append(f"writing {name}" if name else "live view only, nothing is written")
        if status.series.reason:
            parts.append(status.series.reason)
    if silent := max((each.silent_seconds for each in status.connections), default=0):
        parts.append(f"the streamer's host has not answered for {silent} s")
    return " · ".join(parts)


def progress(counts: Counts) -> str:
    """Return how far the series is."""
    if counts.planned is None:
        return f"{plural(counts.received, 'frame')}, total not announced"
    return f"{counts.received:,} of {plural(counts.planned, 'frame')}"


def _idle(status: Status, *, kept: bool) -> Message:
    series = status.series
    if series is not None and not series.taken:
        return Message("notice", "IDLE", f"The last series was {sentence(series.reason, first=False)}")
    if series is not None and status.lacks:
        # The receiver's reason mostly begins with the count.
        counted = re.match(r"\d+ of \d+ frames?", series.reason)
        after = "" if counted else f" after {progress(status.counts)}"
        why = sentence(series.reason or "no reason given", first=False)
        return Message("notice", "IDLE", f"{name_of(series)} is incomplete{after}: {why}")
    ends = ", ".join(each.endpoint for each in status.connections)
    is_alone = bool(ends) and not any(each.connections for each in status.connections)
    if is_alone and series is None:
        return Message("idle", "IDLE", f"Ready, but no streamer answers at {ends}; is it running?")
    if series is None:
        old = " The picture is from before its restart." if kept else ""
        return Message("idle", "IDLE", f"Ready for the first series.{old}")
    end = (
        f"complete, {progress(status.counts)}" if series.complete is not False else f"ended: {series.reason}"
    )
    back = f", once the streamer at {ends} is back" if is_alone else ""  # which may leave after a series
    last = f"Last: {name_of(series)}, {sentence(end, first=False)}"
    return Message("idle", "IDLE", f"Ready for the next series{back}. {last}")


def name_of(series: Series) -> str:
    """Return what a series is called on the screen."""
    return PurePath(series.filename).name if series.filename else "live series"
