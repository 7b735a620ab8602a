"""The buttons: what may be done now, and why the rest may not."""

from __future__ import annotations

from typing import Any

from silx.gui import qt

from penstock.gui.panel.actions import LOOKS
from tests.gui.panel.conftest import OpenedPanel

FILE_EXISTS = {
    "ok": False,
    "kind": "file_exists",
    "sentence": "/data/scan_0001.h5 exists; choose another name",
}


def idle(opened: OpenedPanel, **values: Any) -> None:
    opened.appear(**values)
    opened.until(lambda: opened.button("Arm").isEnabled())


def run(opened: OpenedPanel) -> None:
    """What a device says when Arm has succeeded."""
    opened.device.on_command["Arm"] = lambda: opened.device.say(State="RUNNING", SeriesId="ours")


def test_before_the_device_is_there_nothing_can_be_done(opened: OpenedPanel) -> None:
    assert opened.panel.banner.title() == "WAITING"
    for action in LOOKS:
        assert not opened.button(action.value).isEnabled()
        assert "The device does not answer." in opened.button(action.value).toolTip()


def test_what_arm_would_say_stands_beside_it_before_it_is_pressed(opened: OpenedPanel) -> None:
    opened.device.check.update(FILE_EXISTS)
    idle(opened)
    opened.until(opened.panel.actions_bar.says)
    says = opened.panel.actions_bar.says()
    assert says == (
        "▲ Arm would be refused: scan_0001.h5 exists already. Press Next free number, change the name, "
        "or tick Replace an existing file."
    )
    assert not opened.button("Arm").property("primary")
    opened.device.check.update(ok=True, kind="", sentence="")
    opened.device.say(DestinationFilename="/data/scan_0002.h5")
    opened.until(lambda: opened.panel.actions_bar.says().startswith("Ready to arm: 10 frames"))
    assert opened.button("Arm").property("primary")


def test_arm_writes_what_is_typed_and_says_so_before(opened: OpenedPanel) -> None:
    run(opened)
    idle(opened)
    opened.type("ExposureTime", "0.5")
    opened.until(lambda: "Typed and not written yet: Exposure time." in opened.panel.actions_bar.says())
    opened.qtbot.mouseClick(opened.button("Arm"), qt.Qt.LeftButton)
    opened.until(lambda: opened.panel.banner.title() == "RUNNING")
    assert opened.device.written == [("ExposureTime", 0.5)]
    assert opened.device.called == ["Arm"]


def test_a_double_click_arms_once_however_short_the_series(opened: OpenedPanel) -> None:
    ended = []

    def one_frame() -> None:
        opened.device.say(State="RUNNING", SeriesId="ours")
        opened.device.say(State="ON")
        ended.append(True)

    opened.device.on_command["Arm"] = one_frame
    idle(opened)
    button = opened.button("Arm")
    opened.qtbot.mouseClick(button, qt.Qt.LeftButton)
    opened.until(lambda: ended and button.isEnabled())
    # As Qt sends it: the second press of a double click is an event of its own.
    opened.qtbot.mouseDClick(button, qt.Qt.LeftButton)
    opened.qtbot.mouseRelease(button, qt.Qt.LeftButton)
    opened.until(lambda: opened.model.view().busy is None)
    assert opened.device.called == ["Arm"]


def test_a_second_space_does_not_reach_the_next_button(opened: OpenedPanel) -> None:
    run(opened)
    idle(opened)
    opened.button("Arm").setFocus()
    opened.qtbot.keyClick(opened.button("Arm"), qt.Qt.Key_Space)
    opened.until(lambda: opened.button("Stop").isEnabled())
    assert not isinstance(qt.QApplication.focusWidget(), qt.QPushButton)


def test_keys_do_what_the_tool_tips_say(opened: OpenedPanel) -> None:
    run(opened)
    idle(opened)
    assert "(F5)" in opened.button("Arm").toolTip()
    opened.qtbot.keyClick(opened.panel, qt.Qt.Key_F5)
    opened.until(lambda: opened.button("Stop").isEnabled())
    opened.qtbot.keyClick(opened.panel, qt.Qt.Key_F8, qt.Qt.ControlModifier | qt.Qt.ShiftModifier)
    opened.until(lambda: opened.device.called == ["Arm", "Abort"])
    for action, known in LOOKS.items():
        if action.value == "Abort":
            assert known.shortcut.count("+") == 2


def test_who_did_not_arm_is_asked_before_the_series_ends(opened: OpenedPanel) -> None:
    idle(opened)
    opened.device.say(State="RUNNING", SeriesId="theirs", ArmedBy="opid@spock")
    opened.until(lambda: opened.button("Stop").isEnabled())
    opened.qtbot.mouseClick(opened.button("Stop"), qt.Qt.LeftButton)
    box = opened.panel.actions_bar.question()
    assert box is not None
    assert "armed by opid@spock" in box.text()
    assert box.defaultButton().text() == "&Let it run"
    box.defaultButton().click()
    assert opened.device.called == []
    opened.qtbot.mouseClick(opened.button("Stop"), qt.Qt.LeftButton)
    box = opened.panel.actions_bar.question()
    assert box is not None
    next(button for button in box.buttons() if button.text() == "&Stop it").click()
    opened.until(lambda: opened.device.called == ["Stop"])


def test_the_question_goes_when_its_series_has_ended(opened: OpenedPanel) -> None:
    idle(opened)
    opened.device.say(State="RUNNING", SeriesId="theirs", ArmedBy="opid@spock")
    opened.until(lambda: opened.button("Abort").isEnabled())
    opened.qtbot.mouseClick(opened.button("Abort"), qt.Qt.LeftButton)
    assert opened.panel.actions_bar.question() is not None
    opened.device.say(SeriesId="the next one")
    opened.until(lambda: opened.panel.actions_bar.question() is None)
    assert opened.device.called == []


def test_a_series_of_this_panel_is_stopped_without_a_question(opened: OpenedPanel) -> None:
    run(opened)
    idle(opened)
    opened.button("Arm").click()
    opened.until(lambda: opened.panel.view().own and opened.button("Stop").isEnabled())
    opened.button("Stop").click()
    opened.until(lambda: opened.device.called == ["Arm", "Stop"])


def test_a_refusal_stays_until_the_next_action(opened: OpenedPanel) -> None:
    opened.device.refuse["Arm"] = "the receiver does not answer; start it"
    idle(opened)
    opened.button("Arm").click()
    opened.until(opened.panel.actions_bar.notice)
    assert opened.panel.actions_bar.notice() == "▲ The receiver does not answer; start it"
    opened.device.say(ExposureTime=0.4)
    opened.until(lambda: opened.field("ExposureTime").editor.text() == "0.4")
    assert opened.panel.actions_bar.notice()
    del opened.device.refuse["Arm"]
    opened.button("Arm").click()
    opened.until(lambda: not opened.panel.actions_bar.notice())


def test_a_refusal_goes_when_its_reason_has_gone(opened: OpenedPanel) -> None:
    opened.device.check.update(FILE_EXISTS)
    opened.device.refuse["Arm"] = FILE_EXISTS["sentence"]
    idle(opened)
    opened.until(opened.panel.actions_bar.says)
    opened.button("Arm").click()
    opened.until(opened.panel.actions_bar.notice)
    opened.device.check.update(ok=True, kind="", sentence="")
    opened.device.say(DestinationFilename="/data/scan_0002.h5")
    opened.until(lambda: opened.panel.actions_bar.says().startswith("Ready to arm"))
    assert not opened.panel.actions_bar.notice()


def test_what_arm_would_say_now_stands_below_a_refusal_of_before(opened: OpenedPanel) -> None:
    opened.device.refuse["Arm"] = "the receiver does not answer; start it"
    idle(opened)
    opened.button("Arm").click()
    opened.until(opened.panel.actions_bar.notice)
    opened.until(lambda: opened.panel.actions_bar.says().startswith("Ready to arm"))


def test_reset_is_offered_where_it_helps(opened: OpenedPanel) -> None:
    idle(opened)
    assert not opened.button("Reset").isVisible()
    assert not opened.button("RestartReceiver").isVisible()
    opened.device.say(State="FAULT", Status="The disk is full.")
    opened.until(lambda: opened.button("Reset").isVisible())
    assert opened.button("Reset").property("primary")
    opened.device.check.update(ok=False, kind="in_error", sentence="the receiver is in error")
    opened.device.say(State="ON")
    opened.until(
        lambda: opened.button("RestartReceiver").isVisible() and not opened.button("Reset").isVisible()
    )
    assert opened.button("RestartReceiver").property("primary")


def test_once_the_receiver_has_been_restarted_reset_is_the_next_step(opened: OpenedPanel) -> None:
    idle(opened)
    opened.device.say(State="FAULT", Status="The disk is full; RestartReceiver resets it. Call Reset.")
    opened.until(lambda: opened.button("RestartReceiver").property("primary"))
    opened.button("RestartReceiver").click()
    opened.until(lambda: opened.button("Reset").property("primary"))
    assert not opened.button("RestartReceiver").isVisible()


def test_what_arm_would_have_said_in_fault_is_not_on_show_after_it(opened: OpenedPanel) -> None:
    opened.device.check.update(ok=False, kind="state", sentence="Arm is possible only in the state ON")
    opened.appear(State="FAULT", Status="The disk is full.")
    opened.until(lambda: opened.model.view().check is not None)
    opened.device.say(State="ON")
    assert opened.model.view().check is None
