"""What workers answer about frames: results go into the series' store, and frames change their state."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.processing import wire
from penstock.processing.distributor.frames.account import State
from penstock.processing.distributor.frames.bunches import Item, Left
from penstock.processing.distributor.frames.schedule import Schedule
from penstock.processing.distributor.series.parts import Part
from penstock.processing.distributor.series.run import Phase, Run, storing
from penstock.processing.distributor.series.store import arrays_of
from penstock.processing.distributor.workers import Member
from penstock.processing.results.errors import ResultError
from penstock.processing.wire import descriptions
from penstock.stins.texts import plural

log = logging.getLogger(__name__)


class Answers:
    """Takes answers.

    Args:
        schedule: knows who has what.
        errors: failed frames in a row after which the pipeline is in Error; 0: never.
        fail: puts the pipeline in Error, with a sentence.
        break_off: processes no more of a series, for a reason.
        version_of: version of parameters by its number in messages.
        is_quiet: whether the reason of a series is said at its end, and not in the log, too.
    """

    def __init__(
        self, schedule: Schedule, errors: int, fail: Callable[[str], None],
        break_off: Callable[[Run, str], None], version_of: Callable[[int], int], *, is_quiet: bool = False,
    ) -> None:  # fmt: skip
        self.runs: dict[int, Run] = {}
        """Series by the numbers of their parts."""
        self.value_bytes = 0
        """Bytes of frames by value that are not in a final state."""
        self._schedule = schedule
        self._errors = errors
        self._fail = fail
        self._break_off = break_off
        self._version_of = version_of
        self._is_quiet = is_quiet
        self._in_a_row = 0

    def part(self, number: int) -> Part:
        """Return the part of a series."""
        return self.runs[number].part(number)

    def reset(self) -> None:
        """Count failed frames in a row anew."""
        self._in_a_row = 0

    def started(self, member: Member, message: wire.Started, parts: Sequence[Any], now: float) -> None:
        """Take what a worker says of the results of a series whose frames it processes from now on.

        Raises:
            WireError: the parts are not what the message describes.
        """
        self._schedule.started(member.number, message.series, now)
        member.last_error = message.remark or member.last_error
        run = self.runs.get(message.series)
        try:
            plots = descriptions.plots(message.plots, parts)
        except ValueError as error:
            raise wire.WireError(str(error)) from error
        if run is None or run.broken:
            return
        try:
            if run.store.describe(plots, message.notes):
                return
        except ResultError as error:
            self._break_off(run, str(error))
            return
        log.warning(
            "series %s: worker %s describes its results otherwise than the first one did, whose description "
            "stays: describe() has to say the same in every worker", run.name, member.name,
        )  # fmt: skip

    def refused(self, message: wire.Refused) -> None:
        """Take that a worker's classes do not take a series: others get its frames, if there are any."""
        run = self.runs.get(message.series)
        if run is not None and message.why not in run.refusals:
            run.is_refused = True
            if not self._is_quiet:
                log.error("series %s: %s", run.name, message.why)
            run.refusals.append(message.why)

    def done(self, member: Member, message: wire.Done, parts: Sequence[Any], now: float) -> None:
        """Take the results of a bunch.

        Raises:
            WireError: the parts are not what the message describes.
        """
        bunch = self._schedule.owned(member.number, message.series, message.bunch)
        if bunch is None:
            return
        run = self.runs[message.series]
        if message.unopened:
            if self._schedule.unopened(bunch, now):
                log.warning(
                    "series %s: worker %s reads no file itself, and is sent its frames: %s",
                    run.name, member.name, message.unopened,
                )  # fmt: skip
            return
        try:
            # Who could read no frame has used no parameters.
            is_unread = len(message.unread) == len(bunch.items)
            version = 0 if is_unread else self._version_of(message.version)
        except KeyError as error:
            raise wire.WireError(f"no change {message.version} of the parameters was taken") from error
        values = arrays_of(message.arrays, parts)
        failed = dict(message.errors)
        try:
            if not run.broken:
                unlike = run.store.rows(bunch, message.arrays, values)
                failed |= unlike
                if unlike and message.held:
                    member.spoiled.add(message.bunch)
        except ResultError as error:
            self._break_off(run, str(error))
            return
        settled = self._schedule.settle(
            bunch, failed=failed, unread=message.unread, held=message.held, seconds=message.seconds, now=now
        )
        with storing(run, self._break_off):
            run.store.settled(
                bunch, member.number, member.name, version, failed, message.unread, message.held
            )
        self.release(message.series, settled.final)
        if failed:
            member.last_error = failed[max(failed)]
            n = len(bunch.items) - len(message.unread)
            self._in_a_row = self._in_a_row + n if len(failed) == n else 0
            if self._errors and self._in_a_row >= self._errors:
                self._fail(
                    f"{plural(self._in_a_row, 'frame')} in a row failed; the last one: {member.last_error}"
                )
        else:
            self._in_a_row = 0

    def handed_over(self, member: Member, message: wire.HandedOver, parts: Sequence[Any]) -> None:
        """Take accumulated values, and the bunches that are in them.

        Raises:
            WireError: the parts are not what the message describes.
        """
        member.asked.discard(message.series)
        bunches = self._schedule.holds(member.number, message.series, message.bunches)
        if spoiled := member.spoiled.intersection(message.bunches):
            # Frames that have failed cannot be taken out of a sum: the others are done again.
            member.spoiled -= spoiled
            self._schedule.again(member.number, bunches)
            return
        if len(bunches) != len(message.bunches):
            # Without all of them the values are of no use: it was gone meanwhile, or the series was dropped.
            lost = self._schedule.lost_workers
            lost.stray += sum(len(bunch.items) for bunch in bunches)
            lost.late(member.number, message.bunches)
            return
        if not bunches:
            return
        run = self.runs[message.series]
        try:
            why = run.store.handed_over(bunches, message.arrays, arrays_of(message.arrays, parts))
        except ResultError as error:
            self._break_off(run, str(error))
            return
        if why:
            member.last_error = why
        self._schedule.handed_over(member.number, message.series, message.bunches, failed=bool(why))
        for bunch in bunches:
            self.release(message.series, bunch.items)

    def finished(self, member: Member, message: wire.Finished, parts: Sequence[Any]) -> None:
        """Take the results of a series as a whole.

        Raises:
            WireError: the parts are not what the message describes.
        """
        run = self.runs.get(message.series)
        if run is None or run.phase is not Phase.FINISHING or run.finisher != member.number:
            return
        values = arrays_of(message.arrays, parts)
        run.whole = [(array, values[array.name]) for array in message.arrays]
        if message.error:
            if not self._is_quiet:
                log.error("series %s: %s", run.name, message.error)
            run.has_no_whole(message.error)
        run.finisher = 0

    def left(self, member: Member, found: Iterable[Left]) -> None:
        """Write down what was lost with a worker."""
        for left in found:
            run = self.runs[left.series]
            with storing(run, self._break_off):
                run.store.lost([item.index for item in left.lost], member.number, member.name)
            self.release(left.series, left.lost)
            if left.again:
                run.take_back()

    def release(self, series: int, items: Iterable[Item]) -> None:
        """Free the memory of frames in a final state."""
        slots = []
        for item in items:
            if item.shared:
                slots.append(item.content.slot)
            elif item.content is not None:
                self.value_bytes -= item.nbytes
        if slots and (memory := self.part(series).memory) is not None:
            memory.free(slots)


def absent_and_others(run: Run, pairs: Iterable[tuple[Any, State]]) -> None:
    """Write the final states of frames that have not come."""
    for indices, state in pairs:
        if state is State.LOST:
            run.store.lost(indices.tolist(), 0, "distributor")
        else:
            run.store.file.status(indices, state)
