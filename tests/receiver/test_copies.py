"""A frame that comes twice, each time in another state: the file has what the account says."""

from __future__ import annotations

from itertools import product
from typing import Any

import h5py
import numpy as np

from penstock.receiver.models import FrameStatus
from penstock.stins.checksums import checksums
from tests.receiver.conftest import Shared
from tests.streams import Streamer, pixels

STORED, PARTIAL = FrameStatus.STORED, FrameStatus.PARTIAL
DISCARDED, CORRUPT = FrameStatus.DISCARDED, FrameStatus.CORRUPT
RANK = (CORRUPT, PARTIAL, STORED)
DETECTOR = "entry/instrument/sim_1"
FILL = 65535
SECOND = 100
"""The second copy of frame n has the pixels of frame n + this, so that both can be told apart."""


def send(streamer: Streamer, number: int, status: FrameStatus, shown: int) -> None:
    """A frame that becomes this status by itself."""
    array = pixels(shown)
    keys: dict[str, Any] = {}
    if status is PARTIAL:
        keys["partial"] = "half of it is not there"
    elif status is DISCARDED:
        keys["discard"] = True
    blob = array.tobytes()
    streamer.frame(number, array, blobs=[blob[:-1] if status is CORRUPT else blob], **keys)


def which(first: FrameStatus, second: FrameStatus) -> int:
    """Of which of the two copies the frame is: 0 or 1."""
    if DISCARDED in (first, second):
        return int(first is CORRUPT)
    return int(RANK.index(second) > RANK.index(first))


def test_the_better_of_two_copies_is_in_the_file_and_of_two_alike_the_first(shared: Shared) -> None:
    receiver, streamer = shared
    path = receiver.root / "x.h5"
    pairs = list(product((STORED, PARTIAL, DISCARDED, CORRUPT), repeat=2))
    series = streamer.start(str(path), frames=len(pairs))
    for number, (first, second) in enumerate(pairs):
        send(streamer, number, first, number)
        send(streamer, number, second, number + SECOND)
    streamer.end(reason="complete", triggered=len(pairs), sent=2 * len(pairs))
    counts = receiver.ended(series).counts
    kept = [which(*pair) for pair in pairs]
    statuses = [pair[place] for pair, place in zip(pairs, kept, strict=True)]
    expected = [
        pixels(number + SECOND * place) if status in (STORED, PARTIAL) else np.full((4, 6), FILL)
        for number, (status, place) in enumerate(zip(statuses, kept, strict=True))
    ]
    assert (counts.received, counts.duplicate) == (2 * len(pairs), kept.count(0))
    for status in (STORED, PARTIAL, DISCARDED, CORRUPT):
        assert getattr(counts, status.name.lower()) == statuses.count(status)
    with h5py.File(path) as file:
        detector = file[DETECTOR]
        assert detector["frame_status"][()].tolist() == statuses
        assert np.array_equal(detector["data"][()], expected)


def test_of_two_frames_that_lack_other_channels_the_first_is_kept(shared: Shared) -> None:
    receiver, streamer = shared
    path = receiver.root / "x.h5"
    shape, names = (2, 4, 6), ("threshold_1", "threshold_2")
    series = streamer.start(str(path), frames=1, channels=names, checksum="crc32")
    whole = pixels(0, shape)
    for lacks in (1, 0):
        blobs = [part.tobytes() for part in whole]
        sums = checksums("crc32", blobs)
        blobs[lacks] = b"cut"
        streamer.frame(0, whole, blobs=blobs, checksums=sums)
    streamer.end(reason="complete", triggered=1, sent=2)
    counts = receiver.ended(series).counts
    assert (counts.partial, counts.received, counts.duplicate) == (1, 2, 1)
    with h5py.File(path) as file:
        detector = file[DETECTOR]
        assert detector["channel_status"][()].tolist() == [[STORED, CORRUPT]]
        assert np.array_equal(detector["threshold_1"][0], whole[0])
        assert np.all(detector["threshold_2"][0] == FILL)
