"""Results of live processing as channels, as Sardana loads them; see `penstock.sardana.pipelines`."""

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
    OneDController,
    Type,
)

from penstock.sardana.pipelines.controller import ResultsController

MOST_POINTS = 16 * 1024
"""Most points of a 1D channel's Value in Sardana 3.7."""


class PenstockPipelineCounter(ResultsController, CounterTimerController):
    """Results that are one number per frame; an axis shows one of them."""

    model = "Penstock pipeline, numbers"


class PenstockPipelineCurve(ResultsController, OneDController):
    """Results that are one curve per frame; an axis shows one of them."""

    model = "Penstock pipeline, curves"

    axis_attributes: ClassVar[dict[str, Any]] = {
        **ResultsController.axis_attributes,
        "Points": {
            Type: int,
            Description: "Points of a curve; 0: as many as the newest series of the pipeline has.",
            Access: DataAccess.ReadWrite,
            Memorize: Memorized,
            DefaultValue: 0,
        },
    }

    def __init__(self, inst: str, props: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """See Sardana."""
        super().__init__(inst, props, *args, **kwargs)
        self._points: dict[int, int] = {}

    def GetAxisPar(self, axis: int, parameter: str) -> Any:
        """Return the shape of a curve."""
        if parameter != "shape":
            return super().GetAxisPar(axis, parameter)
        # The recorder makes no dataset of 0 points; PrepareOne refuses the scan.
        return [self._length(axis) or 1]

    def PrepareOne(self, axis: int, value: float, repetitions: int, latency: float, nb_starts: int) -> None:
        """See the base class; curves of an unknown number of points are refused, since scan files need it."""
        for each in self._points:
            length, result = self._length(each), self._reader.axis(each).result
            self._reader.set_points(each, length)
            if length > MOST_POINTS:
                raise ValueError(
                    f"{result} has {length:,} points, and a 1D channel of Sardana {MOST_POINTS:,} at most: "
                    "let the class make fewer"
                )
            if result and not length and repetitions * nb_starts > 1:
                raise ValueError(
                    f"how many points {result} has is not known before the first series of the pipeline: "
                    "write the number to Points of the channel, or take one frame (ct)"
                )
        super().PrepareOne(axis, value, repetitions, latency, nb_starts)

    def _length(self, axis: int) -> int:
        return self._points.get(axis, 0) or self._reader.points_of(axis)

    def AddDevice(self, axis: int) -> None:
        """Add a channel."""
        super().AddDevice(axis)
        self._points[axis] = 0

    def DeleteDevice(self, axis: int) -> None:
        """Remove a channel."""
        self._points.pop(axis, None)
        super().DeleteDevice(axis)

    def GetAxisExtraPar(self, axis: int, parameter: str) -> Any:
        """See `axis_attributes`."""
        if parameter.lower() == "points":
            return self._points[axis]
        return super().GetAxisExtraPar(axis, parameter)

    def SetAxisExtraPar(self, axis: int, parameter: str, value: Any) -> None:
        """See `axis_attributes`."""
        if parameter.lower() != "points":
            super().SetAxisExtraPar(axis, parameter, value)
        elif value < 0:
            raise ValueError(f"Points {value}: write the number of points, or 0")
        else:
            self._points[axis] = int(value)
