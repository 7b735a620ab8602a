"""The property Host of DECTRIS' detectors, for SIMPLON and for camserver."""

from __future__ import annotations

import re

from penstock.streamer.camera.settings import Parameter
from penstock.streamer.camera.unit import CameraError

HOST = Parameter(name="Host", default="", required=True, doc="Name or address of the control unit.")
_PATTERN = re.compile(r"[\w.%:-]+")
"""Pattern of host names and addresses."""


def host_of(given: str, port: str) -> str:
    """Return the property Host.

    Args:
        given: its value.
        port: what the property Port is, for the sentence.

    Raises:
        CameraError: it is empty, or contains more than a host.
    """
    if not given:
        raise CameraError("the property Host is empty; set it to the address of the detector's control unit")
    if not _PATTERN.fullmatch(given) or given.count(":") == 1:
        raise CameraError(
            f"the property Host is {given!r}; set it to only the name or address of the detector's control "
            f"unit, such as 192.168.0.80, and the property Port to {port}"
        )
    return given
