"""The properties of a GenICam camera, its settings and its readings."""

from __future__ import annotations

from penstock.devices._genicam.pixel_formats import FORMATS
from penstock.streamer.camera.settings import Limits, Parameter

AUTO = "auto"
POSITIVE = Limits(0, None)

UNIT: tuple[Parameter, ...] = (
    Parameter(
        name="SerialNumber", default="",
        doc='Serial number of the camera, or its name in Aravis; "" if Address is given.',
    ),
    Parameter(
        name="Address", default="",
        doc='Address of a GigE Vision camera, such as 192.168.1.20; "" if SerialNumber is given.',
    ),
    Parameter(
        name="FrameIdBits", default=AUTO, choices=(AUTO, "16", "64"),
        doc="Bits of the frame ids; auto: 16 for GigE Vision without extended ids, 64 else.",
    ),
    Parameter(
        name="ByteOrder", default=AUTO, choices=(AUTO, "little", "big"),
        doc="Byte order of pixels of 16 bits; auto: as the stream channel of the camera says.",
    ),
    Parameter(
        name="PacketResend", default=True,
        doc="Ask the camera again for packets that do not arrive. GigE Vision.",
    ),
    Parameter(
        name="PacketTimeout", default=0.02, unit="s", limits=Limits(0.0001, 10.0),
        doc="Time after which a packet that has not arrived is asked for again. GigE Vision.",
    ),
    Parameter(
        name="FrameRetention", default=0.2, unit="s", limits=Limits(0.001, 60.0),
        doc="Time after its last packet, after which a frame without all packets is given up; "
        "longer than the pauses of a virtual machine. GigE Vision.",
    ),
    Parameter(
        name="PixelSize", default=0.0, unit="m", limits=Limits(0.0, 1e-3),
        doc="Pixel pitch, for the file; 0: as the camera says, if it does.",
    ),
    Parameter(
        name="ShownFeatures", default="", is_list=True,
        doc="Features of the camera that are attributes of this device, one per line, or separated by "
        "commas, such as BlackLevel, DeviceLinkSpeed.",
    ),
)  # fmt: skip

SETTINGS: tuple[Parameter, ...] = (
    Parameter(
        name="PixelFormat", default="Mono8", choices=tuple(FORMATS), doc="Format of the pixels as sent."
    ),
    Parameter(
        name="Gain", default=0.0,
        doc="In the unit of the camera, often dB; what is below its least gain sets that.",
    ),
    Parameter(name="AOILeft", default=0, unit="pixel", limits=POSITIVE, doc="First column read out."),
    Parameter(name="AOITop", default=0, unit="pixel", limits=POSITIVE, doc="First row read out."),
    Parameter(name="AOIWidth", default=0, unit="pixel", limits=POSITIVE, doc="Columns; 0 for the rest."),
    Parameter(name="AOIHeight", default=0, unit="pixel", limits=POSITIVE, doc="Rows; 0 for the rest."),
    Parameter(
        name="TriggerSource", default="",
        doc='Input of external triggers, such as Line1; "" for the first line of the camera.',
    ),
    Parameter(
        name="PacketSize", default=0, unit="B", limits=Limits(0, 16384),
        doc="Bytes of a packet of the stream, IP header included; 0: the largest that arrives. GigE Vision.",
    ),
    Parameter(
        name="PacketDelay", default=0.0, unit="s", limits=Limits(0.0, 0.01),
        doc="Pause after each packet, for cameras that share a link. GigE Vision.",
    ),
    Parameter(
        name="SensorTemperature", default=0.0, unit="degC", writable=False, format="%4.1f",
        doc="DeviceTemperature, where the camera has it.",
    ),
    Parameter(
        name="IncompleteFrames", default=0, writable=False,
        doc="Frames of the running or last series that arrived without some of their packets.",
    ),
    Parameter(
        name="MissingPackets", default=0, writable=False,
        doc="Packets of frames of the running or last series that did not arrive, even when asked for again.",
    ),
    Parameter(
        name="ResentPackets", default=0, writable=False,
        doc="Packets of the running or last series that arrived when they were asked for again.",
    ),
)  # fmt: skip
COUNTS = ("IncompleteFrames", "MissingPackets", "ResentPackets")
"""Readings that count something in a series."""
