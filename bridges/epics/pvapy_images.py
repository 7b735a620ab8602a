"""Images served by PvaPy's own server, whose distributor shares them out among consumers.

It is found by searches over UDP alone, and served where the variables EPICS_PVAS_… say.
"""

from __future__ import annotations

from typing import Any

import pvaccess

from penstock.bridges.epics.ndarray import RING, Array, Attribute


class PvapyServer:
    """PvaPy's server."""

    def __init__(self) -> None:
        self._server = pvaccess.PvaServer()

    def add(self, name: str) -> PvapyImage:
        """Serve a record of this whole name."""
        self._server.addRecord(name, pvaccess.NtNdArray(), None)
        return PvapyImage(self._server, name)

    def start(self) -> None:
        """Serve them."""
        self._server.start()

    def close(self) -> None:
        """End the server."""
        self._server.stop()


class PvapyImage:
    """Images, one after the other.

    Args:
        server: that has the record.
        name: of the record.
    """

    def __init__(self, server: Any, name: str) -> None:
        self._server, self._name = server, name

    def post(self, array: Array) -> None:
        """Show an array."""
        made = pvaccess.NtNdArray()
        made["value"] = {array.member: array.values}
        made["codec"] = {"name": array.codec, "parameters": (pvaccess.PvInt(array.scalar_type),)}
        made["compressedSize"], made["uncompressedSize"] = array.values.nbytes, array.nbytes
        made["uniqueId"] = array.unique_id
        made["dimension"] = [
            {"size": size, "offset": 0, "fullSize": size, "binning": 1, "reverse": False}
            for size in array.sizes
        ]
        made["dataTimeStamp"] = _stamp(array.time, 0)
        made["timeStamp"] = _stamp(array.time, array.index)
        made["attribute"] = [_attribute(each) for each in array.attributes]
        self._server.update(self._name, made)


def _stamp(when: float, index: int) -> Any:
    seconds, rest = divmod(when, 1)
    return pvaccess.PvTimeStamp(int(seconds), int(rest * 1e9), index % RING)


def _attribute(attribute: Attribute) -> Any:
    value = attribute.value
    if isinstance(value, str):
        made: Any = pvaccess.PvString(value)
    elif isinstance(value, float):
        made = pvaccess.PvDouble(value)
    else:
        made = pvaccess.PvInt(value) if attribute.name == "ColorMode" else pvaccess.PvLong(value)
    found = pvaccess.NtAttribute(attribute.name, made)
    found["descriptor"] = attribute.descriptor
    return found
