"""Whether a series holds what the sender in C has sent: every byte of every frame."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from penstock.bench.cores_series import Setup
from penstock.receiver.files.dealing import Dealing
from penstock.receiver.reading.reader import SeriesFile

Words = np.ndarray[Any, np.dtype[np.uint64]]

ODD = np.uint64(0x9E3779B97F4A7C15)
MARK_WORDS = 8192


def wrong_in_series(file: Path, setup: Setup, frames: int) -> str:
    """Return what is wrong in a receiver's file, in a sentence; "" if nothing is."""
    with SeriesFile(file) as series:
        data = series.group.get("modules", series.data)
        if data is None or len(data) != frames:
            return f"{file.name} has {0 if data is None else len(data)} of {frames} frames"
        stored = (
            (index, stream, pixels.reshape(-1).view("<u8"))
            for index in range(frames)
            for stream, pixels in enumerate(data[index].reshape(setup.streams, -1))
        )
        return _wrong(stored, setup)


def wrong_in_raw_files(prefix: Path, setup: Setup, frames: int) -> str:
    """Return what is wrong in the C program's files, in a sentence; "" if nothing is."""
    dealing = Dealing.of(setup.files, setup.frame_bytes)
    for part in range(setup.files):
        file = prefix.with_name(f"{prefix.name}_part{part + 1}.raw")
        of_stream = setup.streams > 1
        indices = range(frames) if of_stream else dealing.indices(part, frames).tolist()
        if file.stat().st_size != len(indices) * setup.frame_bytes:
            return f"{file.name} has {file.stat().st_size} bytes, not {len(indices) * setup.frame_bytes}"
        if not indices:
            continue
        rows = np.memmap(file, "<u8", "r").reshape(len(indices), -1)
        stored = ((index, part if of_stream else 0, row) for index, row in zip(indices, rows, strict=True))
        if wrong := _wrong(stored, setup):
            return wrong
    return ""


def words(setup: Setup, index: int, stream: int) -> Words:
    """Return a frame as the sender makes it, see `send.c`."""
    made = np.arange(setup.frame_bytes // 8, dtype=np.uint64) * ODD
    _mark(made, index, stream)
    return made


def _mark(frame: Words, index: int, stream: int) -> None:
    frame[::MARK_WORDS] = frame[-1] = np.uint64(index + (stream << 40))


def _wrong(stored: Iterator[tuple[int, int, Words]], setup: Setup) -> str:
    wanted = words(setup, 0, 0)
    for index, stream, found in stored:
        _mark(wanted, index, stream)
        if not np.array_equal(found, wanted):
            which = f" of module {stream}" if setup.streams > 1 else ""
            return f"frame {index}{which} is not what was sent"
    return ""
