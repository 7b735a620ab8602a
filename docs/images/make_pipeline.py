"""Makes docs/images/pipeline.png: the page of a pipeline that processes a simulated series, in a browser.

Run it after a change to the page, in the checkout: python docs/images/make_pipeline.py. It needs the extra
receiver, Debian's package chromium, and no screen.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PICTURE = Path(__file__).with_name("pipeline.png")
EXAMPLE = ROOT / "resources/pipelines/rings.yaml"
SIZE = 1280, 860
FRAME = 256, 320
DONE = 63
"""Frames that are done in the picture, of 100."""


def main() -> None:
    """Take the series and the picture."""
    sys.path.append(str(ROOT))
    from docs.images.make_viewer import shrink
    from penstock.streamer.simulated.patterns import powder
    from tests.browser import Browser
    from tests.receiver.processes import ReceiverProcess
    from tests.streams import Streamer

    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        streamer = stack.enter_context(closing(Streamer()))
        entry = {"name": "live", "endpoint": "tcp://127.0.0.1:0", "shared": True, "queue_mb": 16}
        receiver = stack.enter_context(closing(ReceiverProcess(folder, streamer.endpoint, forward=[entry])))
        command = ["penstock", "process", str(EXAMPLE), "--receiver", receiver.client.url]
        process = subprocess.Popen([*command, "--http", "127.0.0.1:0", "--json"], stdout=subprocess.PIPE)
        stack.callback(process.wait, 60)
        stack.callback(process.terminate)
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["http"]
        browser = stack.enter_context(closing(Browser(folder / "profile")))
        browser.show_as(*SIZE)
        browser.open(f"{url}/")
        browser.shows("idle", "ready")
        receiver.connected()
        noise = np.random.default_rng(42)
        streamer.start(str(receiver.root / "powder-0042.h5"), frames=100)
        for number in range(DONE):
            brightness = 200 + 50 * np.sin(number / 9)
            streamer.frame(number, noise.poisson(brightness * powder(*FRAME)).astype("uint16"))
        browser.shows("running", f"done\t{DONE}", "curve", f"of frame {DONE - 1}")
        browser.picture(PICTURE)
    shrink(PICTURE)


if __name__ == "__main__":
    main()
