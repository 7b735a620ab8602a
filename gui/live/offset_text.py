"""The power of ten at the end of a plot's axis."""

from __future__ import annotations

from silx.gui.plot import PlotWidget
from silx.gui.plot.backends.BackendMatplotlib import BackendMatplotlib


def use_bold(plot: PlotWidget) -> None:
    """Have it drawn bold: silx 3.1 wants "heavy", which matplotlib's own font has not, and says on the
    terminal."""
    backend = plot.getBackend()
    if isinstance(backend, BackendMatplotlib):
        for axis in (backend.ax.xaxis, backend.ax.yaxis, backend.ax2.yaxis):
            axis.get_offset_text().set_weight("bold")
