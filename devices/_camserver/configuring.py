"""Before a series: how camserver says that it counts, whether the images fit on its disk, what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.codecs.cbf_header import facts_of
from penstock.devices._camserver.client import Camserver
from penstock.devices._camserver.modes import Plan
from penstock.devices._camserver.parameters import RETRIGGER
from penstock.devices._camserver.protocol import Answer, number_in, trim_file_in
from penstock.streamer.camera.settings import TriggerMode, Value
from penstock.streamer.camera.unit import CameraError

OF_SENSOR = ("sensor_material", "sensor_thickness")
"""What is the same in all series of a detector."""


class Counting:
    """How camserver counts, for the file: what it says at Arm, and what the images of the last series said.

    It is asked for its rate correction before each series, as ADPilatus does ([ad] `setAcquireParams`): live
    regions and consumers count saturated pixels from the start message on. What it says of itself is not all:
    the header of the first image has more, which the light streamer sends with the end message.
    """

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


MARGIN = 1.1
"""How much larger than the largest image so far the next one may be."""
HEAD = 8192
"""Bytes of a CBF file beside its pixels: header and padding."""


class Space:
    """What images have taken of the RAM disk so far: camserver refuses a series that does not fit there.

    Source: maxiv-science/contrast `contrast/detectors/Pilatus.py` line 343 (seen at MAX IV).

    Args:
        bytes_per_pixel: what they take as long as there was none.
    """

    def __init__(self, bytes_per_pixel: float) -> None:
        self._bytes_per_pixel = bytes_per_pixel
        self._largest = 0

    def see(self, largest: int) -> None:
        """Take the bytes of the largest image that the light streamer has seen."""
        self._largest = max(self._largest, largest)

    def frame_bytes(self, shape: tuple[int, int]) -> int:
        """Return the bytes that an image of this shape is taken to need."""
        if self._largest:
            return int(MARGIN * self._largest) + HEAD
        rows, columns = shape
        return int(self._bytes_per_pixel * rows * columns) + HEAD

    def fitting(self, free: int, shape: tuple[int, int]) -> int:
        """Return how many images fit into so many bytes."""
        return free // self.frame_bytes(shape)

    def refuse(self, plan: Plan, free: int, shape: tuple[int, int], address: str) -> None:
        """Refuse a series that does not fit.

        Raises:
            CameraError: the sentence says how many images do.
        """
        fit = self.fitting(free, shape)
        if plan.images > fit:
            known = "the largest so far, and a tenth" if self._largest else "property BytesPerPixel"
            raise CameraError(
                f"{plan.images} images of {self.frame_bytes(shape) / 1e6:.3g} MB ({known}) do not fit on the "
                f"RAM disk of {address}, which has {free / 1e6:.3g} MB free: at most {fit} do; take fewer, "
                "or make room: Reset removes what earlier series have left there"
            )


MODULE = (195, 487)
"""Rows and columns of a module (pyFAI `detectors/_dectris.py`). A detector of one has no gaps, and no GapFill
([ad] `setAcquireParams`)."""
DELAYED = (TriggerMode.EXTERNAL, TriggerMode.EXTERNAL_MULTI)
"""Modes with a delay after the edge; the other commands reset it ([um] p. 53-54)."""


def configure(
    camserver: Camserver, plan: Plan, local: Mapping[str, Value], shape: tuple[int, int]
) -> tuple[float, float]:
    """Write what a series needs; return exposure and period as camserver has them, in seconds.

    NImages and GapFill are always written: a new threshold resets them ([ad] `setThreshold`).

    Args:
        camserver: connected.
        plan: of the series.
        local: values of `parameters.LOCAL`.
        shape: rows and columns of the sensor.

    Raises:
        CameraError: camserver does not take a value.
    """
    gated = plan.mode is TriggerMode.EXTERNAL_MULTI_GATE
    camserver.set_if_known("SetAckInt", 0)  # 7 OK for the last image only ([lima] `_resync`)
    camserver.set("NImages", plan.images)
    camserver.set("NExpFrame", int(local["GatesPerFrame"]) if gated else 1)
    if shape != MODULE:
        camserver.set("GapFill", -1 if local["GapFill"] else 0)
    if gated:
        camserver.set_if_known("DebTime", float(local["DebounceTime"]))
    if plan.mode in DELAYED:
        camserver.set("Delay", float(local["Delay"]))
    retrigger = RETRIGGER[str(local["RetriggerMode"])]
    if retrigger is not None:
        camserver.set("SetRetriggerMode", retrigger)
    exposure = _taken(camserver.set("ExpTime", plan.exposure), plan.exposure)
    return exposure, _taken(camserver.set("ExpPeriod", plan.period), plan.period)


def _taken(answer: Answer, asked: float) -> float:
    found = number_in(answer, "set to")
    return asked if found is None else found
