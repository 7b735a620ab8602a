"""What `penstock process FILE` says at its end of frames that are absent, have failed, or are lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from penstock.receiver.models import FrameStatus
from penstock.stins.texts import plural

if TYPE_CHECKING:
    from penstock.processing.models import Status

MOST = 10
"""Sentences of each kind that are printed."""


def absent_lines(path: Path) -> Iterator[str]:
    """Yield which frames of a file are absent or partial, and why."""
    from penstock.receiver.reading.frame_files import open_frames
    from penstock.receiver.reading.reader import ReaderError

    try:
        with open_frames(path) as file:
            status = file.status
            if status is None:
                return
            status = status[: file.shape[0]]
            is_partial = status == FrameStatus.PARTIAL
            yield from _told(np.flatnonzero(~is_partial & (status != FrameStatus.STORED)), "absent", file.why)
            yield from _told(np.flatnonzero(is_partial), "there in part", file.why)
    except ReaderError as error:
        yield f"    why frames are absent cannot be read: {error}"


def _told(indices: np.ndarray, words: str, why: Callable[[int], str | None]) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    edges = np.flatnonzero(np.diff(indices) != 1) + 1
    for run in np.split(indices, edges):
        while len(run):
            sentence = why(int(run[0])) or "the file does not say why"
            if sentence not in found and len(found) == MOST:
                yield from _sentences(found, words)
                yield f"    further frames are {words}, from frame {run[0]:,} on"
                return
            alike = _alike(run, sentence, why)
            last = f" to {run[alike - 1]:,}" if alike > 1 else ""
            found.setdefault(sentence, []).append(f"{run[0]:,}{last}")
            run = run[alike:]
    yield from _sentences(found, words)


def _alike(run: np.ndarray, sentence: str, why: Callable[[int], str | None]) -> int:
    """Return how many of the first frames of a run have the same reason: those of one file follow each
    other."""
    low, high = 0, len(run)
    while high - low > 1:
        middle = high - 1 if low == 0 and high == len(run) else (low + high) // 2
        if why(int(run[middle])) == sentence:
            low = middle
        else:
            high = middle
    return low + 1


def _sentences(found: dict[str, list[str]], words: str) -> Iterator[str]:
    for sentence, runs in found.items():
        more = f" and {len(runs) - MOST:,} further ranges" if len(runs) > MOST else ""
        one = len(runs) == 1 and " to " not in runs[0]
        which = f"frame {runs[0]} is" if one else f"frames {', '.join(runs[:MOST])}{more} are"
        yield f"    {which} {words}: {sentence}"


MOST_FAILED = 10
"""Sentences of failed frames that are printed, and lost frames."""


def failed_lines(status: Status) -> Iterator[str]:
    """Yield why frames have failed, each sentence once, and which ones are lost, with their workers."""
    from penstock.processing.results.errors import ResultError
    from penstock.processing.results.read import Results

    series = status.series
    if series is None or series.result_file is None or not series.counts.failed + series.counts.lost:
        return
    try:
        account = Results(series.result_file).account()
    except ResultError as error:
        yield f"    why frames have failed or are lost cannot be read: {error}"
        return
    where = f"entry/account of {series.result_file}"
    alike: dict[str, list[int]] = {}
    for index, sentence in sorted(account["errors"].items()):
        alike.setdefault(sentence, []).append(index)
    told = 0
    for sentence, (first, *others) in list(alike.items())[:MOST_FAILED]:
        told += 1 + len(others)
        besides = f" and {plural(len(others), 'other')}" if others else ""
        why = "see above" if sentence in status.error or sentence in series.reason else sentence
        yield f"    frame {first}{besides} failed: {why}"
    if more := series.counts.failed - told:
        yield f"    {plural(more, 'more frame')} failed: see {where}"
    lost = sorted(account["lost"].items())[:MOST_FAILED]
    for index, worker in lost:
        yield f"    frame {index} is lost: worker {worker} died with it"
    if more := series.counts.lost - len(lost):
        yield f"    {plural(more, 'more frame is', 'more frames are')} lost: see {where}"
