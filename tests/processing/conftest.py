"""A streamer and receivers, as for the receiver's own tests, and a receiver for pipelines."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.stins.series import SeriesState
from tests.processing.distributor.pipelines import entry
from tests.receiver.conftest import start_receiver, streamer
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

__all__ = ["start_receiver", "streamer"]

# What numba compiles is kept by these tests for each other, and for the next time: else each compiles anew.
os.environ.setdefault(
    "NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir(), f"penstock-tests-{os.getuid()}-numba"))
)


@pytest.fixture(scope="module")
def receiver_and_streamer(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[ReceiverProcess, Streamer]]:
    """A connected receiver and its streamer, shared by the tests of a file; each has its own pipeline."""
    folder, streamer = tmp_path_factory.mktemp("receiver"), Streamer()
    made = ReceiverProcess(folder, streamer.endpoint, forward=[entry(folder)])
    made.connected()
    yield made, streamer
    made.close()
    streamer.close()


@pytest.fixture
def receiver(receiver_and_streamer: tuple[ReceiverProcess, Streamer]) -> ReceiverProcess:
    """That receiver, idle, whose frames nobody takes, without files."""
    made, streamer = receiver_and_streamer
    if streamer.encoder.state is SeriesState.OPEN:  # a test has failed within its series
        streamer.end()
        made.ended(streamer.series)
    made.wait(
        lambda status: (
            status.consumers[0].connected == 0
            and status.consumers[0].waiting_bytes == 0
            and status.consumers[0].holder is None
        )
    )
    for file in made.root.glob("*.h5"):
        file.unlink()
    return made


@pytest.fixture
def sender(receiver_and_streamer: tuple[ReceiverProcess, Streamer]) -> Streamer:
    """Its streamer."""
    return receiver_and_streamer[1]
