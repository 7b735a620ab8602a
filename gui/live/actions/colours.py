"""Tools for how counts become colours: map, scale, levels that follow each frame or stay, reduction, mask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from silx.gui import qt

from penstock.gui.live.actions.icons import icon
from penstock.gui.live.drawing.blocks import Reduction
from penstock.gui.live.drawing.levels import CHOICES, Scale
from penstock.gui.live.plot.look import COLOUR_MAPS, Look

T = TypeVar("T")


def choice(
    entries: Mapping[str, T],
    tip: str,
    get: Callable[[], T],
    set_: Callable[[T], None],
    changed: qt.Signal,
    parent: qt.QWidget | None = None,
) -> qt.QComboBox:
    """Return a box that sets one of several values, and follows who else sets it.

    Args:
        entries: values, by what the user reads.
        tip: what it is for.
        get: the value now; one that is no entry is shown as none.
        set_: what a choice calls.
        changed: signal after which the value may be another.
        parent: widget to which it belongs.
    """
    box = qt.QComboBox(parent)
    box.addItems(list(entries))
    box.setToolTip(tip)
    box.setFocusPolicy(qt.Qt.TabFocus)  # the keys of the view stay the view's after a choice

    def follow() -> None:
        now = get()
        texts = [text for text, value in entries.items() if value == now]
        blocked = box.blockSignals(True)
        box.setCurrentIndex(box.findText(texts[0]) if texts else -1)
        box.blockSignals(blocked)

    box.currentTextChanged.connect(lambda text: set_(entries[text]) if text else None)
    changed.connect(follow)
    follow()
    return box


def colour_choice(look: Look, parent: qt.QWidget | None = None) -> qt.QComboBox:
    """Return the tool."""
    entries = {name: name for name in COLOUR_MAPS}
    return choice(entries, "Colour map", look.colours, look.set_colours, look.changed, parent)


SCALE_TIP = (
    "How counts become shades (L: log or lin). log: for diffraction, zeros have the lowest colour; sqrt: "
    "noise looks alike at all counts; asinh: log for large counts, linear about zero"
)


def scale_choice(look: Look, parent: qt.QWidget | None = None) -> qt.QComboBox:
    """Return the tool."""
    return choice(
        {scale.label: scale for scale in Scale}, SCALE_TIP, look.scale, look.set_scale, look.changed, parent
    )


class LogColours(qt.QAction):
    """Checked: colours are logarithmic."""

    def __init__(self, look: Look, parent: qt.QObject | None = None) -> None:
        super().__init__("Log", parent)
        self.setShortcut("L")
        self.setCheckable(True)
        self._look = look
        self.toggled.connect(self._set)
        look.changed.connect(self._follow)
        self._follow()

    def _set(self, on: bool) -> None:
        if on != (self._look.scale() is Scale.LOG):
            self._look.set_scale(Scale.LOG if on else Scale.LIN)

    def _follow(self) -> None:
        self.setChecked(self._look.scale() is Scale.LOG)


PERCENTILES_TIP = (
    "Levels follow each frame: so much of the whole frame, as this window draws it, is below the first and "
    "the last colour. 0 – 100 %: from the least to the greatest valid pixel"
)


def percentiles_choice(look: Look, parent: qt.QWidget | None = None) -> qt.QComboBox:
    """Return the tool."""
    entries = {f"{each.low:g} – {each.high:g} %": each for each in CHOICES}
    return choice(entries, PERCENTILES_TIP, look.percentiles, look.set_percentiles, look.changed, parent)


class Autoscale(qt.QAction):
    """Checked: the levels follow each frame."""

    def __init__(self, look: Look, parent: qt.QObject | None = None) -> None:
        super().__init__("Autoscale", parent)
        self.setIcon(icon("fa5s.adjust"))
        self.setToolTip(
            "Levels follow each frame (A), between the chosen percentiles of the whole frame as this window "
            "draws it, whatever is zoomed to; off, they stay as they are. Dragging a level on the histogram "
            "switches it off"
        )
        self.setShortcut("A")
        self.setCheckable(True)
        self._look = look
        self.toggled.connect(self._set)
        look.changed.connect(self._follow)
        self._follow()

    def _set(self, on: bool) -> None:
        if on != self._look.is_autoscale():
            self._look.set_autoscale(on)

    def _follow(self) -> None:
        self.setChecked(self._look.is_autoscale())


class LevelsInSight(qt.QAction):
    """Takes the levels from what is zoomed to; they stay until Autoscale is switched on.

    Args:
        take: takes them.
    """

    def __init__(self, take: Callable[[], None], parent: qt.QObject | None = None) -> None:
        super().__init__("Levels of what is in sight", parent)
        self.setIcon(icon("fa5s.search"))
        self.setToolTip(
            "Take the levels from what is zoomed to (V), between the chosen percentiles; they stay until "
            "Autoscale (A) is switched on, which takes them from the whole frame"
        )
        self.setShortcut("V")
        self.triggered.connect(lambda _=False: take())


REDUCTION_TIP = (
    "What is drawn where several pixels share one of the screen: the greatest of them, so that no spot "
    "vanishes, or their mean. Pixels without a value take no part. Zoom in to see all pixels; counts that "
    "are read or saved are never reduced"
)


def reduction_choice(look: Look, parent: qt.QWidget | None = None) -> qt.QComboBox:
    """Return the tool."""
    return choice(
        {each.value: each for each in Reduction},
        REDUCTION_TIP,
        look.reduction,
        look.set_reduction,
        look.changed,
        parent,
    )


class ShowMask(qt.QAction):
    """Checked: invalid and saturated pixels have colours of their own."""

    def __init__(self, look: Look, parent: qt.QObject | None = None) -> None:
        super().__init__("Mask", parent)
        self.setIcon(icon("fa5s.eye-slash"))
        self.setToolTip("Show invalid pixels (grey) and saturated ones (pink) (M); autoscale leaves both out")
        self.setShortcut("M")
        self.setCheckable(True)
        self._look = look
        self.toggled.connect(self._set)
        look.changed.connect(self._follow)
        self._follow()

    def _set(self, on: bool) -> None:
        if on != self._look.is_mask_shown():
            self._look.set_mask_shown(on)

    def _follow(self) -> None:
        self.setChecked(self._look.is_mask_shown())
