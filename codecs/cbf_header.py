"""What DECTRIS' camserver writes into the header of an image of detector and counting ("PILATUS 1.2").

A line is "# Tau = 0 s", "# Count_cutoff 1009797 counts", "# Silicon sensor, thickness 0.000320 m" or "#
Trim_file: p6m_E12688_T6344.bin"; "(nil)" stands for a file that was not loaded.
"""

from __future__ import annotations

import logging
import math
import re
from typing import Any

from penstock.stins.messages import HEADER_CHARACTERS
from penstock.stins.texts import quoted

log = logging.getLogger(__name__)

MOST = 2**63 - 1
"""Greatest number; HDF5 and TANGO take no greater whole one."""
MOST_DIGITS = 20
"""Most digits that are read as a whole number: Python refuses thousands of them."""
TEXT_CHARACTERS = 200
"""Most characters of a text."""
_LINE = re.compile(r"#?[ \t]*(\w+)[ \t]*[:=]?[ \t]+(.*)")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
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
_WHOLE = ("Count_cutoff", "N_excluded_pixels", "Retrigger_mode")
_FILES = {
    "Trim_file": "trim_file", "Trim_directory": "trim_directory", "Excluded_pixels": "excluded_pixels",
    "Flat_field": "flat_field", "Ratecorr_lut_directory": "ratecorr_lut_directory",
}  # fmt: skip
"""Lines that NeXus has no names for, and their keys in the object `camserver` of the metadata."""
_NOTHING = "(nil)"


def lines_of(text: str) -> dict[str, str]:
    """Return the lines of a header by their first word; of several, the first counts.

    Args:
        text: header of a CBF, or description of a TIFF, whose lines may begin without "#"; what is behind
            `HEADER_CHARACTERS` is not read.
    """
    lines: dict[str, str] = {}
    for line in text[:HEADER_CHARACTERS].splitlines():
        if (found := _LINE.match(line.strip())) is not None:
            lines.setdefault(found[1], found[2])
    return lines


def facts_of(text: str) -> dict[str, Any]:
    """Return what a header says of the detector and its counting, by the keys of the metadata of a start
    message: lengths in m, times in s, energies in eV. What it does not say is left out, and so is what
    cannot be: a number that is negative, not finite, above `MOST` or not whole where it counts, and a text
    that is longer than `TEXT_CHARACTERS` or not printable; one line of the log names the lines of those.

    Args:
        text: header of a CBF. Anything is accepted, nothing raises.
    """
    wrong: list[str] = []
    numbers: dict[str, int | float] = {}
    texts: dict[str, str] = {}
    facts: dict[str, Any] = {}
    for name, said in lines_of(text).items():
        if said.startswith(_SENSOR):
            thickness = _number(said.removeprefix(_SENSOR))
            if thickness is None or not (_is_possible(thickness) and _is_text(name)):
                wrong.append(name)
            elif thickness:
                facts |= {"sensor_material": _MATERIALS.get(name, name), "sensor_thickness": float(thickness)}
        elif name in _KNOWN or name in _NUMBERS:
            number = _number(said)
            if number is None:
                continue  # nobody has set it
            if _is_possible(number) and (name not in _WHOLE or float(number).is_integer()):
                numbers[name] = int(number) if name in _WHOLE else number
            else:
                wrong.append(name)
        elif name == "Gain_setting" or name in _FILES:
            if _is_text(said):
                texts[name] = said
            else:
                wrong.append(name)
    if wrong:
        names = quoted(", ".join(wrong), TEXT_CHARACTERS)
        log.warning("the header of an image has impossible values, which are left out, for %s", names)
    for name, keys in _KNOWN.items():
        if value := numbers.get(name):
            facts |= dict.fromkeys(keys, value if name in _WHOLE else float(value))
    if gain := texts.get("Gain_setting"):
        facts["gain_setting"] = gain
    own: dict[str, Any] = {key: numbers[name] for name, key in _NUMBERS.items() if name in numbers}
    own |= {key: texts[name] for name, key in _FILES.items() if texts.get(name, _NOTHING) != _NOTHING}
    if "tau" in own:
        facts["countrate_correction_applied"] = bool(own["tau"] or "ratecorr_lut_directory" in own)
    if "n_excluded_pixels" in own:
        facts["pixel_mask_applied"] = own["n_excluded_pixels"] > 0
    if "Flat_field" in texts:
        facts["flatfield_applied"] = "flat_field" in own
    return facts | ({"camserver": own} if own else {})


def _number(text: str) -> int | float | None:
    """Return the number that a text begins with, whole if it is written so; `None` if there is none."""
    found = _NUMBER.match(text)
    if found is None:
        return None
    digits = found[0]
    return int(digits) if digits.isdecimal() and len(digits) <= MOST_DIGITS else float(digits)


def _is_possible(number: int | float) -> bool:
    return math.isfinite(number) and 0 <= number <= MOST


def _is_text(said: str) -> bool:
    return len(said) <= TEXT_CHARACTERS and said.isprintable()
