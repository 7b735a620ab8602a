"""A stand-in of a distributor, and memory as a receiver has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.receiver.config import ForwardConfig
from penstock.receiver.forward.shared import SharedSlots
from tests.processing.worker.worker_process import Router


@pytest.fixture
def router() -> Iterator[Router]:
    found = Router()
    yield found
    found.close()


@pytest.fixture
def slots(tmp_path: Path) -> Iterator[SharedSlots]:
    """Memory as a receiver has it."""
    config = ForwardConfig(
        name="live", endpoint="tcp://127.0.0.1:*", shared=True, queue_mb=1, shared_folder=str(tmp_path)
    )
    made = SharedSlots(config, "sim-1")
    made.lay_out(1000)
    yield made
    made.close()
