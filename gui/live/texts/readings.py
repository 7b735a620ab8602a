"""The side panel: frame, series, account and rates in figures."""

from __future__ import annotations

import time
from pathlib import PurePath

from silx.gui import qt

from penstock.gui import theme
from penstock.gui.labels import ElidedLabel
from penstock.gui.layouts import in_column
from penstock.gui.live.drawing.marked import Extremes
from penstock.gui.live.sources.follower import Snapshot
from penstock.gui.words import age, clock
from penstock.receiver.client import LastFrame
from penstock.receiver.models import Counts, Status

_FRAME = ("Number", "Trigger", "Size", "Type", "Counts", "Series")
_SERIES = ("File", "Folder", "State")
_ACCOUNT = {
    "Planned": "planned", "Received": "received", "Stored": "stored", "Partial": "partial",
    "Delivered only": "delivered", "Discarded": "discarded", "Pending": "pending",
    "Not triggered": "not_triggered", "Missing": "missing", "Corrupt": "corrupt",
    "Duplicate": "duplicate", "Late": "late", "Out of range": "out_of_range", "Stale": "stale",
    "Unreadable": "undecodable", "Lost messages": "lost_messages",
}  # fmt: skip
_WRONG = (
    "Partial", "Missing", "Corrupt", "Not triggered", "Duplicate", "Late", "Out of range", "Stale",
    "Unreadable", "Lost messages", "Bad messages",
)  # fmt: skip
"""Rows that a healthy series leaves at 0."""
_RATES = ("Frames", "Data", "Drawn here")
NOTHING = "–"
_WIDTH = 264
"""Pixels."""
_OLD = ("Series", "Account", "Rates")
"""Groups that the receiver's status fills."""
_HERE = "Rates/Drawn here"
"""The one row among them that is this window's own."""
_OF_RECEIVER = ("Account/Bad messages", "Rates/Frames", "Rates/Data")
"""Rows of which no file has anything."""
_OF_PENSTOCK = (
    "Frame on show/Trigger",
    "Frame on show/Series",
    "Series/State",
    *(f"Account/{name}" for name in _ACCOUNT),
)
"""Rows of which only Penstock's own files have something."""


class Readings(qt.QWidget):
    """Rows of a name and a value, in groups."""

    def __init__(self, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme.current()
        self._values: dict[str, qt.QLabel] = {}
        self._names: dict[str, qt.QLabel] = {}
        self._headings: dict[str, qt.QLabel] = {}
        self._left_out: frozenset[str] = frozenset()
        self._series: str | None = None
        self._bad: int | None = None  # bad messages since the receiver's start, as last seen
        self._bad_before = 0  # of them, those before the series on show
        layout = in_column(of=self, margins=(14, 6, 14, 10), spacing=3)
        self._as_of: float | None = None
        self._age = qt.QLabel(self)
        self._age.setStyleSheet(f"color: {self._theme.warning}; margin-top: 10px;")
        self._age.setIndent(0)
        self._age.hide()
        for heading, names in (
            ("Frame on show", _FRAME), ("Series", _SERIES), ("Account", (*_ACCOUNT, "Bad messages")),
            ("Rates", _RATES),
        ):  # fmt: skip
            if heading == "Series":
                layout.addWidget(self._age)  # above all that it is about: the frame on show stays what it is
            self._group(layout, heading, names)
        layout.addStretch(1)

    def value(self, group: str, name: str) -> str:
        """Return the text of one row, not shortened."""
        label = self._values[f"{group}/{name}"]
        return label.whole() if isinstance(label, ElidedLabel) else label.text()

    def rows(self) -> list[str]:
        """Return the rows that are there for what is on show, each as "Group/Name"."""
        return [row for row in self._values if row not in self._left_out]

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Put the figures of `snapshot` on show."""
        status = snapshot.status
        self._leave_out(snapshot)
        self._as_of = snapshot.status_at if snapshot.is_old else None
        self._age.setVisible(self._as_of is not None)
        self.show_age(time.time())
        self._show_series(status)
        self._show_account(status)
        self._set("Rates", "Frames", NOTHING if status is None else f"{status.frame_rate:,.1f} /s")
        self._set("Rates", "Data", NOTHING if status is None else f"{_bytes(status.byte_rate)}/s")

    def age(self) -> str:
        """Age of the figures, where the receiver does not answer any more; else empty."""
        return str(self._age.text())

    def show_age(self, now: float) -> None:
        """Put on show how old the figures are; nothing while the receiver answers."""
        self._age.setText(
            "" if self._as_of is None else f"Figures as of {clock(self._as_of)}, {age(now - self._as_of)} ago"
        )

    def show_drawn(self, rate: float) -> None:
        """Put on show how many frames per second this window draws."""
        self._set("Rates", "Drawn here", f"{rate:,.1f} /s")

    def show_frame(self, frame: LastFrame) -> None:
        """Put on show what the frame on the screen is."""
        step = f", blocks of {frame.downsample}" if frame.downsample > 1 else ""
        self._set("Frame on show", "Number", f"{frame.frame:,}")
        self._set("Frame on show", "Trigger", NOTHING if frame.trigger is None else f"{frame.trigger:,}")
        self._set("Frame on show", "Size", " × ".join(map(str, frame.array.shape)) + step)
        self._set("Frame on show", "Type", frame.array.dtype.name)
        self._set("Frame on show", "Series", frame.series)

    def show_counts(self, extremes: Extremes | None) -> None:
        """Put on show the least and the greatest count of the frame on the screen; `None`: it has none."""
        text = NOTHING
        if extremes is not None and extremes.ends is not None:
            least, greatest = (f"{end:,}" if isinstance(end, int) else f"{end:,.6g}" for end in extremes.ends)
            text = f"{least} to {'saturated' if extremes.is_saturated else greatest}"
        self._set("Frame on show", "Counts", text)

    def _leave_out(self, snapshot: Snapshot) -> None:
        """Show the rows of which the source may have something, and no heading without one."""
        series = snapshot.status.series if snapshot.status is not None else None
        foreign = snapshot.is_file and (series is None or (series.complete is None and not series.active))
        out = (
            frozenset((*_OF_RECEIVER, *(_OF_PENSTOCK if foreign else ())))
            if snapshot.is_file
            else frozenset()
        )
        if out == self._left_out:
            return
        self._left_out = out
        for row, value in self._values.items():
            value.setVisible(row not in out)
            self._names[row].setVisible(row not in out)
        groups = {row.partition("/")[0] for row in self.rows()}
        for group, heading in self._headings.items():
            heading.setVisible(group in groups)

    def _show_series(self, status: Status | None) -> None:
        series = None if status is None else status.series
        if series is None:
            for name in _SERIES:
                self._set("Series", name, NOTHING)
            return
        path = PurePath(series.filename) if series.filename else None
        none = "none: live view only" if series.taken else "none: not taken"
        self._set("Series", "File", path.name if path is not None else none)
        self._set("Series", "Folder", str(path.parent) if path is not None else NOTHING)
        assert status is not None
        ended = "complete" if series.complete else "incomplete" if status.lacks else "ended"
        if series.complete is None:
            ended = "not recorded"  # of a file that is not Penstock's
        if not series.taken:
            ended = "not taken"
        self._set("Series", "State", "in progress" if series.active else ended, wrong=status.lacks)

    def _show_account(self, status: Status | None) -> None:
        counts = Counts() if status is None or status.series is None else status.counts
        series = None if status is None else status.series
        known = series is not None and (series.active or series.complete is not None)
        for name, key in _ACCOUNT.items():
            count = getattr(counts, key)
            text = NOTHING if not known else "not announced" if count is None else f"{count:,}"
            # In a live view that was stopped, frames that were not triggered are not lost.
            wrong = name in _WRONG and (key != "not_triggered" or (status is not None and status.lacks))
            self._set("Account", name, text, wrong=wrong and bool(count))
        self._show_bad(status)

    def _show_bad(self, status: Status | None) -> None:
        """Messages not understood in the series on show; the receiver counts them since its start."""
        if status is None:
            return
        bad, series = sum(status.errors.values()), status.series.id if status.series is not None else None
        if self._bad is None:
            self._bad_before = bad
        elif bad < self._bad:
            self._bad_before = 0  # the receiver was started again
        elif series != self._series:
            self._bad_before = self._bad
        self._bad, self._series = bad, series
        here = bad - self._bad_before
        self._set("Account", "Bad messages", f"{here:,}", wrong=here > 0)
        kinds = "".join(f"\n{kind}: {count}" for kind, count in sorted(status.errors.items()))
        tip = f"Counted since this window began to follow the series. Since the receiver was started:{kinds}"
        self._values["Account/Bad messages"].setToolTip(tip if bad else "")

    def _set(self, group: str, name: str, text: str, *, wrong: bool = False) -> None:
        label = self._values[f"{group}/{name}"]
        if isinstance(label, ElidedLabel):
            label.set_whole(text)
        else:
            label.setText(f"▲ {text}" if wrong else text)  # the sign says it to who sees no red
        old = self._as_of is not None and group in _OLD and f"{group}/{name}" != _HERE
        colour = self._theme.old if old else self._theme.bad if wrong else self._theme.text
        if colour != label.property("colour"):  # a style sheet costs more than all the rest
            label.setProperty("colour", colour)
            label.setStyleSheet(f"color: {colour}; font-weight: {600 if wrong else 400};")

    def _group(self, layout: qt.QVBoxLayout, heading: str, names: tuple[str, ...]) -> None:
        title = qt.QLabel(heading.upper(), self)
        title.setStyleSheet(
            f"color: {self._theme.accent}; font-size: 8pt; font-weight: 700; margin-top: 10px;"
        )
        title.setIndent(0)  # Qt would indent what has a margin
        self._headings[heading] = title
        layout.addWidget(title)
        grid = qt.QGridLayout()
        grid.setColumnStretch(1, 1)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(3)
        for row, name in enumerate(names):
            key = qt.QLabel(name, self)
            key.setStyleSheet(f"color: {self._theme.muted};")
            value = ElidedLabel(self) if name in ("File", "Folder", "Series") else qt.QLabel(self)
            value.setAlignment(qt.Qt.AlignRight | qt.Qt.AlignVCenter)
            self._values[f"{heading}/{name}"] = value
            self._names[f"{heading}/{name}"] = key
            grid.addWidget(key, row, 0)
            grid.addWidget(value, row, 1)
            self._set(heading, name, NOTHING)
        layout.addLayout(grid)


class ReadingsPanel(qt.QScrollArea):
    """Readings beside the picture, always as wide; what does not fit is scrolled to."""

    def __init__(self, readings: Readings, parent: qt.QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidget(readings)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(qt.Qt.ScrollBarAlwaysOff)
        self.setFixedWidth(_WIDTH)
        self.setFrameShape(qt.QFrame.NoFrame)
        self.setStyleSheet(
            f"QScrollArea, QScrollArea > QWidget > QWidget {{ background: {theme.current().panel}; }}"
        )


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.2f} GB"
