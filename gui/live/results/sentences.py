"""What the window says of a pipeline, in words: pure functions, no widget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from penstock.gui.live.results.sources.held import newest_done, state_of
from penstock.gui.live.results.sources.snapshot import Curves, OverFrames, Picture, Rectangle, Shown, Snapshot
from penstock.gui.live.texts.sentences import NOT_NEWEST, OLD, Caption
from penstock.gui.message import Message
from penstock.gui.words import clock, sentence
from penstock.processing.models import Counts, Result, Series
from penstock.stins.texts import plural

WRONG = ("failed", "lost", "dropped", "absent")
"""States of frames that are said where there are any."""
_ENDED = {"failed": "failed", "lost": "is lost", "dropped": "was dropped", "absent": "is absent"}
NOT_DRAWN = "has too many dimensions to be drawn"


def message(snapshot: Snapshot, rate: float = 0.0) -> Message:
    """Return the one sentence that the person in front of the screen needs now.

    Args:
        snapshot: what is known.
        rate: frames that are done per second.
    """
    status = snapshot.status
    if snapshot.fault:
        return Message("fault", "VIEWER FAULT", sentence(snapshot.fault))
    if snapshot.away_since is not None:
        return _away(snapshot, snapshot.away_since)
    if snapshot.trouble:
        return Message("notice", "REFUSED", sentence(snapshot.trouble))
    if status is None:
        return Message("connecting", "CONNECTING", f"Asking {snapshot.url}.")
    series, waits = status.series, sentence(status.waits_for) if status.waits_for else ""
    if status.state == "error":
        why = sentence(status.error or "no reason is given; see its log")
        return Message("error", "ERROR", f"{why} Its page can reset it: {snapshot.url}")
    if series is None:
        return Message(
            "notice" if waits else "idle", "WAITING" if waits else "IDLE",
            waits or "Ready for the first series.",
        )  # fmt: skip
    said = " · ".join(filter(None, (account(series.counts), f"{rate:,.1f} frames/s" if rate else "")))
    if snapshot.is_file:
        return _of_file(series, said)
    if status.state == "running":
        reason = sentence(series.reason) if series.reason and series.reason not in waits else ""
        text = " · ".join(filter(None, (said, waits or reason, _stored(series))))
        return Message("notice" if waits else "running", "WAITING" if waits else "RUNNING", text)
    text = f"{waits or 'Ready for the next series.'} Last: {name_of(series)}, {said}."
    lacks = _lacks(series.counts)
    reason = f" {sentence(series.reason)}" if series.reason else ""
    return Message("notice" if waits or lacks else "idle", "WAITING" if waits else "IDLE", text + reason)


def account(counts: Counts) -> str:
    """Return how many frames are done, and how many have ended otherwise."""
    wrong = [f"{getattr(counts, name):,} {name}" for name in WRONG if getattr(counts, name)]
    return " · ".join((f"{counts.done:,} of {plural(counts.frames, 'frame')} done", *wrong))


def name_of(series: Series) -> str:
    """Return what a series is called on the screen."""
    return PurePath(series.file).name if series.file else f"series {series.id}"


def caption(shown: Shown | None, snapshot: Snapshot, wanted: int | None) -> Caption | None:
    """Return what the values on show are; `None` where there are none.

    Args:
        shown: the values.
        snapshot: what is known now.
        wanted: the frame that the user has chosen; `None`: the newest.
    """
    if shown is None:
        return None
    status = snapshot.status
    series = status.series if status is not None else None
    is_of_it = series is not None and shown.series == series.id
    name = name_of(series) if series is not None and is_of_it else f"series {shown.series}"
    mark = "" if is_of_it else OLD
    if isinstance(shown, Rectangle | OverFrames):
        last = (len(shown.values) - 1) * shown.step
        every = f"every {_th(shown.step)} frame" if shown.step > 1 else ""
        more = "loading …" if shown.loading else ""
        return Caption(f"frames 0 – {last:,}", ", ".join(filter(None, (every, more))), name, mark)
    assert isinstance(shown, Curves | Picture)
    if shown.frame is None:
        of = "of the series" if shown.n is None else f"over {plural(shown.n, 'frame')}"
        return Caption(of, "", name, mark)
    state = state_of(snapshot.codes, shown.frame, snapshot.beyond) if is_of_it else "done"
    if not mark and wanted is not None and status is not None and status.state == "running":
        mark = NOT_NEWEST
    return Caption(f"frame {shown.frame:,}", state, name, mark)


def nothing(snapshot: Snapshot, result: Result | None) -> str:
    """Return what is said in place of values before the first."""
    status = snapshot.status
    if status is None:
        return ""  # the banner says it
    series = status.series
    if series is None:
        return "No series yet: the results of the next one are shown here."
    if series.result_file is None:
        why = sentence(series.reason) if series.reason else "They are not stored."
        return f"There are no results of {name_of(series)}. {why}"
    if not snapshot.results:
        return f"No results of {name_of(series)} yet: they are shown here as soon as a frame is done."
    if result is None:
        return "Choose a result."
    if result.kind != "axis" and len(result.shape) > 2:
        return f"{result.name} {NOT_DRAWN}: {' × '.join(map(str, result.shape))}."
    if newest_done(snapshot.codes) is not None:
        return f"Asking for {result.name} …"
    return f"No frame has a value of {result.name} yet."


def why_nothing(frame: int, name: str, snapshot: Snapshot) -> str:
    """Return why a frame that the user has chosen has no value."""
    state = state_of(snapshot.codes, frame, snapshot.beyond)
    if state == "done":
        return f"Frame {frame:,} is done, and has no {name}."
    why = f": {snapshot.sentence}" if snapshot.sentence else "."
    return f"Frame {frame:,} has no {name}: it {_ENDED.get(state, 'is not done yet')}{why}"


def describe(result: Result, results: Sequence[Result] = ()) -> str:
    """Return what a result is, for the list of `results`."""
    of = next((each.name for each in results if each.errors == result.name), "")
    if of:
        return f"errors of {of}"
    if result.kind == "events":
        return "events"
    size = " × ".join(f"{each:,}" for each in result.shape)
    if result.kind == "value":
        return {0: "number", 1: f"curve of {size}", 2: f"image of {size}"}.get(len(result.shape), size)
    what = {0: "number", 1: "curve", 2: "image"}.get(len(result.shape), size)
    return f"accumulated {what}" if result.kind == "accumulated" else f"{what} of the series"


def no_answer_yet(snapshot: Snapshot) -> str:
    """Return why a window waits that has never had an answer, and what to look at."""
    why = snapshot.fault or snapshot.trouble or f"nobody has answered yet at {snapshot.url}"
    if snapshot.is_file or why.endswith("?"):
        return why
    return f"{why}; is this the address that `penstock process` printed?"


def _away(snapshot: Snapshot, since: float) -> Message:
    if snapshot.is_file:
        kept = " What is on show was read before." if snapshot.status is not None else ""
        return Message("notice", "NOT READ", f"{sentence(snapshot.trouble)}{kept} It is tried again.")
    said = "No pipeline has answered since" if snapshot.status is None else "Pipeline away since"
    kept = " What is on show is the last that was received." if snapshot.shown is not None else ""
    return Message("away", "AWAY", f"{said} {clock(since)}: {sentence(snapshot.trouble, first=False)}{kept}")


def _of_file(series: Series, said: str) -> Message:
    if series.active:
        return Message("running", "BEING WRITTEN", f"{said}. The pipeline's address shows more.")
    if _lacks(series.counts) or series.counts.pending:
        return Message("notice", "FILE", sentence(" · ".join(filter(None, (said, series.reason)))))
    return Message("idle", "FILE", f"{said}; the series is complete.")


def _lacks(counts: Counts) -> bool:
    return any(getattr(counts, name) for name in WRONG)


def _stored(series: Series) -> str:
    return PurePath(series.result_file).name if series.result_file else "results are not stored"


def _th(number: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    end = "th" if number % 100 in (11, 12, 13) else ends.get(number % 10, "th")
    return f"{number:,}{end}"
