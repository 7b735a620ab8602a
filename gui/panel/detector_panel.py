"""The widget of one detector, which can be used in any Qt program."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from silx.gui import qt

from penstock.gui.banner import StateBanner
from penstock.gui.layouts import in_column
from penstock.gui.live.regions.axis import Scan, scan_of
from penstock.gui.live.view import TROUBLE, LiveView
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.preset_files import PresetFolders
from penstock.gui.model.texts.sentences import message
from penstock.gui.model.view import DetectorView
from penstock.gui.panel.actions import Actions
from penstock.gui.panel.log_view import LogView
from penstock.gui.panel.notifier import Notifier
from penstock.gui.panel.programs import ProgramsDialog
from penstock.gui.panel.series.series_view import SeriesArea
from penstock.gui.panel.settings.settings import Settings
from penstock.gui.panel.style import sheet

CENTRE = ("BeamCenterX", "BeamCenterY")
LEAST_LOG = 82
"""Pixels of the log's height at first, which is an eighth of what there is: its last two lines."""
PATIENCE = 4.0
"""Seconds to wait for the release of a device; one that hangs is left behind."""


class DetectorPanel(qt.QWidget):
    """State, actions, settings, picture, series and log of one detector.

    It starts its model if that is not started, and then also stops it when it is closed; the series
    continues.
    """

    updated = qt.Signal()
    """A snapshot is on show."""

    def __init__(
        self, model: DetectorModel, parent: qt.QWidget | None = None, presets: PresetFolders | None = None
    ) -> None:
        super().__init__(parent)
        self.model = model
        self.setStyleSheet(sheet())
        self.banner = StateBanner(self)
        self.actions_bar = Actions(model, self)
        self.settings = Settings(model, self, presets)
        self.columns = qt.QSplitter(qt.Qt.Horizontal, self)
        self.rows = qt.QSplitter(qt.Qt.Vertical, self)
        self._splitters = {"columns": self.columns, "rows": self.rows}
        self.live = LiveView(compact=True, parent=self)
        self.live.troubles = TROUBLE - {"error"}  # of the receiver: the device says it, and its remedy here
        self._receiver = ""
        self._receiver_seen: tuple[bool, str] | None = None
        self.series = SeriesArea(model, self)
        self._log = LogView(model, self)
        self._programs: ProgramsDialog | None = None
        self._positioned = False
        self._lay_out()
        self.setFocusProxy(self.settings)  # Arm is the first that Qt would find
        self._notifier = Notifier(model, self)
        self._notifier.changed.connect(self.refresh)
        self.live.updated.connect(self._look_at_receiver)
        self.live.measure.beam_tab.use.connect(self._set_beam_centre)
        self._closing = _Closing(model if model.start() else None)
        # In another program it may be deleted without being closed.
        self.destroyed.connect(self._closing.begin)
        self.refresh()

    def view(self) -> DetectorView:
        """Return what is on show."""
        return self._view

    def refresh(self) -> None:
        """Show the present model."""
        view = self._view = self.model.view()
        self.banner.show_message(message(view))
        self.actions_bar.show_view(view)
        self.settings.show_view(view)
        self.series.show_view(view)
        self.live.measure.beam_tab.offer_device(_why_no_centre(view))
        self.live.regions.show_scan(_scan(view) if view.running else None)
        if view.receiver_url != self._receiver:
            self._receiver = view.receiver_url
            self.live.set_receiver(view.receiver_url)
        self.updated.emit()

    def _look_at_receiver(self) -> None:
        """Ask again what Arm would say: the device sends no event when its receiver appears or goes."""
        snapshot = self.live.snapshot()
        status = snapshot.status
        seen = (snapshot.away_since is None, status.state if status is not None else "")
        if self._receiver_seen is not None and seen != self._receiver_seen:
            self.model.ask_check()
        self._receiver_seen = seen

    def _set_beam_centre(self, x: float, y: float) -> None:
        for name, value in zip(CENTRE, (x, y), strict=True):
            self.model.set(name, f"{value:.2f}")

    def set_picture_shown(self, shown: bool) -> None:
        """Show the live picture, or ask for none."""
        self.live.setVisible(shown)

    def set_log_shown(self, shown: bool) -> None:
        """Show the log."""
        self._log.setVisible(shown)

    def open_elsewhere(self, opens: Callable[[str], str]) -> None:
        """Show the detector's receiver with another program; say why not where that fails."""
        url = self.model.view().receiver_url
        if why := opens(url) if url else "The device names no receiver (property ReceiverUrl).":
            self.model.say(why)

    def show_programs(self) -> ProgramsDialog | None:
        """Show the detector's programs on Kubernetes; say why not where the device names no control."""
        url = self.model.view().control_url
        if not url:
            self.model.say("The device names no control of programs on Kubernetes (property ControlUrl).")
            return None
        if self._programs is None:
            self._programs = ProgramsDialog(url, self.window())
            self._programs.setAttribute(qt.Qt.WA_DeleteOnClose)
            self._programs.destroyed.connect(self._forget_programs)
            self._programs.show()
        self._programs.raise_()
        self._programs.activateWindow()
        return self._programs

    def _forget_programs(self) -> None:
        self._programs = None

    def layout_state(self) -> dict[str, qt.QByteArray]:
        """Return the positions of the splitters by name."""
        return {name: splitter.saveState() for name, splitter in self._splitters.items()}

    def restore_layout(self, state: Mapping[str, qt.QByteArray | None]) -> None:
        """Restore the positions of the splitters."""
        for name, splitter in self._splitters.items():
            kept = state.get(name)
            if kept is not None:
                splitter.restoreState(kept)
                self._positioned = True

    def showEvent(self, event: qt.QShowEvent) -> None:
        """Give the picture, the first time, whatever height the log does not need."""
        super().showEvent(event)
        if not self._positioned:
            self._positioned = True
            self.layout().activate()
            series, log = self.series.minimumSizeHint().height(), max(LEAST_LOG, self.rows.height() // 8)
            self.rows.setSizes([self.rows.height() - series - log, series, log])

    def closeEvent(self, event: qt.QCloseEvent) -> None:
        """Release the device."""
        self._notifier.close()
        self.live.hide()
        self.live.ask_to_stop()
        self._closing.begin()
        super().closeEvent(event)

    def is_closed(self) -> bool:
        """Return whether the device and its receiver are released."""
        return not self.live.is_running() and self._closing.is_over()

    def wait_closed(self) -> None:
        """Wait until the device is released."""
        self.live.stop()
        self._closing.wait()

    def _lay_out(self) -> None:
        self.columns.addWidget(self.settings)
        self.columns.addWidget(self.rows)
        for widget in (self.live, self.series, self._log):
            self.rows.addWidget(widget)
        self.rows.setStretchFactor(0, 1)
        self.rows.setStretchFactor(1, 0)
        self.rows.setStretchFactor(2, 0)
        self.rows.setSizes([360, 140, 120])
        self.columns.setStretchFactor(0, 0)
        self.columns.setStretchFactor(1, 1)
        self.columns.setSizes([450, 830])
        self.columns.setChildrenCollapsible(False)
        self.rows.setChildrenCollapsible(False)
        in_column(self.banner, self.actions_bar, (self.columns, 1), of=self, spacing=0)


def _why_no_centre(view: DetectorView) -> str | None:
    """Return why the detector's beam centre cannot be set now; "" if it can, `None` if it has none."""
    if any(name not in view.attributes or not view.attributes[name].writable for name in CENTRE):
        return None
    if not view.here:
        return "The device does not answer."
    return "A series runs: set it afterwards." if view.running else ""


def _scan(view: DetectorView) -> Scan | None:
    planned = view.values.get("nFramesPlanned")
    return scan_of(str(view.values.get("Metadata") or ""), planned if isinstance(planned, int) else None)


class _Closing:
    """Stops a model in a thread: a call that is under way may take a moment."""

    def __init__(self, model: DetectorModel | None) -> None:
        self._model = model
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Stop it, once."""
        if self._model is not None and self._thread is None:
            self._thread = threading.Thread(target=self._model.stop, name="penstock-panel-close")
            self._thread.start()

    def is_over(self) -> bool:
        """Return whether it has stopped."""
        return self._model is None or (self._thread is not None and not self._thread.is_alive())

    def wait(self) -> None:
        """Wait until it has stopped."""
        if self._thread is not None:
            self._thread.join(PATIENCE)
