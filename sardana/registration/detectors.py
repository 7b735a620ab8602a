"""Channels of Penstock detectors in a Pool: a controller and its axis for each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import tango

from penstock.devices._base.interface import PROPERTY
from penstock.sardana.registration.paths import Change, Target

CLASS, LIBRARY, TYPE = "PenstockDetector", "penstock_detector.py", "TwoDExpChannel"
NAME = re.compile(r"[A-Za-z_]\w*")
"""Names that Python, and so spock, can use."""


def compare_detector(
    database: tango.Database, pool: Target, name: str, device: str, *, remove: bool = False
) -> tuple[Change, str]:
    """Find out what is to be done about one channel.

    Args:
        database: of the Pool and the detector.
        pool: the Pool.
        name: of the channel.
        device: Tango name of the detector; "" where it is removed.
        remove: remove channel and controller.

    Returns:
        what is to be done, and the reason against it, or "".
    """
    controller, blocked_by = f"{name}_ctrl", ""
    held = _detector_of(database, controller)
    there = held is not None
    if not pool.runs:
        blocked_by = f"{pool.server} is not running"
    elif not remove and not knows_class(pool):
        blocked_by = f"{pool.server} does not know {CLASS} yet"
    label = f"channel {name} of {pool.device}"
    if remove:
        return Change(
            "detector", label, "remove" if there else "none", pool.server, (held,) if held else None,
            blocked_by=blocked_by, do=_delete(database, pool, name, controller),
        ), ""  # fmt: skip
    same = there and (held or "").lower() == device.lower()
    change = Change(
        "detector", label, "none" if same else "add", pool.server, None, (device,), blocked_by,
        _create(pool, name, controller, device),
    )  # fmt: skip
    return change, "" if same else _refusal(database, name, controller, device, held)


def knows_class(pool: Target) -> bool:
    """Return whether a running Pool has loaded this installation's controllers."""
    from penstock.sardana import plugin

    listed = [json.loads(each) for each in tango.DeviceProxy(pool.device).ControllerClassList or ()]
    return any(each["name"] == CLASS and each["path"] == str(plugin.CONTROLLERS) for each in listed)


def controllers(database: tango.Database) -> list[str]:
    """Return the names of the controllers of Penstock's classes."""
    found = []
    for device in database.get_device_name("*", "Controller"):
        library = database.get_device_property(device, ["library"])["library"]
        if library and library[0].startswith("penstock_"):
            found.append(str(database.get_alias_from_device(device)))
    return found


def _refusal(database: tango.Database, name: str, controller: str, device: str, held: str | None) -> str:
    if not NAME.fullmatch(name):
        return f"{name!r} is not a valid channel name; use letters, digits and _, such as eiger"
    if held:
        return f"{name} is the channel of {held}; choose another name, or remove it first"
    for alias in (name, controller):
        if taken := _device_of(database, alias):
            return f"the name {alias} belongs to {taken}; choose another name for {device}"
    if not _is_detector(database, device):
        return f"{device} is not a Penstock detector in this database; `penstock status --all` lists them"
    return ""


def _is_detector(database: tango.Database, device: str) -> bool:
    try:
        kind = database.get_class_for_device(device)
    except tango.DevFailed:
        return False
    return list(database.get_class_property(kind, PROPERTY)[PROPERTY]) == ["detector"]


def _detector_of(database: tango.Database, controller: str) -> str | None:
    """Return DetectorDevice of a controller of ours; `None` if there is none of this name."""
    device = _device_of(database, controller)
    if not device:
        return None
    held: dict[str, Any] = database.get_device_property(device, ["klass", "DetectorDevice"])
    if list(held["klass"]) != [CLASS]:
        return None
    return str(held["DetectorDevice"][0]) if held["DetectorDevice"] else ""


def _device_of(database: tango.Database, alias: str) -> str:
    try:
        return str(database.get_device_from_alias(alias))
    except tango.DevFailed:
        return ""


def _create(pool: Target, name: str, controller: str, device: str) -> Callable[[], None]:
    def create() -> None:
        proxy = tango.DeviceProxy(pool.device)
        proxy.CreateController([TYPE, LIBRARY, CLASS, controller, "DetectorDevice", device])
        proxy.CreateElement([TYPE, controller, "1", name])

    return create


def _delete(database: tango.Database, pool: Target, name: str, controller: str) -> Callable[[], None]:
    def delete() -> None:
        proxy = tango.DeviceProxy(pool.device)
        for element in (name, controller):
            if _device_of(database, element):  # an earlier try may have got this far
                proxy.DeleteElement(element)

    return delete
