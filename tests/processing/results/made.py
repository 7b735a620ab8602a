"""A result file as a distributor writes it, and the raw file beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from penstock.processing.results.contents import Begun
from penstock.processing.results.layout import DONE
from penstock.processing.results.result_file import ResultFile
from penstock.processing.wire import Array, Step
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.messages import Frame, Header, SeriesEnd, Start
from tests.streams import image, pixels

SOURCE = """class Spots(Processor):
    threshold: int = 1000
"""
CURVE, BRIGHT = (
    Array(name="curve", dtype="<f8", shape=(1, 512)), Array(name="bright", dtype="<i8", shape=(1,))
)  # fmt: skip
COMPLETE = "complete"


def raw_file(path: Path, frames: int = 4, **keys: Any) -> Path:
    """A file of a receiver."""
    series = RunningSeries(Start(Header(filename=str(path), series="s1", frames=frames), {}))
    writer = SeriesWriter(path, "sim", series, "a test", **keys)
    for number in range(frames):
        array = pixels(number)
        head = image(number, array, series="s1", timestamp=1e9 + number)
        writer.add(series.numbering.index(head), Frame(head, [array.tobytes()]))
        series.account.take(number, FrameStatus.STORED)
    series.end = SeriesEnd()
    writer.close(series.close(None), synced=False)
    return path


def begun(raw: Path | None = None, planned: int | None = 1000, **keys: Any) -> Begun:
    return Begun(**{
        "series": "s1", "planned": planned, "pipeline": "spots", "version": "1",
        "steps": (Step(name="Spots", file="spots.py", source=SOURCE, sha256="00ff"),),
        "parameters": {"threshold": 500}, "raw": raw, "detector": "/entry/instrument/sim",
        "started": 1.7e9, **keys,
    })  # fmt: skip


def created(folder: Path, planned: int | None = 1000, **keys: Any) -> ResultFile:
    """The file of a series that has begun."""
    return ResultFile.create(folder / "x.spots.h5", begun(folder / "x.h5", planned, **keys))


def curves(indices: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The curve of each frame: all numbers in it are the frame's."""
    return np.repeat(indices.astype(float)[:, np.newaxis], CURVE.shape[1], axis=1)


def fill(results: ResultFile, first: int, end: int, bunch: int = 64) -> None:
    """The frames are done, in bunches."""
    for at in range(first, end, bunch):
        indices = np.arange(at, min(at + bunch, end))
        results.prepare((CURVE, BRIGHT))
        results.rows(CURVE, indices, curves(indices))
        results.rows(BRIGHT, indices, indices)
        results.version(indices, 1)
        results.worker(indices, 1)
        results.status(indices, DONE)


def finish(results: ResultFile, done: int, **keys: Any) -> str:
    """The series has ended."""
    counts = {"done": done, "failed": 0, "lost": 0, "dropped": 0, "absent": 0, **keys.pop("counts", {})}
    return results.finish(counts, COMPLETE, "", **keys)


def fill_small(results: ResultFile, first: int, end: int) -> None:
    """The frames are done; they have a number each."""
    indices = np.arange(first, end)
    results.rows(BRIGHT, indices, indices)
    results.status(indices, DONE)
