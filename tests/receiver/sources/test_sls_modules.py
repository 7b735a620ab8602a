"""Several ports of one SLS detector become one image."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import h5py
import msgspec
import numpy as np
import pytest

from penstock.receiver.config import SourceConfig
from penstock.receiver.models import FrameStatus, Status
from tests.receiver.processes import ReceiverProcess
from tests.receiver.sources.sls import DUMMY, Port, message, pixels

ACROSS, DOWN = 2, 2
PORTS = ACROSS * DOWN


def image(index: int, port: int) -> np.ndarray:
    return pixels(10 * index + port)


def whole(index: int) -> np.ndarray:
    rows = [[image(index, row * ACROSS + column) for column in range(ACROSS)] for row in range(DOWN)]
    return np.block(rows)


@pytest.fixture
def ports() -> Iterator[list[Port]]:
    running = [Port() for _ in range(PORTS)]
    yield running
    for port in running:
        port.close()


@pytest.fixture
def receiver(tmp_path: Path, ports: list[Port]) -> Iterator[ReceiverProcess]:
    endpoints = [port.endpoint for port in ports]
    source = {"type": "sls", "join": "modules", "endpoints": endpoints}
    running = ReceiverProcess(tmp_path, endpoints[0], source, filename_template="joined.h5")
    try:
        for port in ports:
            port.subscribed()
        yield running
    finally:
        running.close()


def send(ports: list[Port], index: int, frames: int, *, without: int = -1, incomplete: int = -1) -> None:
    """One frame of every port, from the last to the first: nobody promises an order."""
    for number in reversed(range(PORTS)):
        if number != without:
            row, column = divmod(number, ACROSS)
            # Every module counts from where it stood after its last stop.
            ports[number].send(
                message(
                    index, image(index, number).tobytes(), frames=frames, first=1 + 100 * number,
                    detshape=[ACROSS, DOWN], row=row, column=column, completeImage=int(number != incomplete),
                )
            )  # fmt: skip


def ended(status: Status) -> bool:
    return status.series is not None and not status.series.active


def test_ports_are_joined_by_frame_index_and_placed_by_row_and_column(
    receiver: ReceiverProcess, ports: list[Port]
) -> None:
    for index in range(5):
        send(ports, index, 5)
    for port in ports:
        port.send([DUMMY])
    status = receiver.wait(ended)
    assert status.series is not None
    assert status.series.complete, status.series.reason
    with h5py.File(receiver.root / "joined.h5") as file:
        assert np.array_equal(file["entry/data/data"], [whole(index) for index in range(5)])
        assert (file["entry/instrument/sim_1/module_status"][:] == FrameStatus.STORED).all()


def test_lost_and_incomplete_modules_make_their_frames_partial(
    receiver: ReceiverProcess, ports: list[Port]
) -> None:
    send(ports, 0, 4)
    send(ports, 1, 4, without=2)
    send(ports, 2, 4, incomplete=1)
    send(ports, 3, 4)
    for port in ports:
        port.send([DUMMY])
    status = receiver.wait(ended)
    assert (status.counts.stored, status.counts.partial, status.counts.missing) == (2, 2, 0)
    with h5py.File(receiver.root / "joined.h5") as file:
        of_modules = file["entry/instrument/sim_1/module_status"][:]
        assert of_modules[1].tolist() == [1, 1, FrameStatus.MISSING, 1]
        assert of_modules[2].tolist() == [1, FrameStatus.PARTIAL, 1, 1]
        data = file["entry/data/data"]
        assert np.array_equal(data[2], whole(2))
        assert np.array_equal(data[1][:4], whole(1)[:4])
        assert not np.array_equal(data[1], whole(1))


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"type": "sls", "endpoints": ["tcp://a:1", "tcp://a:2"]}, "add join: modules"),
        ({"type": "sls", "endpoints": ["tcp://a:1"], "sockets": 2}, "leave it at 1"),
        (
            {"type": "dectris-v2", "endpoints": ["tcp://a:1", "tcp://a:2"], "join": "modules"},
            "join takes stins and sls streams",
        ),
        ({"type": "slss", "endpoints": ["tcp://a:1"]}, "known are stins, dectris-v1, dectris-v2, sls"),
    ],
)
def test_what_cannot_be_a_published_stream_is_refused_by_the_configuration(
    keys: dict[str, object], says: str
) -> None:
    with pytest.raises(msgspec.ValidationError, match=says):
        msgspec.convert(keys, SourceConfig)
