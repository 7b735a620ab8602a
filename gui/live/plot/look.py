"""How counts become colours: what the user has chosen, for the plot, its colour bar and its histogram."""

from __future__ import annotations

from silx.gui import qt
from silx.gui.colors import Colormap

from penstock.gui import theme
from penstock.gui.live.drawing.blocks import Reduction
from penstock.gui.live.drawing.levels import DEFAULT, Levels, Percentiles, Scale, possible
from penstock.gui.live.drawing.picture import Style
from penstock.receiver.validity.pixels import Flag

COLOUR_MAPS = {
    "viridis": "viridis",
    "gray": "gray",
    "reversed gray": "reversed gray",
    "fire": "hot",
    "inferno": "inferno",
}
"""What the user reads, and silx' name."""
DEFAULT_COLOURS = "viridis"


def image_colours() -> Colormap:
    """Colours of the counts: linear, levels still to be set."""
    colormap = Colormap(COLOUR_MAPS[DEFAULT_COLOURS], vmin=0.0, vmax=1.0)
    colormap.setNaNColor(qt.QColor(theme.current().invalid_pixel))
    return colormap


class Look(qt.QObject):
    """Colour map, scale, levels, marks and reduction; only the levels are found anew for each frame."""

    changed = qt.Signal()
    """The user has changed something: what is on show is drawn again."""

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self.colormap = image_colours()
        """silx' colour map, which its colour bar follows."""
        self._name = DEFAULT_COLOURS
        self._scale = Scale.LIN
        self._percentiles = DEFAULT
        self._autoscale = True
        self._mask_shown = True
        self._reduction = Reduction.GREATEST

    def style(self) -> Style:
        """Return a copy of it all, for the thread that draws."""
        look = theme.current()
        marks = {Flag.INVALID: look.invalid_pixel, Flag.SATURATED: look.saturated_pixel}
        return Style(
            table=self.colormap.getNColors(256),
            scale=self._scale,
            levels=self.levels(),
            percentiles=self._percentiles if self._autoscale else None,
            reduction=self._reduction,
            row_mark=qt.QColor(look.ends["failed"]).getRgb(),
            marks={flag: qt.QColor(name).getRgb() for flag, name in marks.items() if self._mask_shown},
        )

    def colours(self) -> str:
        """Return the colour map, a key of `COLOUR_MAPS`."""
        return self._name

    def set_colours(self, name: str) -> None:
        """Choose a colour map by its key in `COLOUR_MAPS`."""
        self._name = name
        self.colormap.setName(COLOUR_MAPS[name])
        self.changed.emit()

    def scale(self) -> Scale:
        """Return how values become shades."""
        return self._scale

    def set_scale(self, scale: Scale) -> None:
        """Set how values become shades; of a spectrum, how long its counts are drawn."""
        self._scale = scale
        self.colormap.setVRange(*possible(*self.levels(), scale))
        self.colormap.setNormalization(scale.value)
        self.changed.emit()

    def levels(self) -> Levels:
        """Return the values of the first and of the last colour."""
        return Levels(*(float(value) for value in self.colormap.getVRange()))

    def set_levels(self, low: float, high: float) -> None:
        """Set the values of the first and of the last colour; they stay from now on."""
        self._autoscale = False
        self.colormap.setVRange(*possible(low, high, self._scale))
        self.changed.emit()

    def follow(self, levels: Levels) -> None:
        """Note the levels that were found for the frame on show."""
        if self._autoscale:
            # Its picture may have been begun before the scale was chosen.
            self.colormap.setVRange(*possible(*levels, self._scale))

    def is_autoscale(self) -> bool:
        """Return whether levels follow each frame."""
        return self._autoscale

    def set_autoscale(self, on: bool) -> None:
        """Levels that follow each frame, or that stay as they are."""
        self._autoscale = on
        self.changed.emit()

    def percentiles(self) -> Percentiles:
        """Return the shares of what is drawn between which levels follow each frame."""
        return self._percentiles

    def set_percentiles(self, percentiles: Percentiles) -> None:
        """Have the levels follow each frame, between these shares of what is drawn."""
        self._percentiles, self._autoscale = percentiles, True
        self.changed.emit()

    def reduction(self) -> Reduction:
        """Return what is drawn of several pixels that share one of the screen."""
        return self._reduction

    def set_reduction(self, reduction: Reduction) -> None:
        """Set what is drawn of several pixels that share one of the screen."""
        self._reduction = reduction
        self.changed.emit()

    def is_mask_shown(self) -> bool:
        """Return whether pixels without a value, and saturated ones, have colours of their own."""
        return self._mask_shown

    def set_mask_shown(self, on: bool) -> None:
        """Return whether pixels without a value, and saturated ones, have colours of their own.

        If not, those without a value have the lowest.
        """
        self._mask_shown = on
        self.changed.emit()
