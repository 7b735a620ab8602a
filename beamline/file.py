"""The file that lists a beamline's devices: the JSON format of dsconfig (`json2tango`, `tango2json`).

Both of its forms are read: {"servers": {SERVER: {INSTANCE: {CLASS: {DEVICE: …}}}}}, and the older form with
"SERVER/INSTANCE" as one key. A device has "properties" and "attribute_properties", each a list of strings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.stins.errors import UserError

DEVICE_NAME = re.compile(r"[^/\s:#]+(/[^/\s:#]+){2}")
SERVER_NAME = re.compile(r"[^/\s]+")
AN_EXAMPLE = '{"servers": {"Simulator": {"lab": {"Simulator": {"lab/det/1": {"properties": {…}}}}}}}'

Settings = Mapping[tuple[str, str], tuple[str, ...]]
"""Values by attribute and property; the attribute is "" for a property of the device or class itself."""


class BeamlineFileError(UserError):
    """The file is wrong: one sentence per fault."""

    def __init__(self, path: Path, sentences: list[str]) -> None:
        super().__init__("\n  ".join([f"{path} cannot be right:", *sentences]))


@dataclass(frozen=True)
class PlannedDevice:
    """One device of the file."""

    name: str
    server: str
    """Server and instance: "Simulator/lab"."""
    kind: str
    """Tango class."""
    settings: Settings


@dataclass(frozen=True)
class BeamlineFile:
    """The contents of the file."""

    path: Path
    devices: list[PlannedDevice]
    classes: dict[str, Settings]
    tango_host: str
    """The database that was dumped into the file; "" if the file does not say."""
    unread: list[str]
    """Contents that are not written to the database, one sentence each."""


class _DuplicateKey(Exception):
    pass


def load(path: Path) -> BeamlineFile:
    """Read the file.

    Raises:
        BeamlineFileError: it cannot be read, is not JSON, or does not have this form.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_unique)
        json.dumps(data, ensure_ascii=False).encode()
    except OSError as error:
        raise BeamlineFileError(path, [f"it cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise BeamlineFileError(path, [f"it is not UTF-8 text: byte {error.start} is invalid"]) from error
    except UnicodeEncodeError as error:
        half = json.dumps(error.object[error.start])
        raise BeamlineFileError(path, [f"it contains {half}, which is half of a character"]) from error
    except RecursionError as error:
        raise BeamlineFileError(path, ["it is nested too deeply for a list of devices"]) from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise BeamlineFileError(
            path, [f"it is not JSON: {error.msg} at {where}; write it as dsconfig does"]
        ) from error
    except _DuplicateKey as error:
        raise BeamlineFileError(path, [f'the key "{error}" occurs twice in one object']) from error
    reading = _Reading()
    file = reading.file(path, data)
    if reading.wrong:
        raise BeamlineFileError(path, reading.wrong)
    return file


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is given twice: the last one would replace the first, and a device be lost."""
    seen: set[str] = set()
    for key, _ in pairs:
        if key.lower() in seen:  # Tango's names are case-insensitive
            raise _DuplicateKey(key)
        seen.add(key.lower())
    return dict(pairs)


class _Reading:
    """Reads the whole file and collects everything that is wrong with it."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.unread: list[str] = []

    def file(self, path: Path, data: Any) -> BeamlineFile:
        if not isinstance(data, dict) or not ({"servers", "classes"} & set(data)):
            self.wrong.append(f'it has no "servers"; an example: {AN_EXAMPLE}')
            data = {}
        for key in data:
            if key not in ("servers", "classes", "tango_host") and not key.startswith("_"):
                self.wrong.append(
                    f'"{key}" is not a known key; devices are listed under "servers", by server and class'
                )
        devices = [
            device
            for name, instances in self._object(data.get("servers", {}), '"servers"')
            for server, classes in self._instances(name, instances)
            for kind, members in self._object(classes, server)
            for device in self._devices(server, kind, members)
        ]
        self._once(devices)
        classes = {
            name: self._settings(name, members)
            for name, members in self._object(data.get("classes", {}), '"classes"')
        }
        host = str(data.get("tango_host", ""))
        return BeamlineFile(path, devices, classes, host, self.unread)

    def _object(self, value: Any, where: str) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict):
            yield from value.items()
        else:
            self.wrong.append(f"{where} holds {json.dumps(value)}, not an object: {AN_EXAMPLE}")

    def _instances(self, name: str, value: Any) -> Iterator[tuple[str, Any]]:
        pairs = (
            [(name, value)]
            if "/" in name
            else [(f"{name}/{key}", each) for key, each in self._object(value, f'the server "{name}"')]
        )
        for server, classes in pairs:
            if all(SERVER_NAME.fullmatch(part) for part in server.split("/", 1)):
                yield server, classes
            else:
                self.wrong.append(f'"{server}" is not a server and instance, such as Simulator/lab')

    def _devices(self, server: str, kind: str, members: Any) -> Iterator[PlannedDevice]:
        for name, value in self._object(members, f"the class {kind} of {server}"):
            if DEVICE_NAME.fullmatch(name):
                yield PlannedDevice(name, server, kind, self._settings(name, value))
            else:
                self.wrong.append(
                    f'{server}, {kind}: "{name}": a device name has three parts, such as lab/det/1'
                )

    def _once(self, devices: list[PlannedDevice]) -> None:
        places: dict[str, str] = {}
        for device in devices:
            place = f"{device.server}, {device.kind}"
            if (other := places.setdefault(device.name.lower(), place)) != place:
                self.wrong.append(f"{device.name} is listed twice: under {other}, and under {place}")

    def _settings(self, name: str, value: Any) -> Settings:
        settings: dict[tuple[str, str], tuple[str, ...]] = {}
        for key, members in self._object(value, name):
            if key == "properties":
                for prop, texts in self._object(members, f'"properties" of {name}'):
                    settings["", prop] = self._texts(f"{prop} of {name}", texts)
            elif key == "attribute_properties":
                for attribute, props in self._object(members, f'"attribute_properties" of {name}'):
                    for prop, texts in self._object(props, f"{attribute} of {name}"):
                        settings[attribute, prop] = self._texts(f"{attribute}.{prop} of {name}", texts)
            elif key == "alias":
                self.unread.append(f"the alias of {name}: json2tango and Jive set aliases")
            else:
                self.wrong.append(f'{name} has "{key}"; a device has "properties" and "attribute_properties"')
        return settings

    def _texts(self, where: str, value: Any) -> tuple[str, ...]:
        if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            return tuple(value)
        if value == []:
            self.wrong.append(
                f"{where} is an empty list; properties are not removed here, remove them in Jive"
            )
        else:
            values = value if isinstance(value, list) else [value]
            wanted = json.dumps([each if isinstance(each, str) else json.dumps(each) for each in values])
            self.wrong.append(f"{where} is {json.dumps(value)}; Tango takes a list of strings: {wanted}")
        return ()
