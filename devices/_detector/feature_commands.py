"""The commands of devices whose unit has features of its own: ListFeatures, GetFeature, SetFeature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tango.server import command

from penstock.devices._detector.detector import Detector
from penstock.devices._series.arming import ArmRefused
from penstock.devices._tango.faults import as_tango_error
from penstock.devices._tango.tango_text import tango_json


@command(dtype_out=str, doc_out="JSON list of objects, as GetFeature returns one")
def ListFeatures(self: Detector) -> str:
    """Return the features of the camera that no attribute declares, with values, limits and choices."""
    with as_tango_error("ListFeatures"):
        return tango_json(self.features.list())


@command(
    dtype_in=str, doc_in="name of the feature", dtype_out=str,
    doc_out="JSON object: name, kind, value, writable, set_by, unit, limits, choices, doc, group",
)  # fmt: skip
def GetFeature(self: Detector, name: str) -> str:
    """Return one feature of the camera as it is now."""
    with as_tango_error("GetFeature"):
        return tango_json(self.features.get(name))


@command(
    dtype_in=(str,), doc_in="name and value; a command has no value", dtype_out=str,
    doc_out="JSON object as of GetFeature, with the value that the camera has made of it",
)  # fmt: skip
def SetFeature(self: Detector, name_and_value: Sequence[str]) -> str:
    """Set a feature of the camera, or execute a command of it; in the state ON only."""
    with as_tango_error("SetFeature"):
        if len(name_and_value) not in (1, 2):
            raise ArmRefused(
                "wrong_arguments", f"SetFeature takes a name and a value, not {len(name_and_value)} texts"
            )
        name, value = (*name_and_value, "")[:2]
        return tango_json(self.features.set(name, value))


COMMANDS: Mapping[str, Any] = {each.__name__: each for each in (ListFeatures, GetFeature, SetFeature)}
"""The commands by name, as members of a class."""
