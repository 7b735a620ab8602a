"""Makes docs/images/viewer-file.png: a series with gaps, taken by a receiver, as a file in the viewer.

Run it after a change to the viewer: python docs/images/make_viewer_file.py. It needs the extras receiver and
gui, and no screen.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

PICTURE = Path(__file__).with_name("viewer-file.png")
FRAMES, SHOWN = 200, 123
LOST = "31,32,33,34,35,36,90,150-152"
SHAPE = "514,1030"


def main() -> None:
    """Take the series and the picture."""
    from docs.images.make_viewer import penstock, shrink, start

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        file = folder / "scan-0007.h5"
        endpoint = f"ipc://{folder}/stream"
        config = folder / "receivers.yaml"
        entry = {"source": {"endpoints": [endpoint]}, "data_root": str(folder), "gap": {"seconds": 0.5}}
        config.write_text(json.dumps({"receivers": {"sim-1": entry}}))
        receiver = start(
            stack, "receiver", "sim-1", "--config", str(config), "--http", "127.0.0.1:0", "--json"
        )
        lost = ",".join(
            str(index)
            for part in LOST.split(",")
            for first, _, last in [part.partition("-")]
            for index in range(int(first), int(last or first) + 1)
        )
        subprocess.run(
            [penstock(), "generate", "--frames", str(FRAMES), "--shape", SHAPE, "--dtype", "uint32",
             "--pattern", "powder", "--drop", lost, "--filename", str(file), "--endpoint", endpoint],
            check=True,
        )  # fmt: skip
        subprocess.run([penstock(), "status", receiver["http"], "--wait"], check=False)
        subprocess.run(
            [penstock(), "view", str(file), "--frame", str(SHOWN), "--log", "--screenshot", str(PICTURE)],
            check=True,
        )
    shrink(PICTURE)


if __name__ == "__main__":
    main()
