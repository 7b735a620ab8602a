"""Tools for how counts become colours: map, scale, levels that follow each frame or stay, reduction, mask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from silx.gui import qt

from penstock.gui.live.actions.tool_line import Tool
from penstock.gui.live.drawing.blocks import Reduction
from penstock.gui.live.drawing.levels import CHOICES, Scale
from penstock.gui.live.plot.look import COLOUR_MAPS, Look
from penstock.gui.number_fields import choice_box

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
    box = choice_box(entries, tip, parent)
    box.setFocusPolicy(qt.Qt.TabFocus)  # the keys of the view stay the view's after a choice

    def follow() -> None:
        now = get()
        texts = [text for text, value in entries.items() if value == now]
        with qt.QSignalBlocker(box):
            box.setCurrentIndex(box.findText(texts[0]) if texts else -1)

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


PERCENTILES_TIP = (
    "Levels follow each frame: so much of the whole frame, as this window draws it, is below the first and "
    "the last colour. 0 – 100 %: from the least to the greatest valid pixel"
)


def percentiles_choice(look: Look, parent: qt.QWidget | None = None) -> qt.QComboBox:
    """Return the tool."""
    entries = {f"{each.low:g} – {each.high:g} %": each for each in CHOICES}
    return choice(entries, PERCENTILES_TIP, look.percentiles, look.set_percentiles, look.changed, parent)


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


class LookSwitch(Tool):
    """Checked: something of the look is switched on, by this or by anything else."""

    def __init__(
        self, name: str, picture: str, tip: str, key: str, look: Look, is_on: Callable[[], bool],
        switch: Callable[[bool], None], parent: qt.QObject | None,
    ) -> None:  # fmt: skip
        super().__init__(name, picture, tip, parent, key, checkable=True)
        self._is_on, self._switch = is_on, switch
        self.toggled.connect(self._set)
        look.changed.connect(self._follow)
        self._follow()

    def _set(self, on: bool) -> None:
        if on != self._is_on():
            self._switch(on)

    def _follow(self) -> None:
        self.setChecked(self._is_on())


def log_colours(look: Look, parent: qt.QObject | None = None) -> Tool:
    """Return the tool. Checked: colours are logarithmic."""
    return LookSwitch(
        "Log", "", "", "L", look, lambda: look.scale() is Scale.LOG,
        lambda on: look.set_scale(Scale.LOG if on else Scale.LIN), parent,
    )  # fmt: skip


AUTOSCALE_TIP = (
    "Levels follow each frame (A), between the chosen percentiles of the whole frame as this window draws "
    "it, whatever is zoomed to; off, they stay as they are. Dragging a level on the histogram switches it off"
)


def autoscale(look: Look, parent: qt.QObject | None = None) -> Tool:
    """Return the tool. Checked: the levels follow each frame."""
    return LookSwitch(
        "Autoscale", "fa5s.adjust", AUTOSCALE_TIP, "A", look, look.is_autoscale, look.set_autoscale, parent
    )


MASK_TIP = "Show invalid pixels (grey) and saturated ones (pink) (M); autoscale leaves both out"


def show_mask(look: Look, parent: qt.QObject | None = None) -> Tool:
    """Return the tool. Checked: invalid and saturated pixels have colours of their own."""
    return LookSwitch(
        "Mask", "fa5s.eye-slash", MASK_TIP, "M", look, look.is_mask_shown, look.set_mask_shown, parent
    )


def levels_in_sight(take: Callable[[], None], parent: qt.QObject | None = None) -> Tool:
    """Return the tool that takes the levels from what is zoomed to; they stay until Autoscale is switched on.

    Args:
        take: takes them.
        parent: widget to which it belongs.
    """
    tool = Tool(
        "Levels of what is in sight", "fa5s.search",
        "Take the levels from what is zoomed to (V), between the chosen percentiles; they stay until "
        "Autoscale (A) is switched on, which takes them from the whole frame", parent, "V",
    )  # fmt: skip
    tool.triggered.connect(lambda _=False: take())
    return tool
