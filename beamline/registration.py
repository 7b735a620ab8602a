"""The registration of devices in a Tango database."""

from __future__ import annotations

from collections.abc import Mapping

import tango


def register(
    database: tango.Database, server: str, kind: str, device: str, properties: Mapping[str, str]
) -> None:
    """Register one device, or change it.

    Args:
        database: the open database.
        server: server and instance, such as "Simulator/sim".
        kind: Tango class.
        device: device name, of three parts.
        properties: device properties to set; others remain.
    """
    if not _is_there(database, server, kind, device):
        info = tango.DbDevInfo()
        info.server = server
        info._class = kind
        info.name = device
        database.add_device(info)
    if properties:
        database.put_device_property(device, {name: [value] for name, value in properties.items()})


def _is_there(database: tango.Database, server: str, kind: str, device: str) -> bool:
    """Return whether it is registered like this: adding it again would mark it as not running."""
    try:
        found = database.get_device_info(device)
    except tango.DevFailed:
        return False
    return (found.ds_full_name.lower(), found.class_name.lower()) == (server.lower(), kind.lower())


def is_known(database: tango.Database, server: str) -> bool:
    """Return whether the database has the server itself, as the wizards of Jive and Astor enter it before
    they start it; it may be without devices."""
    return _is_there(database, server, "DServer", f"dserver/{server}")


def registered(database: tango.Database, server: str) -> dict[str, str]:
    """Return the class of each device of a server by device name, without the server's DServer."""
    pairs = list(database.get_device_class_list(server).value_string)
    devices = dict(zip(pairs[::2], pairs[1::2], strict=True))
    return {name: kind for name, kind in devices.items() if kind != "DServer"}
