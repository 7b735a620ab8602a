"""A generated series through Penstock's receiver, two loops in Python, and the limits in C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from penstock.hosts.child import free_port
from penstock_bench.receivers import Receiver, figures, remove, sender_seconds, sending, sent, told_by
from penstock_bench.results import Frames, Turn, Turns
from penstock_bench.runner import Bench, NotMeasured, python

PENSTOCK, BARE, NAIVE = "penstock", "bare pyzmq + h5py", "naive"
UNANNOUNCED, LIVE, SYNCED = "penstock, unannounced", "penstock, live only", "penstock, synced"
WRITE_LIMIT, RECEIVE_LIMIT = "C: receive, pwrite", "C: receive only"
CONTENDERS = (UNANNOUNCED, PENSTOCK, LIVE, BARE, NAIVE, WRITE_LIMIT, RECEIVE_LIMIT)
STORAGES = ("live only", "RAM disk", "disk")
AS_FAST = "as fast as possible"
NAIVE_SHARE = 0.3
"""The naive loop is slow: it gets fewer frames, of the smallest a tenth."""
PACED_SECONDS = 0.8
"""Length of a series at an offered rate."""
SOCKETS = ((1, 1), (1, 2), (2, 2), (4, 2))
"""PULL sockets, and ZeroMQ's I/O threads on both sides."""
WORKERS = ((1, 1), (2, 1), (4, 1), (1, 2), (2, 2))
"""Threads that compress frames, and ZeroMQ's."""


def contenders(bench: Bench, frames: Frames) -> Turns:
    """Let all contenders take the same frames, writing and live; our rivals are next to it."""
    fewer = frames.of(round(frames.count * (NAIVE_SHARE if frames.nbytes > 100_000 else NAIVE_SHARE / 3)))
    takers = {
        NAIVE: partial(loop, bench.folder, fewer, "naive"),
        BARE: partial(loop, bench.folder, frames, "bare"),
        UNANNOUNCED: partial(ours, bench.folder, frames, "--unannounced"),
        PENSTOCK: partial(ours, bench.folder, frames),
        WRITE_LIMIT: partial(limit, bench, frames, bench.folder / "limit.raw"),
        LIVE: partial(ours, bench.folder, frames, live=True),
        RECEIVE_LIMIT: partial(limit, bench, frames, None),
    }
    return bench.in_turn(_possible(bench, takers))


def disk(bench: Bench, frames: Frames) -> Turns:
    """Let the receiver and the limit write to a disk; synced, the series ends once its file is there."""
    folder = bench.on_disk()
    takers = {
        PENSTOCK: partial(ours, folder, frames),
        WRITE_LIMIT: partial(limit, bench, frames, folder / "limit.raw"),
        SYNCED: partial(ours, folder, frames, entry={"durability": "synced"}),
    }
    return bench.in_turn(_possible(bench, takers))


def offered(bench: Bench, frames: Frames) -> Turns:
    """Offer an eighth, a quarter, half and all of the load's rate, and frames as fast as possible."""
    takers = {}
    with ExitStack() as processes:
        for storage, folder in zip(STORAGES, (bench.folder, bench.folder, bench.on_disk()), strict=True):
            receiver = Receiver(folder, frames, processes)
            file = None if storage == "live only" else folder / "penstock.h5"
            for rate in (*(frames.rate / part for part in (8, 4, 2, 1)), 0.0):
                paced = frames.of(max(5, int(rate * PACED_SECONDS)) if rate else frames.count, rate)
                name = f"{storage}, {f'{rate:,.0f}/s' if rate else AS_FAST}"
                takers[name] = partial(receiver.take, paced, file)
        return bench.in_turn(takers)


def sockets(bench: Bench, frames: Frames) -> Turns:
    """Take frames from one to four sockets, with one or two I/O threads on both sides."""
    takers = {}
    with ExitStack() as processes:
        for storage in STORAGES[:2]:
            file = None if storage == "live only" else bench.folder / "penstock.h5"
            for number, threads in SOCKETS:
                source = {"sockets": number, "io_threads": threads}
                receiver = Receiver(bench.folder, frames, processes, source=source)
                words = "--io-threads", str(threads), "--wait-peers", str(number)
                takers[f"{storage}, {number} × {threads}"] = partial(receiver.take, frames, file, *words)
        return bench.in_turn(takers)


def workers(bench: Bench, frames: Frames) -> Turns:
    """Let the receiver's workers turn frames into bitshuffle/LZ4."""
    takers = {}
    with ExitStack() as processes:
        for number, threads in WORKERS:
            entry = {"workers": number, "transforms": [{"type": "bslz4"}]}
            receiver = Receiver(bench.folder, frames, processes, source={"io_threads": threads}, entry=entry)
            take = partial(receiver.take, frames, bench.folder / "penstock.h5", "--io-threads", str(threads))
            takers[f"{number} × {threads}"] = take
        return bench.in_turn(takers)


def ours(
    folder: Path, frames: Frames, *words: str, live: bool = False, entry: Mapping[str, Any] | None = None
) -> Turn:
    """Start a receiver, as rivals are started, and let it take a series."""
    with ExitStack() as processes:
        receiver = Receiver(folder, frames, processes, entry=entry)
        return receiver.take(frames, None if live else folder / "penstock.h5", *words)


def limit_argv(program: Path, endpoint: str, frames: Frames, file: Path | None) -> tuple[str, ...]:
    """Return the command line of the limit."""
    numbers = frames.count, frames.nbytes, frames.mark, 1, 1
    return (str(program), endpoint, *map(str, numbers), *([str(file)] if file else []))


def _possible(bench: Bench, takers: dict[str, Any]) -> dict[str, Any]:
    """Leave out the limits without a C compiler."""
    try:
        bench.compiled("limit")
    except NotMeasured as error:
        bench.notes.append(f"no limits are measured: {error}")
        return {name: take for name, take in takers.items() if name not in (WRITE_LIMIT, RECEIVE_LIMIT)}
    return takers


def limit(bench: Bench, frames: Frames, file: Path | None) -> Turn:
    """Let the limit take a series, and write it to a file, if there is one."""
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    argv = limit_argv(bench.compiled("limit"), endpoint, frames, file)
    return _rival("limit", argv, endpoint, frames, file)


def loop(folder: Path, frames: Frames, name: str) -> Turn:
    """Let one of the loops write a series."""
    endpoint, file = f"tcp://127.0.0.1:{free_port()}", folder / "loop.h5"
    return _rival(name, python("programs", name, endpoint, file, frames.mark), endpoint, frames, file)


def _rival(name: str, argv: Sequence[str], endpoint: str, frames: Frames, file: Path | None) -> Turn:
    def send(pid: int) -> float:
        with sending(endpoint, frames, file) as sender:
            return sender_seconds(sent(sender))

    try:
        found, seconds = told_by(name, argv, "cpu_seconds", send)
    finally:
        if file:
            remove(file.parent, file.name)
    process, thread = found["cpu_seconds"], found["thread_seconds"]
    spent = {"receiver": process, "loop": thread, "I/O": process - thread, "sender": seconds}
    return figures(frames, found["seconds"], spent)
