"""The trigger line of simulated detectors as a trigger/gate element."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sardana import DataAccess, State
from sardana.pool.controller import (
    Access,
    DefaultValue,
    Description,
    Memorize,
    NotMemorized,
    TriggerGateController,
    Type,
)
from sardana.pool.pooldefs import SynchDomain, SynchParam

from penstock.sardana.trigger_train import Group, TriggerLine, TriggerTrainError, check, trigger_address


class PenstockTriggers(TriggerGateController):
    """Hardware triggers for simulated detectors, in the time domain; axis 1 is the line.

    Real detectors have real pulse generators, with controllers of their own.
    """

    gender = "Trigger/gate"
    model = "Penstock simulator"
    organization = "Penstock"
    MaxDevice = 1

    ctrl_properties: ClassVar[dict[str, Any]] = {
        "Detectors": {
            Type: str,
            Description: "Tango names of the simulated detectors on the line, or HOST:PORT of the trigger"
            " input of a simulated control unit, separated by commas.",
        }
    }
    axis_attributes: ClassVar[dict[str, Any]] = {
        "Missed": {
            Type: str,
            Description: "Numbers of edges in a series, from 0, that reach no detector, to try out lost"
            " triggers: a JSON list such as [3, 7].",
            DefaultValue: "[]",
            Memorize: NotMemorized,
        },
        "GateTime": {
            Type: float,
            Access: DataAccess.ReadOnly,
            Description: "Seconds for which an edge of the last description stays high.",
        },
    }

    def __init__(self, inst: str, props: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """See Sardana."""
        super().__init__(inst, props, *args, **kwargs)
        self._line = TriggerLine()
        self._groups: list[Group] = []
        self._missed: list[int] = []

    def DeleteDevice(self, axis: int) -> None:
        """End the train and close the socket."""
        self._line.close()

    def PrepareOne(self, axis: int, nb_starts: int) -> None:
        """Begin a series: edges count from 0. A detector that was restarted has another address."""
        self._line.reset([trigger_address(name) for name in self.Detectors.replace(",", " ").split()])

    def SynchOne(self, axis: int, description: Sequence[Mapping[Any, Any]]) -> None:
        """Take the times of the next train."""
        groups = [_group(group) for group in description]
        check(groups)
        self._groups = groups

    def PreStartOne(self, axis: int, value: float | None = None) -> bool:
        """Do nothing; Sardana calls it without a value here."""
        return True

    def StartOne(self, axis: int) -> None:
        """Emit the train."""
        self._line.start(self._groups, self._missed)

    def StateOne(self, axis: int) -> tuple[State, str]:
        """Return Moving while edges are still to come."""
        if self._line.running:
            return State.Moving, f"{self._line.emitted} triggers emitted"
        if self._line.error:
            return State.Fault, self._line.error
        return State.On, f"idle; {self._line.emitted} triggers in the last series"

    def StopOne(self, axis: int) -> None:
        """Emit no further edge."""
        self._line.stop()

    def AbortOne(self, axis: int) -> None:
        """Emit no further edge."""
        self._line.stop()

    def GetAxisExtraPar(self, axis: int, name: str) -> Any:
        """See `axis_attributes`."""
        if name.lower() == "missed":
            return json.dumps(self._missed)
        return self._groups[0].active if self._groups else 0.0

    def SetAxisExtraPar(self, axis: int, name: str, value: Any) -> None:
        """Set Missed; GateTime is read-only."""
        try:
            missed = json.loads(value or "[]")
        except ValueError:
            missed = None
        if not isinstance(missed, list) or not all(type(number) is int and number >= 0 for number in missed):
            raise ValueError(
                f"Missed = {value!r}: write a JSON list of edge numbers from 0 on, such as [3, 7]"
            )
        self._missed = missed

    def SetAxisPar(self, axis: int, parameter: str, value: Any) -> None:
        """Do nothing: the one line follows no moveable."""


def _group(description: Mapping[Any, Any]) -> Group:
    times = {}
    for parameter in (SynchParam.Delay, SynchParam.Active, SynchParam.Total):
        value = description.get(parameter, {})
        if SynchDomain.Time not in value:
            raise TriggerTrainError(
                f"the synchronisation gives {parameter.name.lower()} in positions only; PenstockTriggers"
                " emits at times: use a scan that gives times, too, such as ascanct"
            )
        times[parameter] = float(value[SynchDomain.Time])
    return Group(
        times[SynchParam.Delay], times[SynchParam.Active], times[SynchParam.Total],
        int(description.get(SynchParam.Repeats, 1)),
    )  # fmt: skip
