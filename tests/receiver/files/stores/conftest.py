"""Processes that write, for the tests of each store that has them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.receiver.files.stores.writer_process import WriterProcess
from tests.receiver.files.stores.written import MEMORY, Processes


@pytest.fixture(scope="module")
def three_processes() -> Iterator[Processes]:
    """They live through the tests of a module; the next series brings back one that was killed."""
    found = tuple(WriterProcess(number, MEMORY) for number in (1, 2, 3))
    yield found
    for process in found:
        process.close()
