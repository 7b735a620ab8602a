"""Makes docs/images/scan-in-silx.png: a scan of a simulated detector with PenstockRecorder, in silx view.

Run it after a change to the recorder, with a screen of its own:
xvfb-run -a -s "-screen 0 1280x800x24" python docs/images/make_scan_in_silx.py
It needs the extras tango (for the simulator), receiver, gui and sardana, and Debian's package xvfb.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"  # as silx view sets it

import silx.gui.hdf5
from silx.app.view.Viewer import Viewer
from silx.gui import qt

from penstock.sardana.laboratory.laboratory import Laboratory, Unit

ROOT = Path(__file__).resolve().parents[2]
PICTURE = Path(__file__).with_name("scan-in-silx.png")
DETECTOR = {"SensorWidth": 516, "SensorHeight": 516}
COMMAND = "ascan mot01 0 10 20 0.05"
POINT = 12
SIZE = 1180, 720
DRAWN = 8000
"""Milliseconds after which every part of the window has been drawn."""


def main() -> None:
    """Take the scan and the picture."""
    sys.path.append(str(ROOT))
    from docs.images.make_viewer import shrink

    with TemporaryDirectory() as folder:
        shoot(scan(Path(folder)))
    shrink(PICTURE)


def scan(folder: Path) -> Path:
    """Take a scan with powder rings; returns its file."""
    with Laboratory(folder, [Unit("sim", DETECTOR)]) as laboratory:
        detector = laboratory.detector()
        detector.Pattern, detector.PhotonFlux = "powder", 3e6
        laboratory.define("senv", "ScanRecorder", "PenstockRecorder")
        laboratory.define(*COMMAND.split())
        return laboratory.data / "scan.h5"


def shoot(file: Path) -> None:
    """Open the file in silx view, as somebody would who looks for the image of one point."""
    application = qt.QApplication([])
    window = Viewer()
    window.appendFile(str(file))
    window.resize(*SIZE)
    window.show()
    tree = window.findChild(silx.gui.hdf5.Hdf5TreeView)
    splitter = window.findChild(qt.QSplitter)

    def unfold() -> None:
        splitter.setSizes([420, SIZE[0] - 420])
        tree.expandToDepth(0)
        entry = tree.model().index(0, 0, tree.model().index(0, 0))
        tree.expand(entry)
        for row in range(tree.model().rowCount(entry)):
            child = tree.model().index(row, 0, entry)
            if child.data() in ("images_sim", "measurement"):
                tree.expand(child)
            if child.data() == "images_sim":
                tree.setCurrentIndex(child)
        window.displaySelectedData()
        qt.QTimer.singleShot(DRAWN // 4, choose)

    def choose() -> None:
        for field in window.findChildren(qt.QLineEdit):
            if field.isVisible() and field.text() == "0":
                field.setText(str(POINT))
                field.editingFinished.emit()

    def take() -> None:
        window.grab().save(str(PICTURE))
        application.quit()

    qt.QTimer.singleShot(DRAWN // 4, unfold)
    qt.QTimer.singleShot(DRAWN, take)
    application.exec()
    window.close()


if __name__ == "__main__":
    main()
