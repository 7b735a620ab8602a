"""The temperature of a simulated sensor."""

from __future__ import annotations

import math
import time

AMBIENT = 25.0
"""Degrees Celsius."""
TIME_CONSTANT = 20.0
"""Seconds."""


class Cooler:
    """Approaches its set point exponentially, from ambient temperature."""

    def __init__(self) -> None:
        self._from, self._since, self._target = AMBIENT, time.monotonic(), AMBIENT

    def aim(self, target: float) -> None:
        """Set the set point, in degrees Celsius."""
        if target != self._target:
            self._from, self._since, self._target = self.temperature(), time.monotonic(), target

    def temperature(self) -> float:
        """Return the present temperature, in degrees Celsius."""
        elapsed = time.monotonic() - self._since
        return self._target + (self._from - self._target) * math.exp(-elapsed / TIME_CONSTANT)
