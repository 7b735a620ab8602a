"""A step with a mistake in it, in the loop of the data process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.live import last_frame
from penstock.receiver.process.pipeline import Pipeline
from penstock.receiver.transforms.steps import orientation
from penstock.stins.messages import Header, SeriesEnd
from penstock.stins.series import SeriesEncoder
from tests.streams import image, pixels


@pytest.mark.parametrize("workers", [1, 3])
def test_a_mistake_in_a_step_ends_the_series_in_error_and_the_next_one_can_be_taken(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = msgspec.convert(
        {
            "source": {"endpoints": ["tcp://127.0.0.1:1"]}, "data_root": str(tmp_path), "peer_gone": 1e6,
            "workers": workers, "transforms": [{"type": "flip", "direction": "up-down"}],
        },
        ReceiverConfig,
    )  # fmt: skip
    # However slow the machine, all messages are handled in one turn.
    monkeypatch.setattr("penstock.receiver.process.pipeline.BURST_SECONDS", 1e6)
    memories = [last_frame.LastFrame(last_frame.create()) for _ in range(2)]
    pipeline = Pipeline("sim-1", config, *memories)
    encoder = SeriesEncoder()

    def series(name: str) -> Iterator[list[memoryview]]:
        parts = [encoder.start(Header(filename="", series=name, frames=20))]
        for number in range(20):
            array = pixels(number)
            parts.append([encoder.image(image(number, array, series=name)), array.tobytes()])
        parts.append(encoder.end(SeriesEnd(triggered=20, sent=20)))
        yield from ([memoryview(part) for part in message] for message in parts)

    def broken(image: Any, direction: str) -> Any:
        raise IndexError(direction)

    try:
        with monkeypatch.context() as patch:
            patch.setattr(orientation, "flip", broken)
            patch.setattr(pipeline.ingest, "messages", lambda: series("a"))
            pipeline.step(0)
        status = pipeline.status(1)
        assert status.state == "error"
        assert "frame 0 could not be transformed: IndexError('up-down')" in status.error
        assert status.errors == {"transform_failed": 1}
        assert status.drained == 20  # the frames behind it, and the end

        pipeline.reset()
        monkeypatch.setattr(pipeline.ingest, "messages", lambda: series("b"))
        pipeline.step(0)
        assert pipeline.status(2).counts.received == 20
        assert pipeline.status(2).state == "idle"
    finally:
        pipeline.close()
