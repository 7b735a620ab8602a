"""Receivers that the tests of a file share, with a streamer and without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.receiver.http.shared_pair import Pair
from tests.receiver.processes import ReceiverProcess


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    made = Pair(tmp_path_factory.mktemp("api"))
    yield made
    made.receiver.close()
    made.streamer.close()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReceiverProcess]:
    """A receiver that no streamer ever connects to."""
    made = ReceiverProcess(tmp_path_factory.mktemp("alone"), "tcp://127.0.0.1:1")
    yield made
    made.close()
