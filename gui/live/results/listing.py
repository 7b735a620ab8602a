"""The list of results to choose from: a name, and what it is."""

from __future__ import annotations

from collections.abc import Sequence

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.results.sentences import describe
from penstock.gui.own_keys import keep_moving_keys
from penstock.processing.models import Result

WIDTH = 190
"""Pixels."""
_ABOUT = qt.Qt.UserRole + 1
_PAD = 6


class ResultList(qt.QListWidget):
    """Results of the series; what the user has chosen stays chosen while there is one of its name."""

    chosen = qt.Signal(str)
    """Name of the result that the user has chosen."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._results: tuple[Result, ...] = ()
        self._name = ""
        self.setFixedWidth(WIDTH)
        self.setFrameShape(qt.QFrame.NoFrame)
        self.setHorizontalScrollBarPolicy(qt.Qt.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(qt.QAbstractItemView.ScrollPerPixel)
        self.setItemDelegate(_TwoLines(self))
        self.setAccessibleName("Results")
        keep_moving_keys(self)
        colours = theme.current()
        self.setStyleSheet(
            f"ResultList {{ background: {colours.panel}; border-right: 1px solid {colours.line};"
            " padding-top: 4px; }"
        )
        self.currentItemChanged.connect(self._choose)

    def name(self) -> str:
        """Return the name of the result that is chosen; "" before there is one."""
        return self._name

    def names(self) -> list[str]:
        """Return what can be chosen."""
        return [self.item(row).text() for row in range(self.count())]

    def show_results(self, results: Sequence[Result], first: str) -> None:
        """Offer these.

        Args:
            results: what there is; axes are left out.
            first: name of the one that is chosen where nothing is.
        """
        listed = tuple(each for each in results if each.kind != "axis")
        if listed == self._results:
            return
        self._results = listed
        with qt.QSignalBlocker(self):
            self.clear()
            for result in listed:
                item = qt.QListWidgetItem(result.name)
                about = describe(result, listed)
                item.setData(_ABOUT, about)
                unit = f", in {result.unit}" if result.unit else ""
                item.setToolTip(f"{result.name}: {result.label or about}{unit}\n{about}, {result.dtype}")
                self.addItem(item)
            wanted = self._name or first
            names = self.names()
            self.setCurrentRow(names.index(wanted) if wanted in names else -1)
        if not self._name and wanted in names:
            self.choose(wanted)

    def choose(self, name: str) -> None:
        """Choose a result, now or as soon as there is one of this name."""
        if name != self._name:
            self._name = name
            self.chosen.emit(name)
        names = self.names()
        if name in names and self.currentRow() != names.index(name):
            self.setCurrentRow(names.index(name))

    def _choose(self, item: qt.QListWidgetItem | None) -> None:
        if item is not None:
            self.choose(item.text())


class _TwoLines(qt.QStyledItemDelegate):
    """Draws the name, and below it what it is."""

    def sizeHint(self, option: qt.QStyleOptionViewItem, index: qt.QModelIndex) -> qt.QSize:
        """Size of two lines."""
        return qt.QSize(WIDTH - 20, 2 * option.fontMetrics.lineSpacing() + _PAD + 2)

    def paint(self, painter: qt.QPainter, option: qt.QStyleOptionViewItem, index: qt.QModelIndex) -> None:
        """Draw one of them."""
        colours = theme.current()
        painter.save()
        if option.state & qt.QStyle.State_Selected:
            painter.fillRect(option.rect, qt.QColor(colours.pressed))
        elif option.state & qt.QStyle.State_MouseOver:
            painter.fillRect(option.rect, qt.QColor(colours.line))
        metrics, room = option.fontMetrics, option.rect.adjusted(12, _PAD // 2, -8, 0)
        line = metrics.lineSpacing()
        for place, (role, ink) in enumerate(((qt.Qt.DisplayRole, colours.text), (_ABOUT, colours.muted))):
            font = qt.QFont(option.font)
            font.setBold(place == 0)
            painter.setFont(font)
            painter.setPen(qt.QColor(ink))
            text = qt.QFontMetrics(font).elidedText(str(index.data(role)), qt.Qt.ElideRight, room.width())
            where = qt.QRect(room.left(), room.top() + place * line, room.width(), line)
            painter.drawText(where, qt.Qt.AlignLeft | qt.Qt.AlignVCenter, text)
        painter.restore()
