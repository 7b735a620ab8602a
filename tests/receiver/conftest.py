"""A streamer and a receiver of its own for each test that asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

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
    """Starts a receiver of the streamer; keys are those of its configuration entry."""
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
