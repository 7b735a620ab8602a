"""The end of a series: each goes on to its next phase once what it waits for is there."""

from __future__ import annotations

import logging
import time

import numpy as np

from penstock.processing import wire
from penstock.processing.distributor.frames.account import State
from penstock.processing.distributor.frames.queues import indices_of
from penstock.processing.distributor.series.answers import absent_and_others
from penstock.processing.distributor.series.exports import Exports
from penstock.processing.distributor.series.run import Phase, Run, storing
from penstock.processing.distributor.series.series_list import SeriesList
from penstock.processing.distributor.workers import Member
from penstock.processing.results.errors import ResultError

log = logging.getLogger(__name__)

FINISHERS = 3
"""Workers that may die while they make the results of the series as a whole."""


class Ending:
    """Lets series end.

    Args:
        series: all of them.
    """

    def __init__(self, series: SeriesList) -> None:
        self._series = series
        self.exports = Exports(series.config.exports, overwrite=series.config.overwrite)
        """Files that are made of the results of series that are over."""
        self._schedule = series.schedule
        self._workers = series.workers

    def step(self) -> None:
        """Let every series go on to its next phase if what it waits for is there."""
        self._series.from_files.step()
        for run in list(self._series.runs.values()):
            if run.phase is Phase.LIVE and (
                run.end is not None or (run.over is not None and not run.expects_more)
            ):
                run.phase = Phase.ENDED
                run.take_back()
            if run.phase is Phase.ENDED and run.over is not None:
                self._settle(run)
            if run.phase is Phase.REST:
                with storing(run, self._series.break_off):
                    run.fill()
                if self._waits_for_held(run):
                    self._collect(run)
                if run.is_settled and (run.broken or run.joining is None or not run.joining.waits):
                    self._finish(run)
            if run.phase is Phase.FINISHING:
                self._await_finish(run)
            if run.phase is Phase.OVER:
                self._series.forget(run)
                if run.is_complete and run.store.path is not None:
                    self.exports.begin(run.store.path)
        for exported in self.exports.step():
            self._series.past.say(exported.result_file, exported.said, failed=exported.failed)

    def stop(self, series: str, why: str) -> None:
        """End a series now: frames that workers have are processed, all others are dropped.

        Args:
            series: id of the series; "" for all that are not over.
            why: a sentence, which is the reason in the result file.
        """
        if not series:
            self._series.from_files.drop(why)
        for run in self._series.runs.values():
            is_ending = run.is_stopped or run.phase in (Phase.FINISHING, Phase.OVER)
            if series in ("", run.name) and not is_ending:
                self._stop(run, why)

    def _stop(self, run: Run, why: str) -> None:
        log.info("series %s: %s", run.name, why)
        gone = [run.stop(why)]
        for number in run.numbers:
            items = self._schedule.drop_waiting(number)
            self._series.answers.release(number, items)
            gone.append(indices_of(items))
        with storing(run, self._series.break_off):
            run.store.file.status(np.sort(np.concatenate(gone)), State.DROPPED)

    def hand_over(self, member: Member, number: int) -> None:
        """Ask a worker for the accumulated values of a series."""
        member.asked.add(number)
        self._workers.say(member, wire.HandOver(series=number))

    def _waits_for_held(self, run: Run) -> bool:
        """Return whether only frames that are held keep a series from its end."""
        counts = run.account.counts
        return bool(counts.held) and not counts.queued and not counts.in_work

    def _settle(self, run: Run) -> None:
        if run.joining is not None:
            run.rest_after = time.monotonic() + run.joining.wait
        pairs = run.settle()
        self._series.channels.after_end(run, time.monotonic())
        with storing(run, self._series.break_off):
            absent_and_others(run, pairs)

    def _collect(self, run: Run) -> None:
        for worker in self._schedule.workers.values():
            member = self._workers.members[worker.number]
            for number in {bunch.series for bunch in worker.held.values()} & set(run.numbers):
                if number not in member.asked:
                    self.hand_over(member, number)

    def _finish(self, run: Run) -> None:
        """Let one worker make the results of the series as a whole, if a class makes any."""
        makes_none = run.broken or not run.account.counts.done or not self._workers.finishes
        if makes_none or run.finish_attempts >= FINISHERS:
            if run.finish_attempts >= FINISHERS:
                run.has_no_whole(f"finish was not done: {FINISHERS} workers have died in it")
            self._complete(run)
            return
        run.phase = Phase.FINISHING

    def _await_finish(self, run: Run) -> None:
        if run.finisher == 0:
            self._complete(run)
        elif run.finisher is None and run.finish_attempts >= FINISHERS:
            self._finish(run)
        elif run.finisher is None and (ready := self._workers.ready):
            member = min(ready, key=lambda each: len(self._schedule.workers[each.number].work))
            run.finisher = member.number
            run.finish_attempts += 1
            totals = run.store.totals
            values = [np.ascontiguousarray(value) for value in totals.values]
            self._workers.say(member, wire.Finish(series=run.number, arrays=totals.arrays), values)

    def _complete(self, run: Run) -> None:
        try:
            # Who tries a class on a file mends it, and tries again.
            reason = run.finish(keep_refused=not self._series.setup.file)
        except ResultError as error:
            run.phase = Phase.OVER
            run.said.append(str(error))
            self._series.fail(str(error))
        else:
            run.is_complete = True
            if reason:
                run.said = [reason]
