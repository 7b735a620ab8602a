"""A detector's programs on Kubernetes: which are there, and buttons that start, stop and scale them."""

from __future__ import annotations

from collections.abc import Callable

from silx.gui import qt

from penstock.cluster.client import ControlClient
from penstock.cluster.models import Part, Status
from penstock.gui import theme
from penstock.gui.background import Background, later
from penstock.gui.layouts import STRETCH, in_column, in_row
from penstock.gui.model.columns import Column
from penstock.gui.panel.style import look, sheet
from penstock.gui.panel.table import Rows, Table, wrapped

BAD = frozenset({"away", "error", "unknown"})
GOOD = frozenset({"running"})


def _pods(part: Part) -> str:
    if part.wanted is None:
        return "unknown"
    there = f"{part.running:,} of {part.wanted:,}"
    return there if part.connected is None else f"{there}, {part.connected:,} connected"


COLUMNS = (
    Column("Part", lambda part: part.name),
    Column("State", lambda part: part.state),
    Column("Pods", _pods),
    Column("It says", lambda part: ": ".join(filter(None, (part.says, part.sentence)))),
)
STATE = 1


def why_not(part: Part | None) -> str:
    """Return why a part can be neither started nor stopped; "" if it can."""
    if part is None:
        return "Choose a part first."
    return "" if part.deployment else f"{part.name} runs in the receiver's pod: choose the receiver."


def question(part: Part, does: str) -> str:
    """Return what to ask before a part is stopped or restarted; "" if nothing is lost by it.

    Args:
        part: as it is now.
        does: what is to be done, such as "Restart".
    """
    if part.says != "running":
        return ""
    asked = f"A series runs. {does} {part.name}?"
    if part.kind == "receiver":
        return (
            f"{asked} A receiver with on_terminate: resume goes on with the series once it is there again; "
            "frames wait in the streamer meanwhile."
        )
    return f"{asked} Frames that it does not take live are taken from the file."


TIMEOUT = 2.0
"""Seconds for the control's answer."""
NEWS = 2.0
"""Seconds for which a question waits for news."""
PAUSE, AGAIN = 200, 1000
"""Milliseconds between two questions, and after one without an answer."""
FIRST_SIZE = (860, 320)
WIDTHS = (160, 90, 170)
"""Pixels of the first columns; the last has the rest."""
MOST_WORKERS = 10_000
ASKING = "Asking the control …"


class ProgramRows(Rows):
    """The parts, in the control's order."""

    sides = False

    def show_parts(self, parts: list[Part]) -> None:
        """Replace all; the selection stays where the parts are the same."""
        if [each.name for each in parts] == [each.name for each in self._rows]:
            self._rows = parts
            self.dataChanged.emit(self.index(0, 0), self.index(len(parts) - 1, len(COLUMNS) - 1))
            return
        self.beginResetModel()
        self._rows = parts
        self.endResetModel()

    def ink(self, row: Part, column: int) -> str | None:
        """Return the colour of a cell."""
        if column != STATE:
            return None
        colours = theme.current()
        return colours.bad if row.state in BAD else colours.good if row.state in GOOD else colours.text

    def tip(self, row: Part, column: int) -> str:
        """Return the tool tip of a cell."""
        return wrapped(row.sentence)


class ProgramsDialog(qt.QDialog):
    """A table of parts, and what can be done with the current one.

    Args:
        url: address of the control.
    """

    def __init__(self, url: str, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._client = ControlClient(url, timeout=TIMEOUT)
        self._version: int | None = None
        self._question: qt.QMessageBox | None = None
        self._following, self._doing = Background(self), Background(self)
        self._again = later(self._follow, self)
        self.setWindowTitle(f"Programs on Kubernetes, by {url}")
        self.resize(*FIRST_SIZE)
        self.table = Table(self)
        self.start = qt.QPushButton("&Start", self)
        self.stop = qt.QPushButton("S&top", self)
        self.restart = qt.QPushButton("&Restart", self)
        self.count = qt.QSpinBox(self)
        self.scale = qt.QPushButton("Set &workers", self)
        self._says = qt.QLabel(self)
        self._rows = ProgramRows(COLUMNS, self)
        self._lay_out()
        self._bind()
        self._offer()
        self._say(ASKING)
        self._follow()

    def says(self) -> str:
        """Return the result of the last button, or why the control does not answer."""
        return str(self._says.text())

    def current(self) -> Part | None:
        """Return the part that the buttons are about."""
        index = self.table.currentIndex()
        return self._rows.rows()[index.row()] if index.isValid() else None

    def question(self) -> qt.QMessageBox | None:
        """Return the question that is open: whether to stop a program that takes a series."""
        return self._question

    def done(self, result: int) -> None:
        """Ask no more."""
        self._again.stop()
        self._following.cancel()
        self._doing.cancel()
        super().done(result)

    def _lay_out(self) -> None:
        self.setStyleSheet(sheet())
        self.table.setModel(self._rows)
        self.table.setAccessibleName("Programs on Kubernetes")
        self.table.setSelectionMode(qt.QTableView.SingleSelection)
        self.table.say(ASKING)
        for number, width in enumerate(WIDTHS):
            self.table.setColumnWidth(number, width)
        self.count.setRange(0, MOST_WORKERS)
        self.count.setAccessibleName("Number of workers")
        self._says.setWordWrap(True)
        self._says.setTextInteractionFlags(qt.Qt.TextSelectableByMouse)
        close = qt.QPushButton("Close", self)
        close.clicked.connect(self.close)
        for each in (self.start, self.stop, self.restart, self.scale, close):
            each.setAutoDefault(False)
        buttons = in_row(self.start, self.stop, self.restart, self.count, self.scale, STRETCH, close)
        in_column((self.table, 1), self._says, buttons, of=self, margins=(12, 10, 12, 10), spacing=8)

    def _bind(self) -> None:
        self.start.clicked.connect(lambda: self._do("Start", self._client.start))
        self.stop.clicked.connect(lambda: self._ask("Stop", self._client.stop))
        self.restart.clicked.connect(lambda: self._ask("Restart", self._client.restart))
        self.scale.clicked.connect(self._scale)
        self.table.selectionModel().currentRowChanged.connect(self._chosen)
        self._rows.modelReset.connect(lambda: self.table.selectRow(0))

    def _follow(self) -> None:
        seen = self._version
        self._following.call(
            lambda: self._client.status(seen=seen, wait=0.0 if seen is None else NEWS), self._show, self._fail
        )

    def _show(self, status: Status) -> None:
        if self._version is None:
            self._say("")
        self._version = status.version
        self._rows.show_parts(status.parts)
        self._offer()
        self._again.start(PAUSE)

    def _fail(self, error: Exception) -> None:
        self._version = None
        self._say(str(error), wrong=True)
        self._again.start(AGAIN)

    def _chosen(self, *_: object) -> None:
        part = self.current()
        if part is not None and part.kind == "workers":
            self.count.setValue(part.wanted or part.count)
        self._offer()

    def _offer(self) -> None:
        part = self.current()
        why = why_not(part)
        for button in (self.start, self.stop, self.restart):
            button.setEnabled(not why)
            button.setToolTip(why)
        workers = part is not None and part.kind == "workers"
        for each in (self.count, self.scale):
            each.setEnabled(workers)

    def _ask(self, does: str, call: Callable[[str], Status]) -> None:
        part = self.current()
        asks = "" if part is None else question(part, does)
        if not asks:
            self._do(does, call)
            return
        box = self._question = qt.QMessageBox(qt.QMessageBox.Question, self.windowTitle(), asks, parent=self)
        box.setStandardButtons(qt.QMessageBox.Yes | qt.QMessageBox.No)
        box.setDefaultButton(qt.QMessageBox.No)
        box.button(qt.QMessageBox.Yes).clicked.connect(lambda: self._do(does, call))
        box.setAttribute(qt.Qt.WA_DeleteOnClose)
        box.finished.connect(self._forget_question)
        box.open()

    def _forget_question(self, _: int) -> None:
        self._question = None

    def _scale(self) -> None:
        count = self.count.value()
        self._do(f"Set {count} of", lambda name: self._client.scale(name, count))

    def _do(self, does: str, call: Callable[[str], Status]) -> None:
        part = self.current()
        if part is None:
            return
        name = part.name
        self._say(f"{does} {name} …")
        self._doing.call(
            lambda: call(name), lambda _: self._say(f"{does} {name}: the control has begun."),
            lambda error: self._say(str(error), wrong=True),
        )  # fmt: skip

    def _say(self, words: str, *, wrong: bool = False) -> None:
        look(self._says, role="problem" if wrong else "muted")
        self._says.setText(f"▲ {words[:1].upper()}{words[1:]}" if wrong else words)
