"""What `penstock process FILE` says at its end of frames that have failed, or are lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.stins.texts import plural

if TYPE_CHECKING:
    from penstock.processing.models import Status

MOST = 10
"""Sentences of failed frames that are printed, and lost frames."""


def lines(status: Status) -> Iterator[str]:
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
    for sentence, (first, *others) in list(alike.items())[:MOST]:
        told += 1 + len(others)
        besides = f" and {plural(len(others), 'other')}" if others else ""
        why = "see above" if sentence in status.error or sentence in series.reason else sentence
        yield f"    frame {first}{besides} failed: {why}"
    if more := series.counts.failed - told:
        yield f"    {plural(more, 'more frame')} failed: see {where}"
    lost = sorted(account["lost"].items())[:MOST]
    for index, worker in lost:
        yield f"    frame {index} is lost: worker {worker} died with it"
    if more := series.counts.lost - len(lost):
        yield f"    {plural(more, 'more frame is', 'more frames are')} lost: see {where}"
