"""One exposure of camserver, of one image or of a series of them: a table of states."""

from __future__ import annotations

import logging
import string
import time
from enum import StrEnum
from pathlib import PurePosixPath
from threading import Condition

from penstock.devices._camserver.protocol import Answer, Code
from penstock.stins.table import Table

log = logging.getLogger(__name__)


class State(StrEnum):
    """State of the last exposure."""

    NONE = "none"
    RUNNING = "running"
    """camserver exposes, or waits for edges."""
    KILLED = "killed"
    """It was told to end; its answer has not come."""
    DONE = "done"
    FAILED = "failed"


class Event(StrEnum):
    """What changes it."""

    START = "start"
    KILL = "kill"
    OK = "7 OK"
    ERR = "7 ERR"
    LOST = "lost"


_S, _E = State, Event

TABLE = Table({
    **{(state, _E.START): _S.RUNNING for state in (_S.NONE, _S.DONE, _S.FAILED)},
    (_S.RUNNING, _E.OK): _S.DONE,
    (_S.RUNNING, _E.ERR): _S.FAILED,
    (_S.RUNNING, _E.KILL): _S.KILLED,
    (_S.RUNNING, _E.LOST): _S.FAILED,
    (_S.KILLED, _E.KILL): _S.KILLED,
    # After a kill some versions answer 7 OK, some 7 ERR, some both ([lima] lines 607-637): one end. Of both
    # the first comes before the end: see `Camserver.settle`.
    (_S.KILLED, _E.OK): _S.DONE,
    (_S.KILLED, _E.ERR): _S.DONE,
    (_S.KILLED, _E.LOST): _S.FAILED,
})  # fmt: skip
"""Events that are not in it change nothing: the second answer to a kill, an exposure typed at camserver's
window."""

UNDER_WAY = frozenset({_S.RUNNING, _S.KILLED})


class Exposure:
    """The last exposure; any thread may use it."""

    def __init__(self) -> None:
        self._changed = Condition()
        self.state = State.NONE
        self.words = ""
        """camserver's words at its end: the path of the last image, or what went wrong."""
        self.number = 0
        """Number of exposures that have been started."""
        self.killed = self.killed_by_others = False
        """True if it was told to end; the second one by a K that was typed at camserver's window: `words` do
        not tell that of a single image."""
        self._name = ""
        """What the names of its files begin with."""

    @property
    def under_way(self) -> bool:
        """True from the command to camserver's answer at the end."""
        return self.state in UNDER_WAY

    def start(self, name: str) -> None:
        """Begin one, before its command is sent: its end may come with the command's answer.

        Args:
            name: that of its first file.
        """
        with self._changed:
            self.number += 1
            self.words = ""
            self.killed = self.killed_by_others = False
            self._name = PurePosixPath(name).stem.rstrip(string.digits)
        self._fire(Event.START, "")

    def refused(self) -> None:
        """camserver has not started it."""
        with self._changed:
            self.state = State.NONE
            self._changed.notify_all()

    def kill(self) -> bool:
        """It is being told to end; return whether it is under way, so that there is something to end."""
        return self._fire(Event.KILL, "")

    def hear(self, answer: Answer) -> None:
        """Take an answer that has come unasked for."""
        if answer.code == Code.EXPOSURE:
            if self.state is State.RUNNING and self._is_of_another(answer.text):
                log.warning("exposure of %s: %s is the end of another one", self._name, answer.text)
                return
            self._fire(Event.OK if answer.ok else Event.ERR, answer.text)
        elif answer.code == Code.KILL:
            self.killed_by_others |= self.state is State.RUNNING
            self._fire(Event.KILL, answer.text)

    def _is_of_another(self, words: str) -> bool:
        """Return whether an end names a file of another exposure: a second answer that comes late."""
        return words.startswith("/") and not PurePosixPath(words).name.startswith(self._name)

    def missed(self) -> None:
        """It has ended, and camserver has not said so."""
        self._fire(Event.OK, "")

    def lost(self, sentence: str) -> None:
        """The connection is gone: no answer will come."""
        self._fire(Event.LOST, sentence)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; return whether it has come."""
        end = None if seconds is None else time.monotonic() + seconds
        with self._changed:
            while self.under_way:
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0.0:
                    return False
                self._changed.wait(left)
            return True

    def _fire(self, event: Event, words: str) -> bool:
        """Make the transition of `event`; return whether the table has it."""
        with self._changed:
            after = TABLE.get((self.state, event))
            if after is None:
                log.info("exposure %s: %s %s changes nothing", self.state, event, words)
                return False
            log.debug("exposure %s -> %s (%s %s)", self.state, after, event, words)
            self.state, self.words = after, words or self.words
            self.killed |= event is Event.KILL
            self._changed.notify_all()
            return True
