"""A panel over a real model, whose device the test drives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("silx.gui.plot", reason="the panel needs the extra gui")

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.model.detector import DetectorModel
from penstock.gui.panel.detector_panel import DetectorPanel
from penstock.gui.panel.fields.field import Field
from tests.gui.model.stand_in import StandInDevice

NAME = "sim/det/1"
DEADLINE = 5000
"""Milliseconds."""


class OpenedPanel:
    """A panel on the screen, and the device behind it."""

    def __init__(self, qtbot: Any) -> None:
        self.qtbot = qtbot
        self.device = StandInDevice()
        self.model = DetectorModel(NAME, self.device)
        self.panel = DetectorPanel(self.model)
        self.panel.resize(1280, 720)
        qtbot.addWidget(self.panel)
        self.panel.show()
        qtbot.waitExposed(self.panel)

    def appear(self, **values: Any) -> None:
        """The device answers, and the form is there."""
        self.device.appear(**values)
        self.until(lambda: self.panel.settings.series.fields)

    def until(self, holds: Callable[[], object]) -> None:
        """Wait until the panel is as wanted."""
        self.qtbot.waitUntil(lambda: bool(holds()), timeout=DEADLINE)

    def field(self, name: str) -> Field:
        """The field of an attribute."""
        settings = self.panel.settings
        return settings.series.fields.get(name) or settings.camera.fields[name]

    def type(self, name: str, text: str, then: Any = None) -> None:
        """Replace the text of a field as a user does, and press a key at the end."""
        editor = self.field(name).editor
        editor.setFocus()
        editor.selectAll()
        self.qtbot.keyClicks(editor, text)
        if then is not None:
            self.qtbot.keyClick(editor, then)

    def button(self, name: str) -> Any:
        """A button by the name of its command."""
        return self.panel.actions_bar.findChild(qt.QPushButton, name)


class Browser(qt.QObject):
    """Stands in for the desktop's browser."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    @qt.Slot(qt.QUrl)
    def show_page(self, url: qt.QUrl) -> None:
        self.opened.append(url.toString())


@pytest.fixture
def browser() -> Iterator[Browser]:
    one = Browser()
    qt.QDesktopServices.setUrlHandler("http", one, "show_page")
    yield one
    qt.QDesktopServices.unsetUrlHandler("http")


@pytest.fixture
def opened(qtbot: Any) -> Iterator[OpenedPanel]:
    theme.apply(qt.QApplication.instance(), theme.DARK)
    one = OpenedPanel(qtbot)
    yield one
    one.panel.close()
    one.panel.wait_closed()
