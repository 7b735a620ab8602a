"""PvaPy from the judges, for tests that need nothing else of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock.processing.config.built_in import PVAPY_ADAPTER
from tests.third_party import program_of


@pytest.fixture
def pvapy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with PvaPy alone, on the path of this process and of those that it starts."""
    (packages,) = program_of("processing", "python").parent.parent.glob("lib/python3*/site-packages")
    folder = tmp_path / "pvapy"
    folder.mkdir()
    for name in ("pvapy", "pvaccess"):
        (folder / name).symlink_to(packages / name)
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.delitem(sys.modules, PVAPY_ADAPTER, raising=False)
    return folder
