"""A series in parts whose blocks have three small frames."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.receiver.files import dealing
from penstock.receiver.files.stores import preallocated
from penstock.receiver.files.stores.parts import views
from tests.receiver.files.stores.written import Written, array
from tests.receiver.sample_series import start

BLOCK = 3


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of `BLOCK` frames, views of four blocks, and places for frames of any size."""
    monkeypatch.setattr(dealing, "BLOCK_BYTES", BLOCK * array(0).nbytes)
    monkeypatch.setattr(views, "BLOCKS", 4)
    monkeypatch.setattr(views, "FIRST_VIEWS", 2)
    monkeypatch.setattr(preallocated, "LEAST_FRAME_BYTES", 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """File of the series."""
    return tmp_path / "x.h5"


@pytest.fixture
def series(path: Path) -> Callable[..., Written]:
    """Begins a series of so many files; keys are those of its start message."""

    def begin(files: int, frames: int | None = 40, **keys: Any) -> Written:
        return Written(path, start(frames=frames, **keys), files=files)

    return begin
