"""How many frames a worker gets together."""

from __future__ import annotations

from collections import deque

from penstock.processing.distributor.bunches import Item, Way, Worker

MOST_FRAMES, MOST_BYTES, MOST_SECONDS = 64, 2_000_000, 0.020
"""Limits of one bunch: frames, bytes if it goes by value, and time that the worker needs for it."""
WORTH_SECONDS = 0.001
"""Time of a worker that is worth a message: frames that it needs less for are not divided among several."""


def take_bunch(series: int, items: deque[Item], worker: Worker, workers: int) -> list[Item]:
    """Take the frames of a bunch from the front: all of them go the same way to the worker.

    Args:
        series: of the frames.
        items: frames that wait, at least one.
        worker: who gets them.
        workers: among how many the frames that wait are divided.
    """
    most = _frames(worker, len(items), workers)
    way = worker.way(series, items[0])
    taken = [items.popleft()]
    nbytes = taken[0].nbytes
    while len(taken) < most and items and worker.way(series, items[0]) is way:
        if way is Way.VALUE:
            nbytes += items[0].nbytes
            if nbytes > MOST_BYTES:
                break
        taken.append(items.popleft())
    return taken


def _frames(worker: Worker, waiting: int, workers: int) -> int:
    if worker.seconds is None:
        return worker.batch
    share = -(-waiting // workers)
    each = max(worker.seconds, 1e-9)
    quick, worth = int(MOST_SECONDS / each), int(WORTH_SECONDS / each)
    return max(1, min(MOST_FRAMES, quick, max(share, worth)), min(worker.batch, waiting))
