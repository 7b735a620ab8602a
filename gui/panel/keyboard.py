"""Every key of the panel, for Help > Keyboard."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui.panel.actions import LOOKS
from penstock.gui.panel.settings import preset_bar

KEYS: tuple[tuple[str, str], ...] = (
    ("Enter", "write what was typed into this field"),
    ("Esc", "forget what was typed, take the device's value"),
    (preset_bar.WRITE.replace("Return", "Enter"), "write all that was typed"),
    ("Tab, Shift+Tab", "next field, previous field"),
    ("Alt+letter", "go to the field, tab or menu with this letter underlined"),
    (preset_bar.MENU, "presets: load, save, delete settings under a name"),
    (preset_bar.SAVE, "save the settings as a preset"),
    ("Ctrl+F", "search for a setting of the camera"),
    ("Ctrl+O", "open a detector"),
    ("Ctrl+H", "past series of this detector's receiver, with their files"),
    ("Ctrl+W", "close this detector's tab; its series continues"),
    ("Ctrl+Tab", "next tab"),
    ("Ctrl+P, Ctrl+L", "show or hide the live picture, the log"),
    ("Ctrl+E", "the picture in the viewer, a window of its own"),
    ("Ctrl+B", "the web page of this detector's receiver"),
    ("Ctrl+K", "this detector's programs on Kubernetes: start, stop, workers"),
    ("Left, Right, P, F3", "in the picture: frame before, next frame, play, next saturated frame"),
    ("F1", "this list"),
    ("Ctrl+Q", "close the window; all series continue"),
)


def dialog(parent: qt.QWidget) -> qt.QMessageBox:
    """Return the list as a dialog, not yet open."""
    rows = [
        (look.shortcut, f"{look.text}: {look.does[0].lower()}{look.does[1:-1]}")
        for look in LOOKS.values()
        if look.shortcut
    ]
    lines = "".join(
        f"<tr><td style='padding: 2px 18px 2px 0; white-space: nowrap;'><b>{keys}</b></td>"
        f"<td style='padding: 2px 0; white-space: nowrap;'>{does}</td></tr>"
        for keys, does in (*rows, *KEYS)
    )
    box = qt.QMessageBox(parent)
    box.setWindowTitle("Keyboard")
    box.setTextFormat(qt.Qt.RichText)
    box.setText(f"<table>{lines}</table>")
    box.setStandardButtons(qt.QMessageBox.Close)
    box.setAttribute(qt.Qt.WA_DeleteOnClose)
    return box
