"""What the controllers have in common whose channels a thread reads; Sardana loads those of
`sardana/controllers`."""

from __future__ import annotations

from typing import Any

from sardana import State
from sardana.pool import AcqSynch

from penstock.sardana.axes_reader import AxesReader

ONE_VALUE = (AcqSynch.SoftwareTrigger, AcqSynch.SoftwareGate)
"""Synchronizations in which Sardana reads one value per point; in the others it gets lists."""


class AxesController:
    """Channels of one detector; the base of a controller, before that of Sardana."""

    organization = "Penstock"
    MaxDevice = 64
    default_timer = 1

    DetectorDevice: str
    _reader: AxesReader[Any, Any]

    def __init__(self, inst: str, props: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """See Sardana."""
        super().__init__(inst, props, *args, **kwargs)  # type: ignore[call-arg]
        self._synchronization = AcqSynch.SoftwareTrigger

    def AddDevice(self, axis: int) -> None:
        """Add a channel."""
        self._reader.add(axis)

    def DeleteDevice(self, axis: int) -> None:
        """Remove a channel; the thread ends with the last one."""
        self._reader.remove(axis)

    # An acquisition; PrepareOne, which is called once for all axes, expects a new series

    def LoadOne(self, axis: int, value: float, repetitions: int, latency: float) -> None:
        """Do nothing: PrepareOne has done it."""

    def StartOne(self, axis: int, value: float) -> None:
        """See `StartAll`."""

    def StartAll(self) -> None:
        """Expect the values of further frames; called once for all axes."""
        self._reader.start()

    def StateOne(self, axis: int) -> tuple[Any, str]:
        """Return Moving while values are still to come."""
        state, status = self._reader.state(axis)
        return State[state], status

    def ReadOne(self, axis: int) -> Any:
        """Return the value of this point's frame or, where Sardana wants lists, the new values in the order
        of the frames."""
        if self._synchronization in ONE_VALUE:
            return _plain(self._reader.value(axis))
        return [_plain(value) for value in self._reader.new_values(axis)]

    def StopOne(self, axis: int) -> None:
        """Wait for no further values."""
        self._reader.stop()

    def AbortOne(self, axis: int) -> None:
        """Wait for no further values."""
        self._reader.stop()

    def GetCtrlPar(self, parameter: str) -> Any:
        """Return a latency of 0 s: values need no time between two frames."""
        return 0.0 if parameter == "latency_time" else super().GetCtrlPar(parameter)  # type: ignore[misc]


def _plain(value: Any) -> Any:
    return value if isinstance(value, float) else value.tolist()
