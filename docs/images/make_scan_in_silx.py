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
from typing import Any

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"  # as silx view sets it

from penstock.sardana.laboratory.laboratory import Laboratory, Unit

ROOT = Path(__file__).resolve().parents[2]
PICTURE = Path(__file__).with_name("scan-in-silx.png")
DETECTOR = {"SensorWidth": 516, "SensorHeight": 516}
COMMAND = "ascan mot01 0 10 20 0.05"
POINT = 12
SIZE = 1180, 720


def main() -> None:
    """Take the scan and the picture."""
    sys.path.append(str(ROOT))
    from docs.images.in_silx import shoot
    from docs.images.make_viewer import shrink

    with TemporaryDirectory() as folder:
        shoot(scan(Path(folder)), PICTURE, SIZE, 420, POINT, choose)
    shrink(PICTURE)


def scan(folder: Path) -> Path:
    """Take a scan with powder rings; returns its file."""
    with Laboratory(folder, [Unit("sim", DETECTOR)]) as laboratory:
        detector = laboratory.detector()
        detector.Pattern, detector.PhotonFlux = "powder", 3e6
        laboratory.define("senv", "ScanRecorder", "PenstockRecorder")
        laboratory.define(*COMMAND.split())
        return laboratory.data / "scan.h5"


def choose(tree: Any) -> None:
    """Unfold the entry, and choose the detector's images."""
    entry = tree.model().index(0, 0, tree.model().index(0, 0))
    tree.expand(entry)
    for row in range(tree.model().rowCount(entry)):
        child = tree.model().index(row, 0, entry)
        if child.data() in ("images_sim", "measurement"):
            tree.expand(child)
        if child.data() == "images_sim":
            tree.setCurrentIndex(child)


if __name__ == "__main__":
    main()
