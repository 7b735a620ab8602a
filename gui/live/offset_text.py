"""Numbers along the axes of a plot, and the power of ten at the end."""

from __future__ import annotations

import re

from silx.gui.plot import PlotWidget
from silx.gui.plot.backends.BackendMatplotlib import BackendMatplotlib
from silx.gui.utils.matplotlib import DefaultTickFormatter

_WHOLE_PART = re.compile(r"\d+")
_FORMULA = "$\\mathdefault{", "}$"


class _Plain(DefaultTickFormatter):
    """The same numbers as text, with commas between thousands: silx has each set as a formula, which takes
    matplotlib much longer."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the text of a tick."""
        begin, end = _FORMULA
        text = str(super().__call__(x, pos)).removeprefix(begin).removesuffix(end)
        return _WHOLE_PART.sub(lambda found: f"{int(found[0]):,}", text, count=1)


def use_plain(plot: PlotWidget) -> None:
    """Have them drawn as text, and the power of ten like the numbers beside it.

    For that one silx 3.1 wants "heavy", which matplotlib's own font has not, and says on the terminal; a bold
    one would be of another font.
    """
    backend = plot.getBackend()
    if isinstance(backend, BackendMatplotlib):
        for axis in (backend.ax.xaxis, backend.ax.yaxis, backend.ax2.yaxis):
            axis.set_major_formatter(_Plain())
            axis.get_offset_text().set_weight("normal")
