"""The configuration of one control unit: reading it, and setting it to the wanted values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from penstock.devices._dectris.rest import Entry, NoSuchKey, Simplon, number_of
from penstock.stins.texts import plural
from penstock.streamer.camera.settings import Limits, Value
from penstock.streamer.camera.unit import CameraError

SLOW = 120.0
"""Seconds for an energy or a threshold, for which the detector computes trim bits and flat fields ([ref18]
section "Detector Subsystem": a PUT returns when that is done)."""
PUT = 30.0
"""Seconds for any other configuration."""
ROUNDS = 3
"""Most passes of writing the wanted values: count_time may change frame_time, and vice versa."""
EQUAL = 1e-9
"""Relative difference up to which two values are the same, and nothing is written."""
ENERGY_STEP = 1.0
"""Difference in eV up to which the box's answer to an energy is accepted: the box rounds it."""
TIME_STEP = 1e-6
"""Difference in seconds, or relative as below, up to which its answer to a time is accepted: it counts clock
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
        self._answers: dict[str, tuple[Value, object]] = {}
        """The last request that the box has rounded, and what it has made of it, by key."""

    def value(self, path: str) -> object:
        """Return the value of a key as last read; `None` if the box has no such key."""
        entry = self._entries.get(path)
        return None if entry is None else entry.value

    def number(self, path: str) -> float | None:
        """Return the value of a key as last read; `None` if it is not a finite number, or not known."""
        return number_of(self.value(path))

    def allowed(self, path: str) -> tuple[object, ...] | None:
        """Return the allowed values of a key as the box gives them; `None` if it gives none."""
        entry = self._entries.get(path)
        return None if entry is None else entry.allowed_values

    def first_of(self, paths: Iterable[str]) -> str | None:
        """Return the first of these keys that the box has."""
        return next((path for path in paths if path in self._entries), None)

    def has(self, path: str, value: Value) -> bool:
        """Return whether the box had this value, or its own answer to it, when it was last read."""
        now = self.value(path)
        if equal(now, value):
            return True
        requested, made = self._answers.get(path, (None, None))
        return requested is not None and equal(requested, value) and equal(now, made)

    def limits(self, path: str) -> Limits:
        """Return the limits of a key as the box gives them; none if they contradict each other."""
        entry = self._entries.get(path)
        if entry is None or (entry.min is not None and entry.max is not None and entry.min > entry.max):
            return Limits()
        return Limits(entry.min, entry.max)

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
        """Write the wanted values that differ, in their order, and check what the box has made of them.

        Raises:
            CameraError: the box has made another value of one, or does not allow it.
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
                break
        left = [path for path, value in wanted.items() if not accepted(path, self.value(path), value)]
        if left:
            values = ", ".join(f"{path} is {self.value(path)}, requested was {wanted[path]}" for path in left)
            raise CameraError(
                f"{self._simplon.address} did not set {plural(len(left), 'value')} as requested: {values}; "
                "choose values that it supports, and check whether another client sets them at the same time"
            )
        for path, value in wanted.items():  # keys may have moved each other
            self._remember(path, value)

    def _remember(self, path: str, value: Value) -> None:
        """Remember what the box has now as its answer to this value, if it has rounded it."""
        now = self.value(path)
        if accepted(path, now, value) and not equal(now, value):
            self._answers[path] = value, now

    def write(self, path: str, value: Value) -> None:
        """Write a key, and read it and the keys that changed with it."""
        trims = "energy" in path or "threshold" in path
        changed = self._simplon.put(path, value, SLOW if trims else PUT)
        prefix = path[: path.index("/config/")] + "/config/"
        # What follows an energy some boxes name in part only; what they do not name at all may be any key.
        if changed is None or trims:
            again = dict.fromkeys([path, *(key for key in self._entries if key.startswith(prefix))])
        else:
            again = dict.fromkeys([path, *(prefix + MISNAMED.get(key, key) for key in changed)])
        for other in again:
            if other in self._entries:
                self._entries[other] = self._simplon.get(other)
        self._remember(path, value)

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
        beyond = _beyond(entry, value)
        if beyond is not None:
            word, limit = beyond
            raise CameraError(f"{self._simplon.address}: {path} = {value:g}; the {word} is {limit:g}")


def _beyond(entry: Entry, value: float) -> tuple[str, float] | None:
    if entry.min is not None and value < entry.min and not equal(entry.min, value):
        return "least", entry.min
    if entry.max is not None and value > entry.max and not equal(entry.max, value):
        return "greatest", entry.max
    return None


def equal(one: object, other: object) -> bool:
    """Return whether two values are the same: numbers to the last digits that a text may lose."""
    numbers = number_of(one), number_of(other)
    if numbers[0] is None or numbers[1] is None:
        return one == other and isinstance(one, bool) == isinstance(other, bool)
    return math.isclose(*numbers, rel_tol=EQUAL, abs_tol=0.0)  # type: ignore[arg-type]


def accepted(path: str, actual: object, wanted: Value) -> bool:
    """Return whether a value of the box is a possible answer to the wanted one: the same, or rounded."""
    number = number_of(actual)
    if number is None or not isinstance(wanted, float):
        return equal(actual, wanted)
    if "energy" in path:
        return abs(number - wanted) <= ENERGY_STEP
    if path.endswith("_time"):
        return abs(number - wanted) <= max(TIME_STEP, RELATIVE * abs(wanted))
    return math.isclose(number, wanted, rel_tol=RELATIVE, abs_tol=1e-6)
