"""The power of ten at the end of a plot's axis."""

from __future__ import annotations

from silx.gui.plot import PlotWidget
from silx.gui.plot.backends.BackendMatplotlib import BackendMatplotlib


def use_plain(plot: PlotWidget) -> None:
    """Have it drawn like the numbers beside it: silx 3.1 wants "heavy", which matplotlib's own font has not,
    and says on the terminal; bold ones would be of another font."""
    backend = plot.getBackend()
    if isinstance(backend, BackendMatplotlib):
        for axis in (backend.ax.xaxis, backend.ax.yaxis, backend.ax2.yaxis):
            axis.get_offset_text().set_weight("normal")
