"""Colours and type sizes, dark for a control room at night and light for a desk; never colour alone.

A widget uses `current()` when it is created, which follows the palette of the application: in another program
it looks like that program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from silx.gui import qt

Name = Literal["auto", "dark", "light"]


@dataclass(frozen=True, kw_only=True)
class Theme:
    """Colours as #rrggbb."""

    dark: bool
    window: str
    panel: str
    """Behind text."""
    line: str
    text: str
    muted: str
    disabled: str
    accent: str
    old: str
    """Figures that may not hold any more."""
    good: str
    warning: str
    bad: str
    field: str
    """Behind what can be typed."""
    locked: str
    """Behind what can only be read now."""
    edit: str
    """Behind what is typed and not written yet."""
    pressed: str
    """A tool that is switched on."""
    more: str
    """Behind the arrows that unfold a tool bar, which are black."""
    beside: str
    """Beside the image, within the axes of its plot."""
    groove: str
    """The empty part of a bar."""
    box: str
    """Colour of which the frame of a box to tick is a darker shade."""
    handle: str
    """Colour of the handle of a scroll bar."""
    invalid_pixel: str
    """Gaps and dead pixels: of no colour map's colour."""
    saturated_pixel: str
    """In none of the colour maps."""
    state: Mapping[str, str]
    """Colour of a banner by its kind, which is written there in words too."""
    fates: Mapping[str, str]
    """Colours of frame statuses in bars; each is also named in words."""
    ends: Mapping[str, str]
    """Likewise, of frames that a pipeline has not processed."""


_STATE = {
    "running": "#248a53", "idle": "#4f6f94", "notice": "#a8700c", "error": "#d0393f", "away": "#a8700c",
    "connecting": "#5d6874", "fault": "#d0393f",
}  # fmt: skip

DARK = Theme(
    dark=True, window="#14171b", panel="#1b1f25", line="#2d343d", text="#dfe4ea", muted="#8e99a6",
    disabled="#5f6a76", accent="#5aa9e6", old="#7a8591", good="#4fc487", warning="#f0b04f", bad="#ff7b72",
    field="#0f1215", locked="#262c34", edit="#4a3c14", pressed="#27506f",
    more="#5aa9e6", beside="#0d0f12", groove="#2d343d", box="#a3aebb", handle="#46505c",
    invalid_pixel="#39424f", saturated_pixel="#ff2fd0", state=_STATE,
    fates={
        "stored": "#2fa866", "delivered": "#4d94d0", "partial": "#e0a030", "missing": "#ff5050",
        "corrupt": "#d45fd4", "discarded": "#c9824a", "not_triggered": "#7d8894", "pending": "#3a434e",
    },
    ends={"failed": "#ff5050", "lost": "#d45fd4", "dropped": "#e0a030", "absent": "#7d8894"},
)  # fmt: skip
LIGHT = Theme(
    dark=False, window="#eef0f3", panel="#ffffff", line="#ccd2d9", text="#1b1f25", muted="#586370",
    disabled="#98a1ab", accent="#1666a8", old="#68737e", good="#1a7a43", warning="#8a5500", bad="#c0262d",
    field="#ffffff", locked="#e4e8ed", edit="#fff0c2", pressed="#cfe3f5",
    more="#8fc1ec", beside="#dfe3e8", groove="#dfe3e8", box="#b4bcc5", handle="#b4bcc5",
    invalid_pixel="#b9c0c8", saturated_pixel="#ff2fd0", state=_STATE,
    fates={
        "stored": "#23905a", "delivered": "#3a82bf", "partial": "#b9770e", "missing": "#d1242f",
        "corrupt": "#a835a8", "discarded": "#9a5b1e", "not_triggered": "#7b8590", "pending": "#c9d0d7",
    },
    ends={"failed": "#d1242f", "lost": "#a835a8", "dropped": "#b9770e", "absent": "#7b8590"},
)  # fmt: skip


def current() -> Theme:
    """Return the theme that goes with the application's palette."""
    return _of(qt.QApplication.palette())


def of_name(name: Name, application: qt.QApplication) -> Theme:
    """Return the requested theme; "auto": by the desktop's own palette, before one was applied."""
    if name == "auto":
        return _of(application.palette())
    return DARK if name == "dark" else LIGHT


def apply(application: qt.QApplication, theme: Theme = DARK) -> None:
    """Give the whole application the look, unless it has it: each widget that there is is polished again."""
    palette, sheet = _palette(theme), _sheet(theme)
    # Fusion draws the frame of a box to tick darker than the window: nobody sees it on a dark one.
    boxes, buttons = qt.QPalette(palette), qt.QPalette(palette)
    boxes.setColor(qt.QPalette.Window, qt.QColor(theme.box))
    has_colours = application.palette() == palette and application.palette("QCheckBox") == boxes
    if has_colours and application.styleSheet() == sheet:
        return
    application.setStyle("Fusion")
    font = application.font()
    font.setPointSizeF(9.5)
    application.setFont(font)
    application.setPalette(palette)
    for group in (qt.QPalette.Active, qt.QPalette.Inactive, qt.QPalette.Disabled):
        buttons.setColor(group, qt.QPalette.Button, qt.QColor(theme.panel))  # a locked one is no lighter
    application.setPalette(boxes, "QCheckBox")
    for kind in ("QPushButton", "QToolButton"):
        application.setPalette(buttons, kind)
    application.setStyleSheet(sheet)


def _palette(theme: Theme) -> qt.QPalette:
    palette = qt.QPalette()
    roles = {
        qt.QPalette.Window: theme.window, qt.QPalette.WindowText: theme.text, qt.QPalette.Base: theme.panel,
        qt.QPalette.AlternateBase: theme.window, qt.QPalette.Text: theme.text,
        qt.QPalette.Button: theme.panel, qt.QPalette.ButtonText: theme.text,
        qt.QPalette.ToolTipBase: theme.panel, qt.QPalette.ToolTipText: theme.text,
        qt.QPalette.Highlight: theme.accent, qt.QPalette.HighlightedText: theme.panel,
        qt.QPalette.Link: theme.accent, qt.QPalette.BrightText: theme.bad,
        qt.QPalette.PlaceholderText: theme.muted,
    }  # fmt: skip
    for role, colour in roles.items():
        palette.setColor(role, qt.QColor(colour))
    for role in (qt.QPalette.Text, qt.QPalette.ButtonText, qt.QPalette.WindowText):
        palette.setColor(qt.QPalette.Disabled, role, qt.QColor(theme.disabled))
    for role in (qt.QPalette.Base, qt.QPalette.Button):
        palette.setColor(qt.QPalette.Disabled, role, qt.QColor(theme.locked))
    # Menus emboss what is disabled, which cannot be read on a dark ground.
    palette.setColor(qt.QPalette.Disabled, qt.QPalette.Light, qt.QColor(theme.panel))
    return palette


def _of(palette: qt.QPalette) -> Theme:
    return DARK if palette.color(qt.QPalette.Window).lightnessF() < 0.5 else LIGHT


def _sheet(theme: Theme) -> str:
    return (
        f"QToolBar {{ background: {theme.panel}; border: 0; border-bottom: 1px solid {theme.line};"
        " spacing: 3px; padding: 2px 8px; }"
        f"QToolBar QToolButton {{ padding: 3px 6px; border-radius: 4px; color: {theme.text}; }}"
        f"QToolBar QToolButton:hover {{ background: {theme.line}; }}"
        # The arrows in it are black whatever the palette says.
        f"QToolBar QToolButton#qt_toolbar_ext_button {{ background: {theme.more}; padding: 0; }}"
        # Its arrow is black too: the words have one of their own.
        "QToolBar QToolButton::menu-indicator { image: none; width: 0; }"
        f"QToolBar QToolButton:checked {{ background: {theme.pressed}; }}"
        "QPushButton { padding: 3px 6px; }"
        f"QScrollBar:vertical {{ background: {theme.panel}; width: 8px; border: 0; }}"
        f"QScrollBar::handle:vertical {{ background: {theme.handle}; border-radius: 4px; min-height: 30px; }}"
        "QScrollBar::add-line:vertical, QScrollBar::sub-line:vertical { height: 0; }"
        f"QStatusBar {{ background: {theme.panel}; border-top: 1px solid {theme.line}; }}"
        "QStatusBar::item { border: 0; }"
        f"QToolTip {{ background: {theme.panel}; color: {theme.text}; border: 1px solid {theme.line}; }}"
    )


def dress(widget: qt.QWidget, sheet: str) -> None:
    """Give a widget a style sheet, unless it has this one: Qt draws it anew for each, also for the same."""
    if widget.styleSheet() != sheet:
        widget.setStyleSheet(sheet)
