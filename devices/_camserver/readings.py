"""What camserver says while it rests: its state, sensors and free space, asked now and then.

Each question is a line at camserver's window, so that it is not asked every second; during a series it is
asked nothing ([cct] `interpretMessage` does likewise).
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from threading import Lock

from penstock.devices._camserver.client import EXPOSING, IDLE, Camserver
from penstock.devices._camserver.protocol import Channel, Setup
from penstock.streamer.camera.own_stream import BoxLost
from penstock.streamer.camera.settings import Value
from penstock.streamer.camera.unit import CameraError, NotAsked

log = logging.getLogger(__name__)

STATE_EVERY, READ_EVERY = 5.0, 10.0
"""Seconds between two questions for the state, and for everything else."""
HOLD = 60.0
"""Seconds for which the last values stand during a series."""


class Readings:
    """The readings of one camserver; any thread may use it.

    Args:
        camserver: which is asked.
        resting: true while no series of ours runs.
    """

    def __init__(self, camserver: Camserver, resting: Callable[[], bool]) -> None:
        self._camserver, self._resting = camserver, resting
        self._lock = Lock()
        self.setup, self.version = Setup(), ""
        self.free_bytes: int | None = None
        """Free bytes of the RAM disk; `None` if camserver does not say it: its folder may have been removed,
        until the next series names another."""
        self._channels: dict[int, Channel] = {}
        self._looked_at = self._read_at = 0.0

    def learn(self) -> None:
        """Ask everything."""
        with self._lock:
            self.version = self._camserver.version()
            self._look()
            self._read()

    def state(self) -> Setup:
        """Return the last setup, asked for now if it is old."""
        with self._lock:
            if time.monotonic() - self._looked_at >= STATE_EVERY:
                self._look()
            return self.setup

    def look_again(self) -> None:
        """Let the next question for the state be asked: the last one was answered during a series."""
        with self._lock:
            self._looked_at = -math.inf

    def free(self) -> int:
        """Return the free bytes on the RAM disk now."""
        with self._lock:
            free = self.free_bytes = self._camserver.free_bytes()
            return free

    def read(self, name: str) -> Value:
        """Return a reading.

        Raises:
            CameraError: there is none.
            NotAsked: a series runs, and it is too old.
            BoxLost: camserver is lost.
        """
        if name == "DetectorState" and not self._resting():
            return EXPOSING if self._camserver.exposure.under_way else IDLE
        with self._lock:
            age = time.monotonic() - self._read_at
            if age >= READ_EVERY and self._resting():
                self._read()
            elif age > HOLD:
                raise NotAsked(f"{name} is not asked for during a series")
        found = self._value(name)
        if found is None:
            raise CameraError(f"{self._camserver.address} has no {name}")
        return found

    def _value(self, name: str) -> Value | None:
        for kind in ("Temperature", "Humidity"):
            if name.startswith(kind):
                channel = self._channels.get(int(name.removeprefix(kind)))
                return None if channel is None else getattr(channel, kind.lower())
        return {
            "DetectorState": self.setup.state or None, "CameraName": self.setup.name or None,
            "CamserverVersion": self.version or None,
            "RamDiskFree": None if self.free_bytes is None else self.free_bytes / 1e6,
        }.get(name)  # fmt: skip

    def _look(self) -> None:
        self.setup = self._camserver.setup()
        self._looked_at = time.monotonic()

    def _read(self) -> None:
        self._channels = self._camserver.channels()
        try:
            self.free_bytes = self._camserver.free_bytes()
        except BoxLost:
            raise
        except CameraError as error:
            log.warning("%s", error)
            self.free_bytes = None
        self._read_at = time.monotonic()
