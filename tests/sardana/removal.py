"""Removing what Sardana has, although Tango may crash as it deletes a device.

See docs/reference/sardana.md, "Removing a channel".
"""

from __future__ import annotations

import tango

from penstock.sardana.laboratory.laboratory import SARDANA, Laboratory


def remove_group(laboratory: Laboratory, name: str) -> None:
    """Remove a measurement group; where Sardana has crashed as it did so, start it and go on from there."""
    database = tango.Database(*laboratory.tango_host.split(":"))
    while name in database.get_device_alias_list(name):
        try:
            laboratory.define("udefmeas", name)
        except tango.DevFailed:
            if laboratory.process(SARDANA).wait(10.0) is None:
                raise
            laboratory.restart(SARDANA)
