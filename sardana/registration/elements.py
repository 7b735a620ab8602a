"""What channels in a Pool have in common: who has a name, which classes a Pool knows, how one is removed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

import tango

from penstock.devices._server.interface import PROPERTY
from penstock.sardana.registration.paths import Target
from penstock.stins.errors import UserError

NAME = re.compile(r"[A-Za-z_]\w*")
"""Names that Python, and so spock, can use."""


def blocked(pool: Target, cls: str, *, remove: bool) -> str:
    """Return why channels of this class can neither be made nor removed now, or ""."""
    if not pool.runs:
        return f"{pool.server} is not running"
    return "" if remove or knows_class(pool, cls) else f"{pool.server} does not know {cls} yet"


def knows_class(pool: Target, cls: str) -> bool:
    """Return whether a running Pool has loaded this controller from this installation."""
    from penstock.sardana import plugin

    listed = [json.loads(each) for each in tango.DeviceProxy(pool.device).ControllerClassList or ()]
    return any(each["name"] == cls and each["path"] == str(plugin.CONTROLLERS) for each in listed)


def controllers(database: tango.Database) -> list[str]:
    """Return the names of the controllers of Penstock's classes."""
    found = []
    for device in database.get_device_name("*", "Controller"):
        library = database.get_device_property(device, ["library"])["library"]
        if library and library[0].startswith("penstock_"):
            found.append(str(database.get_alias_from_device(device)))
    return found


def properties_of(
    database: tango.Database, controller: str, cls: str, names: Sequence[str]
) -> list[str] | None:
    """Return properties of a controller of this class, "" for each that it lacks; `None` if there is none."""
    device = device_of(database, controller)
    if not device:
        return None
    held = database.get_device_property(device, ["klass", *names])
    if list(held["klass"]) != [cls]:
        return None
    return [str(held[name][0]) if held[name] else "" for name in names]


def check_names(database: tango.Database, names: Sequence[str], what: str) -> None:
    """Check names of new elements.

    Args:
        database: of the Pool.
        names: of the elements.
        what: they are to be for.

    Raises:
        UserError: one is not valid, or taken.
    """
    for name in names:
        if not NAME.fullmatch(name):
            raise UserError(f"{name!r} is not a valid channel name; use letters, digits and _, such as eiger")
        if taken := device_of(database, name):
            raise UserError(f"the name {name} belongs to {taken}; choose another name for {what}")


def check_detector(database: tango.Database, device: str) -> None:
    """Check a device.

    Raises:
        UserError: it is no detector of Penstock.
    """
    try:
        kind = database.get_class_for_device(device)
    except tango.DevFailed:
        kind = ""
    if not kind or list(database.get_class_property(kind, PROPERTY)[PROPERTY]) != ["detector"]:
        raise UserError(
            f"{device} is not a Penstock detector in this database; `penstock status --all` lists them"
        )


def device_of(database: tango.Database, alias: str) -> str:
    """Return the device of this alias, or ""."""
    try:
        return str(database.get_device_from_alias(alias))
    except tango.DevFailed:
        return ""


def delete(database: tango.Database, pool: Target, names: Sequence[str]) -> Callable[[], None]:
    """Return what removes these elements, in this order."""

    def run() -> None:
        proxy = tango.DeviceProxy(pool.device)
        for name in names:
            if device_of(database, name):  # an earlier try may have got this far
                proxy.DeleteElement(name)

    return run
