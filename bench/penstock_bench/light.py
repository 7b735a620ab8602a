"""What the light streamer costs a PILATUS3's control unit, and whether it keeps up.

Files appear in a folder of a RAM disk as camserver lets them appear, by a rename; each is a hard link of one
CBF file, so that writing it costs nothing. The light streamer sends them to another process, which discards
them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from penstock.hosts.child import PYTHON
from penstock.streamer import light_streamer
from penstock.streamer.remote.light_client import LightClient
from penstock_bench.receivers import Loop, per_frame, poll, since, start, thread_seconds
from penstock_bench.results import Turn, Turns
from penstock_bench.runner import Bench

IMAGE = {"shape": [1679, 1475], "type": "int32"}


def light(bench: Bench, load: str) -> Turns:
    """Send series through the light streamer, run by `python` (this one)."""
    options = dict(bench.options)
    command = (interpreter,) if (interpreter := options.pop("python")) else PYTHON
    return bench.in_turn({"light streamer": lambda: send(bench, command, **options)})


def send(bench: Bench, command: Sequence[str], rate: float, seconds: float, megabytes: float) -> Turn:
    """Send one series.

    Args:
        bench: with a folder on a RAM disk; it is told what arrived.
        command: command line of the interpreter that runs the light streamer.
        rate: files per second.
        seconds: length of the series.
        megabytes: size of a file.
    """
    files = round(rate * seconds)
    folder, source = bench.folder / "images", bench.folder / "source.cbf"
    source.write_bytes(_cbf(round(megabytes * 1e6)))
    argv = (
        *command, light_streamer.__file__, "--folder", str(folder), "--data", "tcp://127.0.0.1:0",
        "--control", "tcp://127.0.0.1:0",
    )  # fmt: skip
    with ExitStack() as processes:
        streamer = start(processes, "the light streamer", argv, "control").answer
        receiver = Loop(processes, streamer["data"])
        client = processes.enter_context(closing(LightClient(streamer["control"], timeout=10.0)))
        poll(client.status, lambda status: status.peers == 1, "the light streamer has no receiver")
        about = client.describe()
        client.begin("bench", "penstock-bench", {"filename": ""}, {}, image=IMAGE, planned=files)
        spent, begun = since(partial(_seconds, Path(f"/proc/{streamer['pid']}/task"))), time.monotonic()
        _offer(source, folder, files, rate)
        client.finish("bench", triggered=files)
        ended = lambda status: status.state in ("idle", "fault") and not status.held  # noqa: E731
        status = poll(client.status, ended, "the light streamer has not sent its files")
        seconds, turn = time.monotonic() - begun, per_frame(spent(), files)
        received = receiver.over(files)
    source.unlink()
    bench.notes.append(
        f"Python {about.python}, libzmq {about.zmq}: {received} of {files} files of {megabytes:g} MB arrived "
        f"in {seconds:.1f} s, offered {rate:g} per second; lost {status.lost or 'none'}"
    )
    return turn | {"files": float(files), "files missing": float(files - received)}


def _cbf(nbytes: int) -> bytes:
    """Return a file of about so many bytes; nobody decodes it here."""
    header = (
        "###CBF: VERSION 1.5, CBFlib v0.7.8 - PILATUS detectors\r\n"
        + "# Exposure_time 0.0030000 s\r\n" * 60
        + f'conversions="x-CBF_BYTE_OFFSET"\r\nX-Binary-Size: {nbytes}\r\n'
        + "X-Binary-Size-Fastest-Dimension: 1475\r\nX-Binary-Size-Second-Dimension: 1679\r\n\r\n"
    ).encode()
    return header + b"\x0c\x1a\x04\xd5" + os.urandom(nbytes) + bytes(4096)


def _offer(source: Path, folder: Path, files: int, rate: float) -> None:
    """Let the files appear, evenly."""
    hidden, begun = folder.parent / "next", time.monotonic()
    for number in range(files):
        time.sleep(max(0.0, begun + number / rate - time.monotonic()))
        os.link(source, hidden)
        hidden.rename(folder / f"penstock-bench_{number:06d}.cbf")


def _seconds(tasks: Path) -> Turn:
    """Return the processor time of the thread that runs Python, and of all threads of a process."""
    used = {task.name: thread_seconds(task) for task in tasks.iterdir()}
    return {"Python's thread": used[tasks.parent.name], "all threads": sum(used.values())}
