"""Settings that were written into a box, and that it no longer has after a reset: it had lost its power."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.streamer.camera.errors import Refused
from penstock.streamer.camera.settings import SHOWN_AS, Value


class LostSettings:
    """The settings that a box has lost; nothing is written for the user, who may no longer want them.

    Args:
        set_by_reset: names of settings that a reset itself sets.
    """

    def __init__(self, set_by_reset: frozenset[str] = frozenset()) -> None:
        self._set_by_reset = set_by_reset
        self._written: set[str] = set()
        self._lost: dict[str, str] = {}

    @property
    def sentence(self) -> str:
        """The lost settings with both values, in words; "" if there are none."""
        return "; ".join(self._lost.values())

    def wrote(self, names: Iterable[str]) -> None:
        """Note that these settings were written."""
        wrote = set(names)
        self._written |= wrote - self._set_by_reset
        self._lost = {name: said for name, said in self._lost.items() if name not in wrote}

    def compare(self, before: Mapping[str, Value], now: Mapping[str, Value]) -> None:
        """Find the written settings that a reset has changed.

        Args:
            before: values before the reset; empty if they are unknown.
            now: the box's values after it.
        """
        for name in sorted(before.keys() & self._written):
            if before[name] != now.get(name):
                said = f"{name} was {_shown(before[name])}, is {_shown(now.get(name))}: write it again"
                self._lost = self._lost | {name: said}

    def refuse(self) -> None:
        """Refuse a series while settings are lost.

        Raises:
            Refused: the sentence names them.
        """
        if self._lost:
            raise Refused("settings_lost", f"the detector has lost settings: {self.sentence}")


def _shown(value: Value | None) -> str:
    if value is None:
        return "unknown"
    return SHOWN_AS % value if isinstance(value, float) else str(value)
