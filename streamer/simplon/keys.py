"""The keys of a control unit in SIMPLON 1.6.0 and 1.8.0.

Keys, types and units: ADEiger `eigerApp/src/eigerDetector.cpp` and `eigerParam.cpp`, fastcs-eiger
`controllers/eiger_subsystem_controller.py`, tickit-devices `eiger/eiger_settings.py`, Lima-camera-eiger
`src/EigerDetInfoCtrlObj.cpp`, and the start messages of a real EIGER 1M.
"""

from __future__ import annotations

from typing import Any

import msgspec

SWITCH = ("enabled", "disabled")
AXES = ("chi", "kappa", "omega", "phi", "two_theta")
NEW = "1.8.0"
OLD = "1.6.0"
KALPHA = {
    "Li": 54.3, "Be": 108.5, "B": 183.3, "C": 277.0, "N": 392.4, "O": 524.9, "F": 676.8, "Ne": 848.6,
    "Na": 1040.98, "Mg": 1253.6, "Al": 1486.7, "Si": 1739.98, "P": 2013.7, "S": 2307.84, "Cl": 2622.39,
    "Ar": 2957.7, "K": 3313.8, "Ca": 3691.68, "Sc": 4090.6, "Ti": 4510.84, "V": 4952.2, "Cr": 5414.72,
    "Mn": 5898.75, "Fe": 6403.84, "Co": 6930.32, "Ni": 7478.15, "Cu": 8047.78, "Zn": 8638.86,
    "Ga": 9251.74, "Ge": 9886.42, "As": 10543.72, "Se": 11222.4, "Br": 11924.2, "Mo": 17479.34,
    "Ag": 22162.92,
}  # fmt: skip
"""K-alpha lines in eV (X-ray Data Booklet, table 1-2)."""
ENERGY_RANGE = (5000.0, 40000.0)
"""Least and greatest photon energy of the simulated sensor, in eV."""
THRESHOLD_RANGE = (2500.0, 40000.0)
UNLISTED = {
    ("detector", "status"): {"error"},
    ("detector", "config"): {"wavelength"},
    ("stream", "status"): {"error"},
}
"""Keys that can be read although no list has them (fastcs-eiger `MISSING_KEYS`)."""
READOUT = 1e-7
"""Dead time between two frames, in seconds: 100 ns as for an EIGER2."""
SHORTEST = 1e-5
"""Least count time and frame time, in seconds."""


class Key(msgspec.Struct, kw_only=True):
    """One key with all that a GET of it returns."""

    value: Any
    kind: str
    """SIMPLON's value_type."""
    access: str = "rw"
    unit: str | None = None
    least: float | None = None
    most: float | None = None
    allowed: tuple[str, ...] | None = None

    def answer(self) -> dict[str, Any]:
        """Return the JSON of a GET; properties that the key lacks are left out, as in SIMPLON."""
        answer = {"access_mode": self.access, "value": self.value, "value_type": self.kind}
        more = {"unit": self.unit, "min": self.least, "max": self.most}
        answer |= {name: value for name, value in more.items() if value is not None}
        return answer if self.allowed is None else answer | {"allowed_values": list(self.allowed)}

    def converted(self, value: Any) -> Any:
        """Return the value in the type of the key.

        Raises:
            ValueError: it has another type, is out of range, or is not among the allowed values.
        """
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        right = {
            "bool": isinstance(value, bool), "string": isinstance(value, str), "float": number,
            "float[]": isinstance(value, list), "uint": number and value == int(value) and value >= 0,
        }.get(self.kind, True)  # fmt: skip
        if not right:
            raise ValueError(f"{value!r:.60} is not of the type {self.kind}")
        if self.allowed is not None and value not in self.allowed:
            raise ValueError(f"{value!r:.60} is not one of {', '.join(self.allowed)}")
        if self.least is not None and value < self.least:
            raise ValueError(f"{value!r} is below the minimum {self.least}")
        if self.most is not None and value > self.most:
            raise ValueError(f"{value!r} is above the maximum {self.most}")
        return {"float": float, "uint": int}.get(self.kind, lambda same: same)(value)


def _real(
    value: float, unit: str | None = None, least: float | None = None, most: float | None = None
) -> Key:
    return Key(value=value, kind="float", unit=unit, least=least, most=most)


def _whole(value: int, least: int = 1, most: int = 2_000_000_000) -> Key:
    return Key(value=value, kind="uint", least=least, most=most)


def _text(value: str = "", *allowed: str) -> Key:
    return Key(value=value, kind="string", allowed=allowed or None)


def _flag(value: bool) -> Key:
    return Key(value=value, kind="bool")


def _fixed(value: Any, kind: str = "string", unit: str | None = None) -> Key:
    return Key(value=value, kind=kind, unit=unit, access="r")


def detector(api: str, rows: int, cols: int, name: str) -> dict[str, Key]:
    """Return `detector/config` as after `initialize`."""
    new = api == NEW
    modes = ("exte", "extg", "exts", "inte", "ints") if new else ("exte", "exts", "inte", "ints")
    keys = {
        "auto_summation": _flag(True),
        "beam_center_x": _real(cols / 2, "pixel"), "beam_center_y": _real(rows / 2, "pixel"),
        "bit_depth_image": _fixed(16, "uint"),
        "bit_depth_readout": Key(value=16, kind="uint", access="rw" if new else "r", least=8, most=16),
        "compression": _text("bslz4", "bslz4", "lz4", "none"),
        "count_time": _real(0.01, "s", SHORTEST, 3600.0),
        "countrate_correction_applied": _flag(True),
        "countrate_correction_count_cutoff": _fixed(2943293, "uint"),
        "data_collection_date": _fixed(""), "description": _fixed(name),
        "detector_distance": _real(0.1, "m"), "detector_number": _fixed("E-SIM-0001"),
        "detector_readout_time": _fixed(READOUT, "float", "s"),
        "eiger_fw_version": _fixed("simulated"), "element": _text("", "", *KALPHA),
        "flatfield_correction_applied": _flag(True),
        "frame_count_time": _fixed(0.01, "float", "s"),
        "frame_time": _real(0.01 + READOUT, "s", SHORTEST, 3600.0),
        "nimages": _whole(1), "ntrigger": _whole(1), "number_of_excluded_pixels": _fixed(0, "uint"),
        "photon_energy": _real(8047.78, "eV", *ENERGY_RANGE), "pixel_mask_applied": _flag(True),
        "roi_mode": _text("disabled", "disabled") if new else _text("", ""),
        "sensor_material": _fixed("Si"), "sensor_thickness": _fixed(0.00045, "float", "m"),
        "software_version": _fixed(api), "threshold_energy": _real(4023.89, "eV", *THRESHOLD_RANGE),
        "trigger_mode": _text("ints", *modes), "virtual_pixel_correction_applied": _flag(True),
        "wavelength": _real(1.5406, "Angstrom", 0.3, 2.5),
        "x_pixel_size": _fixed(7.5e-5, "float", "m"), "x_pixels_in_detector": _fixed(cols, "uint"),
        "y_pixel_size": _fixed(7.5e-5, "float", "m"), "y_pixels_in_detector": _fixed(rows, "uint"),
    }  # fmt: skip
    for axis in AXES:
        keys |= {f"{axis}_start": _real(0.0, "degree"), f"{axis}_increment": _real(0.0, "degree")}
    keys["detector_translation"] = Key(value=[0.0, 0.0, 0.1], kind="float[]", access="r", unit="m")
    if not new:
        return keys
    return keys | {
        "counting_mode": _text("normal", "normal", "retrigger"),
        "extg_mode": _text("double", "single", "double"),
        "fast_arm": _flag(False), "incident_energy": _real(8047.78, "eV", *ENERGY_RANGE),
        "mask_to_zero": _flag(False), "nexpi": _whole(1), "sample_name": _text(), "source_name": _text(),
        "instrument_name": _text(), "total_flux": _real(0.0, "1/s"),
        "trigger_start_delay": _real(0.0, "s", 0.0, 0.1),
        "threshold/1/energy": _real(4023.89, "eV", *THRESHOLD_RANGE),
        "threshold/1/mode": _text("enabled", *SWITCH),
        "threshold/1/number_of_excluded_pixels": _fixed(0, "uint"),
        "threshold/2/energy": _real(6438.22, "eV", *THRESHOLD_RANGE),
        "threshold/2/mode": _text("disabled", *SWITCH),
        "threshold/2/number_of_excluded_pixels": _fixed(0, "uint"),
        "threshold/difference/mode": _text("disabled", *SWITCH),
        "threshold/difference/lower_threshold": _fixed(1, "uint"),
        "threshold/difference/upper_threshold": _fixed(2, "uint"),
    }  # fmt: skip


def detector_status(api: str) -> dict[str, Key]:
    """Return `detector/status`; SIMPLON 1.6.0 names the sensors by board."""
    keys = {"state": _fixed("na", "State"), "error": _fixed([], "string[]"), "time": _fixed("", "datetime")}
    if api == NEW:
        return keys | {
            "temperature": _fixed(23.4, "float", "degC"), "humidity": _fixed(4.2, "float", "percent"),
            "high_voltage/state": _fixed("READY"), "high_voltage/measured": _fixed(120.0, "float", "V"),
            "link_0": _fixed("up"), "link_1": _fixed("up"), "series_unique_id": _fixed(""),
            "builder/dcu_buffer_free": _fixed(100.0, "float", "percent"),
        }  # fmt: skip
    return keys | {
        "board_000/th0_temp": _fixed(23.4, "float", "degC"),
        "board_000/th0_humidity": _fixed(4.2, "float", "percent"),
        "builder/dcu_buffer_free": _fixed(100.0, "float", "percent"),
        "link_0": _fixed("up"), "link_1": _fixed("up"), "link_2": _fixed("up"), "link_3": _fixed("up"),
    }  # fmt: skip


def other_subsystems(api: str, stream: str) -> dict[tuple[str, str], dict[str, Key]]:
    """Return the other subsystems, by (subsystem, "config" or "status")."""
    stream_keys = {
        "mode": _text("enabled", *SWITCH), "header_detail": _text("basic", "none", "basic", "all"),
        "header_appendix": _text(), "image_appendix": _text(),
    }  # fmt: skip
    if api == NEW:
        stream_keys["format"] = _text(stream, "legacy", "cbor")
    return {
        ("stream", "config"): stream_keys,
        ("stream", "status"): {
            "state": _fixed("ready"), "error": _fixed([], "string[]"), "dropped": _fixed(0, "uint"),
        },
        ("monitor", "config"): {
            "mode": _text("disabled", *SWITCH), "buffer_size": _whole(20), "discard_new": _flag(False),
        },
        ("monitor", "status"): {
            "state": _fixed("normal"), "error": _fixed([], "string[]"),
            "buffer_fill_level": _fixed([0, 20], "uint[]"), "dropped": _fixed(0, "uint"),
        },
        ("filewriter", "config"): {
            "mode": _text("disabled", *SWITCH), "compression_enabled": _flag(True),
            "image_nr_start": _whole(1, 0),
            "name_pattern": _text("series_$id"), "nimages_per_file": _whole(1000, 0),
        },
        ("filewriter", "status"): {
            "state": _fixed("ready"), "error": _fixed([], "string[]"), "time": _fixed("", "datetime"),
            "buffer_free": _fixed(100_000_000, "uint", "kB"), "files": _fixed([], "string[]"),
        },
        ("system", "status"): {}, ("system", "config"): {},
    }  # fmt: skip
