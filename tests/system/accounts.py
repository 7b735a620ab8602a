"""The one check of a series' account: HTTP, Tango and the file say the same, and it sums to planned."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from penstock.receiver.models import FrameStatus
from tests.system.beamline import Station, until

TANGO_NAMES = {
    "stored": "nFramesWritten", "delivered": "nFramesDelivered", "discarded": "nFramesDiscarded",
    "partial": "nFramesPartial", "corrupt": "nFramesCorrupt", "missing": "nFramesMissing",
    "not_triggered": "nFramesNotTriggered",
    "pending": "nFramesPending",
}  # fmt: skip
FINAL = [name for name in TANGO_NAMES if name != "pending"]


def check_account(station: Station, file: Path | None, planned: int, **expected: int) -> dict[str, int]:
    """The account of the last series, after its end.

    Args:
        station: detector and receiver.
        file: what was written; `None` for live series.
        planned: frames.
        expected: counts that are known beforehand.
    """
    series = station.detector.SeriesId

    def ended() -> bool:
        status = station.receiver.client.status()
        return status.state != "running" and status.series is not None and status.series.id == series

    until(ended, "the receiver ends the series")
    counts = station.receiver.client.status().counts
    http = {name: getattr(counts, name) for name in TANGO_NAMES}
    assert counts.planned == planned
    assert sum(http.values()) == planned, http
    assert http["pending"] == 0, http
    for name, number in expected.items():
        assert http[name] == number, (name, http)

    def tango_counts() -> dict[str, int]:
        return {name: station.detector.read_attribute(tango).value for name, tango in TANGO_NAMES.items()}

    assert station.detector.nFramesPlanned == planned
    until(lambda: tango_counts() == http, f"Tango counts {tango_counts()} equal {http}")
    if file is not None:
        assert file_counts(file, planned) == {name: http[name] for name in FINAL}
    return http


def check_tango_sum(station: Station, planned: int) -> None:
    """What the device knows sums to planned, also when the receiver can no longer be asked."""
    counts = {name: station.detector.read_attribute(tango).value for name, tango in TANGO_NAMES.items()}
    assert station.detector.nFramesPlanned == planned
    assert sum(counts.values()) == planned, counts


def file_counts(path: Path, planned: int) -> dict[str, int]:
    """Counts as the file has them, checked against its own frame statuses."""
    with h5py.File(path) as file:
        detector, *_ = (  # and a link to it, where the file is NXmx
            group for group in file["entry/instrument"].values()
            if isinstance(group, h5py.Group) and group.attrs.get("NX_class") == "NXdetector"
        )  # fmt: skip
        account = detector["series"]
        counts = {name: int(account[name][()]) for name in FINAL}
        assert int(account["planned"][()]) == planned
        assert sum(counts.values()) == planned, counts
        statuses = np.asarray(detector["frame_status"][()])
    beyond = planned - len(statuses)
    for name in ("stored", "partial", "delivered", "discarded", "corrupt"):
        assert int((statuses == FrameStatus[name.upper()]).sum()) == counts[name], name
    absent = int(np.isin(statuses, (FrameStatus.MISSING, FrameStatus.NOT_TRIGGERED)).sum())
    assert absent + beyond == counts["missing"] + counts["not_triggered"]
    return counts
