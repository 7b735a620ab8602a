"""Matrices and compiled functions of these tests are kept in a folder of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which matrices are kept."""
    monkeypatch.setenv("PENSTOCK_CACHE", os.fspath(tmp_path / "cache"))
    return tmp_path / "cache"
