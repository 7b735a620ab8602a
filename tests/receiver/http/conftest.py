"""A streamer and a receiver that the tests of a file share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.receiver.http.shared_pair import Pair


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    made = Pair(tmp_path_factory.mktemp("api"))
    yield made
    made.receiver.close()
    made.streamer.close()
