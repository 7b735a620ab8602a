"""The 2D channel of one detector: from PrepareOne to the closed file, without Sardana."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from penstock.sardana.channel.arming import POLL, Arming, stop_quietly
from penstock.sardana.channel.detector import ACTIVE, LOST, Detector, Facts, Refused, Snapshot
from penstock.sardana.channel.phases import STATE, TABLE, UNDER_WAY, Event, Phase
from penstock.sardana.channel.plan import Plan, plan
from penstock.sardana.channel.verdict import assess
from penstock.sardana.reference import Reference
from penstock.sardana.shelter import Shelter

READY_WITHIN: Final = 2.0
"""Seconds that a start waits for a detector that arms slowly, where triggers would be lost otherwise."""
ENDED_WITHIN: Final = 0.5
"""Seconds that Stop and Abort wait for the series to end; it may take longer."""
POLLED_WITHIN: Final = 0.3
"""Seconds in which Sardana's acquisition loop polls once."""
IMAGE_WITHIN: Final = 2.0
"""Seconds for a frame that was taken to reach the receiver."""
EARLY: Final = ("not_ready", "not_running")
"""Kinds of the device's refusals of a trigger that is too early."""


class Channel:
    """One detector as a channel of Sardana.

    Args:
        detector: its device.
        name: returns the channel's name; called when a file is named.
        clock: monotonic seconds.
        pause: waits between two polls, in seconds.
    """

    def __init__(
        self, detector: Detector, name: Callable[[], str] = lambda: "detector", *,
        clock: Callable[[], float] = time.monotonic, pause: Callable[[float], object] = time.sleep,
    ) -> None:  # fmt: skip
        self._detector = detector
        self._name = name
        self._clock = clock
        self._pause = pause
        self._lock = threading.RLock()
        self._shelter = Shelter("arming")
        self.arming = Arming(detector, name, clock=clock, pause=pause)
        self.missing_trigger_time = 10.0
        """Seconds beyond the planned period after which a trigger counts as lost; 0 waits for ever."""
        self.phase = Phase.IDLE
        self.warning = ""
        self.file = ""
        self._plan: Plan | None = None
        self._facts = Facts()
        self._series = ""
        self._learned = False
        """The facts are those of the series under way; slow hardware is still arming when Arm returns."""
        self._asked_since_end = True
        """Sardana has asked for the references since the series ended: its acquisition is over."""
        self._cancelled = False
        """Stop or Abort was called since the preparation of the last series began."""
        self._forget()

    def _forget(self) -> None:
        self._due = self._given = self._acquired = 0
        self._progress = self._clock()
        self._skipped = 0
        self._trigger_waits = self._stopped = self._cut = self._restarted = False
        self._series, self._learned = "", False
        self._sentence = ""

    # What the user sees -----------------------------------------------------------------------

    def facts(self) -> Facts:
        """Return those of the running, or else the next, series; the last known while the device is away.

        Where only the hardware knows what the next frames will be, shape and type are the last series'.
        """
        with self._lock:
            if self.phase not in UNDER_WAY:
                try:
                    found, last = self._detector.facts(), self._facts
                    known = found if found.shape else replace(found, shape=last.shape, dtype=last.dtype)
                    self._facts = known
                except Refused as refused:
                    if refused.kind != LOST:
                        raise
            return self._facts

    # What Sardana calls -----------------------------------------------------------------------

    def prepare(
        self, synchronization: str, value: float, repetitions: int, latency: float, starts: int
    ) -> None:
        """Arm a series; see `plan` for the arguments.

        Raises:
            Refused: nothing is armed.
        """
        asked = plan(synchronization, value, repetitions, latency, starts)
        if not self.arming.references and asked.synchronization.polled:
            raise Refused(
                "no_references",
                f"{self._name()}: only step scans and ct can show images themselves, not scans with "
                f"synchronization {synchronization}; switch value references on (set_meas_conf "
                "ValueRefEnabled)",
            )
        self._cancelled = False
        try:
            self._shelter.run(lambda: self._prepare(asked))
        except Refused as refused:
            with self._lock:
                if self.phase is Phase.FAILED:  # of an earlier series, whose cause is not this one's
                    self._sentence = str(refused)
            raise
        except BaseException:
            self.stop()
            raise

    def _prepare(self, asked: Plan) -> None:
        self._release()
        with self._lock:
            self.warning = ""
            self.arming.await_idle(self._series)
            if self.phase is not Phase.IDLE:
                self._move(Event.CLOSED)
            self._plan = asked
            self._forget()
            self._check_wanted()
            self.file = self.arming.arm(asked)
            try:
                self._learn(self._detector.snapshot())
                self._check_wanted()
            except BaseException:
                stop_quietly(self._detector)
                raise
            self._move(Event.PREPARED)

    def _check_wanted(self) -> None:
        """Refuse a series that was stopped while it was being armed, so that the other channels of the group
        are not armed after it."""
        if self._cancelled:
            raise Refused("cancelled", f"{self._name()}: stopped while the series was being armed")

    def start(self) -> None:
        """Begin the next point, or row; never raises."""
        with self._lock:
            asked = self._plan
            if self.phase is Phase.FAILED:
                return
            if self.phase is not Phase.ARMED or asked is None:
                self._fail(f"{self._name()}: no series is armed; it was stopped, or has ended")
                return
            self._due += asked.per_start
            self._progress = self._clock()
            self._move(Event.STARTED)
            if asked.synchronization.hardware:
                self._await_ready()
            else:
                self._trigger()

    def state(self) -> tuple[str, str]:
        """Return the name of Sardana's state and a sentence; never raises."""
        with self._lock:
            if self.phase is Phase.FAILED:
                return STATE[self.phase], self._sentence
            try:
                snapshot = self._detector.snapshot()
                if self.phase is Phase.IDLE:
                    fault = snapshot.state == "FAULT"
                    return ("Fault" if fault else "On"), snapshot.status
                self._check(snapshot)
            except Refused as refused:
                if self.phase is Phase.IDLE:
                    return "Fault", str(refused)
                self._fail(str(refused))
                return STATE[self.phase], self._sentence
            return STATE[self.phase], self._sentence or self.warning or snapshot.status

    def reference(self) -> str:
        """Return the reference of the point that was started last."""
        with self._lock:
            self._note_asked()
            return self._reference(max(0, self._due - 1))

    def new_references(self) -> list[str]:
        """Return those that were not given yet: one per index, in order."""
        with self._lock:
            whole = self.phase not in (Phase.EXPOSING, Phase.ENDING, Phase.FAILED) and not self._stopped
            self._note_asked()
            first, self._given = self._given, self._due if whole else min(self._due, self._acquired)
            return [self._reference(index) for index in range(first, self._given)]

    def image(self) -> Any:
        """Return the frame of the point that was started last.

        Raises:
            Refused: it has not reached the receiver.
        """
        with self._lock:
            series, index = self._series, self._due - 1
        return self._detector.image(series, index, IMAGE_WITHIN)

    @property
    def polled(self) -> bool:
        """True if Sardana asks for lists."""
        return self._plan is not None and self._plan.synchronization.polled

    def stop(self) -> None:
        """Complete the file with the frames so far; does nothing without a series; never raises."""
        self._end(self._detector.stop)

    def abort(self) -> None:
        """Stop, dropping what is queued, and end the scan's context: Sardana calls no hook that would."""
        self._end(self._detector.abort, ends_context=True)

    def _note_asked(self) -> None:
        self._asked_since_end = self._asked_since_end or self.phase not in UNDER_WAY

    def _release(self) -> None:
        """End an acquisition that Sardana still polls because another channel of the group has failed.

        If the next series were armed at once, the old acquisition would take its states and references for
        its own and fail on them, and every later one would wait for it.
        """
        with self._lock:
            if self.phase is not Phase.EXPOSING:
                return
            self.arming.await_idle(self._series)
            self._asked_since_end = False
            self._move(Event.CLOSED)
        limit = self._clock() + POLLED_WITHIN
        while not self._asked_since_end and self._clock() < limit:
            self._pause(POLL)

    # While it runs ----------------------------------------------------------------------------

    def _trigger(self) -> None:
        """Trigger now, or as soon as the detector is ready."""
        try:
            self._detector.trigger()
            self._trigger_waits = False
            self._progress = self._clock()
        except Refused as refused:
            self._trigger_waits = refused.kind in EARLY
            if not self._trigger_waits:
                self._fail(str(refused))

    def _await_ready(self) -> None:
        """Wait for slow hardware: the trigger source begins as soon as all channels are started."""
        limit = self._clock() + READY_WITHIN
        try:
            while (snapshot := self._detector.snapshot()).state == "MOVING":
                if self._is_foreign(snapshot):
                    return  # the next poll of the state reports it
                if self._clock() >= limit:
                    stop_quietly(self._detector)
                    self._fail(
                        f"{self._name()}: the detector is still arming {READY_WITHIN:g} s after the start, "
                        f"and would miss triggers: {snapshot.status}"
                    )
                    return
                self._pause(POLL)
        except Refused as refused:
            self._fail(str(refused))

    def _learn(self, snapshot: Snapshot) -> None:
        """Take the id and the facts of the armed series, as soon as there are any."""
        if self._learned or self._is_foreign(snapshot):
            return
        self._series = snapshot.series
        self._facts = self._detector.facts()
        self._learned = snapshot.state != "MOVING" or snapshot.acquired > 0

    def _check(self, snapshot: Snapshot) -> None:
        self._learn(snapshot)
        if snapshot.state == "FAULT":
            self._fail(snapshot.status)
        elif snapshot.state == "INIT":
            self._restarted = True  # by Init or the like: it says how the series has ended once it is ON
        elif self._restarted or snapshot.series != self._series:
            self._fail(self._lost(snapshot))
        elif snapshot.state in ACTIVE:
            self._note_progress(snapshot)
            if self.phase is Phase.EXPOSING:
                self._exposing(snapshot)
        elif snapshot.state == "ON":
            self._closed()
        else:
            self._fail(snapshot.status)

    def _lost(self, snapshot: Snapshot) -> str:
        """Return what became of a series that the detector no longer has."""
        verdict = self._detector.verdict()
        if self._series and verdict.series == self._series:
            return f"{self._name()}: {verdict.sentence}"
        return (
            f"{self._detector.name} has lost the series: its server was restarted, or somebody else has "
            f"armed it since. It says: {snapshot.status}"
        )

    def _note_progress(self, snapshot: Snapshot) -> None:
        if snapshot.acquired != self._acquired or snapshot.state == "MOVING":
            self._acquired, self._progress = snapshot.acquired, self._clock()

    def _exposing(self, snapshot: Snapshot) -> None:
        asked = self._plan
        if asked is None:
            return
        if self._acquired >= asked.frames:
            self._move(Event.LAST)
        elif self._due < asked.frames and self._acquired >= self._due - self._skipped:
            if self._ready_for_edge(asked):
                self._move(Event.REACHED)
        elif self._trigger_waits and snapshot.ready:
            self._trigger()
        elif self._overdue(asked):
            self._give_up(asked)

    def _ready_for_edge(self, asked: Plan) -> bool:
        """Return whether an electrical signal would be seen; the detector itself refuses software ones."""
        since = self._clock() - self._progress
        return not asked.synchronization.hardware or since >= self._facts.readout_time

    def _give_up(self, asked: Plan) -> None:
        """Give up on a lost frame: continue with the next start or, if there is none, end the series."""
        if asked.synchronization.hardware and self._due < asked.frames:
            self._skipped = self._due - self._acquired
            return
        self._cut = True
        self._detector.stop()
        self._move(Event.END)

    def _overdue(self, asked: Plan) -> bool:
        """Return whether a trigger was lost, so that its frames will not come."""
        if self.missing_trigger_time <= 0.0 or (asked.synchronization.hardware and not self._acquired):
            return False
        period = max(asked.spacing, self._facts.frame_time)
        return self._clock() - self._progress > period + self.missing_trigger_time

    def _closed(self) -> None:
        """Judge the series now that its file is closed."""
        asked, verdict = self._plan, self._detector.verdict()
        self._acquired = self._detector.snapshot().acquired
        if asked is None or self._stopped:
            self._move(Event.CLOSED)
            return
        if verdict.series != self._series:
            self._fail(f"{self._detector.name} no longer knows how the series ended")
            return
        assessment = assess(
            verdict, self._acquired, self._name(), self.file, self._facts.index_source,
            hardware=asked.synchronization.hardware,
        )  # fmt: skip
        if assessment.fault:
            cut = (
                f"no frame came within {self.missing_trigger_time:g} s of its trigger. " if self._cut else ""
            )
            self._fail(f"{self._name()}: {cut}{assessment.fault}")
            return
        self.warning = assessment.warning
        self._move(Event.CLOSED)

    def _end(self, call: Callable[[], None], *, ends_context: bool = False) -> None:
        self._cancelled = True
        with self._lock:
            if ends_context:
                self.arming.context = ""
            if self.phase is Phase.FAILED:
                self._end_own(call)
            elif self.phase in UNDER_WAY:
                self._stopped = True
                self._trigger_waits = False
                try:
                    if self._is_foreign(snapshot := self._detector.snapshot()):
                        self._check(snapshot)
                        return
                    call()
                    self._move(Event.END)
                    self._await_end()
                except Refused as refused:
                    self._fail(str(refused))

    def _await_end(self) -> None:
        """Give the series a moment to end: Sardana 3.7 loses events, and its next scan hangs, if a channel is
        still moving when the group's Abort returns."""
        limit = self._clock() + ENDED_WITHIN
        while (snapshot := self._detector.snapshot()).state in ACTIVE and self._clock() < limit:
            self._pause(POLL)
        self._check(snapshot)

    def _end_own(self, call: Callable[[], None]) -> None:
        """End the series after a failure, unless somebody else has armed another one."""
        with contextlib.suppress(Refused):
            if self._detector.snapshot().series == self._series:
                call()

    def _is_foreign(self, snapshot: Snapshot) -> bool:
        """Return whether this is not the series under way, but one that was armed since.

        A series that had no id yet when Arm returned is the channel's own.
        """
        return bool(self._series) and snapshot.series != self._series

    # Parts ------------------------------------------------------------------------------------

    def _move(self, event: Event) -> None:
        self.phase = TABLE.after(self.phase, event)

    def _fail(self, sentence: str) -> None:
        self._sentence = self.warning = sentence
        self._move(Event.FAIL)

    def _reference(self, index: int) -> str:
        return Reference(self.file, self._facts.dataset, index).text
