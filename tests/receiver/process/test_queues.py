"""Which of the data process' own queues is told of, and what may wait in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.process import queues
from penstock.receiver.transforms.prefetch import BYTES
from penstock.stins.messages import Header
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

EMPTY = {"held": 0, "transforms": 0, "files": 0}


def config(source: dict[str, Any] | None = None, **keys: Any) -> ReceiverConfig:
    entry = {"source": {"endpoints": ["tcp://127.0.0.1:1"], **(source or {})}, "data_root": "/data", **keys}
    return msgspec.convert(entry, ReceiverConfig)


@pytest.mark.parametrize(
    ("keys", "limits"),
    [
        ({}, {}),
        ({"source": {"sockets": 2}, "hold_mb": 3}, {"held": 3_000_000}),
        ({"transforms": [{"type": "flip", "direction": "up-down"}], "workers": 2}, {"transforms": BYTES}),
    ],
)
def test_a_queue_that_the_configuration_has_no_use_for_has_no_limit(
    keys: dict[str, Any], limits: dict[str, int]
) -> None:
    assert queues.limits(config(**keys), 0) == limits
    assert queues.limits(config(**keys), 5_000_000) == {**limits, "files": 5_000_000}


def test_the_queue_that_is_nearest_to_its_limit_is_told() -> None:
    both = config({"sockets": 2}, hold_mb=100, files=2)
    assert queues.fullest({**EMPTY, "held": 20_000_000, "files": 9_000_000}, both, 10_000_000) == (
        9_000_000,
        10_000_000,
    )
    assert queues.fullest({**EMPTY, "held": 95_000_000, "files": 9_000_000}, both, 10_000_000) == (
        95_000_000,
        100_000_000,
    )


def test_a_receiver_without_queues_of_its_own_says_so() -> None:
    assert queues.fullest(EMPTY, config(), 0) == (0, 0)


def test_a_running_receiver_says_what_waits(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(source={"sockets": 2}, hold_mb=1, gap={"seconds": 60})
    receiver.connected()
    series = "its header comes later"
    header = streamer.encoder.start(Header(filename="", series=series, frames=4))
    streamer.series = series
    for number in range(4):
        streamer.frame(number, blobs=[bytes(100_000)])
    status = receiver.wait(lambda status: status.queue_bytes > 400_000)
    assert status.queue_limit_bytes == 1_000_000
    streamer.send(header)
    streamer.end()
    assert receiver.ended(series).queue_bytes == 0
