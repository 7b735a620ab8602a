"""What a frame costs the receiver's loop with several files, beside the same loop live.

With several files, threads write; the loop receives, checks and deals the frames, and its processor time per
frame is the limit of any machine. So writing is replaced by nothing (`unwritten`), and the loop's thread is
compared with that of a receiver without a file, as fast as a real generator sends, in turn.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path

import msgspec

from penstock.stins.texts import plural
from penstock.streamer.camera.push_socket import PushSocket
from penstock.streamer.simulated.generator.generator import generate
from penstock.streamer.simulated.generator.plan import Plan
from penstock_bench.receivers import DEADLINE, Receiver, Told, remove
from penstock_bench.results import Frames, Turn, Turns
from penstock_bench.runner import PATH, Bench
from penstock_bench.unwritten import COMMAND, Series

FLUSH_SECONDS = 1.0
"""Between two flushes: the default of `flush_seconds`."""
FILES = (0, 2, 4)
"""0: live."""


def loop(bench: Bench, frames: Frames) -> Turns:
    """Let receivers with so many files take the same series, without pixels in their files, and one with a
    single socket live. There are no more at a time than are compared: each has some thirty threads."""
    sockets = bench.options["sockets"]
    with ExitStack() as processes:
        made = {
            name(*each): _taker(bench.folder, frames, *each, processes)
            for each in dict.fromkeys([(0, 1), *((files, sockets) for files in FILES)])
        }
        return bench.in_turn(made, warm_up=1)


def name(files: int, sockets: int) -> str:
    """Return it in words."""
    return f"{plural(files, 'file') if files else 'live'}, {plural(sockets, 'socket')}"


def figures(series: Series, frames: Frames) -> Turn:
    """Return the figures of a series; "at most": the rate at which the loop would never wait."""
    us, flush = series.frame_seconds / series.frames * 1e6, series.flush_seconds / max(series.flushes, 1)
    ceiling = (1 - flush / FLUSH_SECONDS) * frames.nbytes / us / 1e3
    return {"loop, µs": us, "flush, ms": flush * 1e3, "at most, GB/s": ceiling}


def _taker(folder: Path, frames: Frames, files: int, sockets: int, processes: ExitStack) -> partial[Turn]:
    told = Told("frame_seconds")
    receiver = Receiver(
        folder, frames, processes, source={"sockets": sockets, "io_threads": sockets},
        entry={"files": max(1, files)}, command=COMMAND, environment=PATH, relay=told,
    )  # fmt: skip
    return partial(_take, receiver, frames, folder / "unwritten.h5" if files else None, sockets, told)


def _take(receiver: Receiver, frames: Frames, file: Path | None, sockets: int, told: Told) -> Turn:
    """Send a series as a sender that begins anew: several sockets expect its first message numbers again."""
    plan = Plan(frames=frames.count, shape=frames.shape, pattern="opaque", filename=str(file or ""))
    finish = receiver.measured()
    push = PushSocket(receiver.endpoint, hwm=frames.mark, io_threads=sockets)
    try:
        if not push.wait_peers(sockets, DEADLINE):
            raise RuntimeError(f"the receiver did not connect to {receiver.endpoint}")
        generate(plan, [push])
    finally:
        push.close()
    try:
        finish()
    finally:
        remove(receiver.folder, "*.h5")
    found = told.next("the data process has not said what the series took", 5.0)
    return figures(msgspec.convert(found, Series), frames)
