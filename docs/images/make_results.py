"""Makes docs/images/results.png: a pipeline's curves of a simulated series, all frames as rows of an image.

Run it after a change to the window, in the checkout: python docs/images/make_results.py. It needs the extras
receiver and gui, and no screen.
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
PICTURE = Path(__file__).with_name("results.png")
FRAME = 256, 320
PLANNED, DONE = 400, 300
LOST = range(120, 126)
"""Frames that the class refuses, so that there is a gap."""
PROGRAM = """
import numpy as np
from penstock.processing import Axis, Mean, Plot, Processor


class Rings(Processor):
    def start(self, series):
        rows, columns = np.indices((256, 320))
        self.bin = (2 * np.hypot(rows - 127.5, columns - 159.5)).astype(int).ravel()
        self.pixels = np.maximum(np.bincount(self.bin), 1)

    def describe(self):
        radius = Axis("r", np.arange(len(self.pixels)) / 2, unit="pixel", label="radius")
        return [Plot("I", errors="I_errors", axes=(radius,), label="mean count")]

    def process(self, frame):
        if 120 <= frame.index < 126:
            raise ValueError("the shutter was closed")
        sums = np.bincount(self.bin, frame.pixels.ravel())
        curve, errors = sums / self.pixels, np.sqrt(np.maximum(sums, 1)) / self.pixels
        return {"I": curve, "I_errors": errors, "total": int(sums.sum()), "mean": Mean(frame.pixels)}
"""


def main() -> None:
    """Take the series and the picture."""
    sys.path.append(str(ROOT))
    from docs.images.make_viewer import penstock, shrink
    from penstock.streamer.simulated.patterns import powder
    from tests.receiver.processes import ReceiverProcess
    from tests.streams import Streamer

    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        streamer = stack.enter_context(closing(Streamer()))
        entry = {"name": "live", "endpoint": "tcp://127.0.0.1:0", "shared": True, "queue_mb": 64}
        receiver = stack.enter_context(closing(ReceiverProcess(folder, streamer.endpoint, forward=[entry])))
        (folder / "rings.py").write_text(PROGRAM)
        config = folder / "rings.yaml"
        config.write_text(json.dumps({"processor": "rings.py:Rings", "workers": 1}))
        command = [penstock(), "process", str(config), "--receiver", receiver.client.url, "--json"]
        process = subprocess.Popen([*command, "--http", "127.0.0.1:0"], stdout=subprocess.PIPE)
        stack.callback(process.wait, 60)
        stack.callback(process.terminate)
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["http"]
        receiver.connected()
        receiver.wait(lambda status: status.consumers[0].connected > 0)
        noise = np.random.default_rng(42)
        near, far = powder(*FRAME), np.roll(powder(FRAME[0], FRAME[1] + 24)[:, 12:-12], 1, 0)
        streamer.start(str(receiver.root / "ceo2-heated-0042.h5"), frames=PLANNED)
        for number in range(DONE):
            share = number / DONE
            mean = (1 - share) * near + share * far + 0.05
            streamer.frame(number, noise.poisson((150 + 50 * np.sin(number / 15)) * mean).astype("uint16"))
        from penstock.processing.client import PipelineClient

        pipeline = PipelineClient(url, timeout=10.0)
        status = pipeline.status()
        while status.series is None or status.series.counts.done < DONE - len(LOST):
            status = pipeline.status(seen=status.version, wait=1.0)
        command = [penstock(), "view", url, "--result", "I", "--all-frames", "--screenshot", str(PICTURE)]
        subprocess.run(command, check=True)
    shrink(PICTURE)


if __name__ == "__main__":
    main()
