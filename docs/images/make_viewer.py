"""Makes docs/images/viewer.png: a simulated powder series, taken by a receiver, in the live viewer.

Run it after a change to the viewer: python docs/images/make_viewer.py. It needs the extras tango (for
the simulator), receiver and gui, and no screen.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from PIL import Image

from penstock.streamer.camera.settings import Settings, TriggerMode
from penstock.streamer.remote.client import StreamerClient

PICTURE = Path(__file__).with_name("viewer.png")
DETECTOR = {"SensorWidth": 1030, "SensorHeight": 1065, "PixelType": "uint32"}
SCENE = {"Pattern": "powder", "PhotonFlux": 5e6}
FRAMES, EXPOSURE = 1000, 0.08
SHOWN = 40
"""Frames that the viewer draws before the picture is taken."""
FRAME_TIME = 0.02
"""Seconds of latency after each exposure: ten frames a second together with it."""


COLOURS = 256


def main() -> None:
    """Take the series and the picture."""
    with ExitStack() as stack:
        receiver = take(stack)
        subprocess.run(
            [penstock(), "view", receiver["http"], "--log", "--after-frames", str(SHOWN),
             "--screenshot", str(PICTURE)],
            check=True,
        )  # fmt: skip
    shrink(PICTURE)


def take(stack: ExitStack, **keys: object) -> dict[str, Any]:
    """Start a simulated detector, its receiver and a series, to be ended with `stack`; returns what the
    receiver says when it is ready. `keys` are further ones of its configuration."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    streamer = start(
        stack, "streamer", "Simulator", "--properties", json.dumps(DETECTOR),
        "--data", "tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0",
    )  # fmt: skip
    source = {"type": "stins", "endpoints": [streamer["data"]]}
    config = folder / "receivers.yaml"
    entry = {"source": source, "data_root": str(folder), **keys}
    config.write_text(json.dumps({"receivers": {"sim-1": entry}}))
    receiver = start(stack, "receiver", "sim-1", "--config", str(config), "--http", "127.0.0.1:0", "--json")
    camera = StreamerClient(streamer["control"], timeout=30.0)
    stack.callback(camera.close)
    camera.prepare(series(folder / "visitors" / "20250001" / "raw" / "ceo2-0001.h5"))
    camera.announce()
    camera.start()
    stack.callback(camera.abort)
    return receiver


def series(file: Path) -> Settings:
    """A series that is still running when the picture is taken."""
    return Settings(
        exposure_time=EXPOSURE, latency_time=FRAME_TIME, n_triggers=FRAMES, n_frames_per_trigger=1,
        trigger_mode=TriggerMode.INTERNAL, filename=str(file), overwrite=False, save_raw=True, rotation=0,
        fliplr=False, flipud=False, metadata='{"sample": "CeO2"}', beam_center=(515.0, 532.5), distance=0.2,
        camera=dict(SCENE),
    )  # fmt: skip


def shrink(picture: Path) -> None:
    """A repository keeps every version of a picture: few colours are enough for this one."""
    with Image.open(picture) as image:
        small = image.convert("RGB").quantize(COLOURS, kmeans=2, dither=Image.Dither.NONE)
    small.save(picture, optimize=True)


def start(stack: ExitStack, *arguments: str) -> dict[str, Any]:
    """Start a `penstock` command, to be ended with `stack`; returns what it says when it is ready."""
    command = [penstock(), *arguments]
    process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    stack.callback(process.terminate)
    assert process.stdout is not None
    return dict(json.loads(process.stdout.readline()))


def penstock() -> str:
    """The command of this environment."""
    return str(Path(sys.executable).parent / "penstock")


if __name__ == "__main__":
    main()
