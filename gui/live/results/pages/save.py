"""Save the picture, or the numbers that are on show."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from silx.gui import qt

from penstock.gui.live.actions.save import Save

TIP = "Save the picture as you see it (PNG), or the numbers on show (CSV of curves, npy) (Ctrl+S)"
FILTERS = {
    ".png": "Picture, as you see it (*.png)",
    ".csv": "Table of the curves on show (*.csv)",
    ".npy": "NumPy, the numbers on show (*.npy)",
}


@dataclass(frozen=True, eq=False)
class Table:
    """What is on the screen."""

    name: str
    """For a file, without suffix."""
    picture: qt.QImage
    numbers: npt.NDArray[Any]
    """The values: a curve, an image, curves as rows."""
    columns: tuple[tuple[str, npt.NDArray[Any]], ...] = ()
    """Names and numbers of a table's columns, all of one length; none of an image."""


class SaveResult(Save):
    """Saves what is drawn of a result.

    Args:
        shown: what is on the screen now; `None` if there is nothing.
    """

    def __init__(self, shown: Callable[[], Table | None], parent: qt.QWidget) -> None:
        super().__init__(TIP, FILTERS, shown, parent)

    def why_not(self, kind: str, shown: Table) -> str:
        """See `Save.why_not`."""
        lacks = kind == ".csv" and not shown.columns
        return "a table holds curves; save images as .npy" if lacks else ""

    def write(self, path: Path, shown: Table) -> None:
        """Write a table."""
        content = io.BytesIO()
        names = ",".join(name for name, _ in shown.columns)
        table = np.stack([np.asarray(each, np.float64) for _, each in shown.columns], axis=1)
        np.savetxt(content, table, "%.17g", delimiter=",", header=names, comments="")
        path.write_bytes(content.getbuffer())


def file_name(*parts: str) -> str:
    """Return a name for a file, without suffix."""
    return re.sub(r"[^0-9A-Za-z_.-]+", "_", "_".join(filter(None, parts))) or "results"
