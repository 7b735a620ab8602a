"""The window of `penstock view`: one picture or several, as tabs or tiles, or on a wall."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.banner import FailureStrip
from penstock.gui.first_place import first_size
from penstock.gui.layouts import in_column
from penstock.gui.live.following import FollowingView
from penstock.gui.live.sources.receiver_source import PIPELINE

View = FollowingView
Make = Callable[[str], View]
"""Makes the view of a file, or of a pipeline's address, not yet shown."""

RELEASE_MS = 200
"""Milliseconds between two looks at whether a closed view's requests have ended."""


class Window(qt.QMainWindow):
    """Holds views, and closes them.

    Args:
        views: one at least.
        make: makes the view of a file that the user opens or drops here, and of a pipeline whose address was
            taken for a receiver's while nobody answered.
        tiles: show all of them side by side.
    """

    changed = qt.Signal()
    """A view has taken the place of another one."""

    def __init__(self, views: list[View], make: Make, *, tiles: bool = False) -> None:
        super().__init__()
        self._make = make
        self._views: list[View] = []
        self._ending: list[View] = []
        """Views that are closed, and whose last requests are under way."""
        self._blanks: list[qt.QWidget] = []
        """What is in the places of the tiles that no view takes."""
        self._tiled = tiles
        self._walled = False
        self._pages = qt.QStackedWidget(self)
        self.tabs = qt.QTabWidget(self)
        self.tabs.setTabBarAutoHide(True)
        self.tabs.setDocumentMode(True)
        self.tabs.setMovable(True)
        self.tabs.tabBar().setDrawBase(False)  # it is white, also on a dark ground
        self.tabs.tabBar().setFocusPolicy(
            qt.Qt.NoFocus
        )  # Ctrl+Tab turns them; Left and Right are the picture's
        self.tabs.currentChanged.connect(lambda _: self._turn_to())
        self._grid_page = qt.QWidget(self)
        self._grid = qt.QGridLayout(self._grid_page)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(3)
        self._pages.addWidget(self.tabs)
        self._pages.addWidget(self._grid_page)
        self.failure = FailureStrip("viewer", self)
        whole = qt.QWidget(self)
        in_column(self.failure, (self._pages, 1), of=whole, spacing=0)
        self.setCentralWidget(whole)
        self._grid_page.setObjectName("tiles")
        self._grid_page.setStyleSheet(f"#tiles {{ background: {theme.current().line}; }}")
        for keys, does in (
            ("F11", self.toggle_wall), ("F12", self.toggle_tiles), ("Ctrl+W", self.close_current),
            ("Ctrl+Tab", lambda: self._turn(1)), ("Ctrl+Shift+Tab", lambda: self._turn(-1)),
            ("Esc", self.leave_wall), ("Ctrl+Q", self.close),
        ):  # fmt: skip
            qt.QShortcut(qt.QKeySequence(keys), self).activated.connect(does)
        self.setMinimumSize(880, 560)
        self.resize(first_size(self, qt.QSize(1240, 760)))
        for view in views:
            self.add(view)
        self.tabs.setCurrentIndex(0)

    def views(self) -> list[View]:
        """Return the views, in their order."""
        return list(self._views)

    def current(self) -> View:
        """Return the view on show, or the one that has the focus."""
        if not (self._tiled or self._walled):
            widget = self.tabs.currentWidget()
            if isinstance(widget, View):
                return widget
        return next((view for view in self._views if view.hasFocus() or _inside(view)), self._views[0])

    def add(self, view: View) -> None:
        """Show one more."""
        self._put(view, len(self._views))
        if not (self._tiled or self._walled):
            self.tabs.setCurrentWidget(view)

    def _put(self, view: View, place: int) -> None:
        view.opens = self.open_file
        view.setWindowFlags(qt.Qt.Widget)
        view.setMinimumSize(0, 0)
        view.setAutoFillBackground(True)
        view.windowTitleChanged.connect(self._name)
        view.updated.connect(lambda: self._look_who_answers(view))
        self._views.insert(place, view)
        for each in self._views:
            each.keeps_size = len(self._views) == 1
        self._arrange()

    def _look_who_answers(self, view: View) -> None:
        """Show the results of a pipeline in place of a receiver that is none."""
        if view.snapshot().kind != PIPELINE or view not in self._views:
            return
        place, tab = self._views.index(view), self.tabs.indexOf(view)
        was_current = self.tabs.currentWidget() is view
        other = self._make(view.snapshot().url)
        self._drop(view)
        self._put(other, place)
        if tab >= 0:
            self.tabs.tabBar().moveTab(self.tabs.indexOf(other), tab)
        if was_current:
            self.tabs.setCurrentWidget(other)
        self.changed.emit()

    def open_file(self, path: str) -> None:
        """Show a file in a tab of its own; one that is on show comes to the front."""
        view = self._make(path)
        same = [each for each in self._views if each.snapshot().url == view.snapshot().url]
        if same:
            view.stop()
            view.deleteLater()
            self.tabs.setCurrentWidget(same[0])
            return
        self.add(view)

    def is_tiled(self) -> bool:
        """Return whether all views are on show side by side."""
        return self._tiled or self._walled

    def toggle_tiles(self) -> None:
        """Tiles instead of tabs, or back."""
        self._tiled = not self._tiled
        self._arrange()

    def toggle_wall(self) -> None:
        """Full screen with nothing but pictures, states and counts, or back."""
        self._walled = not self._walled
        if self._walled:
            self.showFullScreen()
        else:
            self.showNormal()
        self._arrange()

    def leave_wall(self) -> None:
        """Leave full screen."""
        if self._walled:
            self.toggle_wall()

    def close_current(self) -> None:
        """Close the view on show; the last one closes the window."""
        self._close(self.current())

    def showEvent(self, event: qt.QShowEvent) -> None:
        """Have the keys act at once."""
        super().showEvent(event)
        self._give_keys()

    def closeEvent(self, event: qt.QCloseEvent) -> None:
        """End all views; the window goes first, since requests under way may take a moment."""
        self.hide()
        for view in self._views:
            view.ask_to_stop()
        for view in (*self._views, *self._ending):
            view.stop()
        super().closeEvent(event)

    def _close_button(self, view: View) -> qt.QToolButton:
        button = qt.QToolButton(self)  # Qt's own is dark on dark
        button.setText("✕")
        button.setAutoRaise(True)
        button.setFocusPolicy(qt.Qt.NoFocus)
        button.setToolTip("Close this tab (Ctrl+W)")
        button.clicked.connect(lambda: self._close(view))
        return button

    def _close(self, view: View) -> None:
        if len(self._views) == 1:
            self.close()
            return
        self._drop(view)
        self._arrange()

    def _drop(self, view: View) -> None:
        self._views.remove(view)
        view.setParent(None)
        view.hide()
        view.ask_to_stop()  # a receiver that hangs has seconds to answer: the other pictures go on meanwhile
        self._ending.append(view)
        self._release()

    def _release(self) -> None:
        """Delete the closed views whose threads have ended."""
        for view in [each for each in self._ending if not each.is_running()]:
            self._ending.remove(view)
            view.close()
            view.deleteLater()
        if self._ending:
            qt.QTimer.singleShot(RELEASE_MS, self._release)

    def _turn(self, step: int) -> None:
        if not self.is_tiled() and self.tabs.count():
            self.tabs.setCurrentIndex((self.tabs.currentIndex() + step) % self.tabs.count())

    def _arrange(self) -> None:
        """Put every view into its place."""
        tiled = self.is_tiled()
        if tiled:
            across = ceil(sqrt(len(self._views)))
            while self._grid.count():
                self._grid.takeAt(0)
            while self._blanks:
                blank = self._blanks.pop()
                blank.setParent(None)  # at once: it would be seen above the others until it is deleted
                blank.deleteLater()
            for number, view in enumerate(self._views):
                self._grid.addWidget(view, number // across, number % across)
                view.show()
            for number in range(len(self._views), across * ceil(len(self._views) / across)):
                blank = qt.QWidget(self._grid_page)
                blank.setAutoFillBackground(True)
                self._blanks.append(blank)
                self._grid.addWidget(blank, number // across, number % across)
        else:
            for view in self._views:
                if self.tabs.indexOf(view) < 0:
                    place = self.tabs.addTab(view, "")
                    self.tabs.tabBar().setTabButton(place, qt.QTabBar.RightSide, self._close_button(view))
        for view in self._views:
            view.set_form("bare" if self._walled else "tile" if self._tiled else "whole")
        self._pages.setCurrentIndex(1 if tiled else 0)
        self._name()
        if not any(_inside(view) for view in self._views):
            self._give_keys()

    def _turn_to(self) -> None:
        """Follow the tab that has come to the front."""
        self._name()
        if self._views:
            self._give_keys()  # Qt would give them to its first field

    def _give_keys(self) -> None:
        """Give the focus to the view on show: its keys act without a click."""
        self.current().setFocus()

    def _name(self, *_: object) -> None:
        for view in self._views:
            title = view.windowTitle()
            place = self.tabs.indexOf(view)
            if place >= 0:
                said = title.rpartition(" – Penstock")[0]
                if not view.was_started():  # nobody has asked yet what it is doing
                    said = said.rpartition(" – ")[0]
                self.tabs.setTabText(place, said.replace("&", "&&"))
                self.tabs.setTabToolTip(place, view.snapshot().url)
        if not self._views:
            return
        names = [view.windowTitle().partition(" – ")[0] for view in self._views]
        self.setWindowTitle(
            f"{', '.join(names)} – Penstock" if self.is_tiled() else self.current().windowTitle()
        )


def _inside(view: View) -> bool:
    focused = qt.QApplication.focusWidget()
    return focused is not None and view.isAncestorOf(focused)
