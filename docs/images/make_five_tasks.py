"""Makes docs/images/task-*.png for docs/how-to/five-tasks-at-the-panel.md, while its tasks are tested.

Run it after a change to the panel: python docs/images/make_five_tasks.py. It needs the extras tango,
receiver, gui and dev, no screen, and an account that may mount a tmpfs: one of the tasks is a full disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TASKS = "tests/gui/panel/test_five_tasks.py"
COLOURS = 256


def main() -> None:
    """Do the tasks, and shrink their pictures: a repository keeps every version of them."""
    with tempfile.TemporaryDirectory(prefix="beamtime-") as folder:
        taken = Path(folder) / "pictures"
        taken.mkdir()
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TASKS,
             "--basetemp", f"{folder}/p09"],
            cwd=ROOT, check=True,
            env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "PENSTOCK_TASK_PICTURES": str(taken)},
        )  # fmt: skip
        for file in sorted(taken.glob("*.png")):
            with Image.open(file) as image:
                small = image.convert("RGB").quantize(COLOURS, kmeans=2, dither=Image.Dither.NONE)
            small.save(HERE / file.name, optimize=True)


if __name__ == "__main__":
    main()
