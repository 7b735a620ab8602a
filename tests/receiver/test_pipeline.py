"""The loop of the data process."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from penstock.receiver import last_frame
from penstock.receiver.config import ReceiverConfig
from penstock.receiver.pipeline import BURST_SECONDS, Pipeline
from penstock.stins.messages import Header, SeriesEnd
from penstock.stins.series import SeriesEncoder
from tests.streams import image, pixels


class SlowClock:
    """Each look at it costs time, as each frame does on a slow disk."""

    def __init__(self, step: float) -> None:
        self._now = 0.0
        self._step = step

    def __call__(self) -> float:
        self._now += self._step
        return self._now


def test_a_slow_disk_does_not_keep_the_loop_from_commands_and_signs_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = msgspec.convert(
        {"source": {"endpoints": ["tcp://127.0.0.1:1"]}, "data_root": str(tmp_path), "peer_gone": 1e6},
        ReceiverConfig,
    )
    each = BURST_SECONDS / 2.5
    memories = [last_frame.LastFrame(last_frame.create()) for _ in range(2)]
    pipeline = Pipeline("sim-1", config, *memories, SlowClock(each))
    encoder, waiting = SeriesEncoder(), deque[list[memoryview]]()
    parts = [encoder.start(Header(filename="", series="a", frames=20, trigger_mode="SOFTWARE"))]
    for number in range(20):
        array = pixels(number)
        parts.append([encoder.image(image(number, array, series="a")), array.tobytes()])
    parts.append(encoder.end(SeriesEnd(triggered=20, sent=20)))
    waiting.extend([memoryview(part) for part in message] for message in parts)

    def messages() -> Iterator[list[memoryview]]:
        while waiting:
            yield waiting.popleft()

    monkeypatch.setattr(pipeline.ingest, "messages", messages)
    try:
        received = [0]
        while waiting:
            pipeline.step(0)
            received.append(pipeline.status(1).counts.received)
        assert max(later - earlier for earlier, later in pairwise(received)) <= 3
        assert received[-1] == 20
    finally:
        pipeline.close()
