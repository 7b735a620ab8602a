"""Which frames have data, each counted by hand."""

from __future__ import annotations

import numpy as np

from penstock.receiver.models import FrameStatus
from penstock.receiver.validity import frames

S, P, M, N = FrameStatus.STORED, FrameStatus.PARTIAL, FrameStatus.MISSING, FrameStatus.NOT_TRIGGERED
C, D, W = FrameStatus.CORRUPT, FrameStatus.DELIVERED, FrameStatus.PENDING


def test_only_stored_frames_are_whole_and_partial_ones_have_data_too() -> None:
    status = np.array([S, P, M, N, C, D, W, S], np.uint8)

    assert frames.whole(status, 8).tolist() == [0, 7]
    assert frames.with_data(status, 8).tolist() == [0, 1, 7]


def test_the_sentence_counts_each_fate() -> None:
    status = np.array([S, P, M, N, M, S], np.uint8)

    assert frames.used(status, 8) == "2 of 8 frames (2 missing, 1 not triggered, 1 partial, 2 pending)"
    assert frames.used(np.array([S, S], np.uint8), 2) == "2 frames"


def test_of_a_file_without_status_all_frames_count() -> None:
    assert frames.whole(None, 3).tolist() == frames.with_data(None, 3).tolist() == [0, 1, 2]
    assert frames.used(None, 1) == "1 frame"


def test_a_status_that_nobody_knows_is_no_data() -> None:
    assert frames.used(np.array([77, S], np.uint8), 2) == "1 of 2 frames (1 of status 77)"
