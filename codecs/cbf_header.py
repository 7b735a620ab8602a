"""What DECTRIS' camserver writes into the header of an image of detector and counting ("PILATUS 1.2").

A line is "# Tau = 0 s", "# Count_cutoff 1009797 counts", "# Silicon sensor, thickness 0.000320 m" or "#
Trim_file: p6m_E12688_T6344.bin"; "(nil)" stands for a file that was not loaded.
"""

from __future__ import annotations

import re
from typing import Any

_LINE = re.compile(r"^#?[ \t]*(\w+)[ \t]*[:=]?[ \t]+(.*?)[ \t\r]*$", re.MULTILINE)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_SENSOR = "sensor, thickness "
"""Stands between material and thickness."""
_MATERIALS = {"Silicon": "Si"}
"""DECTRIS' words for sensors, where they are not those of its other detectors ("Si", "CdTe")."""
_KNOWN = {
    "Count_cutoff": ("saturation_value",), "Threshold_setting": ("threshold_energy",),
    "Exposure_time": ("count_time", "exptime"),
}  # fmt: skip
"""Lines of one number, and their keys in the metadata of a start message; 0 means that it is not set."""
_NUMBERS = {"Tau": "tau", "N_excluded_pixels": "n_excluded_pixels", "Retrigger_mode": "retrigger_mode"}
_FILES = {
    "Trim_file": "trim_file", "Trim_directory": "trim_directory", "Excluded_pixels": "excluded_pixels",
    "Flat_field": "flat_field", "Ratecorr_lut_directory": "ratecorr_lut_directory",
}  # fmt: skip
"""Lines that NeXus has no names for, and their keys in the object `camserver` of the metadata."""
_NOTHING = "(nil)"


def lines_of(text: str) -> dict[str, str]:
    """Return the lines of a header by their first word; of several, the first counts.

    Args:
        text: header of a CBF, or description of a TIFF, whose lines may begin without "#".
    """
    lines: dict[str, str] = {}
    for name, said in _LINE.findall(text):
        lines.setdefault(name, said)
    return lines


def facts_of(text: str) -> dict[str, Any]:
    """Return what a header says of the detector and its counting, by the keys of the metadata of a start
    message: lengths in m, times in s, energies in eV. What it does not say is left out.

    Args:
        text: header of a CBF. Anything is accepted, nothing raises.
    """
    lines = lines_of(text)
    numbers = {name: _number(said) for name, said in lines.items()}
    facts: dict[str, Any] = {}
    for name, said in lines.items():
        thickness = _number(said.removeprefix(_SENSOR)) if said.startswith(_SENSOR) else None
        if thickness:
            facts |= {"sensor_material": _MATERIALS.get(name, name), "sensor_thickness": float(thickness)}
    for name, keys in _KNOWN.items():
        if value := numbers.get(name):
            facts |= dict.fromkeys(keys, value if name == "Count_cutoff" else float(value))
    if gain := lines.get("Gain_setting"):
        facts["gain_setting"] = gain
    own: dict[str, Any] = {
        key: numbers[name] for name, key in _NUMBERS.items() if numbers.get(name) is not None
    }
    own |= {key: lines[name] for name, key in _FILES.items() if lines.get(name, _NOTHING) != _NOTHING}
    if "tau" in own:
        facts["countrate_correction_applied"] = bool(own["tau"] or "ratecorr_lut_directory" in own)
    if "n_excluded_pixels" in own:
        facts["pixel_mask_applied"] = own["n_excluded_pixels"] > 0
    if "Flat_field" in lines:
        facts["flatfield_applied"] = "flat_field" in own
    return facts | ({"camserver": own} if own else {})


def _number(text: str) -> int | float | None:
    """Return the number that a text begins with, whole if it is written so; `None` if there is none."""
    found = _NUMBER.match(text)
    if found is None:
        return None
    return int(found[0]) if found[0].isdecimal() else float(found[0])
