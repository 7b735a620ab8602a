"""The records of the stand-in for an areaDetector IOC, as QSRV serves them over pvAccess.

Source: ADCore's `ADBase.template`, `NDArrayBase.template` and `NDPluginBase.template`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from p4p.nt import NTEnum, NTScalar
from p4p.server.thread import SharedPV

SWITCH = ("Done", "Acquire")
STATES = (
    "Idle", "Acquire", "Readout", "Correct", "Saving", "Aborting", "Error", "Waiting", "Initializing",
    "Disconnected", "Aborted",
)  # fmt: skip
DATA_TYPES = (
    "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Float32", "Float64",
)  # fmt: skip


class Kind(NamedTuple):
    """A record: its first value, and how it is served."""

    value: float | int | str
    choices: Sequence[str] = ()
    """Choices of an enumeration; the value is the number of one of them."""
    unit: str = ""
    readback: bool = False
    """True if there is a second record, `…_RBV`, with what the driver has made of the value."""


def driver(rows: int, columns: int, data_type: int, trigger_modes: Sequence[str]) -> dict[str, Kind]:
    """Return the records of a driver, by their names behind the prefix."""
    return {
        "ADCoreVersion_RBV": Kind("3.14.0"), "DriverVersion_RBV": Kind("1.0.0"), "PortName_RBV": Kind("SIM1"),
        "Manufacturer_RBV": Kind("Penstock"), "Model_RBV": Kind("Simulated areaDetector"),
        "SerialNumber_RBV": Kind("SIM-1"), "FirmwareVersion_RBV": Kind("1"), "SDKVersion_RBV": Kind("1"),
        "MaxSizeX_RBV": Kind(columns), "MaxSizeY_RBV": Kind(rows),
        "MinX": Kind(0, readback=True), "MinY": Kind(0, readback=True),
        "SizeX": Kind(columns, readback=True), "SizeY": Kind(rows, readback=True),
        "BinX": Kind(1, readback=True), "BinY": Kind(1, readback=True),
        "ReverseX": Kind(0, ("No", "Yes"), readback=True), "ReverseY": Kind(0, ("No", "Yes"), readback=True),
        "ArraySizeX_RBV": Kind(columns), "ArraySizeY_RBV": Kind(rows), "ArraySizeZ_RBV": Kind(0),
        "ArraySize_RBV": Kind(rows * columns * 2), "NDimensions_RBV": Kind(2), "UniqueId_RBV": Kind(0),
        "ArraySize0_RBV": Kind(columns), "ArraySize1_RBV": Kind(rows), "ArraySize2_RBV": Kind(0),
        "DataType": Kind(data_type, DATA_TYPES, readback=True), "ColorMode_RBV": Kind(0, ("Mono", "Bayer")),
        "AcquireTime": Kind(0.01, unit="s", readback=True),
        "AcquirePeriod": Kind(0.02, unit="s", readback=True),
        "NumImages": Kind(1, readback=True), "NumExposures": Kind(1, readback=True),
        "ImageMode": Kind(0, ("Single", "Multiple", "Continuous"), readback=True),
        "TriggerMode": Kind(0, trigger_modes, readback=True), "Gain": Kind(1.0, readback=True),
        "Temperature": Kind(20.0, unit="degC", readback=True), "TemperatureActual": Kind(20.0, unit="degC"),
        "Acquire": Kind(0, SWITCH), "Acquire_RBV": Kind(0, SWITCH), "AcquireBusy": Kind(0, SWITCH),
        "WaitForPlugins": Kind(0, ("No", "Yes")),
        "ArrayCallbacks": Kind(1, ("Disable", "Enable"), readback=True),
        "ArrayCounter": Kind(0, readback=True), "NumImagesCounter_RBV": Kind(0), "ArrayRate_RBV": Kind(0.0),
        "DetectorState_RBV": Kind(0, STATES),
        "StatusMessage_RBV": Kind("Idle"), "TimeRemaining_RBV": Kind(0.0, unit="s"),
        "NDAttributesFile": Kind(""), "PoolMaxMem": Kind(0.0), "PoolUsedMem": Kind(0.0),
        "TriggerSoftware": Kind(0),
    }  # fmt: skip


class Record:
    """One record that clients see.

    Args:
        kind: what it is.
        taken: called with a value that a client has put; `None` if it is read-only.
    """

    def __init__(self, kind: Kind, taken: Callable[[Any], None] | None) -> None:
        self._choices = list(kind.choices)
        if self._choices:
            initial: Any = {"index": kind.value, "choices": self._choices}
            self.pv = SharedPV(nt=NTEnum(display=True), initial=initial)
        else:
            code = {int: "i", float: "d", str: "s"}[type(kind.value)]
            numeric = code != "s"
            extra: Mapping[str, bool] = {"display": True, "control": numeric, "valueAlarm": numeric}
            self.pv = SharedPV(nt=NTScalar(code, **extra), initial=kind.value)
            if kind.unit:
                self.pv.post({"value": kind.value, "display.units": kind.unit})
        self.value: Any = kind.value
        self._kind = type(kind.value)
        if taken is not None:
            self.pv.put(lambda _, operation: self._put(operation, taken))

    def post(self, value: Any) -> None:
        """Show a new value."""
        self.value = value
        now = time.time()
        self.pv.post({"index": value} if self._choices else value, timestamp=now)

    def alarm(self, severity: int, message: str) -> None:
        """Show an alarm: 0 none, 1 minor, 2 major, 3 invalid."""
        given = {"value.index" if self._choices else "value": self.value}
        self.pv.post(given | {"alarm.severity": severity, "alarm.message": message})

    def _put(self, operation: Any, taken: Callable[[Any], None]) -> None:
        given = operation.value()
        raw = getattr(given, "raw", given)
        try:
            value: Any = int(raw.value.index) if self._choices else self._kind(raw.value)
            if self._choices and not 0 <= value < len(self._choices):
                raise ValueError(f"{value} is none of {len(self._choices)} choices")
            taken(value)
        except (ValueError, AttributeError, TypeError) as error:
            operation.done(error=str(error))
            return
        operation.done()
