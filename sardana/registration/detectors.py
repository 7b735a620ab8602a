"""Channels of Penstock detectors in a Pool: a controller and its axis for each."""

from __future__ import annotations

from collections.abc import Callable

import tango

from penstock.sardana.registration.elements import (
    blocked,
    delete,
    properties_of,
    why_no_detector,
    why_not_named,
)
from penstock.sardana.registration.paths import Change, Target

CLASS, LIBRARY, TYPE = "PenstockDetector", "penstock_detector.py", "TwoDExpChannel"


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
    controller = f"{name}_ctrl"
    found = properties_of(database, controller, CLASS, ["DetectorDevice"])
    there, held = found is not None, found[0] if found else ""
    blocked_by = blocked(pool, CLASS, remove=remove)
    label = f"channel {name} of {pool.device}"
    if remove:
        return Change(
            "detector", label, "remove" if there else "none", pool.server, (held,) if there else None,
            blocked_by=blocked_by, do=delete(database, pool, [name, controller]),
        ), ""  # fmt: skip
    same = there and held.lower() == device.lower()
    change = Change(
        "detector", label, "none" if same else "add", pool.server, None, (device,), blocked_by,
        _create(pool, name, controller, device),
    )  # fmt: skip
    return change, "" if same else _refusal(database, name, controller, device, held)


def _refusal(database: tango.Database, name: str, controller: str, device: str, held: str) -> str:
    if held:
        return f"{name} is the channel of {held}; choose another name, or remove it first"
    return why_not_named(database, [name, controller], device) or why_no_detector(database, device)


def _create(pool: Target, name: str, controller: str, device: str) -> Callable[[], None]:
    def create() -> None:
        proxy = tango.DeviceProxy(pool.device)
        proxy.CreateController([TYPE, LIBRARY, CLASS, controller, "DetectorDevice", device])
        proxy.CreateElement([TYPE, controller, "1", name])

    return create
