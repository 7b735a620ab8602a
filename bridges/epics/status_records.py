"""State, counts and rates of a receiver or pipeline as records, with alarms for an alarm handler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from penstock.bridges.epics import models
from penstock.bridges.epics.pva import INVALID, MAJOR, MINOR, NONE, About, Records, Scalar
from penstock.processing import models as pipeline
from penstock.receiver import models as receiver


class Shown(NamedTuple):
    """What one record shows."""

    value: Any
    severity: int = NONE
    message: str = ""


MOST_CHARACTERS = 1000
"""Most characters of a sentence."""
LOST = {"missing", "corrupt", "partial", "lost_messages", "undecodable"}
"""Counts of a receiver that are an alarm, unless they are 0."""
NOT_DONE = {"failed", "lost", "dropped"}
"""The same of a pipeline."""
_COUNT, _TEXT = "int64", "text"
UNKNOWN = -1
"""A count that is not known."""


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


RECEIVER: Mapping[str, About] = {
    "State": About(_TEXT, text="idle, running or error"),
    "Message": About(_TEXT, text="why it is in error, or why the last series was not taken or is incomplete"),
    "File": About(_TEXT, text="file of the running or last series"),
    "Series": About(_TEXT, text="id of this series"),
    "FrameRate": About("float64", "Hz", "frames per second over the last second"),
    "ByteRate": About("float64", "B/s", "bytes per second over the last second"),
    "FreeBytes": About("float64", "B", "free space on the disk of the data root"),
    **{
        _camel(name): About(_COUNT, text=f"frames of this series: {name.replace('_', ' ')}")
        for name in asdict(receiver.Counts())
    },
}
PIPELINE: Mapping[str, About] = {
    "State": About(_TEXT, text="idle, running or error"),
    "Message": About(_TEXT, text="why it is in error, what it waits for, or what is wrong with the series"),
    "File": About(_TEXT, text="raw file of the running or last series"),
    "ResultFile": About(_TEXT, text="file of its results"),
    "Series": About(_TEXT, text="id of this series"),
    "Workers": About(_COUNT, text="workers that are connected"),
    **{
        _camel(name): About(_COUNT, text=f"frames of this series: {name.replace('_', ' ')}")
        for name in asdict(pipeline.Counts())
    },
}


IN: Mapping[str, About] = {
    "State": About(_TEXT, text="away, idle, running, ending, or foreign: an acquisition that is not taken"),
    "Problem": About(_TEXT, text="what was wrong with the last acquisition"),
    "File": About(_TEXT, text="file of the running or last series"),
    "Series": About(_TEXT, text="id of the running series"),
    "Frames": About(_COUNT, text="frames of the series that were sent"),
    "Receivers": About(_COUNT, text="receivers that are connected"),
    "Taken": About(_COUNT, text="series since the bridge was started"),
    "NotTaken": About(_COUNT, text="acquisitions that were not taken"),
}


def of_gateway(status: models.In) -> dict[str, Shown]:
    """Return what the records of `in` show."""
    away = status.state == "away"
    severity = INVALID if away else MINOR if status.problem else NONE
    message = "the driver does not answer" if away else status.problem
    return {
        "State": Shown(status.state, severity, message),
        "Problem": Shown(status.problem[:MOST_CHARACTERS], MINOR if status.problem else NONE, status.problem),
        "File": Shown(status.file),
        "Series": Shown(status.series or ""),
        "Frames": Shown(status.frames),
        "Receivers": Shown(status.receivers, NONE if status.receivers else MINOR, ""),
        "Taken": Shown(status.taken),
        "NotTaken": Shown(status.not_taken),
    }


def of_receiver(status: receiver.Status) -> dict[str, Shown]:
    """Return what the records of a receiver show."""
    series = status.series
    reason = "" if series is None or series.active else series.reason
    said = status.error or status.refused or reason
    in_error = status.state == "error"
    severity = MAJOR if in_error else MINOR if status.refused or status.lacks else NONE
    message = said if severity else ""
    free = status.free_bytes
    no_disk = (
        Shown(float(UNKNOWN), INVALID, "the file system does not answer")
        if free is None
        else Shown(float(free))
    )
    return {
        "State": Shown(status.state, severity, message),
        "Message": Shown(said[:MOST_CHARACTERS], severity, message),
        "File": Shown("" if series is None else series.filename or ""),
        "Series": Shown("" if series is None else series.id),
        "FrameRate": Shown(status.frame_rate),
        "ByteRate": Shown(status.byte_rate),
        "FreeBytes": no_disk,
        **_counts(asdict(status.counts), LOST, MINOR),
    }


def of_pipeline(status: pipeline.Status) -> dict[str, Shown]:
    """Return what the records of a pipeline show."""
    series = status.series
    said = status.error or status.waits_for or ("" if series is None else series.reason)
    severity = MAJOR if status.error else MINOR if status.waits_for or not status.workers else NONE
    message = said or "no worker" if severity else ""
    return {
        "State": Shown(status.state, severity, message),
        "Message": Shown(said[:MOST_CHARACTERS], severity, message),
        "File": Shown("" if series is None else series.file or ""),
        "ResultFile": Shown("" if series is None else series.result_file or ""),
        "Series": Shown("" if series is None else series.id),
        "Workers": Shown(len(status.workers), NONE if status.workers else MAJOR, ""),
        **_counts(asdict(pipeline.Counts() if series is None else series.counts), NOT_DONE, MINOR),
    }


def _counts(counts: Mapping[str, int | None], alarming: set[str], severity: int) -> dict[str, Shown]:
    return {
        _camel(name): Shown(UNKNOWN if count is None else count, *_alarm(name, count, alarming, severity))
        for name, count in counts.items()
    }


def _alarm(name: str, count: int | None, alarming: set[str], severity: int) -> tuple[int, str]:
    if not count or name not in alarming:
        return NONE, ""
    return severity, f"{count} {name.replace('_', ' ')}"


class StatusRecords:
    """The records of one receiver or pipeline.

    Args:
        records: of the bridge.
        group: what their names begin with: "Receiver" or "Pipeline".
        table: the records.
        shown: makes their values of a status.
    """

    def __init__(
        self, records: Records, group: str, table: Mapping[str, About],
        shown: Callable[[Any], Mapping[str, Shown]],
    ) -> None:  # fmt: skip
        self._shown = shown
        self._scalars = {name: Scalar(about) for name, about in table.items()}
        for name, scalar in self._scalars.items():
            records.add(f"{group}:{name}", scalar)

    def show(self, status: Any) -> None:
        """Show a status."""
        for name, shown in self._shown(status).items():
            self._scalars[name].show(*shown)

    def away(self, why: str) -> None:
        """Keep all values, INVALID from now on: nobody knows whether they still hold."""
        for scalar in self._scalars.values():
            scalar.invalidate(why[:MOST_CHARACTERS])
