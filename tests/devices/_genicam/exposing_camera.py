"""The fake camera of libaravis, made to expose: a process, and its client for tests.

The fake one sends a frame at its next tick, whatever ExposureTime is. Here another XML gives start, stop and
triggers to registers that mean nothing to it; a loop reads them, waits for the exposure, and then writes the
real ones. Frames still come from the library, over its own GigE Vision.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path
from types import TracebackType

from penstock.devices._genicam.fake_camera import FakeCamera, wait_for_port
from penstock.hosts.child import PYTHON

ROOT = Path(__file__).parents[3]
XML = Path(__file__).with_suffix(".xml")
ROWS, COLS = 64, 96
"""Pixels of the sensor."""
TICK = 0.002
"""Seconds between two looks at the registers."""
START, SOFTWARE, SOURCE, TEMPERATURE = 0x400, 0x404, 0x414, 0x420
"""Registers of the XML only."""
WIDTH, HEIGHT, SENSOR_HEIGHT, SENSOR_WIDTH = 0x100, 0x104, 0x118, 0x11C
EXPOSURE, ACQUISITION, TRIGGER_MODE, REAL_SOURCE, REAL_TRIGGER = 0x120, 0x124, 0x300, 0x304, 0x30C
"""Registers of the fake camera (arvfakecamera.h)."""
PATIENCE = 100.0
"""Seconds: other tests may have the one fake camera of this computer."""

FILL = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32
)


class ExposingCamera:
    """The loop."""

    def __init__(self) -> None:
        self.fake: FakeCamera = wait_for_port(PATIENCE, xml=str(XML))
        self.lost: set[int] = set()
        self.edges: deque[None] = deque()
        self._frames = 0
        self._losing: set[int] = set()
        self._fill = FILL(self._fill_frame)  # kept, since the library does not
        self.fake.lib.arv_fake_camera_set_fill_pattern(self.fake.registers, self._fill, None)
        for address, value in {TEMPERATURE: 215, SENSOR_WIDTH: COLS, SENSOR_HEIGHT: ROWS}.items():
            self.fake.write(address, value)
        threading.Thread(target=self._run, daemon=True).start()

    def _fill_frame(self, buffer: int, _: None, exposure: int, gain: int, form: int) -> None:
        """In the camera's thread, before each frame is sent."""
        address = self.fake.lib.arv_buffer_get_data(buffer, None)
        size = self.fake.read(WIDTH) * self.fake.read(HEIGHT) * (form >> 16 & 0xFF) // 8
        ctypes.memset(address, self._frames % 251, size)
        self.fake.lose(float(self._frames in self._losing))
        self._frames += 1

    def _run(self) -> None:
        """Start is a request, which is consumed; Stop writes the library's own register, which is watched."""
        waiting, end, started = 0, 0.0, False
        while True:
            time.sleep(TICK)
            exposure, now = self.fake.read(EXPOSURE) / 1e6, time.monotonic()
            triggered = bool(self.fake.read(TRIGGER_MODE))
            if self.fake.read(START):
                self.fake.write(START, 0)
                self.fake.write(REAL_SOURCE, 1)
                self.fake.write(REAL_TRIGGER, 0)
                self._frames, (self._losing, self.lost) = 0, (self.lost, set())
                waiting, end, started = 0, 0.0 if triggered else now + exposure, triggered
                self.fake.write(ACQUISITION, int(triggered))
            elif started and not self.fake.read(ACQUISITION):
                waiting, end, started = 0, 0.0, False
                self.edges.clear()
                self.fake.write(SOFTWARE, 0)
            elif end and now >= end:
                self.fake.write(REAL_TRIGGER if triggered else ACQUISITION, 1)
                end, started = 0.0, True
            elif started and triggered:
                if self.fake.read(SOFTWARE):
                    self.fake.write(SOFTWARE, 0)
                    waiting += int(self.fake.read(SOURCE) == 1)
                while self.edges and self.fake.read(SOURCE) == 0:
                    self.edges.popleft()
                    waiting += 1
                if not end and waiting and not self.fake.read(REAL_TRIGGER):
                    waiting, end = waiting - 1, now + exposure


def main() -> None:
    """Answer one line with "done" after each line of commands."""
    camera = ExposingCamera()
    print("ready", flush=True)
    for line in sys.stdin:
        command, *numbers = line.split()
        if command == "lose":
            camera.lost = set(map(int, numbers))
        elif command == "edge":
            camera.edges.append(None)
        print("done", flush=True)


class Bench:
    """The process, for tests: a context manager."""

    _process: subprocess.Popen[str]

    def __enter__(self) -> Bench:
        self._process = subprocess.Popen(
            [*PYTHON, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert self._read() == "ready"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=10)

    def say(self, command: str) -> None:
        """Give a command, and wait until it has been taken."""
        print(command, file=self._process.stdin, flush=True)
        assert self._read() == "done"

    def kill(self) -> None:
        """Unplug it."""
        self._process.kill()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


if __name__ == "__main__":
    main()
