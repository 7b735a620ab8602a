"""Fields under the hands of a user: what is typed, pasted and read, and that nothing moves meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.measure.beam.tab import GIVEN
from penstock.gui.live.measure.treatment.treatment import Combine
from penstock.gui.model.detector import DetectorModel
from penstock.gui.panel.detector_panel import DetectorPanel
from penstock.receiver.models import Counts
from tests.gui.live.stand_in import stand_in
from tests.gui.model.stand_in import StandInDevice
from tests.gui.panel.conftest import DEADLINE, NAME, OpenedPanel
from tests.gui.panel.cut import cut

LONG = "/data/visitors/cristallographie/20251125/raw/lysozyme/session-with-a-long-name/ceo2_0001.h5"
WIDTHS = (960, 1280, 1920)


def typed_over(opened: OpenedPanel, editor: Any, text: str) -> None:
    """Double click, type, Enter: as one does with a mouse in one hand."""
    opened.panel.settings.series.ensureWidgetVisible(editor)
    opened.qtbot.mouseDClick(editor, qt.Qt.LeftButton, pos=editor.rect().center())
    opened.qtbot.keyClicks(editor, text)
    opened.qtbot.keyClick(editor, qt.Qt.Key_Return)


def enters(editor: Any, text: str) -> None:
    """Type letters that a keyboard has no keys for: by an input method."""
    event = qt.QInputMethodEvent()
    event.setCommitString(text)
    qt.QApplication.sendEvent(editor, event)


@pytest.mark.parametrize(
    ("name", "before", "text", "value"),
    [
        ("ExposureTime", 0.018, "20 ms", 0.02),
        ("FrameTime", 0.0180001, "1.5 s", 1.5),
        ("FrameRate", 49.7512437811, "0.5 kHz", 500.0),
        ("LatencyTime", 0.25, "3e-3", 0.003),
        ("nTriggers", 12345, "2,000", 2000),
        ("nFramesPerTrigger", 1, "7", 7),
        ("PhotonFlux", 1.5e6, "2.5", 2.5),
    ],
)
def test_a_double_click_replaces_the_whole_number(
    opened: OpenedPanel, name: str, before: float, text: str, value: float
) -> None:
    opened.appear(**{name: before})
    if name == "PhotonFlux":
        opened.panel.settings.show_tab("Camera")
    typed_over(opened, opened.field(name).editor, text)
    opened.until(lambda: opened.device.written)
    assert opened.device.written == [(name, value)]


def test_the_number_of_the_file_is_replaced_by_a_double_click(opened: OpenedPanel) -> None:
    opened.appear(DestinationFilename="/data/scan_0018.h5")
    file = opened.panel.settings.file
    assert file is not None
    line = file.number.lineEdit()
    opened.qtbot.mouseDClick(line, qt.Qt.LeftButton, pos=qt.QPoint(8, 8))
    opened.qtbot.keyClicks(line, "7")
    opened.qtbot.keyClick(file.number, qt.Qt.Key_Return)
    opened.until(lambda: opened.device.written == [("DestinationFilename", "/data/scan_0007.h5")])


TEXTS = {
    "Filter of the log", "Search for a setting of the camera", "Title", "Sample", "User", "Proposal",
    "Name of the file", "Folder of the file", "Search in Metadata", "Distances of rings",
}  # fmt: skip
"""Lines that hold no single number."""
NUMBERS = {
    "Beam centre x", "Beam centre y", "Distance", "Energy", "Frames that are combined", "Count of hot pixels",
    "Saturated pixels without a warning", "Frames per second", "Blocks that are transferred",
    "Count of the least colour", "Count of the greatest colour", "Index of the frame on show",
    "Number in the file's name", "Exposure time", "Period", "Rate", "Latency", "Triggers",
    "Frames per trigger", "Photon flux",
}  # fmt: skip
"""Names of the fields that have to be there; whatever else is new is tested as a number, too."""


def called(line: Any) -> str:
    box = line.parent()
    return str((box if isinstance(box, qt.QAbstractSpinBox) else line).accessibleName())


def bring(line: Any) -> None:
    """Bring a field's pages to the front, or the menu in which it is."""
    at = line
    while (above := at.parentWidget()) is not None:
        if isinstance(at, qt.QMenu):
            at.popup(above.mapToGlobal(qt.QPoint(0, above.height())))
        if isinstance(above, qt.QStackedWidget) and isinstance(above.parentWidget(), qt.QTabWidget):
            above.parentWidget().setCurrentWidget(at)
        at = above
    qt.QApplication.processEvents()


def test_every_field_for_a_number_is_replaced_by_a_double_click(opened: OpenedPanel) -> None:
    live, measure = opened.panel.live, opened.panel.live.measure
    opened.panel.resize(3000, 1400)  # so that every tool has room
    with stand_in() as receiver:
        receiver.run(counts=Counts(planned=100_000))
        receiver.frame(np.ones((60, 80), np.int32), 0)
        opened.device.receiver_url = receiver.url
        opened.appear()
        opened.until(lambda: live.drawn() and live.past.bar.slider.maximum() > 7)
        for action in (live.show_measure, live.show_regions, live.show_histogram):
            action.setChecked(True)
        measure.treatment.combine.setCurrentText(Combine.MEAN.value)
        measure.beam_tab.calibrant.setCurrentText(GIVEN)
        lines = [each for each in opened.panel.findChildren(qt.QLineEdit) if called(each) not in TEXTS]
        assert {called(each) for each in lines} >= NUMBERS
        for line in lines:
            bring(line)
            line.setFocus()  # what was typed before is taken, and shown with its digits
            box = line.parent()
            assert called(line), f"what is typed here? {line.text()}"
            assert line.isVisible() and line.isEnabled(), called(line)
            is_box, number = isinstance(box, qt.QAbstractSpinBox), "0.018"
            if is_box:
                number = box.text() if box.text() == box.specialValueText() else box.cleanText()
            else:
                line.setText(number)
            for x in (4, line.fontMetrics().horizontalAdvance(line.text()), line.width() - 4):
                line.deselect()
                opened.qtbot.mouseDClick(line, qt.Qt.LeftButton, pos=qt.QPoint(x, line.height() // 2))
                assert line.selectedText() == number, called(line)
            opened.qtbot.keyClicks(line, "7")
            if is_box:
                opened.qtbot.keyClick(line, qt.Qt.Key_Return)
                assert box.value() == 7, called(line)
            else:
                assert line.text() == "7", called(line)
            live.controls.more.menu().hide()
        live.stop()


def test_of_several_numbers_a_double_click_takes_one(opened: OpenedPanel) -> None:
    tab = opened.panel.live.measure.beam_tab
    opened.panel.live.measure.show()
    bring(tab.given)
    tab.calibrant.setCurrentText(GIVEN)
    tab.given.setText("3.905, 3.67, 3.44")
    place = qt.QPoint(tab.given.fontMetrics().horizontalAdvance("3.905, 3.") + 4, tab.given.height() // 2)
    opened.qtbot.mouseDClick(tab.given, qt.Qt.LeftButton, pos=place)
    opened.qtbot.keyClicks(tab.given, "2.5")
    opened.qtbot.keyClick(tab.given, qt.Qt.Key_Return)
    assert (tab.given.text(), tab.rings()) == ("3.905, 2.5, 3.44", (3.905, 3.44, 2.5))


def test_names_are_typed_in_any_field_of_the_file(opened: OpenedPanel) -> None:
    opened.appear()
    file = opened.panel.settings.file
    assert file is not None
    for editor, text, written in (
        (file.template, "größe_##", "/data/größe_01.h5"), (file.folder, "/data/été", "/data/été/größe_01.h5"),
    ):  # fmt: skip
        editor.selectAll()
        enters(editor, text)
        opened.qtbot.keyClick(editor, qt.Qt.Key_Return)
        opened.until(lambda: opened.device.written[-1:] == [("DestinationFilename", written)])  # noqa: B023


def test_letters_that_tango_has_not_are_named_before_they_are_sent(opened: OpenedPanel) -> None:
    opened.appear()
    file = opened.panel.settings.file
    assert file is not None
    file.template.selectAll()
    enters(file.template, "样品_###")
    opened.qtbot.keyClick(file.template, qt.Qt.Key_Return)
    opened.until(lambda: file.template.property("look") == "problem")
    said = 'File: Tango carries Western European letters only (Latin-1), and not "样品"; choose others'
    assert opened.panel.settings.says() == file.says() == f"▲ {said}"
    assert opened.device.written == []


def test_a_path_is_pasted_without_the_end_of_its_line(opened: OpenedPanel) -> None:
    opened.appear()
    file = opened.panel.settings.file
    assert file is not None
    qt.QApplication.clipboard().setText("/data/visitors\r\n")
    file.folder.setFocus()
    file.folder.selectAll()
    opened.qtbot.keyClick(file.folder, qt.Qt.Key_V, qt.Qt.ControlModifier)
    assert file.folder.text() == "/data/visitors"
    opened.qtbot.keyClick(file.folder, qt.Qt.Key_Return)
    opened.until(lambda: opened.device.written == [("DestinationFilename", "/data/visitors/scan_0001.h5")])


def test_a_number_is_shown_shortly_and_edited_whole(opened: OpenedPanel) -> None:
    opened.appear(FrameRate=49.7512437811, nTriggers=12000)
    rate = opened.field("FrameRate").editor
    assert rate.text() == "49.75"
    assert rate.toolTip().startswith("49.7512438 Hz\n")
    assert opened.field("nTriggers").editor.text() == "12,000"
    opened.qtbot.mouseClick(rate, qt.Qt.LeftButton)
    assert rate.text() == "49.7512438"
    opened.field("nTriggers").editor.setFocus()
    assert rate.text() == "49.75"
    assert opened.field("nTriggers").editor.text() == "12000"
    assert opened.model.view().edits == {}


# -- what is said, and where -----------------------------------------------------------------------


def test_the_strip_says_what_is_wrong_with_the_field_in_hand_or_else_with_the_first(
    opened: OpenedPanel,
) -> None:
    opened.appear()
    settings = opened.panel.settings
    opened.type("ExposureTime", "soon")
    opened.type("nTriggers", "-1")
    opened.until(lambda: settings.says() == "▲ Triggers: -1 is outside its limits, 1 or more")
    opened.field("LatencyTime").editor.setFocus()
    opened.until(lambda: settings.says().startswith('▲ Exposure time: "soon" is no number'))
    assert opened.field("ExposureTime").problem() in opened.field("ExposureTime").editor.toolTip()
    for name in ("ExposureTime", "nTriggers"):
        opened.qtbot.keyClick(opened.field(name).editor, qt.Qt.Key_Escape)
    opened.field("LatencyTime").editor.setFocus()
    opened.until(lambda: settings.says() == "Latency: 0 s or more.")
    opened.type("LatencyTime", "0.5")
    opened.until(lambda: settings.says() == "Latency: Enter writes it, Esc takes the device's 0 s again.")


def test_a_refusal_of_the_device_speaks_of_labels(opened: OpenedPanel) -> None:
    opened.device.refuse["FrameTime"] = "shorter than ExposureTime; shorten ExposureTime first"
    opened.appear()
    opened.type("FrameTime", "1 ms", qt.Qt.Key_Return)
    opened.until(opened.field("FrameTime").problem)
    said = "shorter than Exposure time; shorten Exposure time first"
    assert opened.panel.settings.says() == f"▲ Period: {said}"
    assert opened.model.log.since()[-1].text == f"Period 1 ms: refused. {said}"


def places(panel: DetectorPanel) -> dict[str, qt.QRect]:
    """Where everything of the settings is."""
    found = {}
    for number, each in enumerate(panel.settings.findChildren(qt.QWidget)):
        if each.isVisible() and isinstance(each, (qt.QLineEdit, qt.QAbstractButton, qt.QComboBox, qt.QLabel)):
            corner = each.mapTo(panel.settings, qt.QPoint(0, 0))
            found[f"{number} {type(each).__name__} {each.objectName()}"] = qt.QRect(corner, each.size())
    return found


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_moves_under_the_pointer(opened: OpenedPanel, width: int) -> None:
    opened.panel.resize(width, 720)
    opened.panel.actions_bar.setFixedHeight(90)  # the bar has tests of its own
    opened.appear()
    file = opened.panel.settings.file
    assert file is not None
    opened.until(lambda: "New" in file.says())
    before = places(opened.panel)

    def unmoved(step: str) -> None:
        qt.QApplication.processEvents()
        after = places(opened.panel)
        moved = {name: (before.get(name), after.get(name)) for name in before.keys() | after.keys()
                 if before.get(name) != after.get(name)}  # fmt: skip
        assert moved == {}, step

    opened.type("ExposureTime", "5000")
    opened.until(opened.field("ExposureTime").problem)
    unmoved("a problem")
    opened.field("nTriggers").editor.setFocus()
    unmoved("a field in hand")
    opened.qtbot.keyClick(opened.field("ExposureTime").editor, qt.Qt.Key_Escape)
    opened.type("nTriggers", "2147483647", qt.Qt.Key_Return)
    opened.until(lambda: opened.device.written)
    unmoved("a long plan")
    opened.qtbot.keyClicks(file.template, "x")
    opened.until(lambda: "Enter writes the name" in file.says())
    unmoved("a name that is typed")
    opened.qtbot.keyClick(file.template, qt.Qt.Key_Escape)
    opened.device.check.update(ok=False, kind="file_exists", sentence="/data/scan_0002.h5 exists")
    opened.device.say(DestinationFilename=LONG)
    opened.until(file.next_free.isEnabled)
    unmoved("a name that is taken")
    opened.device.say(DestinationFilename="")
    opened.until(lambda: file.says() == "Live view only: nothing is written.")
    unmoved("no name")
    opened.device.say(State="RUNNING")
    opened.until(lambda: opened.field("ExposureTime").editor.isReadOnly())
    unmoved("a series")
    opened.device.vanish()
    opened.until(lambda: not opened.panel.view().here)
    unmoved("a device that is away")


LONG_VALUES: Mapping[str, Any] = {
    "DestinationFilename": LONG, "FrameRate": 49.7512437811, "FrameTime": 0.0200999999,
    "nTriggers": 2**31 - 1, "LatencyTime": 1.23456789e-7,
    "Metadata": '{"sample": "' + "a very long name of a sample, " * 5 + '"}',
}  # fmt: skip


@pytest.mark.parametrize("look", [theme.DARK, theme.LIGHT], ids=["dark", "light"])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_text_is_cut_off_without_an_ellipsis_and_a_tool_tip(
    qtbot: Any, look: theme.Theme, width: int
) -> None:
    with shown(qtbot, look, width, **LONG_VALUES) as (panel, _):
        tabs = panel.settings._tabs
        for place in range(tabs.count()):
            tabs.setCurrentIndex(place)
            qt.QApplication.processEvents()
            assert cut(panel.settings) == []


def test_what_does_not_fit_is_painted_with_an_ellipsis_in_the_middle_of_a_path(opened: OpenedPanel) -> None:
    opened.appear(DestinationFilename=LONG)
    file = opened.panel.settings.file
    assert file is not None
    opened.until(lambda: file.folder.text() in LONG and file.folder.text())
    opened.field("ExposureTime").editor.setFocus()
    qt.QApplication.processEvents()
    assert "…" in file.folder._shortened
    assert file.folder.toolTip().startswith(f"{file.folder.text()}\n")
    shortened = file.folder.grab().toImage()
    file.folder.setFocus()
    assert file.folder.grab().toImage() != shortened  # the whole text, of which a part is in sight
    assert ink(shortened, theme.DARK.field) > 100


@pytest.mark.parametrize("look", [theme.DARK, theme.LIGHT], ids=["dark", "light"])
def test_what_can_be_edited_looks_different_from_what_can_only_be_read(qtbot: Any, look: theme.Theme) -> None:
    with shown(qtbot, look, 1280) as (panel, device):
        editor = panel.settings.series.fields["ExposureTime"].editor
        assert background(editor) == look.field
        device.say(State="RUNNING")
        qtbot.waitUntil(editor.isReadOnly, timeout=DEADLINE)
        assert background(editor) == look.locked
        assert background(panel.settings.file.number.lineEdit()) == look.locked
    assert (theme.LIGHT.field, theme.LIGHT.locked) == ("#ffffff", "#e4e8ed")


class shown:
    """A panel in a theme, which it takes when it is made."""

    def __init__(self, qtbot: Any, look: theme.Theme, width: int, **values: Any) -> None:
        theme.apply(qt.QApplication.instance(), look)
        self._device = StandInDevice()
        self._panel = DetectorPanel(DetectorModel(NAME, self._device))
        self._panel.resize(width, 720)
        self._panel.show()
        self._device.appear(**values)
        qtbot.waitUntil(lambda: bool(self._panel.settings.series.fields), timeout=DEADLINE)
        qtbot.waitUntil(lambda: self._panel.view().check is not None, timeout=DEADLINE)

    def __enter__(self) -> tuple[Any, StandInDevice]:
        return self._panel, self._device

    def __exit__(self, *_: object) -> None:
        self._panel.close()
        self._panel.wait_closed()
        self._panel.deleteLater()
        theme.apply(qt.QApplication.instance(), theme.DARK)


def background(editor: qt.QWidget) -> str:
    """The colour behind the text, in the window's own pixels."""
    image = editor.grab().toImage()
    return str(image.pixelColor(image.width() - 8, image.height() // 2).name())


def ink(image: qt.QImage, paper: str) -> int:
    """How many pixels are not of the paper's colour."""
    pixels: Callable[[int, int], qt.QColor] = image.pixelColor
    return sum(
        pixels(x, y).name() != paper
        for x in range(4, image.width() - 4)
        for y in range(4, image.height() - 4)
    )
