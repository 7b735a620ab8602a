"""Channels of Penstock detectors in a Pool: a controller and its axis for each."""

from __future__ import annotations

from collections.abc import Callable

import tango

from penstock.sardana.registration.elements import (
    blocked,
    check_detector,
    check_names,
    delete,
    properties_of,
)
from penstock.sardana.registration.paths import Change, Target
from penstock.stins.errors import UserError

CLASS, LIBRARY, TYPE = "PenstockDetector", "penstock_detector.py", "TwoDExpChannel"


def compare_detector(
    database: tango.Database, pool: Target, name: str, device: str, *, remove: bool = False
) -> list[Change]:
    """Find out what is to be done about one channel.

    Args:
        database: of the Pool and the detector.
        pool: the Pool.
        name: of the channel.
        device: Tango name of the detector; "" where it is removed.
        remove: remove channel and controller.

    Raises:
        UserError: it cannot be done.
    """
    controller = f"{name}_ctrl"
    found = properties_of(database, controller, CLASS, ["DetectorDevice"])
    there, held = found is not None, found[0] if found else ""
    blocked_by = blocked(pool, CLASS, remove=remove)
    label = f"channel {name} of {pool.device}"
    if remove:
        return [Change(
            "detector", label, "remove" if there else "none", pool.server, (held,) if there else None,
            blocked_by=blocked_by, do=delete(database, pool, [name, controller]),
        )]  # fmt: skip
    same = there and held.lower() == device.lower()
    if held and not same:
        raise UserError(f"{name} is the channel of {held}; choose another name, or remove it first")
    if not same:
        check_names(database, [name, controller], device)
        check_detector(database, device)
    return [Change(
        "detector", label, "none" if same else "add", pool.server, None, (device,), blocked_by,
        _create(pool, name, controller, device),
    )]  # fmt: skip


def _create(pool: Target, name: str, controller: str, device: str) -> Callable[[], None]:
    def create() -> None:
        proxy = tango.DeviceProxy(pool.device)
        proxy.CreateController([TYPE, LIBRARY, CLASS, controller, "DetectorDevice", device])
        proxy.CreateElement([TYPE, controller, "1", name])

    return create
