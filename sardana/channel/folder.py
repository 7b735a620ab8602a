"""The folder of a scan's files: ScanDir, or what is taken in its place, and what the user is told then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def scan_folder(environment: Callable[[str], Any]) -> tuple[str, str]:
    """Return the folder, and a sentence where ScanDir is not set, else "".

    Without ScanDir it is the folder of the last scan that had one; "" stands for the receiver's data root.

    Args:
        environment: returns a variable of the MacroServer, `None` where it is not set.
    """
    if folder := environment("ScanDir"):
        return str(folder), ""
    for scan in reversed(environment("ScanHistory") or []):
        if folder := scan.get("ScanDir"):
            return str(folder), _not_set(f"{folder}, the folder of the last scan")
    return "", _not_set("the data root of the receiver")


def _not_set(place: str) -> str:
    return (
        f"ScanDir is not set: detectors' files go to {place}; choose a folder with `senv ScanDir /data/...`"
    )
