"""What the devices of the fleet are asked for, by their kind."""

from __future__ import annotations

from typing import NamedTuple

from penstock.gui.model.account import FATES
from penstock.gui.model.directory import Kind

FOLLOWED = frozenset(
    {"State", "Status", "nFramesPlanned", "SeriesId", *(name for name, _ in FATES.values())}
    | {"FileWritten", "FrameRateMeasured", "LastSeries"}  # of detectors
    | {"FileName", "FrameRate", "SeriesReason", "FreeSpace"}  # of receivers
)
"""Attributes that the row of a detector or receiver is made from."""
UNDONE = ("Failed", "Lost", "Dropped", "Absent")
"""Frames of a pipeline that are not done, and never will be."""


class Asked(NamedTuple):
    """What a device of one kind is asked for; see `link.TangoDevice`."""

    only: frozenset[str]
    """Attributes that its row is made from."""
    needs: str
    address: str
    """Its property."""


def asked(kind: Kind) -> Asked:
    """Return what a device of this kind is asked for."""
    return PIPELINES if kind == "pipeline" else DEVICES


DEVICES = Asked(FOLLOWED, "nFramesPlanned", "ReceiverUrl")
PIPELINES = Asked(
    frozenset({"State", "Status", "SeriesId", "RawFile", "Planned", "Done", "Rate", "WaitsFor", *UNDONE})
    | {"LastError"},
    "WorkerDeaths", "PipelineUrl",
)  # fmt: skip
