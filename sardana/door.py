"""A Door of a MacroServer, driven from outside: run a macro, follow it, stop it, see how it ended."""

from __future__ import annotations

import contextlib
import json
import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final

import tango

MESSAGES: Final = ("Output", "Info", "Warning", "Error", "Critical")
"""Attributes of a Door whose change events carry a macro's messages."""

IDLE: Final = (tango.DevState.ON, tango.DevState.ALARM)
"""States of a Door in which no macro runs; ALARM: the last one failed."""
SILENCE: Final = 2.0
"""Seconds without an event after which the Door's State is read, to see whether the macro has ended."""
AGAIN: Final = 10.0
"""Seconds after which `Door.end` repeats the Abort."""


class MacroTimeout(Exception):
    """A macro has not ended in time; the sentence has its messages."""


class DoorHangs(MacroTimeout):
    """It has not ended, and the Door answers no command any more; only a restart of the MacroServer helps."""


@dataclass
class MacroRun:
    """A macro that has run."""

    command: tuple[str, ...]
    ending: str = ""
    """Sardana's word for it: "finish", "stop", "abort" or "exception"."""
    messages: list[tuple[str, str]] = field(default_factory=list)
    """(level, line): level is one of `MESSAGES`."""
    error: str = ""
    """Text of the exception with which it ended."""
    result: list[str] = field(default_factory=list)
    """What it returned."""

    def said(self, *levels: str) -> str:
        """Return the lines of these levels, or of all levels if none is given."""
        return "\n".join(line for level, line in self.messages if not levels or level in levels)


class Door:
    """Runs one macro at a time; a context manager, since it holds subscriptions.

    Args:
        name: Tango name of the Door, with `tango://HOST:PORT/` where it is not that of TANGO_HOST.

    Raises:
        tango.DevFailed: there is no such Door, from the constructor.
    """

    def __init__(self, name: str) -> None:
        self.proxy = tango.DeviceProxy(name)
        self.on_message: Callable[[str, str], None] = lambda level, line: None
        """Called with level and line of each message."""
        self._events: queue.SimpleQueue[tango.EventData] = queue.SimpleQueue()
        self._subscribed = [
            self.proxy.subscribe_event(attribute, tango.EventType.CHANGE_EVENT, self._events.put)
            for attribute in (*MESSAGES, "MacroStatus", "Result", "State")
        ]
        self._forget()

    def __enter__(self) -> Door:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for identity in self._subscribed:
            with contextlib.suppress(tango.DevFailed, KeyError):
                self.proxy.unsubscribe_event(identity)

    def run(self, *command: str, timeout: float = 60.0) -> MacroRun:
        """Run a macro and wait until it has ended, in whatever way.

        Args:
            command: its name and its parameters.
            timeout: seconds that it may take.

        Raises:
            MacroTimeout: it has not ended.
            tango.DevFailed: there is no such macro, or a parameter is wrong.
        """
        return self.wait(self.start(*command), timeout=timeout)

    def start(self, *command: str) -> MacroRun:
        """Begin a macro; pass the result to `wait`."""
        self._forget()
        self.proxy.RunMacro(list(command))
        return MacroRun(command)

    def wait(
        self, run: MacroRun, *, timeout: float = 60.0, until: Callable[[], Any] | None = None
    ) -> MacroRun:
        """Follow a macro until it has ended, or until `until` is true, which is asked every 20 ms.

        Raises:
            MacroTimeout: neither has happened in time.
        """
        limit = time.monotonic() + timeout
        last_sign = time.monotonic()
        while not self._ended(run):
            if until is not None and until():
                return run
            if time.monotonic() > limit:
                raise MacroTimeout(f"{' '.join(run.command)}: not ended after {timeout:g} s\n{run.said()}")
            if self._take(run, 0.02):
                last_sign = time.monotonic()
            elif time.monotonic() - last_sign > SILENCE:
                last_sign = time.monotonic()
                self._ask_state(run)
        return run

    def end(
        self, run: MacroRun, motors: Sequence[tango.DeviceProxy] = (), *, timeout: float = 60.0
    ) -> MacroRun:
        """Follow a macro that was stopped or aborted to its end, and repeat the Abort as a user does.

        Sardana 3.7 loses a Stop or Abort that is sent as the macro begins. And where Pool and MacroServer are
        one process, a motor that starts may swallow the exception of an Abort together with its own event
        (`Motor.on_motor_changed`); the macro then waits for that event for ever and ignores every further
        Abort and Release, until the motor is moved to its own position. The exception may also come as the
        macro has taken the Door's monitor (PyTango 10.3, `AutoTangoMonitor.__enter__`), which nobody gives
        back then: the Door answers no command any more.

        Args:
            run: as returned by `start`.
            motors: those that the macro moves.
            timeout: seconds that it may take.

        Raises:
            MacroTimeout: it has not ended; only a restart of the MacroServer will help.
            DoorHangs: so it is, and the Door does not answer either.
        """
        limit, answers = time.monotonic() + timeout, True
        while True:
            try:
                return self.wait(run, timeout=min(AGAIN, timeout))
            except MacroTimeout as error:
                if time.monotonic() > limit:
                    if answers:
                        raise
                    raise DoorHangs(f"the Door does not answer: restart the MacroServer; {error}") from error
            try:
                self.abort()
                answers = True
            except tango.CommunicationFailed:
                answers = False
            for motor in motors:
                with contextlib.suppress(tango.DevFailed):  # it moves
                    motor.Position = motor.Position

    def wait_idle(self, within: float = 10.0) -> None:
        """Wait until no macro runs.

        Raises:
            MacroTimeout: a macro still runs after `within` seconds.
        """
        limit = time.monotonic() + within
        while self.proxy.State() not in IDLE:
            if time.monotonic() > limit:
                raise MacroTimeout(
                    f"the Door is {self.proxy.State()} after {within:g} s: {self.proxy.Status()}"
                )
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop the macro and everything that it uses, as Ctrl-C in spock does; does nothing if it has just
        ended."""
        try:
            self.proxy.StopMacro()
        except tango.DevFailed as error:
            if error.args[0].reason != "API_CommandNotAllowed":
                raise

    def abort(self) -> None:
        """Abort the macro, as the second Ctrl-C in spock does."""
        self.proxy.AbortMacro()

    def pause(self) -> None:
        """Pause the macro at its next pause point."""
        self.proxy.PauseMacro()

    def resume(self) -> None:
        """Resume a paused macro."""
        self.proxy.ResumeMacro()

    def _ended(self, run: MacroRun) -> bool:
        while self._take(run, 0.0):
            pass
        return bool(run.ending) and self._idle

    def _ask_state(self, run: MacroRun) -> None:
        """Read the Door's State: the event of the end may be lost, as while Tango reconnects to a Door."""
        try:
            state = self.proxy.State()
        except tango.CommunicationFailed:  # a busy machine; a Door that is gone raises ConnectionFailed
            return
        self._idle = state in IDLE
        if self._idle:
            run.ending = run.ending or ("finish" if state is tango.DevState.ON else "exception")

    def _take(self, run: MacroRun, patience: float) -> bool:
        try:
            event = self._events.get(timeout=patience) if patience else self._events.get_nowait()
        except queue.Empty:
            return False
        if event.err or event.attr_value is None or event.attr_value.value is None:
            return True
        name, value = event.attr_value.name.lower(), event.attr_value.value
        if name == "macrostatus":
            self._note_status(run, value)
        elif name == "result":
            run.result = [str(item) for item in value]
        elif name == "state":
            # Events come in order: after this one the ending is that of the macro, not of one of its hooks.
            self._idle = value in IDLE
        else:
            level = name.capitalize()
            for line in value:
                run.messages.append((level, line))
                self.on_message(level, line)
        return True

    @staticmethod
    def _note_status(run: MacroRun, value: tuple[str, bytes | str]) -> None:
        encoding, data = value
        if not data or "json" not in encoding:
            return
        for status in json.loads(data):
            if status.get("state") in ("finish", "stop", "abort", "exception"):
                run.ending = status["state"]
                if run.ending == "exception":
                    run.error = str(status.get("exc_value", ""))

    def _forget(self) -> None:
        self._idle = False
        with contextlib.suppress(queue.Empty):
            while True:
                self._events.get_nowait()
