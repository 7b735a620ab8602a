"""Times of frames, as results that come later get them, and as EPICS can have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.bridges.epics.frames import MOST_SERIES, Frames
from penstock.stins.messages import Frame, Header, Image, SeriesEnd, Start


def series(frames: Frames, name: str, *times: float | None) -> None:
    """A series with frames of these times."""
    frames._begin(Start(Header(filename="", series=name), {}))
    for index, when in enumerate(times):
        array = np.zeros((2, 3), np.uint16)
        image = Image(
            shape=(2, 3), type="uint16", compression="none", frame=index, series=name, timestamp=when
        )
        frames._frame(Frame(image, [array.tobytes()]))
    frames._end(SeriesEnd())


def test_results_of_a_series_before_the_running_one_have_the_times_of_their_frames() -> None:
    frames = Frames([], keep_times=True)
    for number in range(MOST_SERIES + 1):
        series(frames, f"s{number}", *(1.6e9 + 10 * number + index for index in range(3)))
    assert frames.time_of(f"s{MOST_SERIES - 1}", 2) == 1.6e9 + 10 * (MOST_SERIES - 1) + 2
    assert frames.time_of("s0", 0) is None and frames.time_of(f"s{MOST_SERIES}", 3) is None


@pytest.mark.parametrize("when", [1e300, -1.0, float("inf"), float("nan"), None])
def test_a_time_that_epics_cannot_have_is_that_of_the_arrival(when: Any) -> None:
    frames = Frames([], keep_times=True)
    series(frames, "s", when)
    found = frames.time_of("s", 0)
    assert found is not None and 1.7e9 < found < 2**32
