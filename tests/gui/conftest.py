"""No test reads or changes what the user's own windows have kept."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def settings_of_nobody(tmp_path: Path) -> None:
    qt = pytest.importorskip("silx.gui.qt", reason="windows need the extra gui")
    for form in (qt.QSettings.NativeFormat, qt.QSettings.IniFormat):
        qt.QSettings.setPath(form, qt.QSettings.UserScope, str(tmp_path / "settings"))
