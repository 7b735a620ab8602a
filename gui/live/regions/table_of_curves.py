"""The curves as a table of comma-separated values: a pure function."""

from __future__ import annotations

import csv
import io
import math

import numpy as np

from penstock.gui.live.regions.axis import Scan
from penstock.gui.live.regions.history import VALUES, History
from penstock.gui.live.regions.shown import NAME, Shown


def as_csv(history: History | None, shown: Shown, scan: Scan | None) -> str:
    """Return one line per frame: index, time in seconds since 1970, the motor, all values of all regions, and
    those of the frames shown; what is not known is empty.

    Args:
        history: values of the receiver's regions; `None` if there are none.
        shown: what this window has counted.
        scan: the motor; `None` without one.
    """
    columns: dict[str, dict[int, float]] = {}
    times: dict[int, float] = {}
    if shown.curve("sum")[0].size:
        times |= _by_frame(shown.curve("sum")[0], shown.times())
    if history is not None:
        times |= _by_frame(*history.times())
        for region in history.regions():
            for value in VALUES:
                columns[f"{region}:{value}"] = _by_frame(*history.curve(region, value))
    for value in VALUES:
        found = _by_frame(*shown.curve(value))
        if found:
            columns[f"{NAME}:{value}"] = found
    frames = sorted(set().union(*columns.values()))
    motor = {} if scan is None else _by_frame(frames, scan.positions(np.array(frames, np.int64)))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["frame", "time", *([scan.label] if scan is not None else []), *columns])
    for frame in frames:
        row: list[object] = [frame, _cell(times.get(frame))]
        if scan is not None:
            row.append(_cell(motor.get(frame)))
        writer.writerow([*row, *(_cell(values.get(frame)) for values in columns.values())])
    return text.getvalue()


def _by_frame(frames: object, values: object) -> dict[int, float]:
    return {int(frame): float(value) for frame, value in zip(frames, values, strict=True)}  # type: ignore[call-overload]


def _cell(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else repr(value).removesuffix(".0")
