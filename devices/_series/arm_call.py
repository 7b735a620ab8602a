"""One Arm: what its steps know of it, and the client that waits for its answer."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from queue import SimpleQueue

from penstock.devices._series.arming import ARM_LIMIT, Budget
from penstock.devices._series.machine.actions import Answer, RunStep, Undo
from penstock.streamer.camera.settings import Settings
from penstock.streamer.remote.client import Prepared, StreamerClient

UNDO_LIMIT = 0.3
"""Seconds for which a refusal waits while everything is undone."""


@dataclass
class ArmCall:
    """One Arm; what it does next is in `jobs`."""

    number: int
    streamer: StreamerClient
    endpoint: str
    settings: Settings
    budget: Budget
    own_stream: bool
    expected_for: float
    """Seconds for which the receiver expects a series without a start message; 0 for ever."""
    prepared: Prepared | None = None
    jobs: SimpleQueue[RunStep | Undo] = field(default_factory=SimpleQueue)
    answered: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    found: str = ""
    """State in which the streamer was found when this was undone."""

    def answer(self, answer: Answer) -> None:
        """Let the client go on; a box may still have to be disarmed."""
        self.answered.set()
        if answer.over:
            self.over.set()

    def wait(self) -> None:
        """Wait for the answer, for `ARM_LIMIT` at most."""
        if self.answered.wait(ARM_LIMIT):
            self.over.wait(UNDO_LIMIT)
