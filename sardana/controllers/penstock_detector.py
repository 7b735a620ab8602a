"""The 2D channel of a Penstock detector."""

from __future__ import annotations

from typing import Any, ClassVar

import tango
from sardana import State
from sardana.pool import AcqSynch
from sardana.pool.controller import DefaultValue, Description, Referable, TwoDController, Type

from penstock.sardana.reference import Reference

HARDWARE = (AcqSynch.HardwareTrigger, AcqSynch.HardwareStart, AcqSynch.HardwareGate)


class PenstockDetector(TwoDController, Referable):
    """One detector; axis 1 is its images."""

    gender = "Detector"
    model = "Penstock"
    organization = "Penstock"
    MaxDevice = 1

    ctrl_properties: ClassVar[dict[str, Any]] = {
        "DetectorDevice": {
            Type: str,
            Description: "Tango name of the detector, such as my/detector/1.",
            DefaultValue: "",
        }
    }

    def __init__(self, inst: str, props: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """See Sardana."""
        super().__init__(inst, props, *args, **kwargs)
        self._detector = tango.DeviceProxy(self.DetectorDevice)
        self._files = 0
        self._due = self._given = 0
        self._file = ""

    def PrepareOne(self, axis: int, value: float, repetitions: int, latency: float, nb_starts: int) -> None:
        """Arm."""
        hardware = self._synchronization in HARDWARE
        root = self._detector.get_property("ReceiverUrl")["ReceiverUrl"][0]
        self._files += 1
        from penstock.receiver.client import ReceiverClient

        self._file = f"{ReceiverClient(root).folders().root}/{axis}-{self._files:04d}.h5"
        for name, setting in (
            ("TriggerMode", "EXTERNAL_MULTI" if hardware else "SOFTWARE"),
            ("ExposureTime", value),
            ("nTriggers", repetitions * nb_starts),
            ("DestinationFilename", self._file),
        ):
            self._detector.write_attribute(name, setting)
        self._due = self._given = 0
        self._detector.Arm()

    def LoadOne(self, axis: int, value: float, repetitions: int, latency: float) -> None:
        """Nothing."""
        self._repetitions = repetitions

    def StartOne(self, axis: int, value: float) -> None:
        """Trigger."""
        self._due += self._repetitions
        if self._synchronization not in HARDWARE:
            self._detector.SoftwareTrigger()

    def StateOne(self, axis: int) -> tuple[State, str]:
        """As far as it is."""
        if self._detector.nFramesAcquired < self._due:
            return State.Moving, "acquiring"
        return State.On, "ready"

    def ReadOne(self, axis: int) -> Any:
        """No images without references."""
        raise NotImplementedError

    def RefOne(self, axis: int) -> Any:
        """References."""
        if self._synchronization in HARDWARE:
            first, self._given = self._given, min(self._due, self._detector.nFramesAcquired)
            return [self._reference(index) for index in range(first, self._given)]
        return self._reference(self._due - 1)

    def StopOne(self, axis: int) -> None:
        """Complete the file."""
        self._detector.Stop()

    def AbortOne(self, axis: int) -> None:
        """Drop what is queued."""
        self._detector.Abort()

    def GetAxisPar(self, axis: int, parameter: str) -> Any:
        """Shape."""
        if parameter == "shape":
            return [32, 64]
        return None

    def SetAxisPar(self, axis: int, parameter: str, value: Any) -> None:
        """Nothing yet."""

    def GetCtrlPar(self, parameter: str) -> Any:
        """Latency."""
        return 0.0 if parameter == "latency_time" else super().GetCtrlPar(parameter)

    def _reference(self, index: int) -> str:
        return Reference(self._file, "entry/data/data", index).text
