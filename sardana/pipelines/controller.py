"""What the two controllers of results have in common; Sardana loads those of `sardana/controllers`."""

from __future__ import annotations

from typing import Any, ClassVar

from sardana import DataAccess, State
from sardana.pool import AcqSynch
from sardana.pool.controller import (
    Access,
    DefaultValue,
    Description,
    Memorize,
    Memorized,
    NotMemorized,
    Type,
)

from penstock.sardana.pipelines.frame_results import FrameResults
from penstock.sardana.pipelines.source import TangoSource

ONE_VALUE = (AcqSynch.SoftwareTrigger, AcqSynch.SoftwareGate)
"""Synchronizations in which Sardana reads one value per point; in the others it gets lists."""


class ResultsController:
    """Channels of one pipeline; the base of a controller, before that of Sardana."""

    gender = "Result"
    organization = "Penstock"
    MaxDevice = 64
    default_timer = 1

    DetectorDevice: str
    Pipeline: str
    ResultSeconds: float
    ctrl_properties: ClassVar[dict[str, Any]] = {
        "DetectorDevice": {
            Type: str,
            Description: "Tango name of the detector, such as my/detector/1.",
        },
        "Pipeline": {
            Type: str,
            Description: "Tango name of the pipeline's device, such as my/pipeline/rings, or its address,"
            " such as http://daq-1:5100.",
        },
        "ResultSeconds": {
            Type: float,
            Description: "Seconds for which results are awaited after a scan's last frame.",
            DefaultValue: 10.0,
        },
    }
    axis_attributes: ClassVar[dict[str, Any]] = {
        "Result": {
            Type: str,
            Description: "Name of a result of the pipeline.",
            Access: DataAccess.ReadWrite,
            Memorize: Memorized,
            DefaultValue: "",
        },
        "InScan": {
            Type: bool,
            Description: "Whether frames without a result are counted over all series of a scan; set by the"
            " hooks det_begin and det_end. Setting it to true begins anew.",
            Access: DataAccess.ReadWrite,
            Memorize: NotMemorized,
        },
        "ResultWarning": {
            Type: str,
            Description: 'Which frames have no result, and why; "" if all have theirs.',
            Access: DataAccess.ReadOnly,
            Memorize: NotMemorized,
        },
    }

    def __init__(self, inst: str, props: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """See Sardana."""
        super().__init__(inst, props, *args, **kwargs)  # type: ignore[call-arg]
        self._synchronization = AcqSynch.SoftwareTrigger
        self._results = FrameResults(TangoSource(self.DetectorDevice, self.Pipeline), self.ResultSeconds)

    def AddDevice(self, axis: int) -> None:
        """Add a channel."""
        self._results.add(axis)

    def DeleteDevice(self, axis: int) -> None:
        """Remove a channel; the thread ends with the last one."""
        self._results.remove(axis)

    # An acquisition

    def PrepareOne(self, axis: int, value: float, repetitions: int, latency: float, nb_starts: int) -> None:
        """Expect a new series; the detector's own channel arms it. Called once for all axes."""
        self._results.prepare(repetitions, value)

    def LoadOne(self, axis: int, value: float, repetitions: int, latency: float) -> None:
        """Do nothing: PrepareOne has done it."""

    def StartOne(self, axis: int, value: float) -> None:
        """See `StartAll`."""

    def StartAll(self) -> None:
        """Expect the results of further frames; called once for all axes."""
        self._results.start()

    def StateOne(self, axis: int) -> tuple[Any, str]:
        """Return Moving while results are still to come."""
        state, status = self._results.state(axis)
        return State[state], status

    def ReadOne(self, axis: int) -> Any:
        """Return the value of this point's frame or, where Sardana wants lists, the new values in the order
        of the frames."""
        if self._synchronization in ONE_VALUE:
            return _plain(self._results.value(axis))
        return [_plain(value) for value in self._results.new_values(axis)]

    def StopOne(self, axis: int) -> None:
        """Wait for no further results."""
        self._results.stop()

    def AbortOne(self, axis: int) -> None:
        """Wait for no further results."""
        self._results.stop()

    # Parameters

    def GetCtrlPar(self, parameter: str) -> Any:
        """Return a latency of 0 s: results need no time between two frames."""
        return 0.0 if parameter == "latency_time" else super().GetCtrlPar(parameter)  # type: ignore[misc]

    def GetAxisExtraPar(self, axis: int, parameter: str) -> Any:
        """See `axis_attributes`."""
        match parameter.lower():
            case "result":
                return self._results.axis(axis).result
            case "inscan":
                return self._results.in_scan
            case _:
                return self._results.warning

    def SetAxisExtraPar(self, axis: int, parameter: str, value: Any) -> None:
        """See `axis_attributes`."""
        if parameter.lower() == "result":
            self._results.show(axis, value)
        else:
            self._results.in_scan = bool(value)


def _plain(value: Any) -> Any:
    return value if isinstance(value, float) else value.tolist()
