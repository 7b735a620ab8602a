"""Colours and type sizes: dark, for a control room at night, and never colour alone."""

from __future__ import annotations

from silx.gui import qt

WINDOW = "#14171b"
PANEL = "#1b1f25"
LINE = "#2d343d"
TEXT = "#dfe4ea"
MUTED = "#8e99a6"
ACCENT = "#5aa9e6"
OLD = "#66717d"
"""Figures that may not hold any more."""
WARNING = "#f0b04f"
BAD = "#ff7b72"

INVALID_PIXEL = "#39424f"
"""Gaps and dead pixels: darker than text, greyer than every colour of the colour maps."""
SATURATED_PIXEL = "#ff2fd0"
"""Saturated pixels: in none of the colour maps."""

STATE = {
    "running": "#2fa866",
    "idle": "#4f6f94",
    "notice": "#c98a1b",
    "error": "#d9434a",
    "away": "#c98a1b",
    "connecting": "#5d6874",
    "fault": "#d9434a",
}
"""Colour of the banner by its kind; the kind is written there in words too."""


def apply(application: qt.QApplication) -> None:
    """Give the whole application the dark look."""
    application.setStyle("Fusion")
    font = application.font()
    font.setPointSizeF(9.5)
    application.setFont(font)
    palette = qt.QPalette()
    roles = {
        qt.QPalette.Window: WINDOW, qt.QPalette.WindowText: TEXT, qt.QPalette.Base: PANEL,
        qt.QPalette.AlternateBase: WINDOW, qt.QPalette.Text: TEXT, qt.QPalette.Button: PANEL,
        qt.QPalette.ButtonText: TEXT, qt.QPalette.ToolTipBase: PANEL, qt.QPalette.ToolTipText: TEXT,
        qt.QPalette.Highlight: ACCENT, qt.QPalette.HighlightedText: WINDOW, qt.QPalette.Link: ACCENT,
        qt.QPalette.BrightText: BAD,
    }  # fmt: skip
    for role, colour in roles.items():
        palette.setColor(role, qt.QColor(colour))
    for role in (qt.QPalette.Text, qt.QPalette.ButtonText, qt.QPalette.WindowText):
        palette.setColor(qt.QPalette.Disabled, role, qt.QColor("#5f6a76"))
    application.setPalette(palette)
    application.setStyleSheet(
        f"QToolBar {{ background: {PANEL}; border: 0; border-bottom: 1px solid {LINE};"
        " spacing: 4px; padding: 4px 8px; }"
        f"QToolBar[orientation='1'] {{ border: 0; border-right: 1px solid {LINE}; padding: 8px 4px; }}"
        f"QToolBar QToolButton {{ padding: 4px 8px; border-radius: 4px; color: {TEXT}; }}"
        f"QToolBar QToolButton:hover {{ background: {LINE}; }}"
        f"QToolBar QToolButton#qt_toolbar_ext_button {{ background: {ACCENT}; padding: 0; }}"
        f"QToolBar QToolButton:checked {{ background: #27506f; }}"
        f"QScrollBar:vertical {{ background: {PANEL}; width: 8px; border: 0; }}"
        f"QScrollBar::handle:vertical {{ background: #46505c; border-radius: 4px; min-height: 30px; }}"
        "QScrollBar::add-line:vertical, QScrollBar::sub-line:vertical { height: 0; }"
        f"QStatusBar {{ background: {PANEL}; border-top: 1px solid {LINE}; }}"
        "QStatusBar::item { border: 0; }"
        f"QToolTip {{ background: {PANEL}; color: {TEXT}; border: 1px solid {LINE}; }}"
    )
