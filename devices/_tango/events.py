"""The events of our Tango devices: change events for clients, archive events for archivers.

Both are pushed by code, so that nothing has to be polled. Every change of a value is a change event. Of
archive events Tango chooses those that archive_abs_change or archive_rel_change of the attribute's
configuration let through, as set in Jive; a text, a truth value or a state passes with each change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tango.server import Device

OPTIONS: Mapping[str, Any] = {
    "change_event_implemented": True, "change_event_detect": False,
    "archive_event_implemented": True, "archive_event_detect": True,
}  # fmt: skip
"""Options of the declaration of an attribute whose changes are pushed."""


def has_events(device: Device, name: str) -> None:
    """Declare that the changes of an attribute are pushed, for one that is not declared with `OPTIONS`."""
    device.set_change_event(name, True, False)
    device.set_archive_event(name, True, True)


def push(device: Device, name: str, *value: Any) -> None:
    """Push a new value of an attribute.

    Args:
        device: the device.
        name: of the attribute.
        value: the value, and its time and quality if they are not now and valid; nothing for State and
            Status, of which Tango takes what was set.

    Raises:
        tango.DevFailed: the device's monitor was not free in time.
    """
    device.push_change_event(name, *value)
    device.push_archive_event(name, *value)
