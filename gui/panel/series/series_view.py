"""The running series: how far it is, what has become of its frames, where they wait; and the last."""

from __future__ import annotations

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.labels import ElidedLabel, line_height
from penstock.gui.layouts import STRETCH, in_column, in_row
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.series.account import WRONG, Account
from penstock.gui.model.series.fate_bar import MEANING, legend
from penstock.gui.model.texts.progress import fills, notice, progress
from penstock.gui.model.view import DetectorView
from penstock.gui.panel.notifier import Notifier
from penstock.gui.panel.series.fate_bar import FateBar
from penstock.gui.panel.series.fill_meter import FillMeter, heading, tint
from penstock.gui.panel.series.last_series import LastSeriesView
from penstock.gui.theme import Theme


class SeriesView(qt.QWidget):
    """Follows `model`; when no series runs, it shows the last one's counts."""

    def __init__(self, model: DetectorModel, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._title = heading("Series", self)
        self._armed_by = ElidedLabel(self)
        self._armed_by.setAlignment(qt.Qt.AlignRight | qt.Qt.AlignVCenter)
        self._file = ElidedLabel(self)
        self._frames = qt.QLabel(self)
        self._percent = qt.QLabel(self)
        self._rate = qt.QLabel(self)
        self._left = qt.QLabel(self)
        self.bar = FateBar(self)
        self._legend = qt.QLabel(self)
        self._legend.setTextFormat(qt.Qt.RichText)
        self._legend.setWordWrap(True)
        self._legend.setMinimumHeight(line_height(self._legend))  # also while it is empty
        self.meters = (FillMeter(self), FillMeter(self))
        self._notice = ""
        self._lay_out()
        self._notifier = Notifier(model, self)
        self._notifier.changed.connect(self._refresh)
        self._refresh()

    def texts(self) -> tuple[str, ...]:
        """Frames, percent, rate and time left, as they are on show."""
        return tuple(
            str(label.text())
            for label in (self._frames, self._percent, self._rate, self._left)
            if label.text()
        )

    def notice(self) -> str:
        """Return what is said of a buffer that fills; "" while all is well."""
        return self._notice

    def changeEvent(self, event: qt.QEvent) -> None:
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() == qt.QEvent.PaletteChange and hasattr(self, "_notifier"):
            self._refresh()

    def _refresh(self) -> None:
        view = self._model.view()
        colours = theme.current()
        said, old = progress(view), not view.here
        ink = colours.old if old else colours.text
        for label, text, colour in (
            (self._frames, said.frames, ink), (self._percent, said.percent, ink),
            (self._rate, said.rate, ink), (self._left, said.left, colours.old if old else colours.muted),
        ):  # fmt: skip
            label.setText(text)
            label.setVisible(bool(text))
            tint(label, colour)
        tint(self._title, colours.accent)
        self._armed_by.set_whole(said.armed_by)
        tint(self._armed_by, colours.muted)
        account = view.account
        self.bar.show_account(account, lost=view.lost, old=old)
        self._show_legend(account, colours, ink)
        self._show_fills(view)
        # In the file's place: nothing may jump when a buffer fills and empties.
        self._notice = notice(view)
        self._file.set_whole(f"▲ {self._notice}" if self._notice else said.file)
        self._file.setToolTip(f"{self._notice}\n{said.file}".strip())
        tint(self._file, colours.warning if self._notice else colours.muted)
        self.layout().activate()  # now: a count with one more digit is never cut, not even for a moment
        self.setAccessibleName(" ".join(("Series:", *self.texts())))

    def _show_legend(self, account: Account, colours: Theme, ink: str) -> None:
        parts = legend(account) if account.planned else []
        text = "&nbsp;&nbsp; ".join(
            f"<span style='color:{colours.fates[fate]}'>{'▨' if fate in WRONG else '■'}</span>&nbsp;"
            f"<span style='color:{colours.muted}'>{word.replace(' ', '&nbsp;')}</span>&nbsp;"
            f"<span style='color:{ink}'>{count:,}</span>"
            for fate, word, count in parts
        )
        if text != self._legend.text():
            self._legend.setText(text)
            self._legend.setToolTip("\n".join(f"{word}: {MEANING[fate]}" for fate, word, _ in parts))

    def _show_fills(self, view: DetectorView) -> None:
        for meter, fill in zip(self.meters, fills(view), strict=True):
            meter.show_fill(fill)
            meter.setVisible(fill.exists)

    def _lay_out(self) -> None:
        font = self._frames.font()
        font.setPointSizeF(13.0)
        font.setBold(True)
        self._frames.setFont(font)
        self._percent.setFont(font)
        labels = (self._title, self._frames, self._percent, self._rate, STRETCH, self._left)
        in_column(
            in_row(*((label, 0, qt.Qt.AlignBaseline) for label in labels), spacing=14),
            self.bar, self._legend,
            in_row((self._file, 3), (self._armed_by, 2), spacing=14),
            in_row(*((meter, 1) for meter in self.meters), spacing=24),
            STRETCH, of=self, margins=(12, 5, 12, 5), spacing=4,
        )  # fmt: skip


BOTH = 1000
"""Pixels of width from which on both are shown."""


class SeriesArea(qt.QWidget):
    """Two views of one model."""

    def __init__(self, model: DetectorModel, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._view = DetectorView(name=model.name)
        self.running = SeriesView(model, self)
        self.last = LastSeriesView(model, self)
        in_row((self.running, 3, qt.Qt.AlignTop), (self.last, 2, qt.Qt.AlignTop), of=self, spacing=0)

    def minimumSizeHint(self) -> qt.QSize:
        """As high as the higher of both: the picture above must not jump when a series begins."""
        height = max(each.minimumSizeHint().height() for each in (self.running, self.last))
        return qt.QSize(super().minimumSizeHint().width(), height)

    def show_view(self, view: DetectorView) -> None:
        """Follow the snapshot."""
        self._view = view
        self._choose()

    def resizeEvent(self, event: qt.QResizeEvent) -> None:
        """Show both if there is room now."""
        super().resizeEvent(event)
        self._choose()

    def _choose(self) -> None:
        both = self.width() >= BOTH
        ended = not self._view.running and self._view.last is not None
        self.running.setVisible(both or not ended)
        self.last.setVisible(both or ended)
