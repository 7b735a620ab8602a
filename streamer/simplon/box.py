"""The control unit without its network: states, commands, the series, the latest image."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event, Lock
from typing import Any

from penstock.streamer.push_socket import PushSocket
from penstock.streamer.simplon.faults import Faults
from penstock.streamer.simplon.pixels import Picture, Pixels
from penstock.streamer.simplon.recorded import Recorded
from penstock.streamer.simplon.series import Series
from penstock.streamer.simplon.settings import Settings
from penstock.streamer.triggers import Edge

SOFTWARE = ("ints", "inte")


class Refused(Exception):
    """The state does not allow the command; SIMPLON answers with HTTP 400."""


class Stream:
    """The PUSH socket; messages for which no receiver has room are dropped and counted."""

    def __init__(self, push: PushSocket, settings: Settings, faults: Faults) -> None:
        self._push, self._settings, self.faults, self._lock = push, settings, faults, Lock()

    def send(self, parts: Sequence[bytes]) -> None:
        """Send one message or drop it; without effect if the stream is disabled."""
        if self._settings.get("stream", "config", "mode") != "enabled":
            return
        with self._lock:
            if not self.faults.drop_stream and self._push.try_send(parts) is not None:
                return
        dropped = self._settings.get("stream", "status", "dropped")
        self._settings.show("stream", "status", "dropped", dropped + 1)


class Box:
    """One control unit and its detector; any thread may call its commands."""

    def __init__(self, settings: Settings, pixels: Pixels | Recorded, stream: Stream) -> None:
        self.settings, self._pixels, self._stream = settings, pixels, stream
        self._lock = Lock()
        self.series: Series | None = None
        self._number = 0
        self._power_fails = Event()
        self.latest: Picture | None = None

    @property
    def faults(self) -> Faults:
        """The present faults on request."""
        return self._stream.faults

    @faults.setter
    def faults(self, faults: Faults) -> None:
        self._stream.faults = faults

    def command(self, name: str, value: Any = None) -> dict[str, Any]:
        """Execute a command; return its answer.

        Raises:
            KeyError: there is no such command.
            Refused: the state does not allow it.
        """
        commands = {
            "initialize": self._initialize, "arm": self._arm, "disarm": self._disarm, "abort": self._abort,
            "cancel": self._disarm, "status_update": dict, "check_connection": dict, "hv_reset": dict,
        }  # fmt: skip
        if name == "trigger":
            return self._trigger(value)
        return commands[name]()

    def edge(self, edge: Edge) -> bool:
        """Take an edge at the trigger input; return whether it was accepted."""
        series = self.series
        if series is None or self.settings["trigger_mode"] in SOFTWARE:
            return False
        return series.edge(edge)

    def power_off(self) -> None:
        """Lose everything: no end message is sent, and running commands are broken off."""
        self._power_fails.set()
        with self._lock:
            self._power_fails.clear()
            if (series := self.series) is not None:
                series.finish(at_once=True, silently=True)
            self.settings.power_on()
            self._number = 0

    def _wait(self, seconds: float) -> None:
        if self._power_fails.wait(seconds):
            raise Refused("the power was switched off")

    def _initialize(self) -> dict[str, Any]:
        self._abort()
        with self._lock:
            self.settings.state = "initialize"
            self._wait(self.faults.slow_initialize)
            self.settings.initialise()
            self.settings.state = "idle"
        return {}

    def _arm(self) -> dict[str, Any]:
        with self._lock:
            if self.settings.state != "idle":
                raise Refused(f"arm is not allowed in state {self.settings.state}")
            settings = self.settings
            channels = settings.channels
            if not channels:
                raise Refused("no threshold is enabled")
            if settings["compression"] == "lz4":
                raise Refused("the simulator does not compress with lz4")
            settings.state = "configure"
            self._wait(self.faults.slow_arm)
            self._number += 1
            pictures = self._pixels.prepare(
                settings.dtype,
                settings["compression"],
                len(channels),
                settings["nimages"] * settings["ntrigger"],
            )
            self.series = Series(
                self._number, settings, pictures, self._stream, self._show, self._series_ended,
                stays_armed=self.faults.stays_armed,
            )  # fmt: skip
            if "series_unique_id" in settings.of["detector", "status"]:
                settings.show("detector", "status", "series_unique_id", self.series.unique)
            settings.state = "ready"
            self.series.start()
            return {"sequence id": self._number}

    def _trigger(self, value: Any) -> dict[str, Any]:
        series, mode = self.series, self.settings["trigger_mode"]
        if series is None or self.settings.state not in ("ready", "acquire"):
            raise Refused(f"trigger is not allowed in state {self.settings.state}")
        if mode not in SOFTWARE:
            raise Refused(f"trigger is not allowed in trigger mode {mode}")
        if not series.trigger(float(value) if value is not None else None):
            raise Refused("the previous trigger has not finished yet")
        return {}

    def _disarm(self) -> dict[str, Any]:
        return self._end(at_once=False)

    def _abort(self) -> dict[str, Any]:
        return self._end(at_once=True)

    def _end(self, *, at_once: bool) -> dict[str, Any]:
        series = self.series
        if series is not None:
            series.finish(at_once=at_once)
        return {"sequence id": self._number}

    def _series_ended(self) -> None:
        self.series = None
        self.settings.state = "idle"

    def _show(self, picture: Picture, number: int) -> None:
        if self.settings.get("monitor", "config", "mode") == "enabled":
            self.latest = picture
