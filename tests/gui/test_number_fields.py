"""Numbers are written with a decimal point and commas between thousands, whatever the desktop's language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("silx.gui.plot", reason="the windows need the extra gui")

from silx.gui import qt

from penstock.gui import number_fields
from penstock.gui.live import app as live_app
from penstock.gui.live.plot.colour_bar import words
from penstock.gui.live.view import LiveView
from penstock.gui.panel import app as panel_app
from penstock.gui.panel.settings.file_field import Number
from penstock.receiver.client import LastFrame

DEADLINE = 20_000
"""Milliseconds."""


@pytest.fixture(autouse=True)
def german() -> Iterator[None]:
    before = qt.QLocale()
    qt.QLocale.setDefault(qt.QLocale(qt.QLocale.German, qt.QLocale.Germany))
    yield
    qt.QLocale.setDefault(before)


class Opened(Exception):
    """The window would be opened now."""


@pytest.mark.parametrize("app", [live_app, panel_app])
def test_a_program_writes_numbers_of_all_its_windows_so(
    app: Any, qapp: Any, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*_: object) -> None:
        raise Opened

    palette, sheet = qapp.palette(), qapp.styleSheet()
    monkeypatch.setattr(app, "open_window", opened)
    with pytest.raises(Opened):
        app.run(app.Options())
    box = qt.QDoubleSpinBox()
    qtbot.addWidget(box)
    box.setGroupSeparatorShown(True)
    box.setMaximum(1e6)
    box.setValue(12345.5)
    qapp.setPalette(palette)
    qapp.setStyleSheet(sheet)
    assert box.text() == "12,345.50"


def test_a_view_in_another_program_writes_all_its_numbers_alike(qtbot: Any) -> None:
    foreign = qt.QDoubleSpinBox()
    qtbot.addWidget(foreign)
    foreign.setValue(0.5)
    assert foreign.text() == "0,50", "that program's own are as it likes"
    view = LiveView(memory=None)
    qtbot.addWidget(view)
    view.resize(900, 700)
    view.show()
    view.controls.rate.setValue(2.5)
    view.measure.figures.allowed.setValue(12_345)
    view.measure.treatment.threshold.setValue(65_000)
    view.past.bar.number.setMaximum(100_000)
    view.past.bar.number.setValue(99_999)
    boxes = (
        view.controls.rate, view.measure.figures.allowed, view.measure.treatment.threshold,
        view.past.bar.number,
    )  # fmt: skip
    assert [box.text() for box in boxes] == ["2.5 frames/s", "12,345", "65,000", "99,999"]
    marks = {(box.locale().decimalPoint(), box.locale().groupSeparator()) for box in
             view.findChildren(qt.QAbstractSpinBox)}  # fmt: skip
    assert marks == {(".", ",")}
    view.plot.look.set_levels(0.5, 1234.5)
    assert (view.levels.low.text(), view.levels.high.text()) == ("0.5", "1,234.5")
    assert words(1234.0) == "1,234"

    image = np.full((2000, 3000), 5, np.int32)
    with qtbot.waitSignal(view.plot.shown, timeout=DEADLINE):
        view.plot.show_frame(LastFrame(image, 0, "a", 1, 1))
    axis = view.plot.getBackend().ax.yaxis
    assert axis.get_major_formatter().format_ticks([500, 1500]) == ["500", "1,500"]
    view._show_pixel(view.plot.pixel_at(2500.5, 1500.5))
    assert view.pixel_text() == "row 1,500   column 2,500   value 5"
    view.stop()


def test_a_comma_that_is_no_comma_between_thousands_is_refused(qtbot: Any) -> None:
    view = LiveView(memory=None)
    qtbot.addWidget(view)
    view.plot.look.set_levels(1, 90)
    for typed, expected in (("0,5", 1), ("0.5", 0.5), ("-1,234.5", -1234.5), ("1e1", 10)):
        view.levels.low.setText(typed)
        view.levels.low.setModified(True)
        view.levels.low.editingFinished.emit()
        assert view.plot.look.levels().low == expected
        view.plot.look.set_levels(1, 90)
    view.stop()


def test_a_file_number_of_the_panel_has_digits_only(qtbot: Any) -> None:
    number = Number()
    qtbot.addWidget(number)
    number.setValue(12_345)
    assert number.text() == "12345"
    assert number.locale().name() == number_fields.LOCALE.name()
