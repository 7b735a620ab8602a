"""Series files as the receiver writes them, without a stream."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.messages import Frame, Header, Image, SeriesEnd, Start
from tests.receiver.pixels import bslz4

SHAPE = (6, 8)


def picture(index: int) -> np.ndarray[Any, Any]:
    """What stands at an index."""
    return np.arange(48, dtype="<u2").reshape(SHAPE) + index


def write_series(
    path: Path,
    planned: int = 6,
    *,
    lost: Collection[int] = (),
    corrupt: Collection[int] = (),
    compression: str = "bslz4",
    end: bool = True,
    killed: bool = False,
) -> None:
    """A series of `planned` frames, of which some are lost or corrupt.

    Args:
        end: whether the end message came.
        killed: leave the file as the death of the receiver would, after a flush.
    """
    header = Header(filename=str(path), series="a1", frames=planned)
    series = RunningSeries(Start(header, {"count_time": 0.1, "pixel_mask": np.zeros(SHAPE, np.uint32)}))
    live = path.with_suffix(".live") if killed else path
    writer = SeriesWriter(live, "sim", series, "test")
    for index in range(planned):
        if index in lost:
            continue
        if index in corrupt:
            series.account.take(index, FrameStatus.CORRUPT)
            continue
        array = picture(index)
        image = Image(
            shape=SHAPE, type="uint16", compression=compression, frame=index, series="a1", trigger=index
        )
        writer.add(index, Frame(image, [bslz4(array) if compression == "bslz4" else array.tobytes()]))
        series.account.take(index, FrameStatus.STORED)
    if killed:
        writer.flush()
        shutil.copy(live, path)
    if end:
        series.end = SeriesEnd(series="a1", reason="complete", triggered=planned, sent=planned)
    writer.close(series.close(None if end else "the streamer is gone"), synced=False)
