"""No test reads or changes what the user's own windows have kept, or leaves windows behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def settings_of_nobody(tmp_path: Path) -> None:
    qt = pytest.importorskip("silx.gui.qt", reason="windows need the extra gui")
    for form in (qt.QSettings.NativeFormat, qt.QSettings.IniFormat):
        qt.QSettings.setPath(form, qt.QSettings.UserScope, str(tmp_path / "settings"))


@pytest.fixture(autouse=True)
def windows_of_nobody() -> Iterator[None]:
    """Delete what a test has opened: a window has a thousand widgets, and a new look polishes all."""
    qt = pytest.importorskip("silx.gui.qt", reason="windows need the extra gui")
    before = qt.QApplication.topLevelWidgets()
    yield
    for window in qt.QApplication.topLevelWidgets():
        if window not in before and window.parent() is None:
            window.close()
            window.deleteLater()
    qt.QCoreApplication.sendPostedEvents(None, qt.QEvent.DeferredDelete)
