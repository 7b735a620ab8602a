"""Checks of a beamline's file against the Tango classes of this installation.

Tango takes any text into its database; a device that cannot use it, or whose port is taken, reports that only
when its server is started.
"""

from __future__ import annotations

import difflib
import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from penstock.beamline.file import PlannedDevice
from penstock.devices._detector.detector import Detector
from penstock.devices._detector.streamer_link import streamer_properties
from penstock.devices._server.registry import UnknownCamera
from penstock.devices._server.server import server_classes, server_names
from penstock.devices._services.pipeline import PenstockPipeline
from penstock.devices._tango.device_properties import (
    ADDRESSES,
    CheckedProperties,
    PropertyRefused,
    property_value,
)
from penstock.streamer.camera.loading import CameraFileError

TANGOS_OWN = (
    "_", "polled_", "non_auto_polled_", "min_poll_period", "poll_", "cmd_", "attr_", "blackbox_depth",
    "logging_",
)  # fmt: skip
"""Prefixes of the properties that Tango itself uses for any device (cppTango, `Tango::DeviceImpl`)."""
Kind = type[CheckedProperties]


@dataclass(frozen=True)
class Findings:
    """What is wrong, and what may be wrong, one sentence each."""

    refusals: list[str]
    warnings: list[str]


def known_properties(kind: Kind) -> dict[str, str]:
    """Return the names of a Tango class's device properties, by the name in lower case."""
    return {name.lower(): name for name in kind.TangoClassClass.device_property_list}


def needed_address(kind: Kind) -> str:
    """Return the name of the one property that is the address of what a device of this class follows."""
    return "PipelineUrl" if issubclass(kind, PenstockPipeline) else "ReceiverUrl"


def missing(kind: Kind, there: Iterable[str]) -> list[str]:
    """Return what is wrong where required properties of a class are not among these names, in sentences."""
    names = {name.lower() for name in there}
    return [
        value_problem(kind, each.name, ())
        for each in kind.checked
        if each.required and each.name.lower() not in names
    ]


def value_problem(kind: Kind, name: str, values: tuple[str, ...]) -> str:
    """Return why a property cannot have this value, "" if it can: its device would be in FAULT.

    Args:
        kind: the Tango class.
        name: name of one of its properties.
        values: the strings of the database.
    """
    (parameter,) = (each for each in kind.checked if each.name == name)
    try:
        property_value(parameter, values)
    except PropertyRefused as refused:
        return str(refused)
    return ""


def check(devices: Iterable[PlannedDevice], others: Iterable[PlannedDevice] = ()) -> Findings:
    """Check the devices as the database would have them.

    Args:
        devices: devices with the settings of the file and those already in the database; the file's win.
        others: devices of the same servers that the file does not name; only their ports matter.
    """
    findings = Findings([], [])
    ports: dict[tuple[str, int], PlannedDevice] = {}
    for device in devices:
        kind = _class_of(device, findings.warnings)
        if kind is None:
            continue
        values = _own_values(device)
        findings.refusals.extend(_refusals(device, kind, values))
        known = known_properties(kind)
        for attribute, prop in device.settings:
            if not attribute and prop.lower() not in known and not prop.lower().startswith(TANGOS_OWN):
                names = ", ".join(known.values())
                findings.warnings.append(
                    f"{device.name}: {kind.__name__} has no property {prop}; it has {names}"
                )
        if port := _port(kind, values):
            if port in ports:
                _check_port(port, ports[port], device, findings)
            ports.setdefault(port, device)
    for device in others:
        kind = _class_of(device, [])
        port = None if kind is None else _port(kind, _own_values(device))
        if port in ports:
            _check_port(port, ports[port], device, findings)
    return findings


def _own_values(device: PlannedDevice) -> dict[str, tuple[str, ...]]:
    return {prop.lower(): texts for (attribute, prop), texts in device.settings.items() if not attribute}


def _class_of(device: PlannedDevice, warnings: list[str]) -> Kind | None:
    server, _, _ = device.server.partition("/")
    try:
        classes = {kind.__name__.lower(): kind for kind in server_classes(server)}
    except UnknownCamera:
        near = difflib.get_close_matches(server, server_names(), 1, 0.75)
        meant = f"; did you mean {near[0]}?" if near else f" (it has {', '.join(server_names())})"
        why = f"this installation has no server {server}{meant}"
    except CameraFileError as error:
        why = str(error)
    else:
        if kind := classes.get(device.kind.lower()):
            return kind
        names = ", ".join(kind.__name__ for kind in classes.values())
        why = f"the server {server} has no class {device.kind} (it has {names})"
    warnings.append(f"{device.name}: {why}; its properties are not checked")
    return None


def _refusals(device: PlannedDevice, kind: Kind, values: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    name = needed_address(kind)
    if not any(values.get(name.lower(), ())):
        address = ADDRESSES[name]
        given = f'"{name}": ["{address.example}"]'
        yield f"{device.name} has no {name}; give the address of {address.of}: {given}"
    # Of those that are required it was said already.
    empty = {each.name.lower() for each in kind.checked if each.required} - {
        low for low, texts in values.items() if any(texts)
    }
    there = [low for low, texts in values.items() if any(texts)]
    for sentence in missing(kind, [*there, name]):
        yield f"{device.name}: {sentence}"
    for low, name in known_properties(kind).items():
        if low in values and low not in empty and (problem := value_problem(kind, name, values[low])):
            yield f"{device.name}: {problem}"


def _port(kind: Kind, values: Mapping[str, tuple[str, ...]]) -> tuple[str, int] | None:
    """Return the address that the detector's own streamer binds; `None` without one, or for any free port."""
    if (
        not issubclass(kind, Detector)
        or not streamer_properties(kind.camera)
        or any(values.get("streamercontrol", ()))
    ):
        return None
    defaults = kind.TangoClassClass.device_property_list
    (host,) = values.get("datahost", (defaults["DataHost"][2],))[:1]
    (port,) = values.get("dataport", (str(defaults["DataPort"][2]),))[:1]
    return (host, int(port)) if port.isdecimal() and int(port) else None


def _check_port(port: tuple[str, int], one: PlannedDevice, other: PlannedDevice, findings: Findings) -> None:
    host, number = port
    both = f"{one.name} and {other.name} both have the DataPort {number} of {host}"
    if one.server.lower() == other.server.lower() or not _means_this_host(host):
        findings.refusals.append(f"{both}, and one of them cannot bind it; give each a DataPort of its own")
    else:
        findings.warnings.append(
            f"{both}: this works only on different hosts; if {one.server} and {other.server} run on one "
            "host, give each a DataPort of its own"
        )


def _means_this_host(host: str) -> bool:
    """Return whether the address is of whichever machine uses it, such as 127.0.0.1 and 0.0.0.0."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return host.lower() == "localhost"
    return address.is_loopback or address.is_unspecified
