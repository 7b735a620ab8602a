"""The paths of the REST interface, and their calls.

Paths: SIMPLON API 1.8, "General Usage"; the lists `keys` are as fastcs-eiger reads them. Paths under
`/simulator` are the simulator's own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.streamer.simulated.simplon import darray
from penstock.streamer.simulated.simplon.box import Box, Faults
from penstock.streamer.simulated.simplon.monitor import PATIENCE, Shown, tiff
from penstock.streamer.simulated.simplon.pixels import unpacked
from penstock.streamer.simulated.simplon.settings import CHANGE_STATES, UNINITIALISED, now
from penstock.streamer.simulated.simplon.subsystems import COMMANDS
from penstock.streamer.simulated.triggers import Edge

LONGEST_WAIT = 600.0
"""Most seconds for which a client may wait for an image."""


class Failure(Exception):
    """An HTTP status and its sentence."""


class Routes:
    """What requests do; any thread may call them.

    All methods raise `Failure`, and `KeyError` (404), `PermissionError` (403), and `ValueError`, `TypeError`,
    `Refused` or `msgspec.ValidationError` (400).
    """

    def __init__(self, box: Box, api: str, power: Callable[[bool], None] | None) -> None:
        """`power` switches the box off and on."""
        self._box, self._api, self._power = box, api, power

    def get(self, path: list[str], query: dict[str, list[str]]) -> Any:
        """Return what a path has: a dict or a list, or a TIFF."""
        box = self._box
        if path == ["simulator", "faults"]:
            return msgspec.to_builtins(box.faults)
        subsystem, section, name = self._split(path)
        if section == "version":
            return {"value": self._api, "value_type": "string"}
        if (subsystem, section) == ("monitor", "images"):
            return self._images(name.split("/"), query)
        if section == "command":
            return self._command(subsystem, name)
        if subsystem == "filewriter" and section == "files":
            return box.settings.get("filewriter", "status", "files")
        with box.settings.lock:
            if name in ("", "keys"):
                return box.settings.keys(subsystem, section)
            if (subsystem, section) == ("detector", "config") and not box.settings.has(name):
                table = box.settings.table(name)
                return darray.encoded(table, "rw" if name in box.settings.tables else "r")
            box.show_status()
            key = box.settings.key(subsystem, section, name)
            if name == "time":
                key.value = now()
            return key.answer()

    def put(self, path: list[str], body: Any) -> Any:
        """Set a key or execute a command."""
        box = self._box
        if path[:1] == ["simulator"]:
            return self._simulator(path[1:], body)
        subsystem, section, name = self._split(path)
        value = body.get("value") if isinstance(body, dict) else None
        if section == "command":
            return box.command(name, value, subsystem)
        if section != "config":
            raise PermissionError(f"{'/'.join(path)} is read-only")
        self._refuse_when_busy(subsystem)
        if value is None:
            raise ValueError('the body must be {"value": …}')
        begun = time.monotonic()
        while time.monotonic() - begun < box.faults.slow_put:  # it may be changed meanwhile
            time.sleep(0.01)
        if isinstance(value, dict):
            value = darray.decoded(value)
        changed = set(box.settings.put(subsystem, name, value))
        if subsystem == "detector":
            more, box.faults.changed = box.faults.changed, {}
            for other, changed_value in more.items():
                changed |= set(box.settings.put("detector", other, changed_value))
        return sorted(changed)

    def delete(self, path: list[str], _: Any) -> Any:
        """Restore the default of a table."""
        subsystem, section, name = self._split(path)
        if (subsystem, section) != ("detector", "config"):
            raise PermissionError(f"{'/'.join(path)} cannot be deleted")
        self._refuse_when_busy(subsystem)
        self._box.settings.delete(name)
        return {}

    def _refuse_when_busy(self, subsystem: str) -> None:
        state = self._box.settings.state
        if subsystem == "detector" and state not in (*CHANGE_STATES, UNINITIALISED):
            raise Failure(403, f"the configuration cannot be set in state {state}")

    def _split(self, path: list[str]) -> tuple[str, str, str]:
        """Return subsystem, section and key.

        Raises:
            Failure: another version, as a real control unit refuses it.
            KeyError: no such path.
        """
        if len(path) < 3 or path[1] != "api":
            raise KeyError("/".join(path))
        if path[2] == "version":
            return path[0], "version", ""
        if path[2] != self._api:
            raise Failure(400, f"Incompatible version {path[2]}; this is {self._api}")
        if len(path) < 4:
            raise KeyError("/".join(path))
        return path[0], path[3], "/".join(path[4:])

    def _command(self, subsystem: str, name: str) -> Any:
        commands = sorted(COMMANDS[subsystem])
        if name in ("", "keys"):
            return commands
        if name not in commands:
            raise KeyError(name)
        return {"access_mode": "w"}

    def _images(self, path: list[str], query: dict[str, list[str]]) -> Any:
        """Return the list of images, or one as TIFF: 408 if none comes in time."""
        monitor = self._box.monitor
        seconds = PATIENCE
        if "timeout" in query:
            seconds = min(int(query["timeout"][0]) / 1000, LONGEST_WAIT)
        match path:
            case [""]:
                return monitor.listed()
            case ["monitor"]:
                image = monitor.latest(seconds)
            case ["next"]:
                image = monitor.next(seconds)
            case [series, number, *threshold] if series.isdecimal() and number.isdecimal():
                return _tiff(monitor.find(int(series), int(number)), *threshold)
            case _:
                raise KeyError("/".join(path))
        if image is None:
            raise Failure(408, "no image in the monitor's buffer")
        return _tiff(image)

    def _simulator(self, path: list[str], body: Any) -> Any:
        box = self._box
        match path:
            case ["faults"]:
                box.faults = msgspec.convert(body or {}, Faults)
                return msgspec.to_builtins(box.faults)
            case ["trigger"]:
                edge = Edge(counter=0, moment=time.monotonic(), gate=float((body or {}).get("gate", 0.0)))
                return {"taken": box.edge(edge)}
            case ["arm"]:
                return box.command("arm")
            case ["power"]:
                if not isinstance(body, dict) or not isinstance(body.get("on"), bool):
                    raise ValueError('the body must be {"on": true} or {"on": false}')
                if self._power is None:
                    raise KeyError("simulator/power")
                self._power(body["on"])
                return {}
        raise KeyError("/".join(["simulator", *path]))


def _tiff(image: Shown, threshold: str | None = None) -> bytes:
    """Return one channel of an image, by default the first.

    Raises:
        KeyError: no such channel.
    """
    names = [*image.channels]
    name = names[0] if threshold is None else threshold
    if name not in names:
        raise KeyError(f"threshold {name}")
    pixels = unpacked(image.picture, names.index(name))
    said = {"series_id": image.series, "image_id": image.number, "threshold": name}
    return tiff(pixels, **said, energy=image.channels[name])
