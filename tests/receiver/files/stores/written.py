"""A series that is being written: what the collector and the pipeline do, without them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from penstock.receiver.files.stores import FrameStore, Writing
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.checksums import checksums
from penstock.stins.messages import Frame, SeriesEnd, Start
from tests.streams import image, pixels

DETECTOR = "entry/instrument/sim_1"
SHAPE = (5, 7)


def array(number: int) -> np.ndarray[Any, Any]:
    """The pixels at an index."""
    return pixels(number, SHAPE)


def frame(number: int, checksum: str = "", **keys: Any) -> Frame:
    """A plain frame."""
    blobs = [array(number).tobytes()]
    if checksum:
        keys["checksums"] = checksums(checksum, blobs)
    return Frame(image(number, array(number), series="a", **keys), blobs)


def status_of(file: h5py.File) -> list[int]:
    """Status of each index."""
    return list(file[f"{DETECTOR}/frame_status"][()].tolist())


class Flushed:
    """What a child that will be killed tells through a pipe: frames flushed, eight bytes each time."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self.count = 0

    def wait(self, least: int) -> None:
        """Until so many are flushed, however slow the machine."""
        while self.count < least:
            told = os.read(self._pipe, 8)
            assert told, "the child has ended by itself"
            self.count = int.from_bytes(told, "little")

    def close(self) -> None:
        """Read what it told before its death."""
        self.count = int.from_bytes(os.read(self._pipe, 2**20)[-8:], "little") or self.count
        os.close(self._pipe)


class Written:
    """One series.

    Args:
        path: its file.
        opening: its start message.
        writing: keys of `Writing`.
    """

    def __init__(self, path: Path, opening: Start, **writing: Any) -> None:
        self.series = RunningSeries(opening)
        self.writer = SeriesWriter(path, "sim-1", self.series, "a test", Writing(**writing))

    @property
    def store(self) -> FrameStore | None:
        """Where its frames go."""
        return self.writer._store

    def add(self, *frames: Frame) -> None:
        """Frames that arrived sound."""
        for item in frames:
            self.series.numbering.count(item.image.msg_number)
            index = self.series.numbering.index(item.image)
            self.writer.add(index, item)
            self.series.account.take(index, FrameStatus.STORED)

    def add_run(self, *frames: Frame) -> None:
        """Frames that are entered together."""
        assert self.writer.most_run_bytes
        first = self.series.account.highest + 1
        self.writer.add_run(first, frames)
        self.series.account.take_run(first, len(frames), FrameStatus.STORED)

    def close(self, cause: str | None = None, synced: bool = False, **end: Any) -> None:
        """The end message has come, or the series ended for another cause."""
        if cause is None:
            self.series.end = SeriesEnd(**end)
        self.writer.close(self.series.close(cause), synced=synced)
