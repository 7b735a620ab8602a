"""A streamer and a receiver, of its own for each test or shared by the tests of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from penstock.stins.series import SeriesState
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer


@pytest.fixture
def streamer() -> Iterator[Streamer]:
    """A sender that nobody is connected to yet."""
    running = Streamer()
    yield running
    running.close()


@pytest.fixture
def start_receiver(tmp_path: Path, streamer: Streamer) -> Iterator[Callable[..., ReceiverProcess]]:
    """Starts a receiver of the streamer; keys are those of `ReceiverProcess`."""
    started: list[ReceiverProcess] = []

    def start(**keys: Any) -> ReceiverProcess:
        folder = tmp_path / f"receiver-{len(started)}"
        folder.mkdir()
        started.append(ReceiverProcess(folder, streamer.endpoint, **keys))
        return started[-1]

    yield start
    for receiver in started:
        receiver.close()


@pytest.fixture
def receiver(start_receiver: Callable[..., ReceiverProcess]) -> ReceiverProcess:
    """A connected receiver with the usual configuration."""
    running = start_receiver()
    running.connected()
    return running


class Shared(NamedTuple):
    """A connected receiver and its streamer; they have taken other tests' series before."""

    receiver: ReceiverProcess
    streamer: Streamer


@pytest.fixture(scope="module")
def _shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path_factory.mktemp("receiver"), streamer.endpoint)
    receiver.connected()
    yield Shared(receiver, streamer)
    receiver.close()
    streamer.close()


@pytest.fixture
def shared(_shared: Shared) -> Iterator[Shared]:
    """The pair of this file, idle and without files: starting a receiver takes as long as ten series."""
    yield _shared
    receiver, streamer = _shared
    if receiver.client.status().state == "error":
        receiver.client.reset()
    if streamer.encoder.state is SeriesState.OPEN:
        streamer.end()
        receiver.ended(streamer.series)
    receiver.client.set_downsample(1)
    for file in receiver.root.glob("*.h5"):
        file.unlink()
