"""Detectors whose pixels are words of several fields, and no counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JUNGFRAU = (
    "the pixels are raw words of a JUNGFRAU, two bits of gain above 14 of charge: sums and means of them are "
    "no charge, unless a step before has subtracted pedestals and divided by gains"
)


def note(metadata: Mapping[str, Any], dtype: str | None) -> str:
    """Return what has to be said of sums of a series' pixels; "" if nothing.

    Args:
        metadata: of the start message; `description` names the detector.
        dtype: type of the pixels; `None` if it is unknown.
    """
    said = metadata.get("description")
    is_jungfrau = isinstance(said, str) and "JUNGFRAU" in said.upper()
    return JUNGFRAU if is_jungfrau and dtype in (None, "uint16") else ""
