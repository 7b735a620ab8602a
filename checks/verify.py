"""Verify the frames of a series file against the checksums that came with them.

A blob is stored as it was received, so its checksum holds for the chunk in the file: nothing is
unpacked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from penstock.checks.series_check import PROGRESS_FRAMES, ranges, unreadable_files
from penstock.receiver.reading.reader import SeriesFile
from penstock.receiver.validity.frames import WITH_DATA
from penstock.stins.checksums import ALGORITHMS, agree, checksums


@dataclass(frozen=True)
class Verification:
    """What was found in the stored frames of one file; frames as ranges, "17-20, 33"."""

    file: str
    algorithm: str
    """ "" where the file has no checksums."""
    sentence: str
    """What was found, or why nothing could be verified."""
    frames: int = 0
    """Frames that count as stored."""
    verified: int = 0
    wrong: str = ""
    """Frames whose blob is not as it was received."""
    gone: str = ""
    """Frames that count as stored, but have no data, or cannot be read."""
    without: str = ""
    """Frames without a checksum: the sender gave none."""

    @property
    def is_sound(self) -> bool:
        """True if every stored frame was verified."""
        return bool(self.algorithm) and self.verified == self.frames

    def summary(self) -> dict[str, Any]:
        """Return everything in types that JSON has."""
        return {**asdict(self), "sound": self.is_sound}


def _agree(algorithm: str, blobs: Sequence[bytes], expected: Sequence[str], there: Sequence[bool]) -> bool:
    """Return whether every blob is as it was received. That of a module which does not count as stored is
    absent, or nevertheless as it was received: its file was away when the series ended, and was put back."""
    found = checksums(algorithm, blobs)
    return all(
        (not len(blob) and not (has and given)) or (bool(given) and agree((value,), (given,)))
        for blob, value, given, has in zip(blobs, found, expected, there, strict=True)
    )


def verify(series: SeriesFile, progress: Callable[[int], None] | None = None) -> Verification:
    """Compare every stored frame with the checksum that came with it.

    Args:
        series: the file, open.
        progress: called with the number of indices done so far, now and then and at the end.

    Raises:
        ReaderError: the file's structure is damaged, or its frames lie in other files.
    """
    stored = series.checksums
    file = str(series.path)
    if stored is None:
        reason = series.checksum
        why = f" ({reason})" if reason else ": its sender announced none"
        if not series.has_account:
            why = ": it was not written by Penstock"
        return Verification(file, "", f"this file has no checksums{why}; there is nothing to verify")
    algorithm, values = stored
    if algorithm not in ALGORITHMS:
        return Verification(
            file,
            "",
            f'its checksums are "{algorithm}"; known ones are {", ".join(ALGORITHMS)}: nothing was verified',
        )
    status, modules = series.frame_status, series.module_status
    wrong: list[int] = []
    gone: list[int] = []
    without: list[int] = []
    frames = verified = 0
    number = len(series)
    for index in range(number):
        if status is None or (index < len(status) and status[index] in WITH_DATA):
            frames += 1
            expected = values[index] if index < len(values) else ()
            there = [True] * len(expected)
            if modules is not None and index < len(modules) and len(expected) == modules.shape[1]:
                # One that has come may not have been written.
                there = np.isin(modules[index], WITH_DATA).tolist()
            if not any(given for given, has in zip(expected, there, strict=True) if has):
                without.append(index)
            elif (blobs := series.blobs(index)) is None:
                gone.append(index)
            elif _agree(algorithm, blobs, expected, there):
                verified += 1
            else:
                wrong.append(index)
        if progress is not None and ((index + 1) % PROGRESS_FRAMES == 0 or index + 1 == number):
            progress(index + 1)
    parts = [f"{verified:,} of {frames:,} stored frames are as they were received ({algorithm})"]
    if wrong:
        parts.append(f"frames {ranges(wrong)} are WRONG: they were damaged after they were received")
    if gone:
        parts.append(f"frames {ranges(gone)} count as stored, but cannot be read")
        parts += unreadable_files(series.unreadable_files()).values()
    if without:
        parts.append(f"frames {ranges(without)} came without a checksum")
    return Verification(
        file, algorithm, "; ".join(parts), frames, verified, ranges(wrong), ranges(gone), ranges(without)
    )
