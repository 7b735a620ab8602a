"""The configuration of one control unit: as it is, and brought to what is wanted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from penstock.devices._dectris.rest import Entry, NoSuchKey, Simplon
from penstock.stins.texts import plural
from penstock.streamer.settings import Limits, Value
from penstock.streamer.unit import CameraError

SLOW = 120.0
"""Seconds for what makes the detector compute: an energy or a threshold moves trim bits and flat fields
([ref18] section "Detector Subsystem": a PUT returns when that is done)."""
PUT = 30.0
"""Seconds for any other configuration."""
ROUNDS = 3
"""How often what is wanted is written: count_time may move frame_time, and the other way round."""
ENERGY_STEP = 1.0
"""eV: a box that sets the energy so much beside rounds it."""
TIME_STEP = 1e-6
"""Seconds, and below also a thousandth of the value: the box counts in ticks of its clock."""
RELATIVE = 1e-3
MISNAMED = {"difference_mode": "threshold/difference/mode"}
"""Keys that a box calls by another name in its answers (fastcs-eiger, `_handle_params_to_update`)."""


class Box:
    """The keys of a control unit's configuration, as they were read last.

    Every method but the first raises what `Simplon` does.
    """

    def __init__(self, simplon: Simplon) -> None:
        self._simplon = simplon
        self._entries: dict[str, Entry] = {}

    def value(self, path: str) -> object:
        """Return the value of a key as it was read last; `None` where the box has no such key."""
        entry = self._entries.get(path)
        return None if entry is None else entry.value

    def first_of(self, paths: Iterable[str]) -> str | None:
        """Return the first of these keys that the box has."""
        return next((path for path in paths if path in self._entries), None)

    def has(self, path: str, value: Value) -> bool:
        """Return whether the box has this value, as it was read last and but for its rounding."""
        return same(path, self.value(path), value)

    def limits(self, path: str) -> Limits:
        """Least and greatest value of a key, as the box says."""
        entry = self._entries.get(path)
        return Limits() if entry is None else Limits(entry.min, entry.max)

    def learn(self, paths: Iterable[str]) -> None:
        """Read keys; those that it does not have are left out, and any that were known before forgotten."""
        entries: dict[str, Entry] = {}
        for path in paths:
            try:
                entries[path] = self._simplon.get(path)
            except NoSuchKey:
                continue
        self._entries = entries

    def refresh(self) -> None:
        """Read all keys that it has again: somebody else may have written them."""
        self.learn(list(self._entries))

    def bring(self, wanted: Mapping[str, Value]) -> None:
        """Write what differs from what is wanted, in its order, and look at what the box made of it.

        Raises:
            CameraError: the box has made something else of a value, or does not allow it.
        """
        for path, value in wanted.items():
            if not self.has(path, value):
                self._refuse_impossible(path, value)
        for _ in range(ROUNDS):
            due = [path for path, value in wanted.items() if not self.has(path, value)]
            for path in due:
                # Another key of this round may have moved it to where it is wanted.
                if not self.has(path, wanted[path]):
                    self.write(path, wanted[path])
            if not due:
                return
        left = [path for path, value in wanted.items() if not self.has(path, value)]
        if left:
            said = ", ".join(f"{path} is {self.value(path)}, {wanted[path]} was asked for" for path in left)
            raise CameraError(
                f"{self._simplon.address} made something else of {plural(len(left), 'value')}: {said}; "
                "set what it can do, or look for another client that sets it at the same time"
            )

    def write(self, path: str, value: Value) -> None:
        """Write a key, and read what has changed with it."""
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
                f"{self._simplon.address}: {path} = {value!r} is not possible; it takes "
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
    """Compare a value of the box with the one that is wanted: equal but for the box's rounding."""
    if not isinstance(wanted, float) or not isinstance(actual, int | float) or isinstance(actual, bool):
        return actual == wanted
    if "energy" in path:
        return abs(actual - wanted) <= ENERGY_STEP
    if path.endswith("_time"):
        return abs(actual - wanted) <= max(TIME_STEP, RELATIVE * abs(wanted))
    return math.isclose(actual, wanted, rel_tol=RELATIVE, abs_tol=1e-6)
