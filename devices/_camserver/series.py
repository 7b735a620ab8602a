"""One armed series: its exposures at camserver, its frames at the light streamer, and its end.

A thread of its own waits for the end of the last exposure, for Stop or Abort, or for the loss of camserver,
and then lets the light streamer finish: it sends what is still in the folder, and the end message.
"""

from __future__ import annotations

import logging
import math
import queue
import re
import time
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import TypeAlias

from penstock.devices._camserver import exposure
from penstock.devices._camserver.client import Camserver
from penstock.devices._camserver.judged import Judge
from penstock.devices._camserver.light import BUSY, Light
from penstock.devices._camserver.modes import BY_COMMAND, Plan
from penstock.stins.texts import plural
from penstock.stins.user_part import UserPart
from penstock.streamer.camera.own_stream import BoxLost, BoxState, Progress
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.camera.unit import CameraError, FrameFormat

log = logging.getLogger(__name__)

Outcome: TypeAlias = tuple[str, str, int | None]
"""Reason, message and number of triggered frames of a series that is over."""

PREFIX = "penstock-{}"
"""Names of a series' files begin with it and the first characters of the id of its arming."""
ID_DIGITS, NUMBER_DIGITS = 12, 6
FRAME_WITHIN = 0.5
"""Seconds beyond an exposure for which Stop waits for its file."""
LOOKS = (0.005, 0.2)
"""Least and most seconds between two looks for the file of the frame that is finished before Stop."""
TOLD_WITHIN = 1.0
"""Seconds that Abort waits until the light streamer is told."""
FINISHED_WITHIN = 10.0
"""Seconds that a trigger that has failed waits for the light streamer, so that it can say the counts."""
LATE, LATE_BY = 1.05, 10.0
"""How much longer than planned an exposure may last: a share of it, and seconds."""


class Series:
    """See the module.

    Args:
        camserver: connected.
        light: the light streamer.
        plan: what camserver does.
        user: of this arming.
        frames: format of the frames.
        folder: into which camserver writes, in its own words; "" if they are not known.
    """

    def __init__(
        self, camserver: Camserver, light: Light, plan: Plan, user: UserPart, frames: FrameFormat,
        folder: str = "",
    ) -> None:  # fmt: skip
        self._camserver, self._light, self.plan = camserver, light, plan
        self.id = user.arm
        self._user, self._frames = user, frames
        self._judge = Judge(camserver.address, light, plan.images, folder)
        self._prefix = PREFIX.format(re.sub(r"[^A-Za-z0-9]", "", user.arm)[:ID_DIGITS])
        self._begun = self._number = 0
        """Exposures that were started, and camserver's number of the last one."""
        self._end: tuple[str, str] | None = None
        """Reason and message of Stop, of Abort, or of a trigger that was refused."""
        self._lock = Lock()
        """Held while an exposure is started, or looked at: none is started after Stop, Abort or the end."""
        self._outcome: Outcome | None = None
        """Outcome of the series that is over."""
        self._events: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._telling, self._finished = Event(), Event()
        """Set before, and after the light streamer is told that no further frame comes."""
        self._seen = Event()
        """Set once somebody was told that the series has ended."""
        self.largest = 0
        """Bytes of the largest image that the light streamer has seen."""
        self.image_header = ""
        """Header of the first image; "" before it."""
        self._trouble = self._ended_by = ""
        """What ended it by a fault, and who has at camserver; "" for nothing."""

    def begin(self) -> None:
        """Have the start message sent; in external modes arm camserver.

        Raises:
            CameraError, BoxLost: light streamer or camserver refuses, or is lost; nothing is left behind.
        """
        user, frames = self._user, self._frames
        header = {
            "filename": user.filename, "frames": user.frames or None, "shape": list(frames.shape),
            "type": frames.dtype, "compression": frames.compression, "frame_bytes": frames.frame_bytes,
            "streams": 1, "index_source": user.index_source, "trigger_mode": user.trigger_mode,
            "frame_time": user.frame_time, "overwrite": user.overwrite,
        }  # fmt: skip
        self._light.begin(
            self.id, self._prefix, {key: value for key, value in header.items() if value is not None},
            metadata=user.metadata, image={"shape": list(frames.shape), "type": frames.dtype},
            planned=self.plan.frames if user.frames is None else user.frames,
            frames_per_trigger=user.frames_per_trigger or 1,
            receiver_away=math.ceil(self.plan.receiver_away),
        )  # fmt: skip
        try:
            self._camserver.on_end = self._wake
            if self.plan.mode not in BY_COMMAND:
                self._expose()
        except CameraError as error:
            with suppress(CameraError):  # the first error is the cause
                self._light.abort(self.id, str(error))
                self._light.settle()
            raise
        Thread(target=self._follow, name="series", daemon=True).start()

    def trigger(self) -> None:
        """Start the next exposure, and wait for its end.

        Raises:
            CameraError: camserver has refused it, or failed.
        """
        try:
            self._expose()
        except CameraError as error:
            with self._lock:
                self._end = self._end or ("fault", str(error))
            self._wake()
            self._finished.wait(FINISHED_WITHIN)  # the end message says why
            raise
        lasts = self.plan.images * self.plan.period
        if not self._camserver.exposure.wait(LATE * lasts + LATE_BY):
            state = self._camserver.setup().state
            raise CameraError(
                f"{self._camserver.address} is {state}, and has not said that an exposure of {lasts:g} s has "
                "ended; if it was killed at camserver's window, call Reset"
            )
        if self._camserver.exposure.state is exposure.State.FAILED:
            self._finished.wait(FINISHED_WITHIN)
            with suppress(CameraError):
                self._light.settle()
            raise CameraError(f"{self._trouble or self._camserver.exposure.words} ({self._counts()})")
        with self._lock:
            over = self._look()
        if over is not None and over[0] != "complete":
            self._seen.wait(FINISHED_WITHIN)  # nobody triggers a series that has ended

    def stop(self) -> None:
        """Finish the frame under way, then end.

        camserver has no command for that: the file of the frame is waited for, and then it is told to kill,
        which gives up the frame that has just begun.
        """
        with self._lock:
            self._end = self._end or ("stop", "")
        try:
            if self._camserver.exposure.under_way:
                self._await_frame()
                self._camserver.kill(self._number)
        finally:
            self._wake()

    def abort(self) -> None:
        """End at once."""
        with self._lock:
            self._end = ("abort", "")
        try:
            if self._camserver.exposure.under_way:
                self._camserver.kill(self._number)
        finally:
            self._wake()
            self._finished.wait(TOLD_WITHIN)  # a process that is about to end has told the light streamer

    def progress(self) -> Progress:
        """Return the state; `ARMED` until the light streamer has sent the end message."""
        status = self._light.status()
        if status.series != self.id:
            return Progress(
                state=BoxState.ERROR, acquired=0,
                message=f"the light streamer at {self._light.address} has lost this series; was it "
                "restarted?",
            )  # fmt: skip
        acquired, self.largest = status.acquired, status.largest_bytes
        self.image_header = status.image_header
        if status.state not in BUSY and not self._telling.is_set():
            return Progress(
                state=BoxState.ERROR, acquired=acquired,
                message=f"the light streamer has ended this series by itself: {status.message}",
            )  # fmt: skip
        if status.state in BUSY or not self._finished.is_set():
            return Progress(state=BoxState.ARMED, acquired=acquired, sent=status.sent)
        self._seen.set()
        if self._trouble:
            said = f"{self._trouble} ({self._counts()})"
            return Progress(state=BoxState.ERROR, message=said, acquired=acquired)
        return Progress(state=BoxState.IDLE, acquired=acquired, ended_by=self._ended_by)

    # Exposures

    def _expose(self) -> None:
        with self._lock:
            if self._end is not None or self._outcome is not None or self._begun >= self.plan.exposures:
                why = self._outcome[1] if self._outcome else ""
                raise CameraError(why or "this series has ended, or all its triggers were given; Arm again")
            name = f"{self._prefix}_{self._begun * self.plan.images:0{NUMBER_DIGITS}d}.cbf"
            self._begun += 1
            try:
                self._number = self._camserver.expose(self.plan.command, name)
            except CameraError:
                self._begun -= 1
                raise

    def _await_frame(self) -> None:
        """Wait for the file of the frame under way; one that waits for its edge has none."""
        gated = self.plan.mode is TriggerMode.EXTERNAL_MULTI_GATE
        lasts = FRAME_WITHIN + (0.0 if gated else self.plan.exposure)
        least, most = LOOKS
        look = min(most, max(least, self.plan.exposure / 50))
        before, end = self._light.status().acquired, time.monotonic() + lasts
        while self._camserver.exposure.under_way and time.monotonic() < end:
            if self._light.status().acquired > before:
                return
            Event().wait(look)

    # The end

    def _wake(self) -> None:
        self._events.put(None)

    def _follow(self) -> None:
        while True:
            with self._lock:  # not while an exposure is being started, which the last one's end precedes
                outcome = self._look()
            if outcome is not None:
                break
            self._events.get()
        reason, message, triggered = outcome
        self._settle()
        self._telling.set()
        try:
            if reason == "abort":
                self._light.abort(self.id, message)
            else:
                self._light.finish(self.id, reason, message, triggered)
        except CameraError as error:  # progress says the same
            log.warning("the light streamer could not be told that the series has ended: %s", error)
        if reason == "fault":
            self._trouble = message
        elif reason == "stop":
            self._ended_by = message
        self._finished.set()

    def _settle(self) -> None:
        """Wait until camserver takes the next exposure, and the kill of this one is over."""
        if not self._camserver.exposure.killed:
            return  # nothing is asked after an end by itself
        try:
            self._camserver.settle()
        except CameraError as error:  # who arms next is told so
            log.warning("the series has ended, but: %s", error)

    def _look(self) -> Outcome | None:
        """Return the outcome of a series that is over; called after every exposure, with the lock."""
        if self._outcome is None:
            self._outcome = self._find_outcome()
        return self._outcome

    def _find_outcome(self) -> Outcome | None:
        last = self._camserver.exposure
        if last.under_way:
            return None
        failed = self._begun > 0 and last.state is exposure.State.FAILED
        if not failed and self._end is not None:
            return (*self._end, None)
        if not failed and self._begun:
            if (judged := self._judge.judge(last, self._begun)) is not None:
                return (*judged, None)
            if self._begun == self.plan.exposures:
                return "complete", "", self.plan.frames
        try:
            self._camserver.check()
        except BoxLost as error:
            return "fault", str(error), None
        if failed:
            return "fault", f"{self._camserver.address} has ended the series: 7 ERR {last.words}", None
        return None

    def _counts(self) -> str:
        try:
            status = self._light.status()
        except CameraError:
            return "how many frames were sent is unknown"
        said = f"{status.acquired} of {plural(self.plan.frames, 'frame')} taken, {status.sent} sent"
        if not status.waiting:
            return said
        return f"{said}, {status.waiting} wait on the control unit for the receiver: Reset would drop them"
