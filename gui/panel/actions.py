"""The buttons: what can be done now, why the rest cannot, and what Arm would say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from silx.gui import qt

from penstock.gui.labels import ClampedLabel
from penstock.gui.layouts import in_column, in_row
from penstock.gui.model.actions import Action
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.texts.sentences import arm_sentence, stop_question
from penstock.gui.model.view import DetectorView
from penstock.gui.panel.fields.field import PROBLEM_SIGN
from penstock.gui.panel.question import ask
from penstock.gui.panel.style import look

RECEIVER_IN_ERROR = frozenset({"in_error", "receiver_error"})
"""Kinds of a refused Arm against which RestartReceiver helps."""
ENDS = frozenset({Action.STOP, Action.ABORT})


@dataclass(frozen=True)
class Look:
    """The words and the key of one button."""

    text: str
    shortcut: str
    does: str


LOOKS: Mapping[Action, Look] = {
    Action.ARM: Look("Arm", "F5", "Write what is typed, and begin the series as it is set."),
    Action.TRIGGER: Look("Trigger", "F6", "Start the next trigger of a series in TriggerMode SOFTWARE."),
    Action.LIVE: Look("Live", "F7", "Take frames for looking only, until Stop; nothing is written."),
    Action.STOP: Look("Stop", "F8", "Finish the frame under way, and complete the file."),
    Action.ABORT: Look(
        "Abort",
        "Ctrl+Shift+F8",
        "End at once: drop what is not written yet, and mark the file aborted.",
    ),
    Action.RESET: Look("Reset", "Ctrl+R", "Leave the state FAULT."),
    Action.RESTART_RECEIVER: Look("Restart receiver", "", "Bring the receiver out of its state Error."),
}
"""In the order of the bar. Abort needs three keys: no slip of a finger costs a series its last frames."""


def restart_helps(view: DetectorView) -> bool:
    """Return whether the receiver is in Error: Arm would be refused for it, or the device names the
    remedy."""
    refused = view.check is not None and view.check.kind in RECEIVER_IN_ERROR
    named = view.state == "FAULT" and Action.RESTART_RECEIVER in view.status and not view.restarted
    return refused or named


def next_step(view: DetectorView) -> Action | None:
    """Return the button to emphasize: the action that the user most likely wants next."""
    wanted = [Action.RESET, Action.ARM, Action.TRIGGER, Action.STOP]
    if restart_helps(view):
        wanted.insert(0, Action.RESTART_RECEIVER)
    if arm_sentence(view)[0]:
        wanted.remove(Action.ARM)
    return next((action for action in wanted if view.allowed.get(action) == ""), None)


class ActionButton(qt.QPushButton):
    """A button. Of two clicks in a row only the first counts, but for triggers, of which each is one."""

    def __init__(self, action: Action, parent: qt.QWidget | None = None) -> None:
        known = LOOKS[action]
        super().__init__(known.text, parent)
        self.action = action
        self.setObjectName(action.value)
        self.setProperty("role", "action")
        self.setAutoDefault(False)
        self.setMinimumHeight(32)
        self.setMinimumWidth(84)

    def mouseDoubleClickEvent(self, event: qt.QMouseEvent) -> None:
        """The second press of a double click."""
        if self.action is Action.TRIGGER:
            super().mouseDoubleClickEvent(event)
        else:
            event.accept()


class Actions(qt.QFrame):
    """A bar of buttons, with words beside them."""

    def __init__(self, model: DetectorModel, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("actions")
        self.setFocusPolicy(qt.Qt.ClickFocus)
        self._model = model
        self._view = DetectorView(name=model.name)
        self._question: qt.QMessageBox | None = None
        self._asked_about: object = None
        self.buttons = {action: ActionButton(action, self) for action in LOOKS}
        self._shortcuts: dict[Action, qt.QShortcut] = {}
        self._says = ClampedLabel(2, self)
        self._notice = ClampedLabel(2, self)
        self._lay_out()
        for action, button in self.buttons.items():
            button.clicked.connect(lambda _=False, action=action: self._pressed(action))
            if keys := LOOKS[action].shortcut:
                shortcut = qt.QShortcut(qt.QKeySequence(keys), self)
                shortcut.setAutoRepeat(False)
                shortcut.activated.connect(lambda action=action: self._pressed(action))
                self._shortcuts[action] = shortcut

    def says(self) -> str:
        """Return what Arm would say."""
        return self._says.whole()

    def notice(self) -> str:
        """Return why the last action was refused; "" where it was not."""
        return self._notice.whole()

    def question(self) -> qt.QMessageBox | None:
        """Return the question that is open: whether to end a series that was armed elsewhere."""
        return self._question

    def show_view(self, view: DetectorView) -> None:
        """Follow the snapshot."""
        self._view = view
        first = next_step(view)
        for action, button in self.buttons.items():
            why = view.allowed.get(action, "The device does not answer.")
            if why and button.hasFocus():
                self.setFocus()  # and not to the next button, which a second Enter would press
            button.setEnabled(not why)
            button.setText(f"{LOOKS[action].text} …" if view.busy is action else LOOKS[action].text)
            tip = f"{LOOKS[action].does}\n{PROBLEM_SIGN} {why}" if why else LOOKS[action].does
            keys = f" ({LOOKS[action].shortcut})" if LOOKS[action].shortcut else ""
            button.setToolTip(f"{LOOKS[action].text}{keys}: {tip}")
            button.setAccessibleDescription(tip)
            look(button, primary=action is first)
        self.buttons[Action.RESET].setVisible(view.state == "FAULT")
        self.buttons[Action.RESTART_RECEIVER].setVisible(restart_helps(view))
        self._show_words(view)
        self._close_question(view)

    def _show_words(self, view: DetectorView) -> None:
        refused, words = arm_sentence(view)
        if refused and view.notice and view.check is not None and view.check.sentence in view.notice:
            words = ""  # the same twice
        self._says.set_whole(f"{PROBLEM_SIGN} {words}" if refused and words else words)
        look(self._says, role="problem" if refused else "muted")
        self._says.setVisible(bool(words))
        self._notice.set_whole(
            f"{PROBLEM_SIGN} {view.notice[0].upper()}{view.notice[1:]}" if view.notice else ""
        )
        self._notice.setVisible(bool(view.notice))
        for label in (self._says, self._notice):  # two lines in all
            label.set_lines(1 if view.notice and words else 2)

    def _pressed(self, action: Action) -> None:
        view = self._model.view()
        question = stop_question(view) if action in ENDS else ""
        if question and not view.allowed[action]:
            self._ask(action, question, view)
        else:
            self._model.do(action)

    def _ask(self, action: Action, question: str, view: DetectorView) -> None:
        if self._question is not None:
            self._question.raise_()
            return
        series = self._asked_about = view.values.get("SeriesId")

        def answered(end: bool) -> None:
            self._question = None
            # The question was about that series, and about no later one.
            if end and self._model.view().values.get("SeriesId") == series:
                self._model.do(action)

        does = LOOKS[action].text
        self._question = ask(self, f"{does} {view.name}", question, f"&{does} it", "&Let it run", answered)

    def _close_question(self, view: DetectorView) -> None:
        """Close the question about a series that has ended."""
        if self._question is None:
            return
        if not stop_question(view) or view.values.get("SeriesId") != self._asked_about:
            self._question.reject()

    def _lay_out(self) -> None:
        buttons = list(self.buttons.values())
        stop = buttons.index(self.buttons[Action.STOP])
        self._notice.setProperty("role", "problem")
        self._says.setProperty("role", "muted")
        words = in_column(self._notice, self._says, spacing=0)
        in_row(
            *buttons[:stop], 14, *buttons[stop:], 8, (words, 1),
            of=self, margins=(14, 6, 14, 6), spacing=8,
        )  # fmt: skip
        # Two lines, whatever is said: nothing moves when a sentence appears.
        self.setFixedHeight(2 * self.fontMetrics().lineSpacing() + 16)
