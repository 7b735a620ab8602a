"""The control unit without its network: states, commands, the series, the latest image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event, Lock
from typing import Any

import msgspec

from penstock.streamer.camera.push_socket import PushSocket
from penstock.streamer.simulated.simplon import couplings
from penstock.streamer.simulated.simplon.monitor import Monitor, Shown
from penstock.streamer.simulated.simplon.pixels import Picture, Pixels
from penstock.streamer.simulated.simplon.recorded import Recorded
from penstock.streamer.simulated.simplon.series import SOFTWARE, Series
from penstock.streamer.simulated.simplon.settings import Settings
from penstock.streamer.simulated.simplon.subsystems import COMMANDS
from penstock.streamer.simulated.triggers import Edge


class Faults(msgspec.Struct, forbid_unknown_fields=True):
    """Faults that last until they are changed; the fields are the keys of `PUT /simulator/faults`."""

    slow_arm: float = 0.0
    """Additional seconds that `arm` takes."""
    slow_put: float = 0.0
    """Additional seconds that a PUT of a configuration takes, as with the energy of a real detector."""
    slow_initialize: float = 0.0
    """Additional seconds that `initialize` takes."""
    errors: dict[str, int] = {}
    """HTTP status by path without the version, such as {"detector/command/arm": 500}."""
    drop_stream: bool = False
    """The stream drops all messages; `stream/status/dropped` counts them."""
    stays_armed: bool = False
    """Series that are armed from now on stay armed after their last frame; they
    send the end message when disarmed."""
    changed: dict[str, float | int | str | bool] = {}
    """Values of `detector/config` that the next PUT also changes, once."""


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
        self.monitor = Monitor()

    @property
    def faults(self) -> Faults:
        """The present faults on request."""
        return self._stream.faults

    @faults.setter
    def faults(self, faults: Faults) -> None:
        self._stream.faults = faults

    def command(self, name: str, value: Any = None, subsystem: str = "detector") -> dict[str, Any]:
        """Execute a command; return its answer.

        Raises:
            KeyError: there is no such command.
            Refused: the state does not allow it.
            ValueError: the settings do not.
        """
        if name not in COMMANDS[subsystem]:
            raise KeyError(name)
        if (subsystem, name) == ("detector", "trigger"):
            return self._trigger(value)
        commands: dict[tuple[str, str], Callable[[], dict[str, Any] | None]] = {
            ("detector", "initialize"): self._initialize, ("detector", "arm"): self._arm,
            ("detector", "disarm"): self._disarm, ("detector", "abort"): self._abort,
            ("detector", "cancel"): self._disarm, ("stream", "initialize"): self._initialise_stream,
            ("monitor", "initialize"): self.monitor.initialise, ("monitor", "clear"): self.monitor.clear,
            ("system", "restart"): self.power_off,
        }  # fmt: skip
        return commands.get((subsystem, name), dict)() or {}

    def show_status(self) -> None:
        """Set what the status of stream, file writer and monitor says now."""
        settings, taking = self.settings, self.series is not None
        for subsystem in ("stream", "filewriter"):
            enabled = settings.get(subsystem, "config", "mode") == "enabled"
            state = ("acquire" if taking else "ready") if enabled else "disabled"
            settings.show(subsystem, "status", "state", state)
        size, kept = settings.get("monitor", "config", "buffer_size"), len(self.monitor)
        said = {
            "state": "overflow" if kept >= size else "normal", "dropped": self.monitor.dropped,
            "buffer_fill_level": [kept, size], "buffer_free": max(0, size - kept),
            "next_image_number": [*self.monitor.first], "monitor_image_number": [*self.monitor.taken],
        }  # fmt: skip
        for name, value in said.items():
            if name in settings.of["monitor", "status"]:
                settings.show("monitor", "status", name, value)

    def edge(self, edge: Edge) -> bool:
        """Take an edge at the trigger input; return whether it was accepted."""
        series = self.series
        if series is None or self.settings["trigger_mode"] in SOFTWARE:
            return False
        return series.edge(edge)

    def power_off(self) -> None:
        """Lose everything: no end message is sent, and running commands are broken off.

        The command `restart` of the subsystem `system` does the same.
        """
        self._power_fails.set()
        with self._lock:
            self._power_fails.clear()
            if (series := self.series) is not None:
                series.finish(at_once=True, silently=True)
            self.settings.power_on()
            self.monitor.initialise()
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
            self._number = 0  # "EIGER2 User Manual" 7.3.1
            self.settings.state = "idle"
        return {}

    def _initialise_stream(self) -> None:
        """SIMPLON API 1.8, p. 47."""
        self.settings.show("stream", "status", "dropped", 0)
        self.settings.show("stream", "config", "mode", "disabled")

    def _arm(self) -> dict[str, Any]:
        with self._lock:
            if self.settings.state != "idle":
                raise Refused(f"arm is not allowed in state {self.settings.state}")
            settings = self.settings
            channels = settings.channels
            if not channels:
                raise Refused("no threshold is enabled")
            couplings.refuse_series(settings.of["detector", "config"], api=settings.api)
            settings.state = "configure"
            self._wait(self.faults.slow_arm)
            self._number += 1
            settings.show("stream", "status", "dropped", 0)  # SIMPLON API 1.8, p. 47
            pictures = self._pixels.prepare(
                settings.dtype, settings["compression"], len(channels), settings.frames
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

    def _show(self, series: int, number: int, picture: Picture) -> None:
        settings = self.settings
        if settings.get("monitor", "config", "mode") != "enabled":
            return
        size, discard = (settings.get("monitor", "config", key) for key in ("buffer_size", "discard_new"))
        channels = {name.removeprefix("threshold_"): settings.energy(name) for name in settings.channels}
        self.monitor.add(Shown(series, number, picture, channels), size, discard_new=discard)
