"""Makes docs/images/first-series.png: the file of `penstock demo` in the viewer, as in the first tutorial.

Run it after a change to the viewer: python docs/images/make_first_series.py. It needs the extras tango,
receiver and gui, and no screen.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

PICTURE = Path(__file__).with_name("first-series.png")
SHOWN = 40


def main() -> None:
    """Run the demo, and take the picture of its file."""
    from docs.images.make_viewer import penstock, shrink

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([penstock(), "demo"], cwd=folder, check=True)
        subprocess.run(
            [penstock(), "view", "penstock-demo/demo-0001.h5", "--frame", str(SHOWN),
             "--screenshot", str(PICTURE)],
            cwd=folder, check=True,
        )  # fmt: skip
    shrink(PICTURE)


if __name__ == "__main__":
    main()
