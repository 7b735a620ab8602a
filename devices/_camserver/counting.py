"""How camserver counts, for the file: what it says at Arm, and what the images of the last series have said.

It is asked for its rate correction before each series, as ADPilatus does ([ad] `setAcquireParams`): live
regions and consumers count saturated pixels from the start message on. What it says of itself is not all: the
header of the first image has more, which the light streamer sends with the end message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.codecs.cbf_header import facts_of
from penstock.devices._camserver.client import Camserver
from penstock.devices._camserver.protocol import number_in, trim_file_in

OF_SENSOR = ("sensor_material", "sensor_thickness")
"""What is the same in all series of a detector."""


class Counting:
    """See the module."""

    def __init__(self) -> None:
        self._said: dict[str, Any] = {}
        self._sensor: dict[str, Any] = {}

    def ask(self, camserver: Camserver) -> None:
        """Ask camserver, before a series.

        Raises:
            BoxLost: camserver is lost.
        """
        self._said = {}
        more: dict[str, Any] = {}
        rate, trimmed = camserver.said("Tau"), camserver.said("SetThreshold")
        if rate is not None:
            cutoff, tau = number_in(rate, "cutoff"), number_in(rate, "tau")
            self._said |= {"saturation_value": cutoff and int(cutoff)}
            if tau:
                self._said["countrate_correction_applied"] = True
                more["tau"] = tau
        if trimmed is not None and (trim_file := trim_file_in(trimmed)):
            more["trim_file"] = trim_file
        self._said |= {"camserver": more or None}

    def see(self, image_header: str) -> None:
        """Take what the first image of a series has said; "" for nothing."""
        facts = facts_of(image_header)
        self._sensor |= {key: facts[key] for key in OF_SENSOR if key in facts}

    def describe(self) -> Mapping[str, Any]:
        """Return what is known, by the keys of the metadata of a start message."""
        return self._sensor | {key: value for key, value in self._said.items() if value}
