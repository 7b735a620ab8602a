"""A series that is written into one file, for tests of the writer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)

from penstock.codecs import bslz4
from penstock.receiver.account import FrameStatus
from penstock.receiver.file.writer import SeriesWriter
from penstock.receiver.series import RunningSeries
from penstock.stins.messages import Frame, SeriesEnd, Start
from tests.streams import image, pixels

DETECTOR = "entry/instrument/sim_1"


class Written:
    """A series that is being written: what the collector and the pipeline do, without them."""

    def __init__(self, path: Path, opening: Start) -> None:
        self.series = RunningSeries(opening)
        self.writer = SeriesWriter(path, "sim-1", self.series, "stins from tcp://127.0.0.1:1")

    def add(self, *frames: Frame) -> None:
        for item in frames:
            index = self.series.index(item.image)
            self.series.messages += 1
            self.writer.add(index, item)
            self.series.account.take(index, FrameStatus.STORED)

    def close(self, cause: str | None = None, pad: bool = False, synced: bool = False, **end: Any) -> None:
        if cause is None:
            self.series.end = SeriesEnd(**end)
        self.writer.close(self.series.close(cause), pad=pad, synced=synced)


def write(path: Path, opening: Start, frames: Iterable[Frame], **keys: Any) -> None:
    written = Written(path, opening)
    written.add(*frames)
    written.close(**keys)


def record(file: h5py.File) -> dict[str, Any]:
    group = file[f"{DETECTOR}/series"]
    return {
        name: item.asstr()[()] if item.dtype.kind == "O" else int(item[()]) for name, item in group.items()
    }


def packed(number: int) -> Frame:
    array = pixels(number)
    return Frame(image(number, array, compression="bslz4", series="a"), [bslz4.compress(array)])
