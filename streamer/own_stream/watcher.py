"""The watcher of a box: it detects that a series has ended, that the box is lost, or what is wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event as Flag

from penstock.stins.texts import plural
from penstock.streamer.camera.clock import Clock
from penstock.streamer.camera.header import period_of
from penstock.streamer.camera.machine import Machine
from penstock.streamer.camera.own_stream import BoxLost, BoxState, Progress, StreamingDetector
from penstock.streamer.camera.parameters import Parameters
from penstock.streamer.camera.unit import CameraError
from penstock.streamer.own_stream.series import Series
from penstock.streamer.own_stream.states import IN_SERIES, Event, State

log = logging.getLogger(__name__)


def wrong(progress: Progress) -> str:
    """Return why the box cannot take a series, with the remedy; "" where it can."""
    said = f": {progress.message}" if progress.message else ""
    match progress.state:
        case BoxState.ARMED:
            return f"the detector was armed by somebody else{said}; Reset disarms it, and ends that series"
        case BoxState.UNINITIALISED:
            return f"the detector was switched on, and is not initialised{said}; Reset initialises it"
        case BoxState.ERROR:
            return f"the detector reports an error{said}; Reset tries to bring it to rest"
    return ""


def sentence_of(error: Exception, name: str) -> str:
    """Return what an error says; a detector's file may raise anything, in any call.

    Args:
        error: the exception.
        name: name of the detector's class.
    """
    if isinstance(error, CameraError):
        return str(error)
    log.error("%s raised what is no CameraError", name, exc_info=error)
    return f"{name} raised {type(error).__name__}: {error}; the streamer's log says where"


LOOK_EVERY, LOOK_EVERY_IN_SERIES = 1.0, 0.1
"""Seconds between two checks of the box."""
SILENT_FOR = 5.0
"""Seconds without an answer during a series after which the box counts as lost."""
ARMED_WITHIN = 60.0
"""Seconds in which a box has to be armed."""
ENDED_WITHIN = 20.0
"""Seconds in which a box has to come to rest after Stop or Abort, or to send a frame, beyond the exposure."""


class Watcher:
    """The watcher; see the module.

    Args:
        detector: the detector, which is only read here.
        machine: state machine that gets the events.
        parameters: parameters, whose read-only ones are read here.
        clock: clock, replaced in tests.
        under_way: returns the series that was prepared last, and the running call of the box.
        changed: called after every change of the series.
    """

    def __init__(
        self, detector: StreamingDetector, machine: Machine[State, Event], parameters: Parameters, *,
        clock: Clock, under_way: Callable[[], tuple[Series | None, str]], changed: Callable[[], None],
    ) -> None:  # fmt: skip
        self._detector = detector
        self._machine = machine
        self._parameters = parameters
        self._clock = clock
        self._under_way = under_way
        self._changed = changed
        self._wake = Flag()
        self._closing = False

    def wake(self) -> None:
        """Check at once."""
        self._wake.set()

    def close(self) -> None:
        """Let `run` return as soon as the box has answered."""
        self._closing = True
        self._wake.set()

    def run(self) -> None:
        """Check the box repeatedly until `close`."""
        answered = self._clock.monotonic()
        while not self._closing:
            self._wake.wait(LOOK_EVERY_IN_SERIES if self._machine.state in IN_SERIES else LOOK_EVERY)
            self._wake.clear()
            seen, state = self._machine.moves, self._machine.state  # in this order
            if self._closing or state in (State.CONFIGURING, State.FAULT):
                answered = self._clock.monotonic()
                continue
            try:
                progress = self._detector.progress()
                answered = self._clock.monotonic()
                self._parameters.refresh()
            except BoxLost as error:
                # During a series a short silence is no reason to fail it.
                if state not in IN_SERIES or self._clock.monotonic() - answered > SILENT_FOR:
                    self._machine.fire(Event.FAIL, str(error), seen=seen)
                continue
            except Exception as error:
                said = sentence_of(error, type(self._detector).__name__)
                self._machine.fire(Event.FAIL, said, seen=seen)
                continue
            self._check(state, seen, progress)

    def _check(self, state: State, seen: int, progress: Progress) -> None:
        series, busy = self._under_way()
        if state is State.IDLE or state is State.PREPARED:
            if not busy and (trouble := wrong(progress)):
                self._machine.fire(Event.FAIL, trouble, seen=seen)
            return
        if series is None:
            return
        # Until the box is armed, its counter is that of the previous series.
        counting = series.armed and state is not State.ARMING
        if counting and progress.acquired is not None and progress.acquired != series.acquired:
            series.acquired = progress.acquired
            self._changed()
        now = self._clock.monotonic()
        if counting and progress.sent != series.sent:
            series.sent, series.sent_at = progress.sent, now
            self._changed()
        if state is State.ARMING:
            if now - series.armed_at > ARMED_WITHIN:
                self._machine.fire(Event.FAIL, f"not armed within {ARMED_WITHIN:g} s", seen=seen)
        elif progress.state is BoxState.IDLE and busy != "arm":
            series.ended = True
            if state is State.ACQUIRING:
                period = period_of(series.settings, self._detector)
                series.ended_early = series.ends_early(now, period, self._detector.dropped())
                series.ended_by = progress.ended_by if series.ended_early else ""
            frames = plural(series.triggered if series.plan is None else series.plan, "frame")
            counts = (
                f"{frames} triggered"
                if series.plan is None
                else f"{series.triggered:,} of {frames} triggered"
            )
            said = self._machine.message if state is State.ENDING else series.ended_by
            self._machine.fire(Event.ENDED, f"{said}, {counts}" if said else counts, seen=seen)
        elif progress.state in (BoxState.ERROR, BoxState.UNINITIALISED):
            self._machine.fire(Event.FAIL, wrong(progress), seen=seen)
        elif state is State.ENDING and (
            now - max(series.ended_at, series.sent_at) > ENDED_WITHIN + series.settings.exposure_time
        ):
            self._machine.fire(
                Event.FAIL,
                f"the detector is still {progress.state} {ENDED_WITHIN:g} s after the end was asked for, or "
                "after its last frame was sent",
                seen=seen,
            )  # fmt: skip
