"""A window as an application: its look, and what ends it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from silx.gui import qt

from penstock.gui import number_fields, theme
from penstock.gui.banner import FailureStrip


def application(name: str, look: theme.Name) -> qt.QApplication:
    """Return the application of this process, in a theme, made if there is none: before the first widget."""
    found = qt.QApplication.instance() or qt.QApplication([name])
    theme.apply(found, theme.of_name(look, found))
    number_fields.use_locale()
    return found


@contextmanager
def closing(window: qt.QWidget, failure: FailureStrip) -> Iterator[None]:
    """Close a window at Ctrl+C, at SIGTERM, or at the end; what fails meanwhile is said in it.

    Tango takes SIGTERM where nobody else does, and ends the process while threads run, which may crash it.

    Args:
        window: with a clock that ticks, which lets Python see the signal.
        failure: says it.
    """
    ends = (signal.SIGINT, signal.SIGTERM)
    previous = [signal.signal(number, lambda *_: window.close()) for number in ends]
    hook, sys.excepthook = sys.excepthook, failure.say
    try:
        yield
    finally:
        for number, handler in zip(ends, previous, strict=True):
            signal.signal(number, handler)
        sys.excepthook = hook
        window.close()


def take_picture(window: qt.QWidget, path: Path) -> str | None:
    """Write the picture of a window into a file; return why not, in a sentence, or `None`."""
    if window.grab().save(str(path)):
        return None
    return (
        f"the picture cannot be written to {path}; is the folder there and writable, "
        "and does the name end with .png or .jpg?"
    )
