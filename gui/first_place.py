"""Where windows are at first: within the screen, with their frame, and beside what they are about."""

from __future__ import annotations

from collections.abc import Sequence

from silx.gui import qt

FRAME = 34
"""Pixels of title bar and borders that a window manager adds; nobody knows it before the window is seen."""
TASK_BAR = 40
"""Pixels at the screen's lower edge, where the window manager does not say what it keeps free."""


def room(widget: qt.QWidget) -> qt.QRect:
    """Return the part of the widget's screen that windows, with their frames, may take."""
    screen = widget.window().screen()
    free, whole = screen.availableGeometry(), screen.geometry()
    return whole.adjusted(0, 0, 0, -TASK_BAR) if free == whole else free


def first_size(window: qt.QWidget, wanted: qt.QSize) -> qt.QSize:
    """Return the wanted size of a window, or what its screen has room for if it fits there at all."""
    free = room(window).size() - qt.QSize(0, FRAME)
    least = window.minimumSize()
    if free.expandedTo(least) != free:  # it has to be moved to be seen, whatever its size
        return wanted
    return wanted.boundedTo(free)


def beside(
    size: qt.QSize, least: qt.QSize, free: qt.QRect, window: qt.QRect, about: qt.QRect, tools: qt.QRect
) -> qt.QRect:
    """Return the place of a window of tools: beside the window that it belongs to, or at least not over that
    part of it that it is about, or not over the line of tools that opens and closes it.

    Args:
        size: wanted.
        least: it may have, where there is no more room.
        free: room on the screen.
        window: that it belongs to, with its frame.
        about: part of this window that is to be seen.
        tools: line of tools at the upper edge of this part.
    """
    right, below = window.right() + 1, window.bottom() + 1
    corners: Sequence[tuple[int, int]] = (
        (right, window.top()), (window.left() - size.width(), window.top()), (window.left(), below),
    )  # fmt: skip
    for corner in corners:
        place = qt.QRect(qt.QPoint(*corner), size)
        if free.contains(place):
            return place
    top = about.bottom() + 1
    if free.bottom() + 1 - top < least.height():
        top = max(tools.bottom() + 1, free.bottom() + 1 - least.height())
    height = max(least.height(), min(size.height(), free.bottom() + 1 - top))
    left = max(free.left(), min(about.left(), free.right() + 1 - size.width()))
    return qt.QRect(left, top, size.width(), height)


def on_screen(widget: qt.QWidget) -> qt.QRect:
    """Return where a widget is on the screen."""
    return qt.QRect(widget.mapToGlobal(qt.QPoint(0, 0)), widget.size())
