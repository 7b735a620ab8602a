"""The supervisor in a pipeline's HTTP process: it starts the distributor and the local workers, again when
one of them dies, and relays commands. No frame and no code of a scientist comes here.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from dataclasses import replace

from penstock.processing.config.pipeline_config import PipelineConfig
from penstock.processing.distributor.link import Command, Setup, Snapshot
from penstock.processing.distributor.receiver.events import OverMarks
from penstock.processing.models import Series, Status
from penstock.processing.service.commands import COMMAND_SECONDS, Commands
from penstock.processing.service.local_workers import LocalWorkers
from penstock.processing.service.recorder import Recorder
from penstock.processing.service.result_values import NoResults
from penstock.processing.wire import Step, local
from penstock.service.child import Child
from penstock.service.models import Health, Refused

log = logging.getLogger(__name__)

MOST = 100
"""Series that are kept."""


class KeptSeries:
    """The newest series, by id."""

    def __init__(self) -> None:
        self._known: dict[str, Series] = {}

    def take(self, status: Status) -> None:
        """Take what a status says of series."""
        for series in reversed([*([] if status.series is None else [status.series]), *status.others]):
            self._known[series.id] = series  # an id that is known keeps its place
        while len(self._known) > MOST:
            del self._known[next(iter(self._known))]

    def of(self, series: str) -> Series:
        """Return what was said last of a series.

        Raises:
            NoResults: it is not known (any more).
        """
        if (found := self._known.get(series)) is None:
            raise NoResults(
                "no_such_series",
                f"series {series} is none of the last {MOST} since this pipeline was started; open its "
                "result file, if there is one",
            )
        return found


DISTRIBUTOR = "penstock.processing.distributor.distributor"
SILENT_AFTER = 20.0
"""Without a snapshot for so many seconds, the distributor counts as hanging."""
START_SECONDS = 30.0
QUIT_SECONDS = 30.0
"""Longest time in which the distributor ends: workers hand over, and it closes its result file."""


class Supervisor(Commands):
    """One pipeline, as seen by the HTTP API.

    Args:
        config: of the pipeline, with the name of the receiver's forward entry.
        steps: its classes, as they are sent to workers.
        file: the file to be processed, in place of a receiver's series.
        distributor: module of the distributor, which is told the descriptor of its link.
    """

    def __init__(
        self, config: PipelineConfig, steps: tuple[Step, ...], file: str = "", distributor: str = DISTRIBUTOR
    ) -> None:
        super().__init__(config)
        self.finished = asyncio.Event()
        """Set once a pipeline on a file has done all, or cannot; or one that is live, if it is refused."""
        self.refusal = ""
        """Why no worker has ever taken the class and its parameters; a sentence."""
        self._steps = steps
        self._file = file
        self._module = distributor
        self._since = time.time()
        self._has_progress = True  # whether frames became final since the last death
        self._worked: set[int] = set()  # processes of local workers that have processed a frame
        self._series = KeptSeries()
        self._over = OverMarks()  # of series that are over, which the next distributor leaves closed
        self._is_taken = bool(file) or bool(config.listen)  # whether a worker has taken the class, or may yet
        # Of a file the past would be wanted, which nobody has recorded.
        self._recorder = Recorder(config.channels) if config.channels and not file else None
        self.workers = LocalWorkers(config.workers, config.threads, lambda pid: pid in self._worked)
        """The workers of this machine."""

    # -- life ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the distributor, wait for its first snapshot, and start the workers.

        Raises:
            RuntimeError: the distributor ended at once; its log says why.
        """
        before = self._snapshot.status
        known = before.parameters if self._child is not None else None
        last = [each for each in (before.series, *before.others) if each is not None and not each.active]
        if self._recorder is not None:
            self._recorder.start()
        setup = Setup(
            config=self.config,
            steps=self._steps,
            since=self._since,
            file=self._file,
            parameters=known,
            ending=self.ending,
            over=self._over.joined,
            shown=tuple(last),
            recording=None if self._recorder is None else self._recorder.places,
        )
        child = Child(self._module, os.environ, own_session=True)
        if not await self._begin(child, setup, START_SECONDS):
            raise RuntimeError(f"the distributor of {self.config.name} did not start; see the log above")

    async def close(self) -> None:
        """Let bunches end, workers hand over, and close the result file; end all processes."""
        self._leave()
        self.workers.leave()
        if self._reviving is not None:
            await self._reviving
        await self._quit(Command(number=0, action="quit"), QUIT_SECONDS, "distributor")
        await self.workers.close()
        if self._recorder is not None:
            await self._recorder.close()

    # -- questions and commands ----------------------------------------------------------------

    @property
    def status(self) -> Status:
        """The status in the newest snapshot; an error is added if it is old."""
        status = replace(self._snapshot.status, version=self._version)
        if not self._hangs:
            return status
        why = f"the distributor of {self.config.name} has not answered for {self._silent:.0f} s"
        return replace(status, state="error", error=f"{why}; is the file system of its results hanging?")

    def series(self, name: str | None) -> Series | None:
        """Return a series by its id, or the newest one; `None` if there was none yet.

        Raises:
            NoResults: it is not known (any more).
        """
        return self._snapshot.status.series if name is None else self._series.of(name)

    @property
    def health(self) -> Health:
        """Liveness and readiness, for whoever restarts pipelines."""
        status = self.status
        alive = self.alive and not self._hangs
        ready = alive and status.state != "error" and not status.waits_for
        message = "" if ready else status.error or status.waits_for
        return Health(alive=alive, ready=ready, message=message)

    @property
    def processes(self) -> dict[str, int]:
        """Ids of the running processes on this machine, by name."""
        distributor = {"distributor": self._child.pid} if self._child is not None and self.alive else {}
        recorder = {} if self._recorder is None else self._recorder.processes
        return {"http": os.getpid(), **distributor, **recorder, **self.workers.processes}

    @property
    def _hangs(self) -> bool:
        return self.alive and self._silent > SILENT_AFTER

    async def status_after(self, seen: int, seconds: float) -> Status:
        """Wait at most this long for a status of another version than `seen`; return the newest."""
        await self._changed(seen, seconds)
        return self.status

    async def reset(self) -> None:
        """Leave Error; start the distributor again if it has died.

        Raises:
            Refused: it does not start, or does not answer.
        """
        await self._revived()
        if not self.alive:
            try:
                await self.start()
            except RuntimeError as error:
                raise Refused("in_error", str(error)) from error
        else:
            await self._command(Command(number=0, action="reset"), COMMAND_SECONDS)
        self.workers.hurry()

    # -- the distributor -------------------------------------------------------------------------

    def _take(self, snapshot: Snapshot) -> None:
        self._silent = 0.0
        before, self._snapshot = self._snapshot, snapshot
        status = snapshot.status
        if (status.version, snapshot.handled) != (before.status.version, before.handled):
            self._version += 1
        self._has_progress |= any(status.totals.values())  # which count from its start
        self._over.add(snapshot.over)
        here = socket.gethostname()
        self._worked.update(each.pid for each in status.workers if each.frames and each.host == here)
        if status.address and not self._closing:
            self.workers.use(status.address)
        for pid in set(snapshot.hanging) - set(before.hanging):
            self.workers.kill(pid)
        if snapshot.finished:
            self.finished.set()
        self._series.take(status)
        self._look_for_refusal(status)

    def _look_for_refusal(self, status: Status) -> None:
        """Give up if all workers refuse the class or its parameters from the start: others will, too."""
        refused = [each for each in status.workers if each.state == "refused"]
        self._is_taken |= any(each.state in ("ready", "preparing", "working") for each in status.workers)
        if not self._is_taken and not self.refusal and len(refused) >= self.config.workers:
            self.refusal = refused[0].last_error
            self.finished.set()

    def _look(self) -> None:
        hung = self._hangs
        super()._look()
        if hung != self._hangs:
            self._version += 1
            self._changes.notify()

    def _died(self) -> None:
        patience = QUIT_SECONDS if self._closing or self._snapshot.finished else 1.0
        sentence = self._closed(f"the distributor of {self.config.name}", patience)
        local.remove(self._snapshot.status.address)
        self._version += 1
        if self._closing or self._snapshot.finished:
            return
        # Version 0, since snapshots of the next distributor count from 1.
        before = replace(self._snapshot.status, version=0, workers=[])
        self._snapshot = Snapshot(status=before, handled=0)
        self._reviving = asyncio.get_running_loop().create_task(self._revive(sentence))

    async def _revive(self, sentence: str) -> None:
        """Start the distributor again, which goes on where the result file says; or be in Error, if it has
        died before any frame became final since the last time."""
        has_progress, self._has_progress = self._has_progress, False
        if has_progress:
            try:
                await self.start()
                return
            except RuntimeError as error:
                log.error("%s", error)
        self._version += 1
        dead = replace(self._snapshot.status, state="error", error=f"{sentence}; reset starts it again")
        self._snapshot = Snapshot(status=dead, handled=0)
        if self._file:
            self.finished.set()
        self._changes.notify()
