"""What is asked again and again in a thread of its own, so that nobody waits for who does not answer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")


class Followed(Generic[T]):
    """The newest answer to one question.

    Args:
        ask: asks it, within a bounded time.
        error: what `ask` raises, with a sentence.
        pause: returns the seconds until it is asked again.
    """

    def __init__(self, ask: Callable[[], T], error: type[Exception], pause: Callable[[], float]) -> None:
        self._ask, self._error, self._pause = ask, error, pause
        self.answer: T | None = None
        """`None` while there is none."""
        self.problem = ""
        """Why there is none; a sentence."""
        self._lock = threading.Lock()
        self._known = 0
        self._asked_for = threading.Event()

    def run(self, ends: threading.Event) -> None:
        """Ask until `ends` is set."""
        while not ends.is_set():
            self._asked_for.clear()
            self.look()
            self._asked_for.wait(self._pause())

    def look(self) -> None:
        """Ask once."""
        known = self._known
        try:
            found, problem = self._ask(), ""
        except self._error as error:
            found, problem = None, str(error)
        with self._lock:
            if known != self._known:  # it was asked before what is known by now
                return
            if problem not in ("", self.problem):
                log.warning("%s", problem)
            self.answer, self.problem = found, problem

    def put(self, answer: T) -> None:
        """Take what was learnt otherwise, and ask anew."""
        with self._lock:
            self._known += 1
            self.answer, self.problem = answer, ""
        self.ask_now()

    def forget(self) -> None:
        """Drop the answer, which is that of somebody who has ended since."""
        with self._lock:
            self._known += 1
            self.answer = None
        self.ask_now()

    def ask_now(self) -> None:
        """Ask without a pause."""
        self._asked_for.set()
