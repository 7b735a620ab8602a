"""The configuration of one control unit: reading it, and setting it to the wanted values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from penstock.devices._dectris.rest import Entry, NoSuchKey, Simplon
from penstock.stins.texts import plural
from penstock.streamer.settings import Limits, Value
from penstock.streamer.unit import CameraError

SLOW = 120.0
"""Seconds for an energy or a threshold, for which the detector computes trim bits and flat fields ([ref18]
section "Detector Subsystem": a PUT returns when that is done)."""
PUT = 30.0
"""Seconds for any other configuration."""
ROUNDS = 3
"""Most passes of writing the wanted values: count_time may change frame_time, and vice versa."""
ENERGY_STEP = 1.0
"""Difference in eV up to which two energies are equal: the box rounds them."""
TIME_STEP = 1e-6
"""Difference in seconds, or relative as below, up to which two times are equal: the box counts clock
ticks."""
RELATIVE = 1e-3
MISNAMED = {"difference_mode": "threshold/difference/mode"}
"""Keys that have another name in the box's answers (fastcs-eiger, `_handle_params_to_update`)."""


class Box:
    """The keys of a control unit's configuration, as last read.

    The methods that read or write keys raise the errors of `Simplon`.
    """

    def __init__(self, simplon: Simplon) -> None:
        self._simplon = simplon
        self._entries: dict[str, Entry] = {}

    def value(self, path: str) -> object:
        """Return the value of a key as last read; `None` if the box has no such key."""
        entry = self._entries.get(path)
        return None if entry is None else entry.value

    def first_of(self, paths: Iterable[str]) -> str | None:
        """Return the first of these keys that the box has."""
        return next((path for path in paths if path in self._entries), None)

    def has(self, path: str, value: Value) -> bool:
        """Return whether the box had this value when it was last read, up to its rounding."""
        return same(path, self.value(path), value)

    def limits(self, path: str) -> Limits:
        """Return the limits of a key as the box gives them."""
        entry = self._entries.get(path)
        return Limits() if entry is None else Limits(entry.min, entry.max)

    def learn(self, paths: Iterable[str]) -> None:
        """Read these keys, and forget all others; keys that the box does not have are left out."""
        entries: dict[str, Entry] = {}
        for path in paths:
            try:
                entries[path] = self._simplon.get(path)
            except NoSuchKey:
                continue
        self._entries = entries

    def refresh(self) -> None:
        """Read all known keys again: another client may have written them."""
        self.learn(list(self._entries))

    def bring(self, wanted: Mapping[str, Value]) -> None:
        """Write the wanted values that differ, in their order, and check what the box has set.

        Raises:
            CameraError: the box has set another value, or does not allow the wanted one.
        """
        for path, value in wanted.items():
            if not self.has(path, value):
                self._refuse_impossible(path, value)
        for _ in range(ROUNDS):
            due = [path for path, value in wanted.items() if not self.has(path, value)]
            for path in due:
                # A key written before may have changed this one to the wanted value.
                if not self.has(path, wanted[path]):
                    self.write(path, wanted[path])
            if not due:
                return
        left = [path for path, value in wanted.items() if not self.has(path, value)]
        if left:
            values = ", ".join(f"{path} is {self.value(path)}, requested was {wanted[path]}" for path in left)
            raise CameraError(
                f"{self._simplon.address} did not set {plural(len(left), 'value')} as requested: {values}; "
                "choose values that it supports, and check whether another client sets them at the same time"
            )

    def write(self, path: str, value: Value) -> None:
        """Write a key, and read it and the keys that changed with it."""
        slow = "energy" in path or "threshold" in path
        changed = self._simplon.put(path, value, SLOW if slow else PUT)
        prefix = path[: path.index("/config/")] + "/config/"
        again = dict.fromkeys([path, *(prefix + MISNAMED.get(key, key) for key in changed)])
        for other in again:
            if other in self._entries:
                self._entries[other] = self._simplon.get(other)

    def _refuse_impossible(self, path: str, value: Value) -> None:
        entry = self._entries[path]
        allowed = entry.allowed_values
        if allowed and value not in allowed:
            raise CameraError(
                f"{self._simplon.address}: {path} = {value!r} is not possible; choose "
                f"{', '.join(map(str, allowed))}"
            )
        if isinstance(value, bool | str):
            return
        beyond = _beyond(entry, path, value)
        if beyond is not None:
            word, limit = beyond
            raise CameraError(f"{self._simplon.address}: {path} = {value:g}; the {word} is {limit:g}")


def _beyond(entry: Entry, path: str, value: float) -> tuple[str, float] | None:
    if entry.min is not None and value < entry.min and not same(path, entry.min, value):
        return "least", entry.min
    if entry.max is not None and value > entry.max and not same(path, entry.max, value):
        return "greatest", entry.max
    return None


def same(path: str, actual: object, wanted: Value) -> bool:
    """Return whether a value of the box equals the wanted one, up to the box's rounding."""
    if not isinstance(wanted, float) or not isinstance(actual, int | float) or isinstance(actual, bool):
        return actual == wanted
    if "energy" in path:
        return abs(actual - wanted) <= ENERGY_STEP
    if path.endswith("_time"):
        return abs(actual - wanted) <= max(TIME_STEP, RELATIVE * abs(wanted))
    return math.isclose(actual, wanted, rel_tol=RELATIVE, abs_tol=1e-6)
