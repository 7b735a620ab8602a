"""`make bench-light`: what the light streamer costs a PILATUS3's control unit, and whether it keeps up.

Files appear in a folder of /dev/shm as camserver lets them appear, by a rename; each is a hard link of one
CBF file, so that writing it costs nothing. The light streamer sends them to another process, which discards
them.

Examples:
  python -m penstock.bench.light                        250 files/s of 2.5 MB for 20 s
  python -m penstock.bench.light --rate 50 --seconds 2 --python /usr/bin/python3.6 --json
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import zmq

from penstock.hosts.child import PYTHON, Child, ready_line
from penstock.streamer import light_streamer
from penstock.streamer.remote.light_client import LightClient, LightStatus

RATE, SECONDS, MEGABYTES = 250.0, 20.0, 2.5
IMAGE = {"shape": [1679, 1475], "type": "int32"}
PATIENCE = 60.0
RAM_DISK = "/dev/shm"


@dataclass(frozen=True, kw_only=True)
class Result:
    """One series through the light streamer."""

    python: str
    zmq: str
    file_bytes: int
    offered: float
    """Files per second."""
    files: int
    sent: int
    received: int
    lost: dict[str, int]
    seconds: float
    """From the first file to the end message."""
    python_us: float
    """Microseconds of processor time per frame of the thread that runs Python."""
    all_us: float
    """The same of all threads, those of ZeroMQ included."""
    most_waiting: int
    """Most files that waited in the folder, as seen ten times per second."""


class _Ready(msgspec.Struct):
    control: str
    data: str
    pid: int


class _Received(msgspec.Struct):
    frames: int


def measure(python: Sequence[str] = PYTHON, rate: float = RATE, seconds: float = SECONDS,
            megabytes: float = MEGABYTES) -> Result:  # fmt: skip
    """Send one series, and return what it took.

    Args:
        python: command line of the interpreter that runs the light streamer.
        rate: files per second.
        seconds: length of the series.
        megabytes: size of a file.
    """
    files = round(rate * seconds)
    with tempfile.TemporaryDirectory(dir=RAM_DISK, prefix="penstock-bench-") as top:
        source, folder = Path(top, "source.cbf"), Path(top, "images")
        source.write_bytes(_cbf(round(megabytes * 1e6)))
        streamer = Child(
            "the light streamer",
            [*python, light_streamer.__file__, "--folder", str(folder),
             "--data", "tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0"],
            ready_line(_Ready),
        )  # fmt: skip
        with streamer, _receiver(streamer.answer.data) as receiver, contextlib.closing(
            LightClient(streamer.answer.control, timeout=10.0)
        ) as client:  # fmt: skip
            _until(client, lambda status: status.peers == 1)
            about = client.describe()
            client.begin("bench", "penstock-bench", {"filename": ""}, {}, image=IMAGE, planned=files)
            before = _cpu_us(streamer.pid)
            begun = time.monotonic()
            waiting = _offer(client, source, folder, files, rate)
            client.finish("bench", triggered=files)
            status = _until(client, lambda status: status.state in ("idle", "fault") and not status.held)
            ended = time.monotonic()
            main, everything = (now - then for now, then in zip(_cpu_us(streamer.pid), before, strict=True))
            received = receiver.recv_json()["frames"]
        return Result(
            python=about.python, zmq=about.zmq, file_bytes=source.stat().st_size, offered=rate, files=files,
            sent=status.sent, received=received, lost=status.lost, seconds=round(ended - begun, 3),
            python_us=round(main / files, 1), all_us=round(everything / files, 1), most_waiting=waiting,
        )  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `python -m penstock.bench.light`; 1 if a frame is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m penstock.bench.light",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rate", type=float, default=RATE, help="files per second (%(default)g)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="length of the series (%(default)g)")
    parser.add_argument("--mb", type=float, default=MEGABYTES, help="size of a file (%(default)g)")
    parser.add_argument("--python", metavar="PROGRAM", help="interpreter of the light streamer (this one)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    result = measure((args.python,) if args.python else PYTHON, args.rate, args.seconds, args.mb)
    if args.json:
        print(json.dumps(asdict(result)))
    else:
        print(_sentence(result))
    return 0 if result.received == result.files else 1


def _sentence(result: Result) -> str:
    return (
        f"{result.received} of {result.files} files of {result.file_bytes / 1e6:.2f} MB arrived in "
        f"{result.seconds:.1f} s, offered {result.offered:g} per second; per frame {result.python_us:.0f} µs "
        f"of Python {result.python}, {result.all_us:.0f} µs of all threads; at most {result.most_waiting} "
        f"waited; lost {result.lost or 'none'}"
    )


def _cbf(nbytes: int) -> bytes:
    """A file of about so many bytes; nobody decodes it here."""
    header = (
        "###CBF: VERSION 1.5, CBFlib v0.7.8 - PILATUS detectors\r\n"
        + "# Exposure_time 0.0030000 s\r\n" * 60
        + f'conversions="x-CBF_BYTE_OFFSET"\r\nX-Binary-Size: {nbytes}\r\n'
        + "X-Binary-Size-Fastest-Dimension: 1475\r\nX-Binary-Size-Second-Dimension: 1679\r\n\r\n"
    ).encode()
    return header + b"\x0c\x1a\x04\xd5" + os.urandom(nbytes) + bytes(4096)


def _offer(client: LightClient, source: Path, folder: Path, files: int, rate: float) -> int:
    """Let the files appear, evenly; return how many waited at most."""
    hidden, waiting, begun = folder.parent / "next", 0, time.monotonic()
    for number in range(files):
        if (early := begun + number / rate - time.monotonic()) > 0:
            time.sleep(early)
        os.link(source, hidden)
        hidden.rename(folder / f"penstock-bench_{number:06d}.cbf")
        if not number % max(1, round(rate / 10)):
            waiting = max(waiting, client.status().waiting)
    return waiting


@contextlib.contextmanager
def _receiver(endpoint: str) -> Iterator[Any]:
    """A process that receives and discards; it says how many frames came at the end of the series."""
    context = zmq.Context()
    report = context.socket(zmq.PULL)
    port = report.bind_to_random_port("tcp://127.0.0.1")
    report.setsockopt(zmq.RCVTIMEO, int(PATIENCE * 1000))
    program = (
        "import json, sys, zmq\n"
        "context = zmq.Context()\n"
        "pull, report, frames = context.socket(zmq.PULL), context.socket(zmq.PUSH), 0\n"
        "pull.connect(sys.argv[1]), report.connect(sys.argv[2]), print('{}', flush=True)\n"
        "while True:\n"
        "    parts = pull.recv_multipart(copy=False)\n"
        "    kind = json.loads(parts[0].bytes)['htype']\n"
        "    frames += kind == 'image'\n"
        "    if kind == 'series_end':\n"
        "        report.send_json({'frames': frames})\n"
    )
    command = [*PYTHON, "-c", program, endpoint, f"tcp://127.0.0.1:{port}"]
    try:
        with Child("the receiver", command, lambda line: line.startswith("{") or None):
            yield report
    finally:
        context.destroy(0)


def _until(client: LightClient, wanted: Any) -> LightStatus:
    deadline = time.monotonic() + PATIENCE
    while not wanted(status := client.status()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the light streamer is not as expected after {PATIENCE:g} s: {status}")
        time.sleep(0.01)
    return status


def _cpu_us(pid: int) -> tuple[float, float]:
    """Microseconds of processor time of a process: of its main thread, and of all threads."""
    used = {
        task.name: int((task / "schedstat").read_text().split()[0]) / 1e3
        for task in Path(f"/proc/{pid}/task").iterdir()
    }
    return used[str(pid)], sum(used.values())


if __name__ == "__main__":
    sys.exit(main())
