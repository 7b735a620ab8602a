"""The real thing: a streamer with the simulated camera and a receiver, each its own process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from penstock.streamer.camera.settings import Settings, TriggerMode
from penstock.streamer.remote.client import StreamerClient

END_SECONDS = 15


class Live:
    """A streamer and a receiver that is connected to it."""

    def __init__(self, folder: Path, properties: Mapping[str, Any], stack: ExitStack) -> None:
        self.folder = folder
        self._stack = stack
        ready = self._start(
            "streamer", "Simulator", "--properties", json.dumps(properties), "--data", "tcp://127.0.0.1:0",
            "--control", "tcp://127.0.0.1:0",
        )  # fmt: skip
        self._data = ready[1]["data"]
        self.camera = StreamerClient(ready[1]["control"], timeout=10.0)
        stack.callback(self.camera.close)
        self._http = "127.0.0.1:0"
        self.start_receiver()

    def start_receiver(self) -> None:
        """Start it; at the same address as before, if it ran before."""
        source = {"type": "stins", "endpoints": [self._data]}
        config = self.folder / "receivers.yaml"
        config.write_text(
            json.dumps(
                {
                    "receivers": {
                        "sim-1": {"source": source, "data_root": str(self.folder), "http": self._http}
                    }
                }
            )
        )
        self.receiver, ready = self._start("receiver", "sim-1", "--config", str(config), "--json")
        self.url = ready["http"]
        self._http = self.url.removeprefix("http://")

    def stop_receiver(self) -> None:
        """End it, as a service manager does."""
        _end(self.receiver)

    def take(self, frames: int, filename: str = "", **camera: Any) -> None:
        """Begin a series of software triggers, and trigger all of its frames."""
        settings = Settings(
            exposure_time=0.01,
            latency_time=0.0,
            n_triggers=1,
            n_frames_per_trigger=frames,
            trigger_mode=TriggerMode.SOFTWARE,
            filename=filename,
            overwrite=False,
            save_raw=True,
            rotation=0,
            fliplr=False,
            flipud=False,
            metadata="{}",
            beam_center=(0.0, 0.0),
            distance=0.0,
            camera=camera,
        )
        self.camera.prepare(settings)
        self.camera.announce()
        self.camera.start()
        self.camera.trigger()

    def _start(self, *arguments: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
        process = subprocess.Popen(
            [str(Path(sys.executable).parent / "penstock"), *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._stack.callback(_end, process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (
            f"penstock {' '.join(arguments)} ended with {process.wait(END_SECONDS)} before it was ready"
        )
        return process, json.loads(line)


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextmanager
def live(folder: Path, **properties: Any) -> Iterator[Live]:
    """From here to the end of the block; `properties` are those of the simulated camera's unit."""
    with ExitStack() as stack:
        yield Live(folder, properties, stack)
