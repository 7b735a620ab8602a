"""The settings: a form from the device's own attributes, whose edits wait for Enter."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.model.tango.device import Greeting
from penstock.gui.panel.fields.field import ChoiceField, ReadingField, SwitchField, TextField
from tests.gui.model.stand_in import ATTRIBUTES, VALUES, setting
from tests.gui.panel.conftest import OpenedPanel


def test_the_form_is_made_of_what_the_device_has(opened: OpenedPanel) -> None:
    opened.appear()
    kinds = {name: type(field) for name, field in opened.panel.settings.series.fields.items()}
    assert kinds == {
        "ExposureTime": TextField, "FrameTime": TextField, "FrameRate": TextField, "LatencyTime": TextField,
        "TriggerMode": ChoiceField, "nTriggers": TextField, "nFramesPerTrigger": TextField,
        "DestinationFileOverwritable": SwitchField, "SaveRaw": SwitchField,
    }  # fmt: skip
    kinds = {name: type(field) for name, field in opened.panel.settings.camera.fields.items()}
    assert kinds == {"Pattern": ChoiceField, "PhotonFlux": TextField, "SensorTemperature": ReadingField}
    assert opened.field("SensorTemperature").editor.text() == "21.5"
    assert opened.field("Pattern").editor.currentText() == "powder"
    assert opened.field("SaveRaw").editor.isChecked()
    tip = opened.field("ExposureTime").editor.toolTip()
    assert "Time of one frame." in tip
    assert "Limits: 1e-05 to 3,600 s." in tip
    assert "Tango attribute ExposureTime, in s." in tip


def test_what_is_typed_waits_for_enter_and_no_event_overwrites_it(opened: OpenedPanel) -> None:
    opened.appear()
    field = opened.field("ExposureTime")
    opened.type("ExposureTime", "20 ms")
    opened.until(lambda: field.editor.property("look") == "edit")
    opened.device.say(ExposureTime=0.7)
    opened.until(lambda: "The device has 0.7 s." in field.editor.toolTip())
    opened.field("LatencyTime").editor.setFocus()  # leaving it writes nothing
    assert field.editor.text() == "20 ms"
    assert opened.device.written == []

    opened.qtbot.keyClick(field.editor, qt.Qt.Key_Return)

    opened.until(lambda: field.editor.property("look") == "")
    assert opened.device.written == [("ExposureTime", 0.02)]
    assert field.editor.text() == "0.02"


def test_a_value_that_changes_under_the_selection_is_replaced_by_what_is_typed(opened: OpenedPanel) -> None:
    opened.appear()
    editor = opened.field("FrameTime").editor
    editor.setFocus()
    editor.selectAll()
    opened.device.say(FrameTime=0.123456)
    opened.until(lambda: editor.text() == "0.123456")
    opened.qtbot.keyClicks(editor, "5 ms")
    assert editor.text() == "5 ms"


def test_escape_takes_the_devices_value_again(opened: OpenedPanel) -> None:
    opened.appear()
    opened.type("ExposureTime", "3", qt.Qt.Key_Escape)
    field = opened.field("ExposureTime")
    opened.until(lambda: field.editor.text() == "0.1" and field.editor.property("look") == "")
    assert opened.device.written == []


def test_a_problem_is_said_in_words_with_a_sign(opened: OpenedPanel) -> None:
    opened.appear()
    opened.type("ExposureTime", "5000", qt.Qt.Key_Return)
    field = opened.field("ExposureTime")
    opened.until(field.problem)
    assert field.problem() == "▲ Exposure time: 5000 is outside its limits, 1e-05 to 3,600 s"
    assert field.editor.property("look") == "problem"
    assert opened.device.written == []


def test_what_the_device_refuses_stays_with_its_reason(opened: OpenedPanel) -> None:
    opened.device.refuse["nTriggers"] = "nTriggers: 2147483647 x 2 are too many"
    opened.appear()
    opened.type("nTriggers", "2147483647", qt.Qt.Key_Return)
    opened.until(opened.field("nTriggers").problem)
    assert "are too many" in opened.field("nTriggers").problem()
    assert opened.field("nTriggers").editor.text() == "2147483647"


def test_choices_and_switches_are_written_at_once(opened: OpenedPanel) -> None:
    opened.appear()
    box = opened.field("Pattern").editor
    box.setFocus()
    opened.qtbot.keyClick(box, qt.Qt.Key_Down)
    opened.until(lambda: ("Pattern", "ramp") in opened.device.written)
    opened.qtbot.mouseClick(opened.field("SaveRaw").editor, qt.Qt.LeftButton, pos=qt.QPoint(5, 10))
    opened.until(lambda: ("SaveRaw", False) in opened.device.written)


def test_the_wheel_over_a_choice_changes_nothing(opened: OpenedPanel) -> None:
    opened.appear()
    box = opened.field("TriggerMode").editor
    place = qt.QPointF(5, 5)
    wheel = qt.QWheelEvent(
        place, qt.QPointF(box.mapToGlobal(place.toPoint())), qt.QPoint(0, -120), qt.QPoint(0, -120),
        qt.Qt.NoButton, qt.Qt.NoModifier, qt.Qt.NoScrollPhase, False,
    )  # fmt: skip
    qt.QApplication.sendEvent(box, wheel)
    assert box.currentText() == "INTERNAL"
    assert opened.device.written == []


def test_nothing_can_be_set_while_a_series_runs_and_why_is_said(opened: OpenedPanel) -> None:
    opened.appear()
    opened.field("Pattern").editor.setFocus()
    opened.device.say(State="RUNNING", SeriesId="other")
    opened.until(lambda: opened.field("ExposureTime").editor.isReadOnly())
    assert not opened.field("Pattern").editor.isEnabled()
    assert not opened.field("SaveRaw").editor.isEnabled()
    tip = opened.field("Pattern").editor.toolTip()
    assert tip.startswith("A series runs. Settings can be changed when it has ended.")
    # The focus has not wandered to a button, which Space would press.
    assert not isinstance(qt.QApplication.focusWidget(), qt.QPushButton)
    opened.device.say(State="ON")
    opened.until(lambda: opened.field("Pattern").editor.isEnabled())
    assert not opened.field("ExposureTime").editor.isReadOnly()


def test_a_device_that_comes_back_with_other_choices_gets_another_form(opened: OpenedPanel) -> None:
    opened.appear()
    before = opened.field("ExposureTime")
    opened.model.edit("ExposureTime", "0.3")
    opened.device.vanish()
    opened.until(lambda: opened.field("ExposureTime").editor.isReadOnly())
    opened.device.appear()
    opened.until(lambda: not opened.field("ExposureTime").editor.isReadOnly())
    assert opened.field("ExposureTime") is before
    assert before.editor.text() == "0.3"


def test_a_form_that_is_made_anew_leaves_nothing_behind(opened: OpenedPanel) -> None:
    def widgets_after(rounds: int) -> int:
        for number in range(2 * rounds):
            kept = [each for each in ATTRIBUTES if number % 2 or each.name != "Pattern"]
            assert opened.device.listener is not None
            opened.device.listener.reached(Greeting(attributes=kept, receiver_url="", values=VALUES))
            opened.until(lambda: ("Pattern" in opened.panel.settings.camera.fields) == bool(number % 2))  # noqa: B023
        opened.qtbot.wait(1)  # let the event loop delete them
        return len(opened.panel.findChildren(qt.QWidget))

    opened.appear()
    first = widgets_after(1)
    assert widgets_after(3) == first


def test_period_and_rate_stand_in_the_row_below_the_exposure(opened: OpenedPanel) -> None:
    opened.appear()
    exposure, period, rate = (opened.field(name) for name in ("ExposureTime", "FrameTime", "FrameRate"))
    assert period.y() == rate.y()
    assert period.x() < rate.x()
    assert 0 < period.y() - exposure.y() < 2 * exposure.height() + 10


def test_nothing_is_cut_off_at_the_side(opened: OpenedPanel) -> None:
    opened.appear()
    for form in (opened.panel.settings.series, opened.panel.settings.camera):
        assert form.widget().minimumSizeHint().width() <= form.minimumWidth()


def test_before_the_device_is_there_nothing_stands_in_its_place(opened: OpenedPanel) -> None:
    settings = opened.panel.settings
    said = [label.text() for label in settings.findChildren(qt.QLabel) if label.isVisible()]
    assert [text for text in said if text] == ["The settings are shown as soon as the device answers."]
    assert not [line for line in settings.findChildren(qt.QLineEdit) if line.isVisible()]


def test_what_is_reached_by_tab_is_brought_into_sight(opened: OpenedPanel) -> None:
    opened.panel.resize(1280, 560)
    opened.appear()
    form = opened.panel.settings.series
    opened.until(lambda: form.verticalScrollBar().maximum() > 0)
    opened.field("ExposureTime").editor.setFocus()
    last = opened.field("SaveRaw").editor
    for _ in range(30):
        if last.hasFocus():
            break
        opened.qtbot.keyClick(qt.QApplication.focusWidget(), qt.Qt.Key_Tab)
    assert last.hasFocus()
    assert last.visibleRegion().boundingRect().height() == last.height()


def test_many_settings_of_a_camera_can_be_searched(opened: OpenedPanel) -> None:
    many = [setting(f"Gain{number}", float, "camera", doc="Amplifier.") for number in range(12)]
    opened.device.listener.reached(Greeting(attributes=[*ATTRIBUTES, *many], receiver_url=""))  # type: ignore[union-attr]
    opened.device.listener.said({**VALUES, **{each.name: 1.0 for each in many}})  # type: ignore[union-attr]
    opened.until(lambda: "Gain0" in opened.panel.settings.camera.fields)
    opened.panel.settings.show_tab("Camera")
    opened.qtbot.keyClick(opened.panel.settings.camera, qt.Qt.Key_F, qt.Qt.ControlModifier)
    assert opened.panel.settings.search.hasFocus()
    opened.qtbot.keyClicks(opened.panel.settings.search, "amplif")
    fields = opened.panel.settings.camera.fields
    assert {name for name, field in fields.items() if field.isVisible()} <= {each.name for each in many}
    assert fields["Gain0"].isVisible()
    assert not fields["Pattern"].isVisible()
    opened.panel.settings.search.clear()
    assert fields["Pattern"].isVisible()
