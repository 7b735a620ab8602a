"""Every device of the fleet read once, at the same time, with a deadline: for terminals and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import tango

from penstock.gui.model.fleet.pages import at_once
from penstock.gui.model.fleet.row import Row, asked, away, faults_first, row
from penstock.gui.model.tango import errors
from penstock.gui.model.tango.directory import DirectoryEntry
from penstock.gui.model.tango.values import plain


class Reading(NamedTuple):
    """What the devices have said until the deadline."""

    rows: list[Row]
    """Faults first; a device that has not answered is away."""
    late: bool
    """Devices that have not answered; their calls continue, since Tango cannot cancel them."""


def read_rows(found: Sequence[DirectoryEntry], deadline: float) -> Reading:
    """Read every device.

    Args:
        found: the devices, as the database has them.
        deadline: in seconds.
    """
    rows: dict[str, Row] = {}
    late = at_once([partial(_read, each, rows) for each in found], deadline)
    why = f"It does not answer within {deadline:g} s. Is its host very busy, or does its server hang?"
    return Reading(faults_first(rows.get(each.name) or away(row(each, {}), why) for each in found), late)


def _read(found: DirectoryEntry, rows: dict[str, Row]) -> None:
    questions = asked(found.kind)
    with tango.EnsureOmniThread():
        try:
            # With Tango's own time-out of 3 s: setting another one waits for the server, and for that time
            # PyTango blocks all other threads.
            device = tango.DeviceProxy(found.name)
            read = device.read_attributes(sorted(questions.only))
            url = device.get_property(questions.address)[questions.address]
        except tango.DevFailed as error:
            rows[found.name] = away(row(found, {}), errors.away(found.name, error))
            return
    # An attribute that this device does not have has failed.
    values = {each.name: plain(each) for each in read if not each.has_failed}
    rows[found.name] = row(found, values, url[0] if url else "")
