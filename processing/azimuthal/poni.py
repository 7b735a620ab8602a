"""The geometry that a user gives: a .poni file, by its path or its text, which is checked without pyFAI.

Lines `Key: value`, as pyFAI reads them (pyFAI 2026.9, `pyFAI/io/ponifile.py`, `PoniFile.read_from_dict`).
"""

from __future__ import annotations

import json
from pathlib import Path

from penstock.processing.processor import CannotProcess
from penstock.stins.texts import plural

HAS = (
    "a .poni file has lines such as Detector, Distance, Poni1, Poni2, Rot1 to Rot3 and Wavelength, each with "
    "a colon and its value, as pyFAI-calib2 writes them"
)
NUMBERS = (
    "poni_version", "distance", "dist", "poni1", "poni2", "rot1", "rot2", "rot3", "wavelength", "pixelsize1",
    "pixelsize2",
)  # fmt: skip
"""Keys whose values are numbers, in lower case."""


def name(poni: str) -> str:
    """Return how a parameter is called in sentences: by its path, if it is one."""
    return f"the text of poni ({plural(len(poni.splitlines()), 'line')})" if is_text(poni) else poni


def is_text(poni: str) -> bool:
    """Return whether this is the text of a file, and not its path."""
    return "\n" in poni or poni.lstrip().startswith("{")


def text(poni: str) -> str:
    """Return the text of a .poni file, of which the text or the path is given; "" of "".

    Raises:
        CannotProcess: it cannot be read, or is no geometry; the sentence names the file.
    """
    if not poni:
        return ""
    found = poni if is_text(poni) else _read(poni)
    if why := wrong(found):
        raise CannotProcess(f"poni: {name(poni)} is no geometry: {why}; {HAS}")
    return found


def wrong(found: str) -> str:
    """Return what keeps a text from being a geometry; "" if it may be one: whether it is, pyFAI says."""
    if found.lstrip().startswith("{"):
        try:
            json.loads(found)
        except ValueError as error:
            return f"it begins with {{, and is no JSON ({error})"
        return ""
    pairs = (line.split(":", 1) for line in found.splitlines() if ":" in line and not line.startswith("#"))
    values = {key.strip().lower(): value.strip() for key, value in pairs}
    for key in NUMBERS:
        if key in values and not _is_number(values[key]):
            return f'{key.capitalize()} is "{values[key]:.60}", which is no number'
    missing = [key.capitalize() for key in ("poni1", "poni2") if key not in values]
    if "distance" not in values and "dist" not in values:
        missing.insert(0, "Distance")
    if not {"detector", "pixelsize1", "pixelsize2"} & values.keys():
        missing.insert(0, "Detector")
    return f"it has no {', '.join(missing)}" if missing else ""


def _read(poni: str) -> str:
    path = Path(poni)
    if not path.is_absolute():
        raise CannotProcess(
            f"poni is {poni:.200}: workers run in folders of their own; give an absolute path, or the text "
            "of the file"
        )
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else f"it is no text; {HAS}"
        raise CannotProcess(f"poni: {path}: {why}; the file has to be where the workers run") from error


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
