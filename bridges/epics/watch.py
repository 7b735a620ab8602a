"""A thread that follows the status of a receiver or pipeline, and says when it is away."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from penstock.bridges.epics import models
from penstock.service.models import NoAnswer

log = logging.getLogger(__name__)

WAIT = 1.0
"""Seconds for which a question waits for news."""
TIMEOUT = 2.0
"""Seconds in which an answer has to come, beside these."""
PAUSE = 0.2
"""Seconds between two questions at least: a status changes fifty times per second."""
AGAIN = 0.5
"""Seconds after which one that does not answer is asked again."""


class Versioned(Protocol):
    """A status."""

    @property
    def version(self) -> int:
        """Grows with every change."""


S = TypeVar("S", bound=Versioned)


class Watch(Generic[S]):
    """One receiver or pipeline.

    Args:
        url: of its HTTP API.
        ask: returns its status, like `ReceiverClient.status`.
        show: called with each new status.
        away: called with a sentence while it does not answer.
    """

    def __init__(
        self, url: str, ask: Callable[..., S], show: Callable[[S], Any], away: Callable[[str], Any]
    ) -> None:
        self._url, self._ask, self._show, self._away = url, ask, show, away
        self.status: S | None = None
        """The newest one; `None` while it does not answer."""
        self.problem = ""

    @property
    def source(self) -> models.Source:
        """What the bridge's status says of it."""
        return models.Source(url=self._url, answers=self.status is not None, problem=self.problem)

    def run(self, ends: threading.Event) -> None:
        """Follow it until `ends` is set."""
        while not ends.is_set():
            self.step()
            ends.wait(AGAIN if self.status is None else PAUSE)

    def step(self) -> None:
        """Ask once."""
        seen = self.status
        try:
            found = self._ask() if seen is None else self._ask(seen=seen.version, wait=WAIT)
        except NoAnswer as error:
            if str(error) != self.problem:
                log.warning("%s", error)
            self.status, self.problem = None, str(error)
            self._away(self.problem)
            return
        self.status, self.problem = found, ""
        self._show(found)
