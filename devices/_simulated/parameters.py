"""The properties of a simulated detector, its settings and its readings."""

from __future__ import annotations

import math
import time

from penstock.streamer.camera.settings import Limits, Parameter
from penstock.streamer.simulated.patterns import PATTERNS

AMBIENT = 25.0
"""Degrees Celsius."""
TIME_CONSTANT = 20.0
"""Seconds."""


class Cooler:
    """Approaches its set point exponentially, from ambient temperature."""

    def __init__(self) -> None:
        self._from, self._since, self._target = AMBIENT, time.monotonic(), AMBIENT

    def aim(self, target: float) -> None:
        """Set the set point, in degrees Celsius."""
        if target != self._target:
            self._from, self._since, self._target = self.temperature(), time.monotonic(), target

    def temperature(self) -> float:
        """Return the present temperature, in degrees Celsius."""
        elapsed = time.monotonic() - self._since
        return self._target + (self._from - self._target) * math.exp(-elapsed / TIME_CONSTANT)


POSITIVE = Limits(0.0, None)
SCENES = (*PATTERNS, "recording")
PIXEL_TYPES = ("uint8", "uint16", "uint32", "int32", "float32")

UNIT: tuple[Parameter, ...] = (
    Parameter(
        name="SensorWidth", default=1024, unit="pixel", limits=Limits(8, 16384), doc="Columns of the sensor."
    ),
    Parameter(
        name="SensorHeight", default=512, unit="pixel", limits=Limits(8, 16384), doc="Rows of the sensor."
    ),
    Parameter(
        name="Modules", default=1, limits=Limits(1, 64), doc="Modules per frame; above 1 frames are 3-D."
    ),
    Parameter(name="PixelType", default="uint16", choices=PIXEL_TYPES, doc="NumPy name of the pixel type."),
    Parameter(name="PixelSize", default=75e-6, unit="m", limits=Limits(1e-7, 1e-2), doc="Pixel pitch."),
    Parameter(name="MinExposure", default=1e-5, unit="s", limits=POSITIVE, doc="Least ExposureTime."),
    Parameter(name="MaxExposure", default=3600.0, unit="s", limits=POSITIVE, doc="Greatest ExposureTime."),
    Parameter(
        name="ReadoutTime",
        default=1e-4,
        unit="s",
        limits=Limits(0, 10),
        doc="Least dead time between frames.",
    ),
    Parameter(name="TriggerCounter", default=True, doc="True: counts edges; false: only frames."),
    Parameter(name="SerialNumber", default="SIM-0001", doc="Serial number of this unit."),
    Parameter(name="CameraModel", default="Penstock Simulator", doc="Name of the model."),
    Parameter(name="TriggerHost", default="127.0.0.1", doc="Address of the trigger input."),
    Parameter(
        name="TriggerPort",
        default=0,
        limits=Limits(0, 65535),
        doc="UDP port of the trigger input; 0 for any.",
    ),
)

SETTINGS: tuple[Parameter, ...] = (
    Parameter(name="Pattern", default="gradient", choices=SCENES, doc="What the detector sees."),
    Parameter(name="Recording", default="", doc="File that is replayed; HDF5 as file.h5::/path."),
    Parameter(name="Energy", default=12400.0, unit="eV", limits=Limits(1e3, 2e5), doc="Photon energy."),
    Parameter(
        name="Threshold", default=6200.0, unit="eV", limits=Limits(5e2, 1e5),
        doc="Least energy of photons that are counted.",
    ),
    Parameter(
        name="PhotonFlux", default=1e4, unit="1/s", limits=POSITIVE,
        doc="Photons per second in the brightest pixel.",
    ),
    Parameter(name="AOILeft", default=0, unit="pixel", limits=POSITIVE, doc="First column read out."),
    Parameter(name="AOITop", default=0, unit="pixel", limits=POSITIVE, doc="First row read out."),
    Parameter(name="AOIWidth", default=0, unit="pixel", limits=POSITIVE, doc="Columns; 0 for the rest."),
    Parameter(name="AOIHeight", default=0, unit="pixel", limits=POSITIVE, doc="Rows; 0 for the rest."),
    Parameter(
        name="Compression",
        default="none",
        choices=("none", "bslz4"),
        doc="Compression of the frames as sent.",
    ),
    Parameter(
        name="TargetSensorTemperature", default=AMBIENT, unit="degC", limits=Limits(-40, 40),
        memorized=True, doc="Set point of the cooler.",
    ),
    Parameter(
        name="SensorTemperature", default=AMBIENT, unit="degC", writable=False, format="%4.1f",
        doc="Temperature of the sensor.",
    ),
    Parameter(name="TriggerAddress", default="", writable=False, doc="UDP address of the trigger input."),
    Parameter(
        name="Faults", default="", doc="Faults of the next series, such as die_at=5; drop=2,7; lose_end."
    ),
)  # fmt: skip
