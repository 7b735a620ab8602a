"""dranspose's own ingester takes the stream of a plain consumer, beside one that gets frames by reference."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import zmq.asyncio
from dranspose.data.stream1 import Stream1Data, Stream1End, Stream1Packet, Stream1Start
from dranspose.ingesters.zmqpull_single import ZmqPullSingleIngester

from tests.processing.distributors import Distributor
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer, pixels

EVENTS = 62
"""Start, frames and end."""


async def ingest(endpoint: str, begin: Callable[[], None]) -> list[list[bytes]]:
    """What its ingester passes on of one series; it needs nothing of the object but these three."""
    found: list[list[bytes]] = []
    with zmq.asyncio.Context() as context:
        itself = SimpleNamespace(
            ctx=context, _logger=logging.getLogger("dranspose"),
            _streaming_single_settings=SimpleNamespace(upstream_url=endpoint), in_socket=None,
        )  # fmt: skip
        events = ZmqPullSingleIngester.run_source(itself, "penstock")
        first = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)  # so that it connects
        await asyncio.to_thread(begin)
        data = await first
        while True:
            found.append([frame.bytes for frame in data.frames])
            if len(found) == EVENTS:
                break
            data = await anext(events)
        await events.aclose()
        await ZmqPullSingleIngester.stop_source(itself, "penstock")
    return found


def test_it_takes_every_event_of_a_plain_entry(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer, tmp_path: Path
) -> None:
    shared = {"shared": True, "shared_folder": str(tmp_path), "queue_mb": 1}
    receiver = start_receiver(
        forward=[
            {"name": "dranspose", "endpoint": "tcp://127.0.0.1:*"},
            {"name": "live", "endpoint": "tcp://127.0.0.1:*", **shared},
        ]
    )
    plain, by_reference = receiver.connected().consumers
    assert by_reference.shared is not None and plain.shared is None
    distributor = Distributor(by_reference.shared, by_reference.endpoint)

    def begin() -> None:
        receiver.wait(lambda status: all(consumer.connected for consumer in status.consumers))
        streamer.series_of(str(receiver.root / "a.h5"), EVENTS - 2, shape=(4, 6), type="uint16")

    try:
        events = asyncio.run(asyncio.wait_for(ingest(plain.endpoint, begin), DEADLINE))
        taken = distributor.series()
    finally:
        distributor.close()
    packets = [Stream1Packet.validate_json(parts[0]) for parts in events]
    kinds = [Stream1Start, *[Stream1Data] * (EVENTS - 2), Stream1End]
    assert [type(packet) for packet in packets] == kinds
    for index, parts in enumerate(events[1:-1]):
        assert parts[1] == pixels(index).tobytes()
        np.testing.assert_array_equal(taken.pixels(index), pixels(index))
