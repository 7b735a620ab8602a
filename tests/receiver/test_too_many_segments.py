"""A series of more segments than one virtual dataset can show well."""

from __future__ import annotations

from collections.abc import Callable

import h5py
import numpy as np
import pytest

from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import SeriesCheck
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

pytestmark = pytest.mark.slow


def test_a_series_of_too_many_segments_is_refused_at_the_check_and_taken_if_it_comes_all_the_same(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(frames_per_file=2)
    receiver.connected()
    path = receiver.root / "x.h5"
    says = "8,002 frames would be 4,001 segments, .* frames_per_file is 2, set it to 3 or more"
    with pytest.raises(ReceiverRefused, match=says):
        receiver.client.check(SeriesCheck(filename=str(path), frames=8_002))
    series = streamer.start(str(path), frames=8_002, trigger_mode="SOFTWARE")
    streamer.frame(0, pixels(0))
    streamer.frame(7_999, pixels(7_999))
    streamer.end(reason="stop", triggered=8_000)
    status = receiver.ended(series)
    assert (status.state, status.counts.stored) == ("idle", 2)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["entry/data/data"][0], pixels(0))
    series = streamer.start(str(receiver.root / "y.h5"), frames=8_002, trigger_mode="SOFTWARE")
    streamer.frame(8_000, pixels(8_000))
    status = receiver.wait(lambda status: status.state == "error")
    assert "a series has at most 4,000 segments, of 2 frames each; set frames_per_file higher" in status.error
