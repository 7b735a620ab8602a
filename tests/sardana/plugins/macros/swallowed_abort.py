"""The exception of an abort comes while a motor tells that it moves, as it may once in a hundred aborts."""

from __future__ import annotations

from typing import Any

from sardana import State
from sardana.macroserver.macro import Macro
from sardana.macroserver.msexception import AbortException
from sardana.tango.pool.Motor import Motor


class swallowed_abort(Macro):
    """The next motor that starts swallows it."""

    def run(self, *parameters: Any) -> None:
        """See the class."""
        plain = Motor._on_motor_changed

        def torn(motor: Motor, source: Any, kind: Any, value: Any) -> None:
            if kind.name.lower() == "state" and value == State.Moving:
                Motor._on_motor_changed = plain
                raise AbortException
            plain(motor, source, kind, value)

        Motor._on_motor_changed = torn
