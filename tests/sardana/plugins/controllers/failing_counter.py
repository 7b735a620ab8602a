"""A counter that fails on request: another channel of the measurement group."""

from __future__ import annotations

from typing import Any, ClassVar

from sardana import State
from sardana.pool.controller import CounterTimerController, DefaultValue, Memorize, NotMemorized, Type


class FailingCounter(CounterTimerController):
    """Raises in the method that the attribute FailIn names."""

    axis_attributes: ClassVar[dict[str, Any]] = {
        "FailIn": {Type: str, DefaultValue: "", Memorize: NotMemorized}
    }

    def __init__(self, inst: str, props: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(inst, props, *args, **kwargs)
        self._fail_in = ""

    def PrepareOne(self, *args: Any) -> None:
        self._perhaps("PrepareOne")

    def LoadOne(self, *args: Any) -> None:
        self._perhaps("LoadOne")

    def StartOne(self, *args: Any) -> None:
        self._perhaps("StartOne")

    def StateOne(self, axis: int) -> tuple[Any, str]:
        return (State.Fault, "failed on request") if self._fail_in == "StateOne" else (State.On, "")

    def ReadOne(self, axis: int) -> float:
        self._perhaps("ReadOne")
        return 1.0

    def AbortOne(self, axis: int) -> None:
        pass

    def GetAxisExtraPar(self, axis: int, name: str) -> str:
        return self._fail_in

    def SetAxisExtraPar(self, axis: int, name: str, value: str) -> None:
        self._fail_in = value

    def _perhaps(self, method: str) -> None:
        if method == self._fail_in:
            raise RuntimeError(f"{method} failed on request")
