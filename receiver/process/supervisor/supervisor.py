"""The supervisor in the receiver's HTTP process: it starts the data process, watches it, and relays commands.

Nothing here is on the frame path: the two processes share no interpreter lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import msgspec

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.files import causes, storage
from penstock.receiver.files.recovery import recover
from penstock.receiver.files.recovery.journal import Journal
from penstock.receiver.files.recovery.recover import SeriesLeft
from penstock.receiver.live import last_frame
from penstock.receiver.live.request import FrameAnswer, FrameRefused, Request
from penstock.receiver.live.requested_frame import SHARE
from penstock.receiver.models import Ending, PastSeries, SeriesCheck, SeriesCheckResult, Status
from penstock.receiver.process.history import History
from penstock.receiver.process.link import Command, Setup, Snapshot
from penstock.receiver.process.stage_times import Measures
from penstock.receiver.process.supervisor import expecting, series_check
from penstock.receiver.process.supervisor.chosen_regions import KeptRegions
from penstock.receiver.process.supervisor.folders import DataRoot
from penstock.receiver.process.supervisor.free_space import FreeSpace
from penstock.receiver.process.supervisor.receiver_lock import ReceiverLock, Waiting
from penstock.receiver.regions import memory
from penstock.receiver.series.running_series import MAX_REASON
from penstock.service.child import Child
from penstock.service.models import Health, Refused
from penstock.service.parent import Parent
from penstock.stins.texts import quoted
from penstock.stins.user_part import UserPart

log = logging.getLogger(__name__)

DATA_PROCESS = "penstock.receiver.process.data_process"
SILENT_AFTER = 2.0
"""Without a snapshot for so many seconds, the data process is stalled: an error between two series."""
STALL_SECONDS = 60.0
"""During a series it is an error only after so many seconds: network file systems hang for seconds, closing a
long file takes time, and no frame is lost while frames wait in the streamer."""
COMMAND_SECONDS = 5.0
"""Longest time in seconds for a command: closing a file may take a while."""
QUIT_SECONDS = 10.0
FRAME_SECONDS = 5.0
"""Longest time in seconds for a frame of the running series."""
START_SECONDS, RESERVED_PER_SECOND = 30.0, 100.0
"""Longest time in seconds for a start, and the MB of shared memory that are surely reserved in a second."""

ALLOCATOR = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(2**32),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
"""Settings that keep the memory of received frames for later ones instead of returning it to the kernel,
which causes page faults: a tenth to a fifth of the processor time at 2 MB per frame, nothing at 200 kB and
less. No block is mapped on its own: those of more than 32 MB would be whatever the threshold (mallopt(3)),
anew for each frame. One arena, since ZeroMQ's thread allocates the memory and the loop frees it. Huge pages
(glibc 2.35 and later), so that new memory causes one fault per 2 MB: half of the loop's processor time at
20 MB per frame."""


class Supervisor(Parent[Snapshot]):
    """One receiver, as seen by the HTTP API.

    Args:
        name: name of the receiver.
        config: configuration of the receiver.
    """

    def __init__(self, name: str, config: ReceiverConfig) -> None:
        super().__init__(Snapshot(Status(state="idle", detector=config.detector or name), 0))
        self.name = name
        self.config = config
        self._step = 1
        *frames, rois = self._shared = last_frame.create(), last_frame.create(), memory.create()
        self.newest, self.requested = map(last_frame.LastFrame, frames)
        """Memory shared with the data process: the newest frame, and the one requested last."""
        self.roi_memory = memory.RegionMemory(rois)
        """Memory shared with the data process: values of the regions of interest."""
        self.rois = KeptRegions(name, config)
        """Regions of interest of the next series."""
        self.history = History(name, config)
        """Series that have ended."""
        self.folders = DataRoot(config.data_root)
        """Folders where files may go."""
        self._lock = ReceiverLock(name, config)
        self.waiting = Waiting(self._lock, self._start, self._not_started, self._news)
        """True if it waits for another receiver."""
        self._free = FreeSpace(partial(storage.free_bytes, config.data_root))
        self._ending = False  # whether no new series is taken
        self._has_begun = False  # whether the data process was started
        self._last_death: tuple[str, int] | None = None  # series, and number of safe frames
        self._has_progress = True  # whether frames were stored or a series has ended since the last death

    # -- life ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the data process and wait for its first snapshot; or begin to wait for another receiver of
        this name and data root to end.

        Raises:
            RuntimeError: it could not be started, or ended at once; its log says why.
        """
        await self.waiting.begin()

    def _not_started(self, why: str) -> None:
        """Be in Error: the other receiver has ended, and this one could not be started."""
        log.error("%s", why)
        status = replace(self._snapshot.status, state="error", error=f"{why}; reset starts it again")
        self._snapshot = Snapshot(status, 0)

    def _news(self) -> None:
        """Tell those who wait that the status is another one."""
        self._version += 1
        self._changes.notify()

    async def _start(self) -> None:
        """Start the data process; see `start`."""
        try:
            child = Child(DATA_PROCESS, {**ALLOCATOR, **os.environ}, self._shared, self._lock.descriptors)
        except OSError as error:
            raise RuntimeError(
                f"the data process of receiver {self.name} could not be started: "
                f"{causes.remedied(error, self.config.data_root)}"
            ) from error
        if self._watch is None:
            self._free.start()
            self.history.start()
            self._has_begun = True
        shared = sum(consumer.queue_mb for consumer in self.config.forward if consumer.shared)
        longest = START_SECONDS + shared / RESERVED_PER_SECOND
        setup = Setup(self.name, self._config_in_use, self._ending)
        if not await self._begin(child, setup, longest) or not self.alive:
            raise RuntimeError(f"the data process of receiver {self.name} did not start; see the log above")

    async def close(self) -> None:
        """End the running series, close its file, or leave it to the next start; end the data process."""
        self._leave()
        self.waiting.cancel()
        if self._has_begun:
            await self._end()
        self._lock.close()

    async def _end(self) -> None:
        self._free.close()
        await self._revived()
        action = "leave" if self._leaves_series else "quit"
        quitting = Command(0, action, "the receiver was shut down")
        await self._quit(quitting, QUIT_SECONDS, "data process")
        await asyncio.to_thread(self.history.close)

    # -- questions and commands ----------------------------------------------------------------

    @property
    def status(self) -> Status:
        """The status in the newest snapshot; a stall is added if the snapshot is old."""
        status = replace(
            self._snapshot.status, version=self._version, free_bytes=self._free.value, downsample=self._step,
            unguarded=self._lock.unguarded, ending=self._ending_as_told,
        )  # fmt: skip
        if self.waiting.sentence:
            return replace(status, waits_for=self.waiting.sentence)
        stalled = self._stalled
        if not stalled:
            return status
        sentence = (
            f"the data process of receiver {self.name} has not answered for {stalled:.0f} s; "
            "is its file system hanging?"
        )
        if not self._hangs:
            assert status.series is not None
            return replace(status, stalled=stalled, series=replace(status.series, reason=sentence))
        remedy = " If it stays so, restart the receiver"
        return replace(status, stalled=stalled, state="error", error=sentence + remedy)

    @property
    def step(self) -> int:
        """Down-sampling of the live view: every n-th row and column."""
        return self._step

    @step.setter
    def step(self, step: int) -> None:
        self._step = step
        self._version += 1
        self._changes.notify()

    @property
    def measures(self) -> Measures:
        """Counts and times of the data process, besides its status."""
        return self._snapshot.measures

    @property
    def health(self) -> Health:
        """Liveness and readiness, for whoever restarts receivers."""
        status = self.status
        if self.waiting.sentence:
            return Health(alive=True, ready=False, message=self.waiting.sentence)
        alive = self.alive and not self._hangs
        ready = alive and status.state != "error" and not status.stalled
        message = status.error or (status.series.reason if status.stalled and status.series else "")
        return Health(alive=alive, ready=ready, message="" if ready else message)

    @property
    def is_started(self) -> bool:
        """True if it is the receiver of its entry, and may write where that says; in Error, too."""
        return not (self.waiting.sentence or self._lock.is_unwritable)

    @property
    def processes(self) -> dict[str, int]:
        """Ids of the running processes, by name."""
        data = {"data": self._child.pid} if self._child is not None and self.alive else {}
        return {"http": os.getpid(), **data}

    @property
    def _ending_as_told(self) -> Ending:
        """Ending of the status: the data process is told a moment later."""
        return (self._snapshot.status.ending or "draining") if self._ending else ""

    @property
    def _leaves_series(self) -> bool:
        """True if a running series is left to the next start when the receiver ends."""
        return self.config.on_terminate == "resume"

    @property
    def _hangs(self) -> bool:
        """True if the data process has been silent for too long, which is longer during a series."""
        stalled, status = self._stalled, self._snapshot.status
        in_series = status.state == "running" and status.series is not None
        return stalled > (STALL_SECONDS if in_series else 0.0)

    @property
    def _stalled(self) -> float:
        """Seconds since the last snapshot if it is overdue, else 0."""
        return self._silent if self.alive and self._silent > SILENT_AFTER else 0.0

    async def status_after(self, seen: int, seconds: float) -> Status:
        """Wait at most this long for a status of another version than `seen`; return the newest."""
        await self._changed(seen, seconds)
        return self.status

    async def series(self, series: str) -> PastSeries | None:
        """Return the running series or one that has ended by its id, as far as it is; `None` if it is not
        known (any more). All that the data process has done until now counts, told or not.

        Raises:
            Refused: the data process does not answer.
        """
        found = self._known(series)
        if found is not None and not found.series.active:
            return found
        await self._revived()
        if self.alive:  # otherwise all that it has left is known
            await self._command(Command(0, "tell"))
            await self._changes.wait_for(lambda: not self._snapshot.more or not self.alive, COMMAND_SECONDS)
        return self._known(series)

    def _known(self, series: str) -> PastSeries | None:
        status = self.status
        if status.series is not None and status.series.id == series:
            return PastSeries(series=status.series, counts=status.counts)
        return self.history.find(series)

    def check(self, series: SeriesCheck) -> SeriesCheckResult:
        """Check whether a series could be taken now.

        Raises:
            Refused: it could not; the sentence says why.
        """
        self.waiting.check()
        return series_check.check(self.name, self._config_in_use, self.status, series)

    async def expect(self, part: UserPart, seconds: float) -> SeriesCheckResult:
        """Expect a series of a stream without start messages, in place of any other.

        Args:
            part: file and plan, under the id of its arming.
            seconds: for how long; 0 for ever.

        Raises:
            Refused: it could not be taken, or its stream has start messages; the sentence says why.
        """
        expecting.check(self.name, self.config, part)
        question = SeriesCheck(
            filename=part.filename, frames=part.frames or None, overwrite=part.overwrite, series=part.arm
        )
        found = await asyncio.to_thread(self.check, question)
        await self._command(Command(0, "expect", expected=part, seconds=seconds))
        return found

    async def forget(self, arm: str) -> None:
        """Do not expect the series of this arming any more, unless it has begun."""
        await self._command(Command(0, "forget", series=arm))

    async def stop(self, reason: str, series: str = "", *, failed: bool = False) -> None:
        """End the running series; return when its file is closed.

        Args:
            reason: reason in words.
            series: id of the series, if it is to continue until its end message, which its sender is about to
                send early.
            failed: the series has failed or was aborted, so that more may have been to come.
        """
        await self._command(Command(0, "stop", quoted(reason, MAX_REASON), series, failed))

    async def drain(self, on: bool) -> None:
        """Take no new series, or some again; a restart of the receiver undoes it, too.

        Args:
            on: whether to take none.
        """
        before, self._ending = self._ending, on
        try:
            await self._command(Command(0, "drain", on=on))
        except Refused:
            self._ending = before
            raise

    async def reset(self) -> None:
        """Leave Error; restart the data process if it has died.

        Raises:
            Refused: a series is running, or another receiver.
        """
        self.waiting.check()
        await self._revived()
        if not self.alive:
            try:
                await self._start()
            except RuntimeError as error:
                raise Refused("in_error", str(error)) from error
        elif self.status.state == "running":
            raise Refused("busy", f"receiver {self.name} is taking a series; stop it first")
        else:
            await self._command(Command(0, "reset"))

    async def use_rois(self, rois: Mapping[str, Rectangle], *, keep: bool) -> None:
        """Use these regions of interest in every series that begins after this returns.

        Args:
            rois: regions by name; empty for none.
            keep: whether to keep them across restarts.

        Raises:
            Refused: they cannot be kept, and nothing is changed; or the data process does not answer.
        """
        self.waiting.check()
        if keep:
            await asyncio.to_thread(self.rois.keep, rois)
        else:
            self.rois.use(rois)
        await self._revived()
        if self.alive:  # otherwise the next data process gets them
            await self._carried_out(Command(0, "rois", rois=dict(rois)))

    @property
    def _config_in_use(self) -> ReceiverConfig:
        return msgspec.structs.replace(self.config, rois=dict(self.rois.now))

    @property
    def pause(self) -> float:
        """Seconds that pass between two requests, as the data process said last."""
        return self._snapshot.answer.pause

    async def hand_over(self, request: Request) -> FrameAnswer:
        """Let the data process copy what is requested to `requested`; one request at a time.

        Raises:
            FrameRefused: the data process takes no request, or does not answer in time.
        """
        if self.waiting.sentence:
            raise FrameRefused("busy", self.waiting.sentence, retry_after=SILENT_AFTER)
        try:
            ticket = self._send(Command(0, "request", request=request))
        except OSError as error:  # it has just died, or takes no more commands
            raise FrameRefused(
                "busy",
                f"the data process of {self.name} takes no request ({error.strerror}); ask again",
                retry_after=SILENT_AFTER,
            ) from error
        await self._changes.wait_for(
            lambda: self._snapshot.answer.ticket == ticket or not self.alive, FRAME_SECONDS
        )
        answer = self._snapshot.answer
        if answer.ticket == ticket:
            return answer
        what = f"frame {request.index}" if request.what == "frame" else f"what was asked for ({request.what})"
        raise FrameRefused(
            "busy",
            f"{what} did not come within {FRAME_SECONDS:g} s: reading frames back gets no more than "
            f"{SHARE:.0%} of the data process' time; ask less often, or once the series has ended",
            retry_after=max(FRAME_SECONDS, self.pause),
        )

    # -- the data process ----------------------------------------------------------------------

    def _take(self, snapshot: Snapshot) -> None:
        self._silent = 0.0
        for past in snapshot.ended:
            self.history.add(past)
        if snapshot.more:  # nobody sees that a series has ended before he finds all that ended before it
            snapshot = msgspec.structs.replace(snapshot, status=self._snapshot.status)
        if (snapshot.status.version, snapshot.handled) != (
            self._snapshot.status.version,
            self._snapshot.handled,
        ):
            self._version += 1
        if self._snapshot.status.state == "running" != snapshot.status.state:
            self._free.refresh()
            self._has_progress = True
        if snapshot.status.state == "running" and snapshot.status.counts.flushed:
            self._has_progress = True
        self._snapshot = snapshot

    def _died(self) -> None:
        name = f"the data process of receiver {self.name}"
        sentence = self._closed(name, QUIT_SECONDS if self._closing else 1.0)
        before = self._snapshot.status
        series = before.series
        if series is not None and series.active:
            looking = replace(series, reason=f"{sentence}; checking whether the series can be resumed")
            before = replace(before, series=looking)
        self._version += 1
        # Version 0, since snapshots of the next data process count from 1.
        self._snapshot = Snapshot(
            replace(before, version=0, connections=[]), 0, measures=self._snapshot.measures
        )
        self._reviving = asyncio.get_running_loop().create_task(self._after_death(sentence))

    async def _after_death(self, sentence: str) -> None:
        """Restart the data process, which resumes its series or marks its file; or mark it here, in Error.

        The journal tells the series: one that has just begun is in no snapshot yet. A series is not resumed
        if no more of its frames are safe than when the data process last died. After a series that cannot be
        resumed, the data process is restarted for the next one, unless it dies again before it has stored a
        frame or ended a series.
        """
        if self._closing and self._leaves_series:
            return  # the next start finds the file
        journal = Journal(self.name, self.config)
        left = await asyncio.to_thread(lambda: recover.series_left(journal, self.config))
        if self._may_go_on(left):
            if self._closing:
                return  # the next start finds the file
            series = self._snapshot.status.series
            if series is not None and series.active and series.id not in left.all:
                # No start will find it: it has no file, or there is no journal.
                series = replace(series, active=False, complete=False, reason=sentence, ended=time.time())
                self.history.add(PastSeries(series=series, counts=self._snapshot.status.counts))
            try:
                await self._start()
            except RuntimeError as error:
                log.error("%s", error)
                sentence += f"; {error}"
            else:
                return
        recovered = await asyncio.to_thread(recover.finalize, journal.left(), sentence)
        status = self._snapshot.status
        series, counts = status.series, status.counts
        sentence += "; reset starts it again"
        if series is not None and series.active:
            sentence += f". Frames of {series.filename or 'the series'} up to the last flush are safe"
            series = replace(series, active=False, complete=False, reason=sentence, ended=time.time())
            if not recovered.marked:
                self.history.add(PastSeries(series=series, counts=counts))
        for past in recovered.marked:
            series, counts = past.series, past.counts
            self.history.add(past)
        self._version += 1
        dead = replace(status, version=0, state="error", error=sentence, series=series, counts=counts)
        self._snapshot = Snapshot(dead, 0, measures=self._snapshot.measures)
        self._changes.notify()

    def _may_go_on(self, left: SeriesLeft) -> bool:
        """Return whether to restart a data process that has died, which has left these series."""
        has_progress, self._has_progress = self._has_progress, False
        if left.resumable is None:
            return has_progress and self.config.resume
        status = self._snapshot.status
        known = status.series is not None and status.series.id == left.resumable
        death = (left.resumable, status.counts.flushed if known else 0)
        again, self._last_death = death != self._last_death, death
        return again

    async def _command(self, command: Command) -> None:
        self.waiting.check()
        while True:
            await self._revived()
            if not self.alive:
                raise Refused("in_error", self.status.error)
            if await self._carried_out(command):
                return

    async def _carried_out(self, command: Command) -> bool:
        """Send a command and wait; return `False` if the data process died meanwhile, to ask the next one."""
        with contextlib.suppress(OSError):  # it has just died, which will be noticed
            self._send(command)
        number = self._sent
        if await self._changes.wait_for(
            lambda: self._reviving is not None or self._snapshot.handled >= number, COMMAND_SECONDS
        ):
            return self._reviving is None
        raise Refused(
            "no_answer",
            f"the data process of receiver {self.name} did not carry out {command.action} in time",
        )
