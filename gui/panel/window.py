"""The control panel's window: one tab per detector, and a page of all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from silx.gui import qt

from penstock.gui.banner import FailureStrip
from penstock.gui.elsewhere import open_page, start_viewer
from penstock.gui.first_place import first_size
from penstock.gui.layouts import in_column
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.preset_files import PresetFolders
from penstock.gui.model.tango.device_name import key
from penstock.gui.model.texts.sentences import message
from penstock.gui.panel import keyboard
from penstock.gui.panel.detector_panel import DetectorPanel
from penstock.gui.panel.fleet.page import FleetPage
from penstock.gui.panel.open_dialog import OpenDialog
from penstock.gui.panel.style import state_icon

TITLE = "Penstock"
FIRST_SIZE = (1280, 760)
"""Where the screen has room for it."""


class Window(qt.QMainWindow):
    """Tabs of detectors, opened by name.

    Args:
        make_model: the model of a device, not yet started.
        layout: where the window's layout is kept; nothing else is remembered.
        fleet: page of all detectors, if one is wanted: the first tab.
        presets: folders of presets; by default those of the environment.
    """

    updated = qt.Signal()
    """A detector has something new on show."""

    def __init__(
        self, make_model: Callable[[str], DetectorModel], layout: qt.QSettings | None = None,
        fleet: FleetPage | None = None, presets: PresetFolders | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._make_model = make_model
        self._presets = presets
        self._layout = layout
        self._closed: list[DetectorPanel] = []
        self.tabs = qt.QTabWidget(self)
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setDrawBase(False)
        self.tabs.setMovable(True)
        self.tabs.currentChanged.connect(lambda _: self._show_title())
        self.failure = FailureStrip("panel", self)
        whole = qt.QWidget(self)
        in_column(self.failure, self.tabs, of=whole, spacing=0)
        self.setCentralWidget(whole)
        self._fleet = fleet
        if fleet is not None:
            self.tabs.addTab(fleet, "All detectors")
            fleet.chosen.connect(self.open)
        self.show_picture, self.show_log = self._menus()
        self.setMinimumSize(960, 600)
        self.resize(first_size(self, qt.QSize(*FIRST_SIZE)))
        self._restore()
        self._show_title()

    def panels(self) -> Sequence[DetectorPanel]:
        """Panels of the detectors that are open, from left to right."""
        pages = (self.tabs.widget(index) for index in range(self.tabs.count()))
        return [page for page in pages if isinstance(page, DetectorPanel)]

    def open(self, name: str) -> DetectorPanel:
        """Bring a detector to the front; in a new tab if it has none."""
        for panel in self.panels():
            if key(panel.model.name) == key(name):
                self.tabs.setCurrentWidget(panel)
                return panel
        panel = DetectorPanel(self._make_model(name), presets=self._presets)
        place = self.tabs.addTab(panel, "/".join(name.split("/")[-3:]))
        self.tabs.tabBar().setTabButton(place, qt.QTabBar.RightSide, self._close_button(panel))
        panel.set_picture_shown(self.show_picture.isChecked())
        panel.set_log_shown(self.show_log.isChecked())
        self._restore_page(panel)
        panel.updated.connect(lambda: self._follow(panel))
        self._follow(panel)
        self.tabs.setCurrentWidget(panel)
        panel.setFocus()
        return panel

    def closeEvent(self, event: qt.QCloseEvent) -> None:
        """Keep the layout, and release all devices; the series continue."""
        self._keep()
        self.hide()
        for panel in self.panels():
            self._close_tab(self.tabs.indexOf(panel))
        if self._fleet is not None:
            self._fleet.close()
        for panel in self._closed:
            panel.wait_closed()
        super().closeEvent(event)

    # -- tabs ----------------------------------------------------------------------------------

    def _follow(self, panel: DetectorPanel) -> None:
        place = self.tabs.indexOf(panel)
        if place < 0:
            return
        says = message(panel.view())
        if says.kind != panel.property("kind"):
            panel.setProperty("kind", says.kind)
            self.tabs.setTabIcon(place, state_icon(says.kind))
        self.tabs.setTabToolTip(place, f"{panel.model.name}\n{says.title}: {says.text}")
        self._show_title()
        self.updated.emit()

    def _show_title(self) -> None:
        panel = self.tabs.currentWidget()
        if isinstance(panel, DetectorPanel):
            self.setWindowTitle(f"{panel.model.name} – {message(panel.view()).title.lower()} – {TITLE}")
        else:
            self.setWindowTitle(TITLE)

    def _close_button(self, panel: DetectorPanel) -> qt.QToolButton:
        button = qt.QToolButton(self)
        button.setText("✕")
        button.setAutoRaise(True)
        button.setFocusPolicy(qt.Qt.NoFocus)
        button.setToolTip("Close this tab (Ctrl+W); the series continues")
        button.clicked.connect(lambda: self._close_tab(self.tabs.indexOf(panel)))
        return button

    def _close_tab(self, place: int) -> None:
        panel = self.tabs.widget(place)
        if not isinstance(panel, DetectorPanel):
            return
        self._keep_page(panel)
        self.tabs.removeTab(place)
        panel.close()
        # A window may be open for months: detectors closed earlier are released by now.
        for ended in [each for each in self._closed if each.is_closed()]:
            self._closed.remove(ended)
            ended.deleteLater()
        self._closed.append(panel)

    def _of_panel(self, does: Callable[[DetectorPanel], object]) -> None:
        """Do it with the detector on show, if there is one."""
        panel = self.tabs.currentWidget()
        if isinstance(panel, DetectorPanel):
            does(panel)

    def _ask_open(self) -> None:
        dialog = OpenDialog(self)
        dialog.setAttribute(qt.Qt.WA_DeleteOnClose)
        dialog.chosen.connect(self.open)
        dialog.open()

    # -- layout --------------------------------------------------------------------------------

    def _keep(self) -> None:
        if self._layout is None:
            return
        self._layout.setValue("geometry", self.saveGeometry())
        self._layout.setValue("picture", self.show_picture.isChecked())
        self._layout.setValue("log", self.show_log.isChecked())
        page = self.tabs.currentWidget()
        for each in {page, self._fleet} - {None}:
            self._keep_page(each)

    def _keep_page(self, page: DetectorPanel | FleetPage) -> None:
        if self._layout is not None:
            for name, state in page.layout_state().items():
                self._layout.setValue(name, state)

    def _restore(self) -> None:
        if self._layout is None:
            return
        geometry = self._layout.value("geometry")
        if geometry is not None:
            self.restoreGeometry(geometry)
            if not self.isMaximized():  # it was perhaps kept at a larger screen
                self.resize(first_size(self, self.size()))
        if self._fleet is not None:
            self._restore_page(self._fleet)
        self.show_picture.setChecked(self._layout.value("picture", True, type=bool))
        self.show_log.setChecked(self._layout.value("log", True, type=bool))

    def _restore_page(self, page: DetectorPanel | FleetPage) -> None:
        if self._layout is not None:
            page.restore_layout({name: self._layout.value(name) for name in page.layout_state()})

    # -- menus ---------------------------------------------------------------------------------

    def _menus(self) -> tuple[qt.QAction, qt.QAction]:
        bar = self.menuBar()

        def of(does: Callable[[DetectorPanel], object]) -> Callable[[], None]:
            return lambda: self._of_panel(does)

        def opens(what: Callable[[str], str]) -> Callable[[], None]:
            return of(lambda panel: panel.open_elsewhere(what))

        file = bar.addMenu("&File")
        self._action(file, "&Open a detector…", "Ctrl+O", self._ask_open)
        self._action(
            file, "&Close this detector", "Ctrl+W", lambda: self._close_tab(self.tabs.currentIndex())
        )
        file.addSeparator()
        self._action(file, "Past &series…", "Ctrl+H", of(lambda panel: panel.series.last.show_past()))
        file.addSeparator()
        self._action(file, "&Quit", "Ctrl+Q", self.close)
        view = bar.addMenu("&View")
        picture = self._switch(view, "Live &picture", "Ctrl+P", DetectorPanel.set_picture_shown)
        log = self._switch(view, "&Log", "Ctrl+L", DetectorPanel.set_log_shown)
        view.addSeparator()
        self._action(view, "Open the &viewer", "Ctrl+E", opens(start_viewer))
        self._action(view, "Programs on &Kubernetes…", "Ctrl+K", of(DetectorPanel.show_programs))
        self._action(view, "Open the receiver's &web page", "Ctrl+B", opens(open_page))
        help_ = bar.addMenu("&Help")
        self._action(help_, "&Keyboard", "F1", lambda: keyboard.dialog(self).open())
        return picture, log

    def _action(self, menu: qt.QMenu, text: str, keys: str, does: Callable[[], object]) -> qt.QAction:
        action = menu.addAction(text)
        action.setShortcut(keys)
        action.triggered.connect(lambda _=False: does())
        return action

    def _switch(
        self, menu: qt.QMenu, text: str, keys: str, shows: Callable[[DetectorPanel, bool], object]
    ) -> qt.QAction:
        action = menu.addAction(text)
        action.setShortcut(keys)
        action.setCheckable(True)
        action.setChecked(True)
        action.toggled.connect(lambda on: [shows(panel, on) for panel in self.panels()])
        return action
