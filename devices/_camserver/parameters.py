"""The parameters of a PILATUS3: properties, settings and readings.

Commands: [um] chapter 14, p. 52-59; what the channels of THread are: p. 57.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from penstock.devices._dectris.host import HOST
from penstock.stins.addresses import host_port
from penstock.streamer.camera.settings import Limits, Parameter
from penstock.streamer.camera.unit import CameraError

PORT = 41234
"""TCP port of camserver ([um] 6.2.2 p. 19)."""
LIGHT_PORT, STREAM_PORT = 9998, 9999
"""Ports of the light streamer: requests, and frames."""

PROPERTIES: tuple[Parameter, ...] = (
    HOST,
    Parameter(name="Port", default=PORT, limits=Limits(1, 65535), doc="TCP port of camserver."),
    Parameter(
        name="LightStreamer", default="",
        doc="HOST:PORT of the light streamer's requests; empty means Host, and port 9998.",
    ),
    Parameter(
        name="StreamPort", default=STREAM_PORT, limits=Limits(1, 65535),
        doc="TCP port at which the light streamer sends frames.",
    ),
    Parameter(
        name="ImageFolder", default="",
        doc="Folder on the control unit that the light streamer watches; empty means that it is asked.",
    ),
    Parameter(
        name="BytesPerPixel", default=1.0, limits=Limits(0.1, 7.0),
        doc="Bytes that a pixel takes on the RAM disk, as long as no image has shown it.",
    ),
    Parameter(
        name="SensorShape", default="",
        doc="Rows and columns as 1679x1475; empty means that camserver is asked.",
    ),
)  # fmt: skip

ENERGY, THRESHOLD = "Energy", "Threshold"
TRIMMED: tuple[Parameter, ...] = (
    Parameter(
        name=ENERGY, default=12400.0, unit="eV", limits=Limits(0.0, None),
        doc="Photon energy; the threshold becomes half of it, for which the detector is trimmed anew.",
    ),
    Parameter(
        name=THRESHOLD, default=6200.0, unit="eV", limits=Limits(0.0, None),
        doc="Least energy of photons that are counted; setting it trims the detector anew.",
    ),
)  # fmt: skip
"""Settings that camserver keeps, and that take up to minutes."""

RETRIGGER = {"unchanged": None, "off": 0, "on": 1}
LOCAL: tuple[Parameter, ...] = (
    Parameter(
        name="GapFill", default=True, doc="Mark pixels between modules with -1; false writes 0 there."
    ),
    Parameter(
        name="Delay", default=0.0, unit="s", limits=Limits(0.0, 63.999),
        doc="From an edge to the exposure that it starts, in EXTERNAL and EXTERNAL_MULTI.",
    ),
    Parameter(
        name="GatesPerFrame", default=1, limits=Limits(1, None),
        doc="Gates that are added up in each frame, in EXTERNAL_MULTI_GATE.",
    ),
    Parameter(
        name="DebounceTime", default=0.0, unit="s", limits=Limits(0.0, None),
        doc="Time for which a gate is not looked at after it has changed, in EXTERNAL_MULTI_GATE.",
    ),
    Parameter(
        name="RetriggerMode", default="unchanged", choices=tuple(RETRIGGER),
        doc="Count photons that pile up several times (instant retrigger); unchanged leaves camserver's own.",
    ),
)  # fmt: skip
"""Settings that are written into camserver at each Arm: it cannot say them, or resets them by itself."""

CHANNELS: Mapping[int, str] = {0: "power board", 1: "base plate", 2: "sensor"}
READINGS: tuple[Parameter, ...] = (
    *(
        Parameter(
            name=f"Temperature{channel}", default=0.0, unit="degC", writable=False, format="%4.1f",
            doc=f"Channel {channel}, the {place}; invalid without a sensor there.",
        )
        for channel, place in CHANNELS.items()
    ),
    *(
        Parameter(
            name=f"Humidity{channel}", default=0.0, unit="%", writable=False, format="%4.1f",
            doc=f"Relative, channel {channel}, the {place}; invalid without a sensor there.",
        )
        for channel, place in CHANNELS.items()
    ),
    Parameter(name="DetectorState", default="", writable=False, doc="State that camserver reports."),
    Parameter(name="CameraName", default="", writable=False, doc="Model, as camserver reports it."),
    Parameter(name="CamserverVersion", default="", writable=False, doc="Version of camserver."),
    Parameter(
        name="RamDiskFree", default=0.0, unit="MB", writable=False, format="%.0f",
        doc="Free space where camserver writes images.",
    ),
)  # fmt: skip

ADDRESS = re.compile(r"([\w.%-]+|\[[\w.%:]+\]):(\d{1,5})")
"""Pattern of HOST:PORT; an IPv6 address has brackets."""


def shape_of(given: str) -> tuple[int, int] | None:
    """Return the property SensorShape as (rows, cols); `None` if it is empty.

    Raises:
        CameraError: it is no shape.
    """
    rows, _, columns = given.partition("x")
    if not given:
        return None
    if not (rows.isdecimal() and columns.isdecimal() and int(rows) and int(columns)):
        raise CameraError(
            f"the property SensorShape is {given!r}; set it to rows x columns, such as 1679x1475, or leave "
            "it empty, so that camserver is asked"
        )
    return int(rows), int(columns)


def light_address(given: str, host: str) -> str:
    """Return the property LightStreamer as HOST:PORT.

    Raises:
        CameraError: it is no HOST:PORT.
    """
    if not given:
        return host_port(host, LIGHT_PORT)
    found = ADDRESS.fullmatch(given)
    if found is None or not 1 <= int(found[2]) <= 65535:
        raise CameraError(
            f"the property LightStreamer is {given!r}; set it to HOST:PORT, such as "
            f"192.168.0.80:{LIGHT_PORT}, or leave it empty"
        )
    return given


PARAMETERS = (*TRIMMED, *LOCAL, *READINGS)
"""All, in the order of panels."""
