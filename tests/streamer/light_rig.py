"""A light streamer as a process, its client, a receiver of one socket, and files as camserver writes them."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import numpy as np
import zmq

from penstock.stins import codec
from penstock.stins.messages import Frame, Message, SeriesEnd, Start
from penstock.streamer.remote.light_client import LightClient, LightStatus
from tests.receiver.transforms.steps.references import cbf_encode
from tests.streamer.rig import DEADLINE

SCRIPT = Path(__file__).resolve().parent.parent.parent / "streamer" / "light_streamer.py"
SHAPE = (40, 50)
LARGE = (400, 500)
"""Shape of frames whose blobs are sent without a copy."""
IMAGE = {"shape": [*SHAPE], "type": "int32"}
HEADER = {"filename": "", **IMAGE, "compression": "cbf"}
LARGE_IMAGE = {"shape": [*LARGE], "type": "int32"}


def pixels(number: int) -> np.ndarray:
    """A frame that differs from all others; two of its pixels are masked."""
    image = np.random.default_rng(number).poisson(3, SHAPE).astype("int32")
    image[0, 0], image[0, 1], image[0, 2] = number, -1, -2
    return image


def cbf_file(image: np.ndarray) -> bytes:
    """The bytes of a file as camserver writes it."""
    blob = cbf_encode(image)
    digest = base64.b64encode(hashlib.md5(blob).digest()).decode()
    rows, columns = image.shape
    text = f"""###CBF: VERSION 1.5, CBFlib v0.7.8 - PILATUS detectors

data_x

_array_data.header_convention "PILATUS_1.2"
_array_data.header_contents
;
# Detector: PILATUS3 1M, S/N 10-0000
# 2026-11-25T19:00:00.123
# Pixel_size 172e-6 m x 172e-6 m
# Silicon sensor, thickness 0.000450 m
# Exposure_time 0.0040500 s
# Exposure_period 0.0050000 s
# Tau = 0 s
# Count_cutoff 1009797 counts
# Threshold_setting: 6344 eV
# Gain_setting: autog (vrf = 1.000)
# N_excluded_pixels = 852
# Excluded_pixels: badpixel_mask.tif
# Flat_field: (nil)
# Trim_file: p10-0000_E12688_T6344.bin
# Image_path: /ramdisk/penstock/
# Ratecorr_lut_directory: ContinuousStandard_v1.1
# Retrigger_mode: 1
;

_array_data.data
;
--CIF-BINARY-FORMAT-SECTION--
Content-Type: application/octet-stream;
     conversions="x-CBF_BYTE_OFFSET"
Content-Transfer-Encoding: BINARY
X-Binary-Size: {len(blob)}
X-Binary-ID: 1
X-Binary-Element-Type: "signed 32-bit integer"
X-Binary-Element-Byte-Order: LITTLE_ENDIAN
Content-MD5: {digest}
X-Binary-Number-of-Elements: {image.size}
X-Binary-Size-Fastest-Dimension: {columns}
X-Binary-Size-Second-Dimension: {rows}
X-Binary-Size-Padding: 4095

"""
    head = text.replace("\n", "\r\n").encode()
    return (
        head + b"\x0c\x1a\x04\xd5" + blob + bytes(4095) + b"\r\n--CIF-BINARY-FORMAT-SECTION----\r\n;\r\n\r\n"
    )


class Light:
    """A light streamer with a client and a receiver."""

    def __init__(
        self, python: str, folder: Path, *options: str, receiver: bool = True, script: Path = SCRIPT
    ) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [python, str(script), "--folder", str(folder), "--data", "tcp://127.0.0.1:0",
             "--control", "tcp://127.0.0.1:0", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.ready = json.loads(self.process.stdout.readline())
        self.client = LightClient(self.ready["control"], timeout=DEADLINE)
        self.context = zmq.Context()
        self._series = 0
        if receiver:
            self.connect()

    def connect(self) -> None:
        """Connect a receiver."""
        self.pull = self.context.socket(zmq.PULL)
        self.pull.connect(self.ready["data"])
        self.until(lambda status: status.peers == 1)

    def disconnect(self) -> None:
        """End the receiver."""
        self.pull.close(0)
        self.until(lambda status: status.peers == 0)

    def begin(self, planned: int = 0, series: str = "s1", prefix: str = "", **more: object) -> str:
        """Begin a series; return the prefix of its files."""
        self._series += 1
        prefix = prefix or f"penstock-{series}-{self._series}"
        given: dict[str, object] = {"header": HEADER, "metadata": {}, "image": IMAGE, "planned": planned}
        self.client.begin(series, prefix, **{**given, **more})  # type: ignore[arg-type]
        return prefix

    def write(self, name: str, content: bytes) -> None:
        """Let a file appear as camserver does, by a rename."""
        hidden = self.folder / f".{name}"
        hidden.write_bytes(content)
        hidden.rename(self.folder / name)

    def write_frames(self, prefix: str, *numbers: int) -> None:
        """Let the files of these frames appear."""
        for number in numbers:
            self.write(f"{prefix}_{number:05d}.cbf", cbf_file(pixels(number)))

    def link_frames(self, prefix: str, source: Path, *numbers: int) -> None:
        """Let files of equal content appear, which takes no space."""
        for number in numbers:
            hidden = self.folder / ".next"
            hidden.hardlink_to(source)
            hidden.rename(self.folder / f"{prefix}_{number:05d}.cbf")

    def files(self) -> list[str]:
        return sorted(os.listdir(self.folder))

    def until(self, wanted: Callable[[LightStatus], bool]) -> LightStatus:
        """Ask for the status until it is as wanted."""
        deadline = time.monotonic() + DEADLINE
        while not wanted(status := self.client.status()):
            assert time.monotonic() < deadline, status
            time.sleep(0.005)
        return status

    def stalled_receiver(self) -> zmq.Socket[bytes]:
        """A receiver that queues next to nothing until it is read."""
        slow = self.context.socket(zmq.PULL)
        slow.setsockopt(zmq.RCVHWM, 1)
        slow.setsockopt(zmq.RCVBUF, 4096)
        slow.connect(self.ready["data"])
        self.until(lambda status: status.peers == 1)
        return slow

    def receive(self, receiver: zmq.Socket[bytes] | None = None) -> Message:
        pull = receiver or self.pull
        assert pull.poll(int(DEADLINE * 1000)), f"no message in time: {self.client.status()}"
        return codec.decode(pull.recv_multipart())

    def ended(self) -> LightStatus:
        """The status once the series has ended and ZeroMQ has let go of all files."""
        return self.until(lambda status: status.state in ("idle", "fault") and not status.held)

    def receive_series(
        self, receiver: zmq.Socket[bytes] | None = None
    ) -> tuple[Start, list[Frame], SeriesEnd]:
        """Receive messages up to the end message."""
        start, frames = self.receive(receiver), []
        while isinstance(message := self.receive(receiver), Frame):
            frames.append(message)
        assert isinstance(start, Start) and isinstance(message, SeriesEnd)
        return start, frames, message

    def terminate(self) -> str:
        """End the process as systemd does; return its log."""
        self.process.terminate()
        _, log = self.process.communicate(timeout=DEADLINE)
        return log

    def __enter__(self) -> Light:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        self.process.kill()
        if self.process.stdout is not None and not self.process.stdout.closed:
            self.process.communicate(timeout=DEADLINE)
        self.context.destroy(0)
