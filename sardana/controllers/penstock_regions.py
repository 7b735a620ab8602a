"""Counters of regions of interest, as Sardana loads them; their logic is in `penstock.sardana.regions`."""

from __future__ import annotations

from typing import Any, ClassVar

from sardana import DataAccess
from sardana.pool.controller import (
    Access,
    CounterTimerController,
    DefaultValue,
    Description,
    Memorize,
    Memorized,
    Type,
)

from penstock.sardana.axes_controller import AxesController
from penstock.sardana.regions import RegionCounter, TangoSource


class PenstockRegions(AxesController, CounterTimerController):
    """Sum, mean, maximum or saturated pixels of named regions of one detector; an axis shows one value of one
    region."""

    gender = "Counter"
    model = "Penstock regions of interest"

    _reader: RegionCounter
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
        self._reader = RegionCounter(TangoSource(self.DetectorDevice))

    def PrepareOne(self, axis: int, value: float, repetitions: int, latency: float, nb_starts: int) -> None:
        """Expect a new series; the detector's own channel arms it. Called once for all axes."""
        self._reader.prepare(repetitions)

    def GetAxisExtraPar(self, axis: int, parameter: str) -> Any:
        """See `axis_attributes`."""
        shows = self._reader.axis(axis)
        return shows.region if parameter.lower() == "region" else shows.value

    def SetAxisExtraPar(self, axis: int, parameter: str, value: Any) -> None:
        """See `axis_attributes`."""
        if parameter.lower() == "region":
            self._reader.show(axis, region=value)
        else:
            self._reader.show(axis, value=value)
