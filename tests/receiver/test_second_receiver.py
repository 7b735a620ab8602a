"""A receiver that is another's consumer is told the same file name, and that it may overwrite."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.breadth import breadth
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

FORWARD = [{"name": "second", "endpoint": "tcp://127.0.0.1:*"}]


@pytest.mark.slow
@pytest.mark.parametrize(
    "keys",
    breadth({"one": {}, "segments": {"frames_per_file": 2}, "swmr": {"swmr": True}}, often=("one",)),
)
def test_with_the_data_root_of_the_first_it_does_not_take_away_its_file(
    tmp_path: Path, keys: dict[str, object]
) -> None:
    streamer = Streamer()
    first = ReceiverProcess(tmp_path / "first", streamer.endpoint, forward=FORWARD, **keys)
    endpoint = first.client.status().consumers[0].endpoint
    second = ReceiverProcess(tmp_path / "second", endpoint, name="sim-2", data_root=str(first.root))
    try:
        first.wait(lambda status: status.consumers[0].connected == 1)
        path = first.root / "x.h5"
        for _ in range(2):  # the second time the first receiver replaces its own file
            series = streamer.start(str(path), frames=4, overwrite=True, trigger_mode="SOFTWARE")
            for number in range(2):
                streamer.frame(number)
            refused = second.ended(series)
            assert (refused.state, refused.series.taken) == ("idle", False)
            assert f"a receiver is writing {path}, so it is not replaced, overwrite or not" in refused.refused
            for number in range(2, 4):
                streamer.frame(number)
            streamer.end(reason="complete", triggered=4, sent=4)
            ended = first.ended(series)
            assert (ended.state, ended.series.complete) == ("idle", True), ended.error
            with h5py.File(path) as file:
                expected = [pixels(number) for number in range(4)]
                np.testing.assert_array_equal(file["entry/data/data"][()], expected)
    finally:
        second.close()
        first.close()
        streamer.close()
