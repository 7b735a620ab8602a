"""A Tango device for tests of channels: a motor whose values come when they are told to, and what is none."""

from __future__ import annotations

from typing import Any

import numpy as np
from tango import AttrQuality, AttrWriteType
from tango.server import Device, attribute, command, run


class Motor(Device):  # type: ignore[misc]
    """A motor."""

    position = attribute(dtype=float, access=AttrWriteType.READ)
    counter = attribute(dtype=int)
    text = attribute(dtype=str)
    said = attribute(dtype=(float,), max_dim_x=2)

    def init_device(self) -> None:
        """Begin."""
        super().init_device()
        for name in ("position", "said"):
            self.set_change_event(name, True, False)
        self._position = 0.5
        self._count = 0

    def read_position(self) -> float:
        """With change events."""
        return self._position

    def read_counter(self) -> int:
        """Without."""
        self._count += 1
        return self._count

    def read_text(self) -> str:
        """No number."""
        return "text"

    def read_said(self) -> np.ndarray[Any, Any]:
        """Frame number and value."""
        return np.array([0.0, 0.0])

    @command(dtype_in=(float,))  # type: ignore[untyped-decorator]
    def Move(self, pairs: Any) -> None:
        """Push values of `position`: time, value, time, value …"""
        for moment, value in zip(pairs[::2], pairs[1::2], strict=True):
            self._position = float(value)
            self.push_change_event("position", float(value), float(moment), AttrQuality.ATTR_VALID)

    @command(dtype_in=float)  # type: ignore[untyped-decorator]
    def Invalid(self, moment: float) -> None:
        """Push that `position` has no value at a time."""
        self.push_change_event("position", 0.0, moment, AttrQuality.ATTR_INVALID)

    @command(dtype_in=(float,))  # type: ignore[untyped-decorator]
    def Say(self, pair: Any) -> None:
        """Push a value of `said`: frame and value."""
        self.push_change_event("said", np.asarray(pair, float))


if __name__ == "__main__":
    run((Motor,), args=["tango_motor", "1"])
