"""The properties of a detector behind an areaDetector IOC, its settings and its readings."""

from __future__ import annotations

from penstock.streamer.camera.settings import Limits, Parameter

POSITIVE = Limits(0, None)

UNIT: tuple[Parameter, ...] = (
    Parameter(
        name="DriverPrefix", default="13SIM1:cam1:",
        doc="What the names of the driver's records begin with: $(P)$(R) of its template.",
    ),
    Parameter(
        name="ImageRecord", default="13SIM1:Pva1:Image",
        doc="The record of the arrays: PvName_RBV of the PVA plugin (NDPluginPva).",
    ),
    Parameter(
        name="NameServers", default="", is_list=True,
        doc='HOST:PORT of the IOC or of a gateway, one per line; "" to search as EPICS_PVA_ADDR_LIST says.',
    ),
    Parameter(name="ModeInternal", default="Internal", doc="Choice of TriggerMode for INTERNAL."),
    Parameter(
        name="ModeExternal", default="",
        doc='Choice of TriggerMode for EXTERNAL, where one edge starts the series; "" if there is none.',
    ),
    Parameter(
        name="ModeExternalMulti", default="",
        doc='Choice of TriggerMode for EXTERNAL_MULTI, where each edge takes a frame; "" if there is none.',
    ),
    Parameter(
        name="ModeSoftware", default="", doc='Choice of TriggerMode for SOFTWARE; "" if there is none.'
    ),
    Parameter(
        name="SoftwareTriggerRecord", default="",
        doc="The record that takes a software trigger when 1 is put into it, its name behind DriverPrefix; "
        "needed with ModeSoftware.",
    ),
    Parameter(
        name="ReadoutTime", default=0.0, unit="s", limits=Limits(0.0, 10.0),
        doc="Least dead time between two frames; no record of areaDetector has it.",
    ),
    Parameter(
        name="PixelSize", default=0.0, unit="m", limits=Limits(0.0, 1e-3),
        doc="Pixel pitch, for the file; 0 if it is not known.",
    ),
    Parameter(
        name="ShownRecords", default="", is_list=True,
        doc="Records that are attributes of this device and stand in the file, one per line, or separated by "
        "commas: names behind DriverPrefix, such as ShutterStatus, or of any other record of the IOC, with @ "
        "in front, as in @SIM:TEMP.",
    ),
)  # fmt: skip

SETTINGS: tuple[Parameter, ...] = (
    Parameter(name="AOILeft", default=0, unit="pixel", limits=POSITIVE, doc="First column read out (MinX)."),
    Parameter(name="AOITop", default=0, unit="pixel", limits=POSITIVE, doc="First row read out (MinY)."),
    Parameter(
        name="AOIWidth", default=0, unit="pixel", limits=POSITIVE,
        doc="Columns of the sensor (SizeX); 0 for the rest.",
    ),
    Parameter(
        name="AOIHeight", default=0, unit="pixel", limits=POSITIVE,
        doc="Rows of the sensor (SizeY); 0 for the rest.",
    ),
    Parameter(
        name="BinningX", default=1, unit="pixel", limits=Limits(1, 64), doc="Columns that are one (BinX)."
    ),
    Parameter(
        name="BinningY", default=1, unit="pixel", limits=Limits(1, 64), doc="Rows that are one (BinY)."
    ),
    Parameter(name="Gain", default=1.0, doc="In the unit of the driver."),
    Parameter(
        name="TargetSensorTemperature", default=20.0, unit="degC", doc="To which it cools (Temperature)."
    ),
    Parameter(
        name="SensorTemperature", default=0.0, unit="degC", writable=False, format="%4.1f",
        doc="TemperatureActual.",
    ),
    Parameter(
        name="ArrayCounter", default=0, writable=False, doc="ArrayCounter_RBV, the number of the last frame."
    ),
)  # fmt: skip
