"""Counters of regions of interest, as Sardana loads them; their logic is in `penstock.sardana.regions`."""

from __future__ import annotations

from typing import Any, ClassVar

from sardana import DataAccess, State
from sardana.pool import AcqSynch
from sardana.pool.controller import (
    Access,
    CounterTimerController,
    DefaultValue,
    Description,
    Memorize,
    Memorized,
    Type,
)

from penstock.sardana.regions.counter import RegionCounter
from penstock.sardana.regions.source import TangoSource

ONE_VALUE = (AcqSynch.SoftwareTrigger, AcqSynch.SoftwareGate)
"""Synchronizations in which Sardana reads one value per point; in the others it gets lists."""


class PenstockRegions(CounterTimerController):
    """Sum, mean, maximum or saturated pixels of named regions of one detector; an axis shows one value of one
    region."""

    gender = "Counter"
    model = "Penstock regions of interest"
    organization = "Penstock"
    MaxDevice = 64
    default_timer = 1

    ctrl_properties: ClassVar[dict[str, Any]] = {
        "DetectorDevice": {
            Type: str,
            Description: "Tango name of the detector, such as my/detector/1.",
        }
    }
    axis_attributes: ClassVar[dict[str, Any]] = {
        "Region": {
            Type: str,
            Description: "Name of one of the receiver's regions of interest.",
            Access: DataAccess.ReadWrite,
            Memorize: Memorized,
            DefaultValue: "",
        },
        "RegionValue": {
            Type: str,
            Description: "Value of the region: sum, mean, max or saturated.",
            Access: DataAccess.ReadWrite,
            Memorize: Memorized,
            DefaultValue: "sum",
        },
    }

    def __init__(self, inst: str, props: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """See Sardana."""
        super().__init__(inst, props, *args, **kwargs)
        self._synchronization = AcqSynch.SoftwareTrigger
        self._counter = RegionCounter(TangoSource(self.DetectorDevice))

    def AddDevice(self, axis: int) -> None:
        """Add a counter."""
        self._counter.add(axis)

    def DeleteDevice(self, axis: int) -> None:
        """Remove a counter; the thread ends with the last one."""
        self._counter.remove(axis)

    # An acquisition

    def PrepareOne(self, axis: int, value: float, repetitions: int, latency: float, nb_starts: int) -> None:
        """Expect a new series; the detector's own channel arms it. Called once for all axes."""
        self._counter.prepare(repetitions)

    def LoadOne(self, axis: int, value: float, repetitions: int, latency: float) -> None:
        """Do nothing: PrepareOne has done it."""

    def StartOne(self, axis: int, value: float) -> None:
        """See `StartAll`."""

    def StartAll(self) -> None:
        """Expect the values of further frames; called once for all axes."""
        self._counter.start()

    def StateOne(self, axis: int) -> tuple[Any, str]:
        """Return Moving while values are still to come."""
        state, status = self._counter.state(axis)
        return State[state], status

    def ReadOne(self, axis: int) -> Any:
        """Return the value of this point's frame or, where Sardana wants lists, the new values in the order
        of the frames."""
        if self._synchronization in ONE_VALUE:
            return self._counter.value(axis)
        return self._counter.new_values(axis)

    def StopOne(self, axis: int) -> None:
        """Wait for no further values."""
        self._counter.stop()

    def AbortOne(self, axis: int) -> None:
        """Wait for no further values."""
        self._counter.stop()

    # Parameters

    def GetCtrlPar(self, parameter: str) -> Any:
        """Return a latency of 0 s: counters need no time between two frames."""
        return 0.0 if parameter == "latency_time" else super().GetCtrlPar(parameter)

    def GetAxisExtraPar(self, axis: int, parameter: str) -> Any:
        """See `axis_attributes`."""
        shows = self._counter.axis(axis)
        return shows.region if parameter.lower() == "region" else shows.value

    def SetAxisExtraPar(self, axis: int, parameter: str, value: Any) -> None:
        """See `axis_attributes`."""
        if parameter.lower() == "region":
            self._counter.show(axis, region=value)
        else:
            self._counter.show(axis, value=value)
