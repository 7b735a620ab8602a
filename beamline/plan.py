"""The difference between a beamline's file and a Tango database: compared first, then written.

Nothing is removed: devices and properties that the file does not name remain as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import tango

from penstock.beamline.checks import check
from penstock.beamline.file import BeamlineFile, PlannedDevice, Settings
from penstock.beamline.registration import registered
from penstock.devices._server.interface import announce
from penstock.devices._server.registry import UnknownCamera
from penstock.devices._server.server import server_classes
from penstock.streamer.camera.loading import CameraFileError

NOT_DEFINED = "DB_DeviceNotDefined"


@dataclass(frozen=True)
class Setting:
    """One property that is to be written."""

    name: str
    """Property of a device or class, as "DataPort", or of an attribute, as "ExposureTime.max_alarm"."""
    before: tuple[str, ...] | None
    """Values in the database; `None` if it has none."""
    after: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """One device or class, and what is to be done with it."""

    what: Literal["device", "class"]
    name: str
    action: Literal["add", "move", "change", "none"]
    server: str = ""
    kind: str = ""
    moved_from: str = ""
    """Server and class under which it is registered now."""
    settings: list[Setting] = field(default_factory=list)
    """Properties to write."""
    untouched: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Device properties of the database that the file does not name."""


@dataclass(frozen=True)
class Plan:
    """The difference, and what is against writing it."""

    entries: list[Entry]
    untouched: dict[str, str]
    """Devices of the file's servers that the file does not name, with their server."""
    warnings: list[str]
    refusals: list[str]

    @property
    def changes(self) -> list[Entry]:
        """Entries that require writing."""
        return [entry for entry in self.entries if entry.action != "none"]


def compare(file: BeamlineFile, database: tango.Database, *, move: bool = False) -> Plan:
    """Compare the file with the database; return the plan.

    Args:
        file: the desired devices.
        database: the present ones.
        move: move a device that is registered under another server or class to those of the file.

    Raises:
        tango.DevFailed: the database does not answer.
    """
    entries, resulting, refusals = [], [], []
    for device in file.devices:
        place = registered_as(database, device.name)
        present = {} if place is None else _present_settings(database, "device", device.name, device.settings)
        moved = (
            ""
            if place is None or same(place, (device.server, device.kind))
            else f"{place[0]}, class {place[1]}"
        )
        if moved and not move:
            refusals.append(
                f"{device.name} is registered under {moved}, the file has it under {device.server}, class "
                f"{device.kind}; correct the file, or move the device with --move"
            )
        settings = _differences(present, device.settings)
        action: Literal["add", "move", "change", "none"] = (
            "add" if place is None else "move" if moved else "change" if settings else "none"
        )
        named = {key[1].lower() for key in device.settings if not key[0]}
        untouched = {
            prop: values
            for (attribute, prop), values in present.items()
            if not attribute and prop.lower() not in named and not prop.startswith("_")
        }
        entries.append(
            Entry("device", device.name, action, device.server, device.kind, moved, settings, untouched)
        )
        rest = {("", prop): values for prop, values in untouched.items()}
        resulting.append(PlannedDevice(device.name, device.server, device.kind, {**rest, **device.settings}))
    for name, wanted in file.classes.items():
        settings = _differences(_present_settings(database, "class", name, wanted), wanted)
        entries.append(Entry("class", name, "change" if settings else "none", settings=settings))
    others = _others(database, file.devices)
    findings = check(resulting, others)
    untouched_devices = {device.name: device.server for device in others}
    return Plan(entries, untouched_devices, findings.warnings, refusals + findings.refusals)


def apply(plan: Plan, database: tango.Database) -> int:
    """Write the plan; return the number of entries written.

    Raises:
        tango.DevFailed: the database refuses; what was written before remains, and the next plan omits it.
    """
    for entry in plan.changes:
        if entry.action in ("add", "move"):
            info = tango.DbDevInfo()
            info.server, info._class, info.name = entry.server, entry.kind, entry.name
            database.add_device(info)
        properties: dict[str, list[str]] = {}
        attributes: dict[str, dict[str, list[str]]] = {}
        for setting in entry.settings:
            attribute, _, prop = setting.name.rpartition(".")
            place = attributes.setdefault(attribute, {}) if attribute else properties
            place[prop] = list(setting.after)
        if properties:
            getattr(database, f"put_{entry.what}_property")(entry.name, properties)
        if attributes:
            getattr(database, f"put_{entry.what}_attribute_property")(entry.name, attributes)
    for server in {entry.server.partition("/")[0] for entry in plan.changes if entry.server}:
        try:
            announce(server_classes(server), database)  # so that panels find them before they are started
        except (UnknownCamera, CameraFileError):
            continue  # the plan has a warning about it
    return len(plan.changes)


def running(database: tango.Database, server: str) -> bool:
    """Return whether a server is running, as far as the database knows."""
    try:
        return bool(database.get_device_info(f"dserver/{server}").exported)
    except tango.DevFailed:
        return False


def registered_as(database: tango.Database, name: str) -> tuple[str, str] | None:
    """Return server and class of a device, `None` if it is not registered."""
    try:
        info = database.get_device_info(name)
    except tango.DevFailed as error:
        if error.args[0].reason == NOT_DEFINED:
            return None
        raise
    return info.ds_full_name, info.class_name


def same(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Return whether two pairs of server and class are the same; Tango ignores case."""
    return [part.lower() for part in one] == [part.lower() for part in other]


def _present_settings(database: tango.Database, what: str, name: str, wanted: Settings) -> Settings:
    """Return all properties of the device or class, and of those attributes that the file names."""
    if what == "device":
        names = list(database.get_device_property_list(name, "*").value_string)
    else:
        names = list(database.get_class_property_list(name).value_string)
    found = getattr(database, f"get_{what}_property")(name, names) if names else {}
    held = {("", prop): tuple(values) for prop, values in found.items()}
    attributes = sorted({attribute for attribute, _ in wanted if attribute})
    if attributes:
        answer: Mapping[str, Any] = getattr(database, f"get_{what}_attribute_property")(name, attributes)
        for attribute, properties in answer.items():
            held |= {(attribute, prop): tuple(values) for prop, values in properties.items()}
    return held


def _differences(held: Settings, wanted: Settings) -> list[Setting]:
    there = {(attribute.lower(), prop.lower()): values for (attribute, prop), values in held.items()}
    differences = []
    for (attribute, prop), values in wanted.items():
        before = there.get((attribute.lower(), prop.lower()))
        if before != values:
            differences.append(Setting(f"{attribute}.{prop}" if attribute else prop, before, values))
    return differences


def _others(database: tango.Database, devices: Iterable[PlannedDevice]) -> list[PlannedDevice]:
    """Return the devices of the same servers that the file does not name."""
    named = {device.name.lower() for device in devices}
    servers = {device.server.lower(): device.server for device in devices}
    return [
        PlannedDevice(name, server, kind, _present_settings(database, "device", name, {}))
        for server in servers.values()
        for name, kind in registered(database, server).items()
        if name.lower() not in named
    ]
