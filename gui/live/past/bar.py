"""The bar below the picture: slider, index of the frame, play and keys, and the line that says more."""

from __future__ import annotations

from collections.abc import Callable

import qtawesome  # type: ignore[import-untyped]
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.labels import BriefLabel
from penstock.gui.layouts import in_row
from penstock.gui.live.past.slider import FARTHEST, FrameSlider
from penstock.gui.number_fields import select_whole


class FrameNumber(qt.QSpinBox):
    """Is empty while the frame on show is none of those on offer."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._placed = True
        select_whole(self)

    def set_placed(self, placed: bool) -> bool:
        """Set whether the frame on show is one of those on offer; return whether that is new."""
        new, self._placed = placed != self._placed, placed
        return new

    def show_value(self, value: int) -> None:
        """Show the frame on show; nobody is told."""
        if value != self.value() or self.text() != self.textFromValue(value):  # Qt draws it in any case
            with qt.QSignalBlocker(self):
                self.setValue(value)

    def offer(self, first: int, last: int) -> None:
        """Take numbers between these; nobody is told."""
        if (first, last) != (self.minimum(), self.maximum()):
            with qt.QSignalBlocker(self):
                self.setRange(first, last)

    def textFromValue(self, value: int) -> str:
        """Return what is read; Qt writes it again whenever the field is shown or enabled."""
        return str(super().textFromValue(value)) if self._placed else ""


SKIP = 10
"""Frames of a large step."""
_WRONG = "▲"
_HEIGHT = 20
"""Pixels: the picture above needs the room."""


class PastBar(qt.QWidget):
    """Emits what the user wants; what is on show, it is told.

    Args:
        keys: widget in which the keys hold: it and all that is in it.
        compact: have only the tools for the next frame and the one before; the others have keys.
        saturated: have the search for saturated frames, where there are such.
    """

    asked = qt.Signal(int)
    """Show the frame of this index."""
    moved = qt.Signal(int)
    """Show the frame so many further on, or back."""
    jumped = qt.Signal(int)
    """Go to the next gap (1), or to the one before (-1)."""
    played = qt.Signal(bool)
    lived = qt.Signal()
    """Follow the newest frame."""
    searched = qt.Signal()
    """Find the next frame that has a saturated pixel."""

    def __init__(
        self, keys: qt.QWidget, *, compact: bool = False, saturated: bool = True,
        parent: qt.QWidget | None = None,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self._theme = theme.current()
        self._keys = keys
        self._words = ""
        self.slider = FrameSlider(self)
        self.number = FrameNumber(self)
        self.live = qt.QToolButton(self)
        self._of = qt.QLabel(self)
        self._status = ""
        self._is_typed = False
        """True if the user has put another number into the field."""
        self._is_useful = False
        self.line = BriefLabel(self)
        """What is said: its owner finds a place for it."""
        self.play = self._action("Play", "fa5s.play", "Show one frame after the other (P)", "P")
        self.play.setCheckable(True)
        first = self._action("First", "fa5s.fast-backward", "First frame (Ctrl+Home)", "Ctrl+Home")
        before = self._action("Back", "fa5s.step-backward", "The frame before (Left; Page up: 10)", "Left")
        after = self._action("Next", "fa5s.step-forward", "The next frame (Right; Page down: 10)", "Right")
        last = self._action("Last", "fa5s.fast-forward", "Last frame (Ctrl+End)", "Ctrl+End")
        gap = self._action(
            "Gap", "fa5s.exclamation-triangle", "Next frame that is lost (Ctrl+Right)", "Ctrl+Right"
        )
        self.search = self._action(
            "Saturated", "fa5s.search", "Find the next frame with a saturated pixel (F3); all up to it are "
            "read, nothing is drawn meanwhile", "F3"
        )  # fmt: skip
        for action, does in (
            (first, lambda: self.asked.emit(self.slider.minimum())),
            (before, lambda: self.moved.emit(-1)),
            (after, lambda: self.moved.emit(1)),
            (last, lambda: self.asked.emit(self.slider.maximum())),
            (gap, lambda: self.jumped.emit(1)),
            (self.search, self.searched.emit),
        ):
            action.triggered.connect(lambda _=False, does=does: does())
        for key, does in (
            ("PgUp", lambda: self.moved.emit(-SKIP)),
            ("PgDown", lambda: self.moved.emit(SKIP)),
            ("Ctrl+Left", lambda: self.jumped.emit(-1)),
            ("End", self.lived.emit),
        ):
            self._key(key, does)
        self.play.toggled.connect(self._show_playing)
        self.play.toggled.connect(self.played.emit)
        self.slider.valueChanged.connect(self.asked.emit)
        self.number.lineEdit().textEdited.connect(lambda _: self._note_typed())
        self.number.valueChanged.connect(lambda _: self._note_typed())  # by the keys of arrows
        self.number.editingFinished.connect(self._take_number)
        self.number.lineEdit().returnPressed.connect(self.slider.setFocus)  # nobody types any more
        self.live.clicked.connect(lambda _=False: self.lived.emit())
        # The keys of the others hold in the compact form as well.
        shown = (
            [before, self.play, after]
            if compact
            else [first, before, self.play, after, last, gap, self.search]
        )
        if not saturated:
            shown.remove(self.search)
            self.search.setShortcut(qt.QKeySequence())
        self._lay_out(shown, compact)

    def is_useful(self) -> bool:
        """Return whether there is another frame to go to, or may be one soon."""
        return self._is_useful

    def note(self) -> str:
        """Return what is said beside the status of the frame on show."""
        return self._words

    def status(self) -> str:
        """Return what is said of the frame on show."""
        return self._status

    def is_playing(self) -> bool:
        """Return whether play is pressed."""
        return bool(self.play.isChecked())

    def stop_playing(self) -> None:
        """Let play go, as its user would."""
        self.play.setChecked(False)

    def show_frames(self, first: int, last: int | None, known: int | None, *, can_live: bool) -> None:
        """Offer frames; `None` as the last: there are none."""
        for widget in (self.slider, self.number, self.play, self.search):
            widget.setEnabled(last is not None and last > first)
        last = first if last is None else last
        self._is_useful = can_live or last > first
        self.slider.set_frames(first, last, known)
        self.number.offer(min(first, FARTHEST), min(last, FARTHEST))
        self._of.setText(f"of {first:,} – {last:,}")
        self.live.setVisible(can_live)

    def show_index(self, index: int | None, status: str, *, live: bool) -> None:
        """Show which frame is on show, or asked for, and its status in words; `None`: none on offer is."""
        self.slider.set_placed(index is not None)
        if not self.slider.isSliderDown():
            with qt.QSignalBlocker(self.slider):
                self.slider.setValue(min(self.slider.minimum() if index is None else index, FARTHEST))
        if self.number.set_placed(index is not None) or not self.number.hasFocus():
            self.number.show_value(min(self.slider.value() if index is None else index, FARTHEST))
        self._status = status
        self._say_all()
        self.live.setChecked(live)

    def say(self, words: str, *, wrong: bool = False) -> None:
        """Say something in `line`; "": nothing."""
        colour = self._theme.warning if wrong else self._theme.muted
        if colour != self.line.property("colour"):  # a style sheet costs more than all the rest
            self.line.setProperty("colour", colour)
            self.line.setStyleSheet(f"color: {colour};")
        self._words = f"{_WRONG} {words}" if wrong else words
        self._say_all()

    def _say_all(self) -> None:
        answers = self._words.startswith(_WRONG)  # to what was asked for, with its status
        said = self._words if answers else " · ".join(filter(None, (self._status, self._words)))
        self.line.set_texts(said, self._words or self._status)
        self.line.setVisible(bool(said))

    def _note_typed(self) -> None:
        self._is_typed = True

    def _take_number(self) -> None:
        typed, self._is_typed = self._is_typed, False
        if self.number.value() != self.slider.value() if self.slider.is_placed() else typed:
            self.asked.emit(self.number.value())

    def _show_playing(self, on: bool) -> None:
        self.play.setIcon(self._icon("fa5s.pause" if on else "fa5s.play"))

    def _icon(self, name: str) -> qt.QIcon:
        return qtawesome.icon(name, color=self._theme.text, color_disabled=self._theme.disabled)

    def _action(self, name: str, icon: str, tip: str, key: str) -> qt.QAction:
        action = qt.QAction(self._icon(icon), name, self)
        action.setToolTip(tip)
        self._bind(action, key)
        return action

    def _key(self, key: str, does: Callable[[], object]) -> None:
        action = qt.QAction(key, self)
        action.triggered.connect(lambda _=False: does())
        self._bind(action, key)

    def _bind(self, action: qt.QAction, key: str) -> None:
        # Beside other widgets a key is meant for the picture only when the focus is there.
        action.setShortcut(key)
        action.setShortcutContext(qt.Qt.WidgetWithChildrenShortcut)
        self._keys.addAction(action)

    def _lay_out(self, actions: list[qt.QAction], compact: bool) -> None:
        buttons = []
        for action in actions:
            button = qt.QToolButton(self)
            button.setDefaultAction(action)
            button.setAutoRaise(True)
            button.setIconSize(qt.QSize(12, 12))
            button.setFocusPolicy(qt.Qt.TabFocus)
            buttons.append(button)
        self.number.setButtonSymbols(qt.QSpinBox.NoButtons)
        self.number.setGroupSeparatorShown(True)
        self.number.setKeyboardTracking(False)
        self.number.setAlignment(qt.Qt.AlignRight)
        self.number.setFixedWidth(54 if compact else 72)
        self.number.setToolTip("Type the index of a frame, from 0 on, and press Enter")
        self.number.setAccessibleName("Index of the frame on show")
        self._of.setStyleSheet(f"color: {self._theme.muted};")
        self.live.setText("Newest")  # "Live" is what a detector does
        self.live.setCheckable(True)
        self.live.setToolTip("Follow the newest frame (End)")
        self.live.setFocusPolicy(qt.Qt.TabFocus)
        self.live.setStyleSheet(
            f"QToolButton {{ padding: 0 8px; border: 1px solid {self._theme.line}; border-radius: 3px;"
            f" color: {self._theme.text}; }} QToolButton:checked {{ background: {self._theme.pressed}; }}"
        )
        in_row(
            *buttons, (self.slider, 1), self.number, self._of, self.live,
            of=self, margins=(8, 1, 8, 1), spacing=1 if compact else 3,
        )  # fmt: skip
        self._of.setVisible(not compact)
        for widget in (*buttons, self.slider, self.number, self._of, self.live):
            widget.setFixedHeight(_HEIGHT)
        self.say("")
