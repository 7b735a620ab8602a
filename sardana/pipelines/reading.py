"""Reading the results of one series from a pipeline: asked for until each frame has its result, or none.

`step` and `pause` are called by the thread of `frame_results.FrameResults`.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Final

import numpy as np

from penstock.processing.client import Rows
from penstock.processing.models import Series as PipelineSeries
from penstock.processing.models import Status
from penstock.sardana.armed_series import SourceError, armed_series, look_at
from penstock.sardana.pipelines.acquisition import DONE, Acquisition, values_of
from penstock.sardana.pipelines.source import NOT_YET, Source
from penstock.sardana.pipelines.tally import STATES, Tally

SOON: Final = 0.03
"""Seconds from the end of an exposure to the first question for its result: none is sooner."""
POLL, ROW_POLL = 0.03, 0.1
"""Seconds between two questions, for one point of a step scan and for a row of frames. They are for states,
which are in the result file at once, and not for the status, which follows ten times per second."""
LOOK_SECONDS: Final = 0.25
"""Seconds between two looks at the detector and at the pipeline's status: have all frames been taken, why are
there no results, and is the series over?"""
ABSENT: Final = 5
"""Code of frames that the receiver does not have."""
NOT_DELIVERED: Final = 10.0
"""Seconds after the end of its exposure in which the one frame of a point must be out of the detector: after
that its trigger is taken for lost, and its result is awaited as if the frame had come."""
AGAIN: Final = 1.0
"""Seconds for which the next points wait once one was given up, until one is in time again: a pipeline that
hangs must not make a scan of a hundred points wait a hundred times."""


class Reading:
    """Asks the pipeline for the values of an acquisition, and says why frames have none.

    Args:
        source: the detector and the pipeline.
        result_seconds: for which the results of a scan's last frames are awaited.
        changed: held while `Acquisition.over_since` is changed.
    """

    def __init__(self, source: Source, result_seconds: float, changed: threading.Condition) -> None:
        self._source = source
        self.result_seconds = result_seconds
        self._changed = changed
        self.tally = Tally("pipeline")
        """Tally of the acquisitions that are counted together."""

    def pause(self, acquisition: Acquisition) -> float:
        """Return the seconds until the next question: few for a point that ought to be done."""
        if acquisition.per_start > 1:
            return ROW_POLL
        return max(POLL, acquisition.started + acquisition.seconds + SOON - time.monotonic())

    def step(self, acquisition: Acquisition) -> bool:
        """Look for news once; return whether there were some."""
        if not acquisition.id:
            acquisition.id = armed_series(
                self._source, acquisition.before, acquisition.last, "results are those of"
            )
            return bool(acquisition.id)
        due = acquisition.due
        if acquisition.per_start == 1 and self.pause(acquisition) > POLL:
            return False  # it is still being exposed
        codes = self._codes(acquisition, due)
        if codes is not None:
            pending = np.flatnonzero(~np.isin(codes, list(STATES)))
            ready = int(pending[0]) if len(pending) else len(codes)
            if ready and self._store(acquisition, codes[:ready]):
                acquisition.behind = False
                return True
        if time.monotonic() >= acquisition.look_again and self._is_due(acquisition):
            unknown = np.zeros(due - acquisition.upto, np.uint8)
            rest = unknown.copy()
            if codes is not None:
                rest[: len(codes)] = codes
            if not self._store(acquisition, rest):
                self._store(acquisition, unknown)
            acquisition.behind = True
        return False

    def _codes(self, acquisition: Acquisition, due: int) -> np.ndarray[Any, Any] | None:
        """Return the states of the frames that are awaited; `None` if nothing is known of them."""
        over = acquisition.has_ended  # was so before the states are read: nothing of them changes any more
        codes = None
        try:
            codes = self._states(acquisition, due)[: due - acquisition.upto]
        except SourceError as error:
            if error.kind not in NOT_YET:
                acquisition.note = str(error)
        if codes is not None and over:
            # What a series that is over does not have, nobody will ever see.
            rest = due - acquisition.upto - len(codes)
            codes = np.concatenate([codes, np.full(rest, ABSENT, codes.dtype)])
        elif time.monotonic() >= acquisition.look_at:
            acquisition.look_at = time.monotonic() + LOOK_SECONDS
            try:
                status = self._source.status()
            except SourceError as error:
                acquisition.note = str(error)
            else:
                series, acquisition.note = _found(status, acquisition.id)
                acquisition.has_ended = series is not None and not series.active
        return codes

    def _states(self, acquisition: Acquisition, due: int) -> np.ndarray[Any, Any]:
        """Return the states of the frames that are awaited; of one frame its first result comes with it."""
        first, names = acquisition.upto, acquisition.names
        acquisition.read = {}
        if due == first + 1 and names:
            rows = self._source.rows(acquisition.id, names[0], first, due)
            if rows is not None:
                acquisition.read = {names[0]: rows}
                return rows.states
        return self._source.states(acquisition.id, first, due).codes

    def _store(self, acquisition: Acquisition, codes: np.ndarray[Any, Any]) -> bool:
        """Take the values of the next frames; those whose state is not final are given up.

        Returns:
            False, and nothing is taken, if the pipeline does not answer.

        Raises:
            SourceError: a result is not what the channel shows.
        """
        read: dict[str, Rows | None] = {}
        if DONE in codes:
            try:
                read = self._rows(acquisition, int(np.flatnonzero(codes == DONE)[-1]) + 1)
                there = (
                    [each.name for each in self._source.results(acquisition.id)]
                    if None in read.values()
                    else list(read)
                )
            except SourceError as error:
                if error.kind != "away":
                    raise
                acquisition.note = str(error)
                return False
        new = {
            axis: values_of(shown, codes, read.get(shown.result)) for axis, shown in acquisition.axes.items()
        }
        for axis, values in new.items():
            acquisition.values.setdefault(axis, []).extend(values)
        for frame, code in enumerate(codes.tolist(), acquisition.upto):
            if code not in STATES:
                self.tally.late(frame, acquisition.note)
            elif code != DONE:
                self.tally.state(frame, code)
            else:
                for name, rows in read.items():
                    if rows is None or not rows.has[frame - acquisition.upto]:
                        self.tally.without(frame, name, there)
        acquisition.upto += len(codes)  # last: all below it is present
        return True

    def _rows(self, acquisition: Acquisition, count: int) -> dict[str, Rows | None]:
        """Return the rows of the next `count` frames by result, `None` for one that no frame has yet."""
        first = acquisition.upto
        return {
            name: acquisition.read.get(name) or self._source.rows(acquisition.id, name, first, first + count)
            for name in acquisition.names
        }

    def _is_due(self, acquisition: Acquisition) -> bool:
        """Return whether to give up frames without a result: still the same series, all frames taken?"""
        acquisition.look_again = time.monotonic() + LOOK_SECONDS
        look = look_at(self._source, acquisition.id)
        now = time.monotonic()
        taken = not look.active or look.acquired >= acquisition.due
        if not taken and acquisition.per_start == 1:
            taken = now - acquisition.started > acquisition.seconds + NOT_DELIVERED
        with self._changed:
            if not taken:
                acquisition.over_since = None
                return False
            if acquisition.over_since is None:
                acquisition.over_since = now
            limit = min(AGAIN, self.result_seconds) if acquisition.behind else self.result_seconds
            return now - acquisition.over_since >= limit


def _found(status: Status, series: str) -> tuple[PipelineSeries | None, str]:
    """Return a series of the pipeline, and what it waits for; `None` if the pipeline has not got it."""
    for each in (status.series, *status.others):
        if each is not None and each.id == series:
            unstored = "" if each.result_file else "it stores no results of this series: set results_root"
            return each, status.error or status.waits_for or each.reason or unstored
    return None, status.error or status.waits_for or "the pipeline has not got this series"
