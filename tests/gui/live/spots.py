"""A frame with single bright pixels, and how many of them are to be seen in a window's own pixels.

As a program it shows the frame in a window of its own and prints both numbers: for a screen with another
pixel ratio, which Qt takes from its environment.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from silx.gui import qt

from penstock.gui.live.plot.image_plot import ImagePlot
from penstock.receiver.client import LastFrame

SHAPE = (2070, 2167)
GAPS = (slice(500, 538), slice(1052, 1090), slice(1604, 1642))
"""Rows without a module."""
BRIGHT, BACKGROUND = 5000, 3
NO_COUNT: dict[str, tuple[float, float | None]] = {
    "uint32": (2**32 - 1, None), "uint16": (2**16 - 1, 60_000.0), "int32": (-1, None),
    "float32": (np.nan, None),
}  # fmt: skip
"""What stands for it in frames of each type, and the value of saturation."""
COUNT = 380
SEED = 17
DEADLINE = 20.0


@dataclass
class Scene:
    """A frame, and where its spots are: row and column."""

    frame: LastFrame
    spots: list[tuple[int, int]]


def scene(dtype: str = "uint32") -> Scene:
    """A third of the spots have pixels without a count on all sides, a third lie beside a gap."""
    nothing, saturation = NO_COUNT[dtype]
    generator = np.random.default_rng(SEED)
    image = generator.poisson(BACKGROUND, SHAPE).astype(dtype)
    for gap in GAPS:
        image[gap] = nothing
    image[:, 1030:1040] = nothing
    cells = [(row, column) for row in range(20) for column in range(19)][:COUNT]
    spots = []
    for number, (row, column) in enumerate(cells):
        x = 20 + column * 112 + int(generator.integers(0, 60))
        y = 15 + row * 102 + int(generator.integers(0, 50))
        if number % 3 == 1:
            gap = min(GAPS, key=lambda gap: abs(gap.start - y))
            y = gap.start - 1 if number % 2 else gap.stop
            x = 10 + number * 5 + number // 3  # spread along the gap
        if 1020 <= x < 1050:
            x += 40
        if any(gap.start <= y < gap.stop for gap in GAPS):
            y += 60
        if number % 3 == 2:
            image[y - 1 : y + 2, x - 1 : x + 2] = nothing
        spots.append((y, x))
    for y, x in spots:
        image[y, x] = BRIGHT
    underload = 0.0 if dtype == "int32" else None
    frame = LastFrame(image, 7, "5f0c", 2, 1, saturation=saturation, underload=underload)
    return Scene(frame, spots)


def seen(plot: ImagePlot, spots: list[tuple[int, int]]) -> int:
    """How many spots there are on the screen: one for those that share a pixel of it, if it is bright.

    A spot's own pixel of the screen may be off by one, which is less than what parts two spots.
    """
    grabbed = plot.grab().toImage().convertToFormat(qt.QImage.Format_RGB888)
    height, width = grabbed.height(), grabbed.width()
    rows = np.array(grabbed.constBits().asarray(grabbed.bytesPerLine() * height), np.uint8)
    pixels = rows.reshape(height, -1)[:, : 3 * width].reshape(height, width, 3)
    bright = (pixels == plot.look.colormap.getNColors(256)[-1][:3]).all(-1)
    ratio = grabbed.devicePixelRatio()
    found = 0
    for row, column in spots:
        x, y = (int(place * ratio) for place in plot.dataToPixel(column + 0.5, row + 0.5, check=False))
        found += bool(bright[max(0, y - 1) : y + 2, max(0, x - 1) : x + 2].any())
    return found


def main() -> None:
    """Prints the spots that are seen, those that there are, and the ratio."""
    application = qt.QApplication([])
    plot = ImagePlot()
    plot.resize(701, 533)
    plot.show()
    plot.look.set_levels(0, 4000)
    shown: list[Any] = []
    plot.shown.connect(shown.append)
    what = scene()
    plot.show_frame(what.frame)
    due = time.monotonic() + DEADLINE
    while not (shown and plot.is_current()):
        application.processEvents(qt.QEventLoop.AllEvents, 10)
        assert time.monotonic() < due
    print(seen(plot, what.spots), len(what.spots), plot.devicePixelRatioF())
    plot.stop()


if __name__ == "__main__":
    sys.exit(main())
