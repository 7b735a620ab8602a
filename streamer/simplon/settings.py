"""The settings of a control unit, and the couplings between them.

Couplings as SIMPLON documents them with each key of `detector/config`: an energy changes its thresholds, a
count time the frame time. A PUT answers with the names of all changed keys.
"""

from __future__ import annotations

from datetime import UTC, datetime
from threading import RLock
from typing import Any

import numpy as np

from penstock.streamer.simplon import keys
from penstock.streamer.simplon.recorded import Recorded

HC = 12398.419843320026
"""Planck constant times speed of light, in eV Å (CODATA 2018)."""
LONG = 0.02
"""Count time in seconds above which read-outs are summed to 32-bit frames."""
TABLES = ("flatfield", "pixel_mask")


class Settings:
    """All keys of one control unit."""

    def __init__(
        self, api: str, stream: str, rows: int, cols: int, name: str, recorded: Recorded | None = None
    ) -> None:
        self.api, self.rows, self.cols = api, rows, cols
        self._recorded = recorded
        self._stream, self._name = stream, name
        self.lock = RLock()
        self.tables: dict[str, np.ndarray] = {}
        self.of: dict[tuple[str, str], dict[str, keys.Key]] = {}
        self.power_on()

    def power_on(self) -> None:
        """Set the defaults, and the state "na"."""
        with self.lock:
            self.of = keys.other_subsystems(self.api, self._stream)
            self.of["detector", "config"] = keys.detector(self.api, self.rows, self.cols, self._name)
            self.of["detector", "status"] = keys.detector_status(self.api)
            self.initialise()

    def initialise(self) -> None:
        """Reset `detector/config` to its defaults, as `initialize` does."""
        self.of["detector", "config"] = keys.detector(self.api, self.rows, self.cols, self._name)
        flat, mask = np.ones((self.rows, self.cols), np.float32), np.zeros((self.rows, self.cols), np.uint32)
        self.tables = {"flatfield": flat, "pixel_mask": mask}
        if self._recorded is not None:
            self._recorded.apply_to(self.of["detector", "config"])
            self.tables |= self._recorded.tables
        if self.api == keys.NEW:
            self.tables |= {f"threshold/{n}/{name}": self.tables[name] for n in (1, 2) for name in TABLES}

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

    def put(self, subsystem: str, name: str, value: Any) -> list[str]:
        """Set a key of a configuration; return the names of all changed keys.

        Raises:
            KeyError: no such key.
            PermissionError: read-only.
            ValueError: wrong type, range or choice.
        """
        with self.lock:
            if subsystem == "detector" and name in self.tables:
                table = self.tables[name]
                if np.shape(value) != table.shape:
                    raise ValueError(f"{name} has the shape {np.shape(value)}; it must be {table.shape}")
                self.tables[name] = np.asarray(value, table.dtype)
                return [name]
            key = self.of[subsystem, "config"][name]
            if key.access == "r":
                raise PermissionError(f"{name} is read-only")
            before = {other: item.value for other, item in self.of[subsystem, "config"].items()}
            key.value = key.converted(value)
            if subsystem == "detector":
                try:
                    self._couple(name, key.value)
                except ValueError:
                    key.value = before[name]
                    raise
            after = self.of[subsystem, "config"]
            changed = [other for other, item in after.items() if item.value != before[other]]
            tables = [n for n in self.tables if "flatfield" in n] if self._changes_flat_field(name) else []
            return sorted({name, *changed, *tables})

    @staticmethod
    def _changes_flat_field(name: str) -> bool:
        return name in ("photon_energy", "element", "wavelength", "incident_energy") or name.endswith(
            "energy"
        )

    def _couple(self, name: str, value: Any) -> None:
        config = self.of["detector", "config"]
        match name:
            case "element":
                if value:
                    self._energy(keys.KALPHA[value])
            case "wavelength":
                self._energy(HC / value, element="")
            case "photon_energy" | "incident_energy":
                self._energy(value, element="")
            case "threshold_energy":
                self._set("threshold/1/energy", value)
            case "threshold/1/energy":
                self._set("threshold_energy", value)
            case "detector_distance":
                self._set("detector_translation", [0.0, 0.0, value])
            case "count_time":
                config["frame_time"].value = max(config["frame_time"].value, value + keys.READOUT)
            case "frame_time":
                config["count_time"].value = min(config["count_time"].value, value - keys.READOUT)
        config["frame_count_time"].value = config["count_time"].value
        if self._recorded is not None:
            return
        summed = config["auto_summation"].value and config["count_time"].value > LONG
        config["bit_depth_image"].value = 32 if summed else config["bit_depth_readout"].value

    def _energy(self, energy: float, element: str | None = None) -> None:
        least, most = keys.ENERGY_RANGE
        if not least <= energy <= most:
            raise ValueError(f"a photon energy of {energy:.6g} eV is outside {least:g} to {most:g} eV")
        for name in ("photon_energy", "incident_energy"):
            self._set(name, energy)
        self._set("wavelength", HC / energy)
        if element is not None:
            self._set("element", element)
        for name in ("threshold_energy", "threshold/1/energy"):
            self._set(name, max(keys.THRESHOLD_RANGE[0], energy / 2))
        self._set("threshold/2/energy", energy * 0.8)

    def _set(self, name: str, value: Any) -> None:
        if name in (config := self.of["detector", "config"]):
            config[name].value = value

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the images of a frame in stream V2."""
        if self.api != keys.NEW:
            return ("threshold_1",)
        modes = {"threshold_1": "1", "threshold_2": "2", "difference": "difference"}
        return tuple(name for name, key in modes.items() if self[f"threshold/{key}/mode"] == "enabled")

    @property
    def dtype(self) -> str:
        """NumPy name of the pixel type."""
        return f"uint{self['bit_depth_image']}"


def now() -> str:
    """Return the present time in SIMPLON's form."""
    return datetime.now(UTC).astimezone().isoformat(timespec="milliseconds")
