"""The buttons: what may be done now, and why the rest may not."""

from __future__ import annotations

from typing import Any

from silx.gui import qt

from penstock.gui.panel.actions import LOOKS
from tests.gui.panel.conftest import Shown

FILE_EXISTS = {
    "ok": False,
    "kind": "file_exists",
    "sentence": "/data/scan_0001.h5 exists; choose another name",
}


def idle(shown: Shown, **values: Any) -> None:
    shown.appear(**values)
    shown.until(lambda: shown.button("Arm").isEnabled())


def run(shown: Shown) -> None:
    """What a device says when Arm has succeeded."""
    shown.device.on_command["Arm"] = lambda: shown.device.say(State="RUNNING", SeriesId="ours")


def test_before_the_device_is_there_nothing_can_be_done(shown: Shown) -> None:
    assert shown.panel.banner.title() == "WAITING"
    for action in LOOKS:
        assert not shown.button(action.value).isEnabled()
        assert "The device does not answer." in shown.button(action.value).toolTip()


def test_what_arm_would_say_stands_beside_it_before_it_is_pressed(shown: Shown) -> None:
    shown.device.check.update(FILE_EXISTS)
    idle(shown)
    shown.until(shown.panel.actions_bar.says)
    says = shown.panel.actions_bar.says()
    assert says == (
        "▲ Arm would be refused: scan_0001.h5 exists already. Press Next free number, change the name, "
        "or tick Replace an existing file."
    )
    assert not shown.button("Arm").property("primary")
    shown.device.check.update(ok=True, kind="", sentence="")
    shown.device.say(DestinationFilename="/data/scan_0002.h5")
    shown.until(lambda: shown.panel.actions_bar.says().startswith("Ready to arm: 10 frames"))
    assert shown.button("Arm").property("primary")


def test_arm_writes_what_is_typed_and_says_so_before(shown: Shown) -> None:
    run(shown)
    idle(shown)
    shown.type("ExposureTime", "0.5")
    shown.until(lambda: "Typed and not written yet: ExposureTime." in shown.panel.actions_bar.says())
    shown.qtbot.mouseClick(shown.button("Arm"), qt.Qt.LeftButton)
    shown.until(lambda: shown.panel.banner.title() == "RUNNING")
    assert shown.device.written == [("ExposureTime", 0.5)]
    assert shown.device.called == ["Arm"]


def test_a_double_click_arms_once_however_short_the_series(shown: Shown) -> None:
    ended = []

    def one_frame() -> None:
        shown.device.say(State="RUNNING", SeriesId="ours")
        shown.device.say(State="ON")
        ended.append(True)

    shown.device.on_command["Arm"] = one_frame
    idle(shown)
    button = shown.button("Arm")
    shown.qtbot.mouseClick(button, qt.Qt.LeftButton)
    shown.until(lambda: ended and button.isEnabled())
    # As Qt sends it: the second press of a double click is an event of its own.
    shown.qtbot.mouseDClick(button, qt.Qt.LeftButton)
    shown.qtbot.mouseRelease(button, qt.Qt.LeftButton)
    shown.until(lambda: shown.model.view().busy is None)
    assert shown.device.called == ["Arm"]


def test_a_second_space_does_not_reach_the_next_button(shown: Shown) -> None:
    run(shown)
    idle(shown)
    shown.button("Arm").setFocus()
    shown.qtbot.keyClick(shown.button("Arm"), qt.Qt.Key_Space)
    shown.until(lambda: shown.button("Stop").isEnabled())
    assert not isinstance(qt.QApplication.focusWidget(), qt.QPushButton)


def test_keys_do_what_the_tool_tips_say(shown: Shown) -> None:
    run(shown)
    idle(shown)
    assert "(F5)" in shown.button("Arm").toolTip()
    shown.qtbot.keyClick(shown.panel, qt.Qt.Key_F5)
    shown.until(lambda: shown.button("Stop").isEnabled())
    shown.qtbot.keyClick(shown.panel, qt.Qt.Key_F8, qt.Qt.ControlModifier | qt.Qt.ShiftModifier)
    shown.until(lambda: shown.device.called == ["Arm", "Abort"])
    for action, known in LOOKS.items():
        if action.value == "Abort":
            assert known.shortcut.count("+") == 2


def test_who_did_not_arm_is_asked_before_the_series_ends(shown: Shown) -> None:
    idle(shown)
    shown.device.say(State="RUNNING", SeriesId="theirs", ArmedBy="opid@spock")
    shown.until(lambda: shown.button("Stop").isEnabled())
    shown.qtbot.mouseClick(shown.button("Stop"), qt.Qt.LeftButton)
    box = shown.panel.actions_bar.question()
    assert box is not None
    assert "armed by opid@spock" in box.text()
    assert box.defaultButton().text() == "&Let it run"
    box.defaultButton().click()
    assert shown.device.called == []
    shown.qtbot.mouseClick(shown.button("Stop"), qt.Qt.LeftButton)
    box = shown.panel.actions_bar.question()
    assert box is not None
    next(button for button in box.buttons() if button.text() == "&Stop it").click()
    shown.until(lambda: shown.device.called == ["Stop"])


def test_the_question_goes_when_its_series_has_ended(shown: Shown) -> None:
    idle(shown)
    shown.device.say(State="RUNNING", SeriesId="theirs", ArmedBy="opid@spock")
    shown.until(lambda: shown.button("Abort").isEnabled())
    shown.qtbot.mouseClick(shown.button("Abort"), qt.Qt.LeftButton)
    assert shown.panel.actions_bar.question() is not None
    shown.device.say(SeriesId="the next one")
    shown.until(lambda: shown.panel.actions_bar.question() is None)
    assert shown.device.called == []


def test_a_series_of_this_panel_is_stopped_without_a_question(shown: Shown) -> None:
    run(shown)
    idle(shown)
    shown.button("Arm").click()
    shown.until(lambda: shown.panel.view().own and shown.button("Stop").isEnabled())
    shown.button("Stop").click()
    shown.until(lambda: shown.device.called == ["Arm", "Stop"])


def test_a_refusal_stays_until_the_next_action(shown: Shown) -> None:
    shown.device.refuse["Arm"] = "the receiver does not answer; start it"
    idle(shown)
    shown.button("Arm").click()
    shown.until(shown.panel.actions_bar.notice)
    assert shown.panel.actions_bar.notice() == "▲ The receiver does not answer; start it"
    shown.device.say(ExposureTime=0.4)
    shown.until(lambda: shown.field("ExposureTime").editor.text() == "0.4")
    assert shown.panel.actions_bar.notice()
    del shown.device.refuse["Arm"]
    shown.button("Arm").click()
    shown.until(lambda: not shown.panel.actions_bar.notice())


def test_a_refusal_goes_when_its_reason_has_gone(shown: Shown) -> None:
    shown.device.check.update(FILE_EXISTS)
    shown.device.refuse["Arm"] = FILE_EXISTS["sentence"]
    idle(shown)
    shown.until(shown.panel.actions_bar.says)
    shown.button("Arm").click()
    shown.until(shown.panel.actions_bar.notice)
    shown.device.check.update(ok=True, kind="", sentence="")
    shown.device.say(DestinationFilename="/data/scan_0002.h5")
    shown.until(lambda: shown.panel.actions_bar.says().startswith("Ready to arm"))
    assert not shown.panel.actions_bar.notice()


def test_what_arm_would_say_now_stands_below_a_refusal_of_before(shown: Shown) -> None:
    shown.device.refuse["Arm"] = "the receiver does not answer; start it"
    idle(shown)
    shown.button("Arm").click()
    shown.until(shown.panel.actions_bar.notice)
    shown.until(lambda: shown.panel.actions_bar.says().startswith("Ready to arm"))


def test_reset_is_offered_where_it_helps(shown: Shown) -> None:
    idle(shown)
    assert not shown.button("Reset").isVisible()
    assert not shown.button("RestartReceiver").isVisible()
    shown.device.say(State="FAULT", Status="The disk is full.")
    shown.until(lambda: shown.button("Reset").isVisible())
    assert shown.button("Reset").property("primary")
    shown.device.check.update(ok=False, kind="in_error", sentence="the receiver is in error")
    shown.device.say(State="ON")
    shown.until(lambda: shown.button("RestartReceiver").isVisible() and not shown.button("Reset").isVisible())
    assert shown.button("RestartReceiver").property("primary")


def test_once_the_receiver_has_been_restarted_reset_is_the_next_step(shown: Shown) -> None:
    idle(shown)
    shown.device.say(State="FAULT", Status="The disk is full; RestartReceiver resets it. Call Reset.")
    shown.until(lambda: shown.button("RestartReceiver").property("primary"))
    shown.button("RestartReceiver").click()
    shown.until(lambda: shown.button("Reset").property("primary"))
    assert not shown.button("RestartReceiver").isVisible()


def test_what_arm_would_have_said_in_fault_is_not_on_show_after_it(shown: Shown) -> None:
    shown.device.check.update(ok=False, kind="state", sentence="Arm is possible in the state ON only")
    shown.appear(State="FAULT", Status="The disk is full.")
    shown.until(lambda: shown.model.view().check is not None)
    shown.device.say(State="ON")
    assert shown.model.view().check is None
