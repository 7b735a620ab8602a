"""The settings: a form from the device's own attributes, whose edits wait for Enter."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.model.device import Greeting
from penstock.gui.panel.field import ChoiceField, ReadingField, SwitchField, TextField
from tests.gui.model.stand_in import ATTRIBUTES, VALUES, setting
from tests.gui.panel.conftest import Shown


def test_the_form_is_made_of_what_the_device_has(shown: Shown) -> None:
    shown.appear()
    kinds = {name: type(field) for name, field in shown.panel.settings.series.fields.items()}
    assert kinds == {
        "ExposureTime": TextField, "FrameTime": TextField, "FrameRate": TextField, "LatencyTime": TextField,
        "TriggerMode": ChoiceField, "nTriggers": TextField, "nFramesPerTrigger": TextField,
        "DestinationFileOverwritable": SwitchField, "SaveRaw": SwitchField,
    }  # fmt: skip
    kinds = {name: type(field) for name, field in shown.panel.settings.camera.fields.items()}
    assert kinds == {"Pattern": ChoiceField, "PhotonFlux": TextField, "SensorTemperature": ReadingField}
    assert shown.field("SensorTemperature").editor.text() == "21.5"
    assert shown.field("Pattern").editor.currentText() == "powder"
    assert shown.field("SaveRaw").editor.isChecked()
    tip = shown.field("ExposureTime").editor.toolTip()
    assert "Time of one frame." in tip
    assert "Limits: 1e-05 to 3600 s." in tip
    assert "Tango attribute ExposureTime, in s." in tip


def test_what_is_typed_waits_for_enter_and_no_event_overwrites_it(shown: Shown) -> None:
    shown.appear()
    field = shown.field("ExposureTime")
    shown.type("ExposureTime", "20 ms")
    shown.until(lambda: field.editor.property("look") == "edit")
    shown.device.say(ExposureTime=0.7)
    shown.until(lambda: "The device has 0.7 s." in field.editor.toolTip())
    shown.field("LatencyTime").editor.setFocus()  # leaving it writes nothing
    assert field.editor.text() == "20 ms"
    assert shown.device.written == []

    shown.qtbot.keyClick(field.editor, qt.Qt.Key_Return)

    shown.until(lambda: field.editor.property("look") == "")
    assert shown.device.written == [("ExposureTime", 0.02)]
    assert field.editor.text() == "0.02"


def test_a_value_that_changes_under_the_selection_is_replaced_by_what_is_typed(shown: Shown) -> None:
    shown.appear()
    editor = shown.field("FrameTime").editor
    editor.setFocus()
    editor.selectAll()
    shown.device.say(FrameTime=0.123456)
    shown.until(lambda: editor.text() == "0.123456")
    shown.qtbot.keyClicks(editor, "5 ms")
    assert editor.text() == "5 ms"


def test_escape_takes_the_devices_value_again(shown: Shown) -> None:
    shown.appear()
    shown.type("ExposureTime", "3", qt.Qt.Key_Escape)
    field = shown.field("ExposureTime")
    shown.until(lambda: field.editor.text() == "0.1" and field.editor.property("look") == "")
    assert shown.device.written == []


def test_a_problem_is_said_in_words_with_a_sign(shown: Shown) -> None:
    shown.appear()
    shown.type("ExposureTime", "5000", qt.Qt.Key_Return)
    field = shown.field("ExposureTime")
    shown.until(field.problem)
    assert field.problem() == "▲ ExposureTime: 5000 is outside its limits, 1e-05 to 3600 s"
    assert field.editor.property("look") == "problem"
    assert shown.device.written == []


def test_what_the_device_refuses_stays_with_its_reason(shown: Shown) -> None:
    shown.device.refuse["nTriggers"] = "nTriggers: 2147483647 x 2 are too many"
    shown.appear()
    shown.type("nTriggers", "2147483647", qt.Qt.Key_Return)
    shown.until(shown.field("nTriggers").problem)
    assert "are too many" in shown.field("nTriggers").problem()
    assert shown.field("nTriggers").editor.text() == "2147483647"


def test_choices_and_switches_are_written_at_once(shown: Shown) -> None:
    shown.appear()
    box = shown.field("Pattern").editor
    box.setFocus()
    shown.qtbot.keyClick(box, qt.Qt.Key_Down)
    shown.until(lambda: ("Pattern", "ramp") in shown.device.written)
    shown.qtbot.mouseClick(shown.field("SaveRaw").editor, qt.Qt.LeftButton, pos=qt.QPoint(5, 10))
    shown.until(lambda: ("SaveRaw", False) in shown.device.written)


def test_the_wheel_over_a_choice_changes_nothing(shown: Shown) -> None:
    shown.appear()
    box = shown.field("TriggerMode").editor
    place = qt.QPointF(5, 5)
    wheel = qt.QWheelEvent(
        place, qt.QPointF(box.mapToGlobal(place.toPoint())), qt.QPoint(0, -120), qt.QPoint(0, -120),
        qt.Qt.NoButton, qt.Qt.NoModifier, qt.Qt.NoScrollPhase, False,
    )  # fmt: skip
    qt.QApplication.sendEvent(box, wheel)
    assert box.currentText() == "INTERNAL"
    assert shown.device.written == []


def test_nothing_can_be_set_while_a_series_runs_and_why_is_said(shown: Shown) -> None:
    shown.appear()
    shown.field("Pattern").editor.setFocus()
    shown.device.say(State="RUNNING", SeriesId="other")
    shown.until(lambda: shown.field("ExposureTime").editor.isReadOnly())
    assert not shown.field("Pattern").editor.isEnabled()
    assert not shown.field("SaveRaw").editor.isEnabled()
    tip = shown.field("Pattern").editor.toolTip()
    assert tip.startswith("A series runs. Settings can be changed when it has ended.")
    # The focus has not wandered to a button, which Space would press.
    assert not isinstance(qt.QApplication.focusWidget(), qt.QPushButton)
    shown.device.say(State="ON")
    shown.until(lambda: shown.field("Pattern").editor.isEnabled())
    assert not shown.field("ExposureTime").editor.isReadOnly()


def test_a_device_that_comes_back_with_other_choices_gets_another_form(shown: Shown) -> None:
    shown.appear()
    before = shown.field("ExposureTime")
    shown.model.edit("ExposureTime", "0.3")
    shown.device.vanish()
    shown.until(lambda: shown.field("ExposureTime").editor.isReadOnly())
    shown.device.appear()
    shown.until(lambda: not shown.field("ExposureTime").editor.isReadOnly())
    assert shown.field("ExposureTime") is before
    assert before.editor.text() == "0.3"


def test_a_form_that_is_made_anew_leaves_nothing_behind(shown: Shown) -> None:
    def widgets_after(rounds: int) -> int:
        for number in range(2 * rounds):
            kept = [each for each in ATTRIBUTES if number % 2 or each.name != "Pattern"]
            assert shown.device.listener is not None
            shown.device.listener.reached(Greeting(attributes=kept, receiver_url="", values=VALUES))
            shown.until(lambda: ("Pattern" in shown.panel.settings.camera.fields) == bool(number % 2))  # noqa: B023
        shown.qtbot.wait(1)  # let the event loop delete them
        return len(shown.panel.findChildren(qt.QWidget))

    shown.appear()
    first = widgets_after(1)
    assert widgets_after(3) == first


def test_period_and_rate_stand_in_the_row_below_the_exposure(shown: Shown) -> None:
    shown.appear()
    exposure, period, rate = (shown.field(name) for name in ("ExposureTime", "FrameTime", "FrameRate"))
    assert period.y() == rate.y()
    assert period.x() < rate.x()
    assert 0 < period.y() - exposure.y() < 2 * exposure.height() + 10


def test_nothing_is_cut_off_at_the_side(shown: Shown) -> None:
    shown.appear()
    for form in (shown.panel.settings.series, shown.panel.settings.camera):
        assert form.widget().minimumSizeHint().width() <= form.minimumWidth()


def test_before_the_device_is_there_nothing_stands_in_its_place(shown: Shown) -> None:
    settings = shown.panel.settings
    said = [label.text() for label in settings.findChildren(qt.QLabel) if label.isVisible()]
    assert said == ["The settings are shown as soon as the device answers."]
    assert not [line for line in settings.findChildren(qt.QLineEdit) if line.isVisible()]


def test_what_is_reached_by_tab_is_brought_into_sight(shown: Shown) -> None:
    shown.panel.resize(1280, 560)
    shown.appear()
    form = shown.panel.settings.series
    shown.until(lambda: form.verticalScrollBar().maximum() > 0)
    shown.field("ExposureTime").editor.setFocus()
    last = shown.field("SaveRaw").editor
    for _ in range(30):
        if last.hasFocus():
            break
        shown.qtbot.keyClick(qt.QApplication.focusWidget(), qt.Qt.Key_Tab)
    assert last.hasFocus()
    assert last.visibleRegion().boundingRect().height() == last.height()


def test_many_settings_of_a_camera_can_be_searched(shown: Shown) -> None:
    many = [setting(f"Gain{number}", float, "camera", doc="Amplifier.") for number in range(12)]
    shown.device.listener.reached(Greeting(attributes=[*ATTRIBUTES, *many], receiver_url=""))  # type: ignore[union-attr]
    shown.device.listener.said({**VALUES, **{each.name: 1.0 for each in many}})  # type: ignore[union-attr]
    shown.until(lambda: "Gain0" in shown.panel.settings.camera.fields)
    shown.panel.settings._tabs.setCurrentIndex(1)
    shown.qtbot.keyClick(shown.panel.settings.camera, qt.Qt.Key_F, qt.Qt.ControlModifier)
    assert shown.panel.settings.search.hasFocus()
    shown.qtbot.keyClicks(shown.panel.settings.search, "amplif")
    fields = shown.panel.settings.camera.fields
    assert {name for name, field in fields.items() if field.isVisible()} <= {each.name for each in many}
    assert fields["Gain0"].isVisible()
    assert not fields["Pattern"].isVisible()
    shown.panel.settings.search.clear()
    assert fields["Pattern"].isVisible()
