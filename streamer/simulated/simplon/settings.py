"""The settings of a control unit: what can be read and set in which state, and what follows from it."""

from __future__ import annotations

from datetime import UTC, datetime
from threading import RLock
from typing import Any

import numpy as np

from penstock.streamer.simulated.simplon import couplings
from penstock.streamer.simulated.simplon.detector_config import detector_config
from penstock.streamer.simulated.simplon.key import NEW, Key
from penstock.streamer.simulated.simplon.recorded import Recorded
from penstock.streamer.simulated.simplon.subsystems import Sections, subsystems

TABLES = ("flatfield", "pixel_mask")
CHANGE_STATES = ("idle", "error")
"""States in which a detector's configuration can be set."""
UNINITIALISED = "na"
CUTOFFS = 4000
"""Rows of the table of the count rate correction."""


class Settings:
    """All keys of one control unit."""

    def __init__(
        self, api: str, stream: str | None, rows: int, cols: int, name: str, recorded: Recorded | None = None
    ) -> None:
        self.api, self.rows, self.cols = api, rows, cols
        self._recorded = recorded
        self._stream, self._name = stream, name
        self.lock = RLock()
        self.tables: dict[str, np.ndarray] = {}
        self.of: Sections = {}
        self.power_on()

    def power_on(self) -> None:
        """Set the defaults, and the state "na"."""
        with self.lock:
            self.of = subsystems(self.api, self._stream)
            self.initialise()

    def initialise(self) -> None:
        """Reset `detector/config` to its defaults, as `initialize` does."""
        config = detector_config(self.api, self.rows, self.cols, self._name)
        couplings.time_frames(config)
        self.of["detector", "config"] = config
        if self._recorded is not None:
            self._recorded.apply_to(config)
        self.tables = self._default_tables()

    def _default_tables(self) -> dict[str, np.ndarray]:
        flat, mask = np.ones((self.rows, self.cols), np.float32), np.zeros((self.rows, self.cols), np.uint32)
        tables: dict[str, np.ndarray] = {"flatfield": flat, "pixel_mask": mask}
        if self._recorded is not None:
            tables |= self._recorded.tables
        if self.api == NEW:
            tables |= {f"threshold/{n}/{name}": tables[name] for n in (1, 2) for name in TABLES}
        return tables

    def __getitem__(self, name: str) -> Any:
        """Return the value of a key of `detector/config`."""
        return self.of["detector", "config"][name].value

    def get(self, subsystem: str, section: str, name: str) -> Any:
        """Return the value of any key."""
        return self.of[subsystem, section][name].value

    def show(self, subsystem: str, section: str, name: str, value: Any) -> None:
        """Set a value that the box itself reports."""
        self.of[subsystem, section][name].value = value

    @property
    def state(self) -> str:
        """`detector/status/state`."""
        return str(self.get("detector", "status", "state"))

    @state.setter
    def state(self, state: str) -> None:
        self.show("detector", "status", "state", state)

    def keys(self, subsystem: str, section: str) -> list[str]:
        """Return the names of the keys that can be read, as far as a real control unit lists them.

        Raises:
            KeyError: no such subsystem or section.
        """
        found = self._readable(subsystem, section)
        tables = self.tables if (subsystem, section) == ("detector", "config") and found else {}
        return sorted({*(name for name, key in found.items() if key.listed), *tables, *self._fixed(tables)})

    def has(self, name: str) -> bool:
        """Return whether `detector/config` has this key, in whatever state."""
        return name in self.of["detector", "config"]

    def key(self, subsystem: str, section: str, name: str) -> Key:
        """Return a key that can be read now.

        Raises:
            KeyError: no such key, in this state.
        """
        return self._readable(subsystem, section)[name]

    def table(self, name: str) -> np.ndarray:
        """Return a table of `detector/config` that can be read now: flat field, mask, count rate correction.

        Raises:
            KeyError: no such table, in this state.
        """
        if self.state == UNINITIALISED:
            raise KeyError(name)
        if name in self._fixed(self.tables):
            return countrate_table()
        return self.tables[name]

    def _readable(self, subsystem: str, section: str) -> dict[str, Key]:
        """Return the keys that are there: before `initialize` only the state (SIMPLON API 1.8, p. 8)."""
        found = self.of[subsystem, section]
        if self.state != UNINITIALISED:
            return found
        return {"state": found["state"]} if (subsystem, section) == ("detector", "status") else {}

    def _fixed(self, tables: dict[str, np.ndarray]) -> tuple[str, ...]:
        return ("countrate_correction_table",) if tables and self.api == NEW else ()

    def put(self, subsystem: str, name: str, value: Any) -> list[str]:
        """Set a key of a configuration; return the names of all keys that have changed, or may have.

        Raises:
            KeyError: no such key, in this state.
            PermissionError: read-only.
            ValueError: wrong type, range or choice.
        """
        with self.lock:
            if subsystem == "detector" and name in self.tables:
                return self._put_table(name, value)
            key = self.key(subsystem, "config", name)
            if key.access == "r":
                raise PermissionError(f"{name} is read-only")
            config = self.of[subsystem, "config"]
            before = {other: item.value for other, item in config.items()}
            key.value = key.converted(value)
            if subsystem == "detector":
                try:
                    couplings.couple(config, name, api=self.api, recorded=self._recorded is not None)
                except ValueError:
                    for other, old in before.items():
                        config[other].value = old
                    raise
            changed = [other for other, item in config.items() if item.value != before[other]]
            return self._answer(subsystem, name, changed)

    def delete(self, name: str) -> None:
        """Restore the default of a table (SIMPLON API 1.8, p. 16 and 19).

        Raises:
            KeyError: no such key, in this state.
            PermissionError: it is not a table that can be set.
        """
        with self.lock:
            if name not in self.tables:
                self.key("detector", "config", name)
                raise PermissionError(f"{name} cannot be deleted; pixel_mask and flatfield can")
            self._put_table(name, self._default_tables()[name])

    def _put_table(self, name: str, value: Any) -> list[str]:
        table = self.table(name)
        if np.shape(value) != table.shape:
            raise ValueError(f"{name} has the shape {np.shape(value)}; it must be {table.shape}")
        # A detector has one mask and flat field per threshold; the names without one mean the first.
        for same in (name, *couplings.FOLLOWERS.get(name, ())):
            if same in self.tables:
                self.tables[same] = np.asarray(value, table.dtype)
        return self._answer("detector", name, [])

    def _answer(self, subsystem: str, name: str, changed: list[str]) -> list[str]:
        may = couplings.FOLLOWERS.get(name, ()) if subsystem == "detector" else ()
        there = {*self.of[subsystem, "config"], *self.tables}
        return sorted({name, *changed, *(other for other in may if other in there)})

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the images of a frame in stream V2."""
        if self.api != NEW:
            return ("threshold_1",)
        modes = {"threshold_1": "1", "threshold_2": "2", "difference": "difference"}
        return tuple(name for name, key in modes.items() if self[f"threshold/{key}/mode"] == "enabled")

    def energy(self, channel: str) -> float | None:
        """Return the threshold energy of a channel, in eV; `None` for the difference."""
        if channel == "difference":
            return None
        return float(self[f"threshold/{channel[-1]}/energy" if self.api == NEW else "threshold_energy"])

    @property
    def frames(self) -> int:
        """Number of frames of a series."""
        return couplings.frames(self.of["detector", "config"])

    @property
    def dtype(self) -> str:
        """NumPy name of the pixel type."""
        return f"uint{self['bit_depth_image']}"


def countrate_table() -> np.ndarray:
    """Return the table of the count rate correction: this simulator corrects nothing."""
    counts = np.arange(CUTOFFS, dtype=np.float32)
    return np.stack([counts, counts], axis=1)


def now() -> str:
    """Return the present time in SIMPLON's form."""
    return datetime.now(UTC).astimezone().isoformat(timespec="milliseconds")
