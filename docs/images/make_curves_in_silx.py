"""Makes docs/images/curves-in-silx.png: a result file of azimuthal integration, in silx view.

Run it after a change to the result file, with a screen of its own:
xvfb-run -a -s "-screen 0 1280x800x24" python docs/images/make_curves_in_silx.py
It needs the extras receiver, gui and processing, and Debian's package xvfb.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"  # as silx view sets it

from penstock.hosts.child import free_port

ROOT = Path(__file__).resolve().parents[2]
PICTURE = Path(__file__).with_name("curves-in-silx.png")
PIPELINE = "processor: azimuthal\nparameters: {unit: q_A^-1, points: 500}\nworkers: 1\n"
RECEIVER = """receivers:
  mine:
    source: {{type: stins, endpoints: ["tcp://127.0.0.1:{stream}"]}}
    http: 127.0.0.1:{http}
    data_root: {folder}
"""
SIZE = 1180, 640
FRAME = 7


def main() -> None:
    """Take a series, process its file, and take the picture."""
    sys.path.append(str(ROOT))
    from docs.images.in_silx import shoot
    from docs.images.make_viewer import shrink

    with TemporaryDirectory() as folder:
        shoot(processed(Path(folder)), PICTURE, SIZE, 330, FRAME, choose)
    shrink(PICTURE)


def processed(folder: Path) -> Path:
    """Take a series of powder rings with noise; return its result file."""
    stream, http = free_port(), free_port()
    config = folder / "mine.yaml"
    config.write_text(RECEIVER.format(stream=stream, http=http, folder=folder))
    (folder / "powder.yaml").write_text(PIPELINE)
    receiver = subprocess.Popen(["penstock", "receiver", "mine", "--config", str(config)])
    try:
        generate = ["generate", "--pattern", "powder", "--shape", "512,512", "--frames", "20"]
        where = ["--filename", str(folder / "ceo2.h5"), "--endpoint", f"tcp://127.0.0.1:{stream}"]
        subprocess.run(["penstock", *generate, *where], check=True)
        subprocess.run(["penstock", "status", f"http://127.0.0.1:{http}", "--wait"], check=True)
        subprocess.run(
            ["penstock", "process", str(folder / "powder.yaml"), str(folder / "ceo2.h5")], check=True
        )
    finally:
        receiver.terminate()
        receiver.wait()
    return folder / "ceo2.powder.h5"


def choose(tree: Any) -> None:
    """Choose what the file says is shown by default."""
    tree.setCurrentIndex(tree.model().index(0, 0))


if __name__ == "__main__":
    main()
