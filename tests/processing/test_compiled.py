"""What numba compiles is kept where there is room, and works without."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from penstock.processing.compiled import compiled


def test_a_function_is_compiled_though_there_is_no_room_to_keep_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caching = pytest.importorskip("numba.core.caching")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(caching.IndexDataCacheFile, "save", full)

    @compiled
    def twice(number: Any) -> Any:
        return 2 * number

    assert twice(4) == 8
    (said,) = [record.getMessage() for record in caplog.records if "cannot be kept" in record.getMessage()]
    assert "(No space left on device)" in said and "PENSTOCK_CACHE" in said
    assert twice(5) == 10
