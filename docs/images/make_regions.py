"""Makes docs/images/regions.png: regions of interest in the live viewer, their list and a curve.

Run it after a change to them: python docs/images/make_regions.py. It needs the extras tango (for the
simulator), receiver and gui, and no screen.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

PICTURE = Path(__file__).with_name("regions.png")
ROIS = {
    "ring": {"x": 600, "y": 650, "width": 210, "height": 130},
    "centre": {"x": 470, "y": 480, "width": 100, "height": 100},
    "background": {"x": 30, "y": 880, "width": 150, "height": 150},
}
FRAMES, DEADLINE = 60, 60_000
"""Frames on the curve, milliseconds to wait for them."""


def main() -> None:
    """Take the series and the picture."""
    from silx.gui import qt

    from docs.images.make_viewer import shrink, take
    from penstock.gui import theme
    from penstock.gui.live.app import Options, open_viewer

    application = qt.QApplication([])
    theme.apply(application, theme.DARK)
    with ExitStack() as stack:
        url = take(stack, rois=ROIS)["http"]
        viewer = open_viewer(Options(url=url, logarithmic=True, screenshot=PICTURE))
        stack.callback(viewer.close)
        viewer.start()
        viewer.figures.setChecked(False)
        viewer.show_regions.trigger()

        def look() -> None:
            if len(viewer.regions.curves.curve.values()[0]) >= FRAMES:
                application.quit()

        viewer.updated.connect(look)
        qt.QTimer.singleShot(DEADLINE, application.quit)
        application.exec_()
        assert viewer.grab().save(str(PICTURE))
    shrink(PICTURE)


if __name__ == "__main__":
    main()
