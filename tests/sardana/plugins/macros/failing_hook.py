"""Macros of a user."""

from __future__ import annotations

from sardana.macroserver.macro import Macro


class failing_hook(Macro):
    """Raises."""

    def run(self) -> None:
        raise RuntimeError("the shutter is closed")


class own_loop(Macro):
    """No scan, but uses the hooks and counts."""

    def run(self) -> None:
        self.execMacro("det_begin")
        self.execMacro("ct", 0.01)
        self.execMacro("det_end")
