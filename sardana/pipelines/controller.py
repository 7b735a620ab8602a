"""What the two controllers of results have in common; Sardana loads those of `sardana/controllers`."""

from __future__ import annotations

from typing import Any, ClassVar

from sardana import DataAccess
from sardana.pool.controller import (
    Access,
    DefaultValue,
    Description,
    Memorize,
    Memorized,
    NotMemorized,
    Type,
)

from penstock.sardana.axes_controller import AxesController
from penstock.sardana.pipelines.frame_results import FrameResults
from penstock.sardana.pipelines.source import TangoSource


class ResultsController(AxesController):
    """Channels of one pipeline; the base of a controller, before that of Sardana."""

    gender = "Result"

    _reader: FrameResults
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
        super().__init__(inst, props, *args, **kwargs)
        self._reader = FrameResults(TangoSource(self.DetectorDevice, self.Pipeline), self.ResultSeconds)

    def PrepareOne(self, axis: int, value: float, repetitions: int, latency: float, nb_starts: int) -> None:
        """Expect a new series; the detector's own channel arms it. Called once for all axes."""
        self._reader.prepare(repetitions, value)

    def GetAxisExtraPar(self, axis: int, parameter: str) -> Any:
        """See `axis_attributes`."""
        match parameter.lower():
            case "result":
                return self._reader.axis(axis).result
            case "inscan":
                return self._reader.in_scan
            case _:
                return self._reader.warning

    def SetAxisExtraPar(self, axis: int, parameter: str, value: Any) -> None:
        """See `axis_attributes`."""
        if parameter.lower() == "result":
            self._reader.show(axis, value)
        else:
            self._reader.in_scan = bool(value)
