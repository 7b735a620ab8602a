"""The result file of one series, as the distributor writes it.

Rows come first, then what is said of their frames (worker, version), then their status: so a row whose frame
is marked as done is right, whenever somebody opens the file, and after a kill at any moment.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from penstock.processing.describe import Plot
from penstock.processing.results import accumulated, contents, described, finish, layout
from penstock.processing.results.account_rows import AccountRows
from penstock.processing.results.accumulated import Totals
from penstock.processing.results.columns import Column, runs
from penstock.processing.results.contents import Begun
from penstock.processing.results.errors import ResultError, not_written
from penstock.processing.results.known_results import KnownResults
from penstock.processing.results.open_result import OpenResult
from penstock.processing.results.rows import Beyond
from penstock.processing.wire import Array, Step

IN_PROGRESS = "in progress"


class ResultFile(AccountRows):
    """One result file; made by `create` or `resume`. All methods raise `ResultError` if the disk fails."""

    def __init__(self, opened: OpenResult, series: str) -> None:
        super().__init__(opened)
        self.series = series
        """Id of the series."""
        self._events: dict[str, int] = {}  # events of each name so far
        self._known = KnownResults(opened)
        self._totals = Totals((), (), np.zeros(0, np.int64))
        self._plots: tuple[Plot, ...] = ()
        self._notes: tuple[str, ...] = ()

    @classmethod
    def create(cls, path: Path, begun: Begun, *, overwrite: bool = False) -> ResultFile:
        """Create the file of a series that begins: account and process, no results yet.

        Args:
            path: see `place.path_for`.
            begun: series and pipeline.
            overwrite: whether another file of this name may be replaced, once there is something to replace
                it by: the first frame that is done, or the end.

        Raises:
            ResultError: the name is taken, the folder cannot be written, or its disk is full.
        """
        made = cls(OpenResult.create(path, begun, overwrite=overwrite), begun.series)
        planned = -1 if begun.planned is None else begun.planned
        made._put(f"{layout.COUNTED}/planned", planned)
        made._open.put_text(f"{layout.ACCOUNT}/state", IN_PROGRESS)
        made.parameters(begun.version_of_parameters, begun.parameters, 0)
        return made

    @classmethod
    def resume(cls, path: Path, series: str, steps: Sequence[Step] = ()) -> ResultFile:
        """Open the file again that a distributor had begun which was killed.

        What has been accumulated is in `totals`, and what became of each frame in `states`.

        Args:
            path: of the file.
            series: id of the series.
            steps: the classes that are run now; if given, the file has to be of the same text.

        Raises:
            ResultError: there is none, it is another series', it is finished, another process writes it, or
                it was begun with another class or text ("other_class").
        """
        opened = OpenResult.open(path)
        try:
            with opened.reading() as file:
                found = str(file[f"{layout.ENTRY}/entry_identifier"].asstr()[()])
                before = contents.steps(file)
            if found != series:
                raise ResultError("name_taken", f"{path} has the results of series {found}, not of {series}")
            state = opened.text(f"{layout.ACCOUNT}/state")
            if state != IN_PROGRESS:
                raise ResultError("finished", f"{path} is finished ({state}): there is nothing to resume")
            if steps and before != [(contents.description(step), step.sha256) for step in steps]:
                raise ResultError(
                    "other_class",
                    f"{path} was begun with another class, or another text of it, before the pipeline was "
                    "started again: its frames are not mixed. Once the series has ended, process its file "
                    "with --overwrite, or let overwrite: true in the pipeline's file begin anew at once",
                )
            made = cls(opened, series)
            made._find()
        except BaseException:
            opened.close()
            raise
        return made

    # -- what is known -------------------------------------------------------------------------------

    @property
    def totals(self) -> Totals:
        """The accumulated values as they were written last."""
        return self._totals

    # -- results -------------------------------------------------------------------------------------

    def prepare(self, arrays: Iterable[Array]) -> dict[str, ResultError]:
        """Add the datasets of names that are new, all in one go: each time the file is made anew.

        Args:
            arrays: as in a message of a worker.

        Returns:
            By name: an array is unlike the earlier ones of its name ("unlike"); all others have a place.

        Raises:
            ResultError: there is no space.
        """
        new, unlike = [], dict[str, ResultError]()
        for array in arrays:
            try:
                if array.kind == "value":
                    is_there = self._known.columns(array) is not None
                else:
                    is_there = self._known.has(array)
                if not is_there:
                    described.check_axes(array, self._plots)
            except ResultError as error:
                unlike[array.name] = error
            else:
                if not is_there:
                    new.append(array)
        if not new:
            return unlike
        rows = self._open.rows

        def change(file: Any) -> list[Column]:
            added = [column for array in new for column in contents.add_result(file, array, rows)]
            contents.set_default(file, new)
            described.add(file, self._plots, self._notes)
            return added

        self._open.remake(change, f"room for {accumulated.named(new)}")
        for array in new:
            if array.kind == "events":
                self._events[array.name] = 0
        return unlike

    def describe(self, plots: Sequence[Plot], notes: Sequence[str] = ()) -> None:
        """Take what results mean: their axes and attributes, and notes, are written with them, or at once if
        they are there.

        Args:
            plots: what results mean.
            notes: what their reader has to know; sentences.

        Raises:
            ResultError: there is no space.
        """
        self._plots, self._notes = tuple(plots), tuple(notes)
        with self._open.reading() as file:
            is_late = described.is_lacking(file, plots, notes)
        if is_late:
            self._open.remake(lambda file: described.add(file, plots, notes), "what results mean")

    def rows(self, array: Array, indices: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> None:
        """Write the values of one name of some frames; write their status after that.

        Args:
            array: as in a message of a worker; its `counts` say how many events each frame has.
            indices: of the frames that have a value, int64, in the order of the values.
            values: (frames, *shape), or the events of all frames one after the other.

        Raises:
            ResultError: it is unlike the earlier ones of its name ("unlike"), or there is no space.
        """
        for error in self.prepare((array,)).values():
            raise error
        self.rows_of((array,), indices, {array.name: values})

    def rows_of(
        self,
        arrays: Sequence[Array],
        indices: np.ndarray[Any, Any],
        values: Mapping[str, np.ndarray[Any, Any]],
    ) -> None:
        """Write the values of several names of the same frames; see `rows`.

        Args:
            arrays: as in a message of a worker; all were in `prepare`, which has no error for them.
            indices: of the frames that have these values.
            values: of each name.

        Raises:
            ResultError: there is no space.
        """
        if len(indices):
            self._open.reach(int(indices.max()) + 1)
        places, ones = runs(indices), np.ones(len(indices), np.uint8)
        descriptor = self._open.descriptor
        for array in arrays:
            if array.kind == "events":
                self._add_events(array, indices, values[array.name])
                descriptor = self._open.descriptor  # the file may be another one, with more room
                continue
            found = self._known.columns(array)
            assert found is not None
            column, valid = found
            content = np.ascontiguousarray(values[array.name], column.dtype)
            try:
                for begin, stop in places:
                    first = int(indices[begin])
                    column.write(descriptor, first, content[begin:stop])
                    valid.write(descriptor, first, ones[begin:stop])
            except OSError as error:
                raise not_written(self.path, f"rows of {array.name}", error) from error

    def accumulated(
        self, arrays: Sequence[Array], values: Sequence[np.ndarray[Any, Any]], indices: np.ndarray[Any, Any]
    ) -> None:
        """Write all accumulated values, and mark the frames as done that have just come into them.

        Args:
            arrays: of all names, merged; `n` says how many frames are in each.
            values: of each, as on the wire: of a mean, the sum.
            indices: of these frames, int64; their rows are written already.

        Raises:
            ResultError: an array is unlike the earlier ones of its name ("unlike"); or there is no space.
        """
        for error in self.prepare(arrays).values():
            raise error
        self._take_name()  # an older file is resumed from totals of its own
        totals = Totals(tuple(arrays), tuple(values), np.asarray(indices, np.int64))
        self._do("accumulated values", lambda: accumulated.write(self._open.place.totals, totals))
        self._totals = totals
        self._show_totals()

    # -- the end -------------------------------------------------------------------------------------

    def finish(
        self, counts: Mapping[str, int], state: str, reason: str,
        raw_stored: np.ndarray[Any, Any] | None = None,
        whole: Sequence[tuple[Array, np.ndarray[Any, Any]]] = (), beyond: Beyond | None = None,
    ) -> str:  # fmt: skip
        """Complete the file and close it; rows of floating-point numbers without a value become NaN.

        If there are more rows than frames, events, or values of the whole series, the file is copied for it.

        Args:
            counts: done, failed, lost, dropped, absent; their sum is the number of frames.
            state: "complete" or "incomplete".
            reason: a sentence: why it is incomplete, or "".
            raw_stored: uint8, per frame: 1 if the raw file has it, 0 if not; by default unknown.
            whole: results of the series as a whole.
            beyond: the frames that have no row; by default all have one.

        Returns:
            "", or a sentence: what could not be made as it should be for want of space. The file is complete
            all the same, but for `whole`.
        """
        frames = sum(counts.get(name, 0) for name in layout.COUNTS if name != "planned")
        beyond = beyond or Beyond(frames, frames, layout.PENDING)

        self._open.check_is_there()

        def write() -> str:
            if raw_stored is not None:
                known = min(len(raw_stored), self._open.rows)
                self._open.put(f"{layout.ACCOUNT}/raw_stored", 0, raw_stored[:known])
            for name in layout.COUNTS:
                if name in counts:
                    self._put(f"{layout.COUNTED}/{name}", counts[name])
            self._open.put_text(f"{layout.ACCOUNT}/reason", reason)
            self._open.put_text(f"{layout.ENTRY}/end_time", layout.iso(time.time()))
            said = finish.tidy(self._open, beyond, self._events, whole)
            self._open.put_text(f"{layout.ACCOUNT}/state", state)
            return said

        said = self._do("the end", write)
        self._take_name()
        self._open.close(done=True)
        return said

    def discard(self) -> None:
        """Close the file and remove it, unless another one has its name now."""
        self._open.discard()

    def close(self) -> None:
        """Close the file as it is, to be resumed; may be called again. If an older file still has its name,
        that stays, and this one is removed."""
        self._open.close()

    # -- within --------------------------------------------------------------------------------------

    def _add_events(self, array: Array, indices: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> None:
        where, path = layout.place_of(array.name)
        counts = np.array(array.counts or (), np.uint32)
        first = self._events.get(array.name, 0)
        self._open.extend(path, first + len(values))

        def write() -> None:
            self._open.put(path, first, values)
            firsts = first + np.concatenate(([0], np.cumsum(counts[:-1], dtype=np.uint64)))[: len(counts)]
            descriptor, columns = self._open.descriptor, self._open.columns
            first_path, count_path = layout.index_paths(where)
            columns[first_path].write_at(descriptor, indices, firsts.astype("<u8"))
            columns[count_path].write_at(descriptor, indices, counts.astype("<u4"))

        self._do(f"events of {array.name}", write)
        self._events[array.name] = first + len(values)

    def _show_totals(self) -> None:
        """Show the totals in the result file, and mark the frames as done that are in them."""

        def write() -> None:
            for array, value in zip(self._totals.arrays, self._totals.values, strict=True):
                path, frames = layout.total_paths(array.name)
                self._put(frames, 0)
                self._open.put(path, 0, accumulated.shown(array, value)[np.newaxis])
                self._put(frames, array.n)

        self._do("accumulated values", write)
        self.status(self._totals.indices, layout.DONE)

    def _find(self) -> None:
        """Find out what a distributor had written that was killed."""
        self._find_account()
        for path in self._open.columns:
            where = path.rpartition("/")[0]
            first, count = layout.index_paths(where)
            if path == count and first in self._open.columns:
                firsts, counts = self._open.read(first), self._open.read(count)
                with self._open.reading() as file:
                    name = str(file[where].attrs["result"])
                self._events[name] = int((firsts + counts).max(initial=0))
        totals = accumulated.read(self._open.place.totals)
        if totals is not None:
            self._totals = totals
            self.prepare(totals.arrays)
            self._show_totals()


def _nothing(*_: Any, **__: Any) -> None:
    pass


class NoResultFile(ResultFile):
    """The result file of a live series without one: what is written goes nowhere."""

    highest_worker = 0
    replaces = None

    def __init__(self) -> None:
        self._totals = Totals((), (), np.zeros(0, np.int64))

    def prepare(self, arrays: Iterable[Array]) -> dict[str, ResultError]:
        """Take every array."""
        return {}

    def check_parameters(self, values: Mapping[str, Any]) -> bytes:
        """Take any parameters."""
        return b""

    def finish(self, *_: Any, **__: Any) -> str:
        """Do nothing."""
        return ""

    describe = rows_of = accumulated = discard = close = _nothing
    status = worker = version = name_worker = parameters = error = lost = unmatched = _nothing
