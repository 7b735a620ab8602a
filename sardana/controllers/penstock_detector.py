"""The 2D channel of a Penstock detector, as Sardana loads it; its logic is in `penstock.sardana.channel`."""

from __future__ import annotations

import json
import threading
from typing import Any, ClassVar, NoReturn

import tango
from sardana import DataAccess, State
from sardana.pool import AcqSynch
from sardana.pool.controller import (
    Access,
    DefaultValue,
    Description,
    Memorize,
    Memorized,
    NotMemorized,
    Referable,
    TwoDController,
    Type,
)
from sardana.sardanaevent import EventType

from penstock.sardana.channel import file_template
from penstock.sardana.channel.channel import Channel
from penstock.sardana.channel.detector import PREFIX, Refused, TangoDetector
from penstock.sardana.shelter import Shelter

SEND_AGAIN_AFTER = (1.0, 2.0)
"""Seconds after Stop or Abort, and after that, at which the group's state is sent once more."""


def _send_state(group: Any, cancelled: threading.Event) -> None:
    for seconds in SEND_AGAIN_AFTER:
        if cancelled.wait(seconds):
            return
        state = group.inspect_state()
        if state != State.Moving:
            group.fire_event(EventType("state", priority=2), state)


def _read_only(kind: type, description: str) -> dict[str, Any]:
    return {
        Type: kind, Description: description, Access: DataAccess.ReadOnly, Memorize: NotMemorized,
    }  # fmt: skip


class PenstockDetector(TwoDController, Referable):
    """The images of one Penstock detector: axis 1."""

    gender = "Detector"
    model = "Penstock"
    organization = "Penstock"
    MaxDevice = 1

    ctrl_properties: ClassVar[dict[str, Any]] = {
        "DetectorDevice": {
            Type: str,
            Description: "Tango name of the detector, such as my/detector/1.",
        }
    }
    axis_attributes: ClassVar[dict[str, Any]] = {
        "FileTemplate": {
            Type: str,
            Description: "Path of the files; fields {ScanDir} {ScanFile} {ScanID} {detector} {number}.",
            Access: DataAccess.ReadWrite,
            Memorize: Memorized,
            DefaultValue: file_template.DEFAULT,
        },
        "MissingTriggerTime": {
            Type: float,
            Description: "Seconds without a frame, beyond the planned period, from which a trigger counts as "
            "lost; 0: never.",
            Access: DataAccess.ReadWrite,
            Memorize: Memorized,
            DefaultValue: 10.0,
        },
        "ScanContext": {
            Type: str,
            Description: 'The scan as a JSON object; "" outside a scan.',
            Access: DataAccess.ReadWrite,
            Memorize: NotMemorized,
        },
        "DetectorDevice": _read_only(str, "Tango name of the detector."),
        "FrameShape": _read_only(str, "Shape of a frame in the file, rows and columns last, as a JSON list."),
        "FrameType": _read_only(str, "NumPy name of the pixel type."),
        "FileDataset": _read_only(str, "Path of the frames inside the file."),
        "IndexSource": _read_only(str, "How the detector knows which trigger a frame belongs to."),
        "LastFile": _read_only(str, 'File of the running, or else the last, series; "" for none.'),
        "Warning": _read_only(str, 'Warning about the running, or else the last, series; "" for none.'),
    }

    def __init__(self, inst: str, props: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """See Sardana."""
        super().__init__(inst, props, *args, **kwargs)
        self._synchronization = AcqSynch.SoftwareTrigger
        self._detector = TangoDetector(self.DetectorDevice)
        self._channel = Channel(self._detector, self._channel_name)
        self._sender = Shelter("state of the group")
        self._cancelled = threading.Event()

    def _element(self) -> Any:
        return self._getPoolController().get_element(axis=1)

    def _channel_name(self) -> str:
        return str(self._element().name)

    # An acquisition

    def PrepareOne(self, axis: int, value: float, repetitions: int, latency: float, nb_starts: int) -> None:
        """Arm one series for the whole scan."""
        self._cancelled.set()  # else the new acquisition would look finished at its start
        synchronization = AcqSynch(self._synchronization)
        if synchronization == AcqSynch.SoftwareStart:
            nb_starts = self._true_starts(nb_starts)
        try:
            self._channel.prepare(synchronization.name, value, repetitions, latency, nb_starts)
        except Refused as refused:
            self._show_refusal(str(refused))
            _raise(refused)
        # Without this event the group stays in Fault after a failed scan, and MacroServer waits 3 s for it.
        self._element().set_state(State.On, propagate=2)

    def _show_refusal(self, sentence: str) -> None:
        """Show why nothing was armed: `ct` prints the status of each element before the error, and without
        this event it would be that of an earlier acquisition."""
        state = State.Fault if self._channel.state()[0] == "Fault" else State.On
        self._element().set_state_info((state, sentence), propagate=2)

    def _true_starts(self, given: int) -> int:
        """Return the number of starts, which Sardana 3.7 multiplies by the repetitions where the group has
        channels with a software trigger, too (PoolAcquisition.prepare): the series would wait for frames
        that never come.
        """
        starts = getattr(self._getPoolController().operator, "nb_starts", given)
        return min(int(starts), given)

    def LoadOne(self, axis: int, value: float, repetitions: int, latency: float) -> None:
        """Do nothing: PrepareOne has done it."""

    def StartOne(self, axis: int, value: float) -> None:
        """Send a software trigger, or wait for those of the hardware."""
        self._channel.start()

    def StateOne(self, axis: int) -> tuple[Any, str]:
        """Return Moving until all frames were taken and the file is closed."""
        state, status = self._channel.state()
        return State[state], status

    def RefOne(self, axis: int) -> Any:
        """Return the references, by index."""
        return self._channel.new_references() if self._channel.polled else self._channel.reference()

    def ReadOne(self, axis: int) -> Any:
        """Return the image, if Sardana wants no references."""
        try:
            return self._channel.image()
        except Refused as refused:
            _raise(refused)

    def StopOne(self, axis: int) -> None:
        """Complete the file."""
        self._channel.stop()
        self._send_state_again()

    def AbortOne(self, axis: int) -> None:
        """Drop what is queued."""
        self._channel.abort()
        self._send_state_again()

    def _send_state_again(self) -> None:
        """Repeat the state of a group that was stopped or aborted: Sardana 3.7 loses its last state event,
        about once in twenty times on a busy machine, and the macro then waits for it for ever.
        """
        group = getattr(self._getPoolController(), "operator", None)
        if group is None:
            return
        self._cancelled.set()
        self._cancelled = cancelled = threading.Event()
        self._sender.begin(lambda: _send_state(group, cancelled))

    # Parameters

    def GetAxisPar(self, axis: int, parameter: str) -> Any:
        """Return the shape of the images: rows, columns."""
        if parameter != "shape":
            return super().GetAxisPar(axis, parameter)
        shape = self._channel.facts().shape
        return list(shape[-2:]) if len(shape) >= 2 else [0, 0]

    def SetAxisPar(self, axis: int, parameter: str, value: Any) -> None:
        """Set whether references are wanted, and the measurement group's own pattern."""
        if parameter == "value_ref_enabled":
            self._channel.arming.references = bool(value)
            if not value:
                self._channel.arming.pattern = ""
        elif parameter == "value_ref_pattern":
            self._channel.arming.pattern = value or ""

    def GetCtrlPar(self, parameter: str) -> Any:
        """Return the minimum time between two exposures, in seconds."""
        if parameter == "latency_time":
            return float(self._channel.facts().readout_time)
        return super().GetCtrlPar(parameter)

    def GetAxisExtraPar(self, axis: int, parameter: str) -> Any:
        """See `axis_attributes`."""
        return self._parameters()[parameter.lower()]

    def SetAxisExtraPar(self, axis: int, parameter: str, value: Any) -> None:
        """See `axis_attributes`."""
        try:
            if parameter.lower() == "filetemplate":
                file_template.check(value)
                self._channel.arming.file_template = value
            elif parameter.lower() == "missingtriggertime":
                self._channel.missing_trigger_time = value
            else:
                self._channel.arming.context = value
        except file_template.TemplateError as error:
            _raise(Refused("file_template", str(error)))
        except Refused as refused:
            _raise(refused)

    def _parameters(self) -> dict[str, Any]:
        channel = self._channel
        facts = channel.facts()
        return {
            "filetemplate": channel.arming.file_template,
            "missingtriggertime": channel.missing_trigger_time,
            "scancontext": channel.arming.context,
            "detectordevice": self._detector.name,
            "frameshape": json.dumps(facts.shape),
            "frametype": facts.dtype,
            "filedataset": facts.dataset,
            "indexsource": facts.index_source,
            "lastfile": channel.file,
            "warning": channel.warning,
        }


def _raise(refused: Refused) -> NoReturn:
    """Raise a refusal as a Tango error; spock shows the description of the first one as it is."""
    tango.Except.throw_exception(PREFIX + refused.kind, str(refused), "PenstockDetector")
    raise AssertionError("throw_exception returned")
