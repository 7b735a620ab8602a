"""Stream frames without Tango, to try and to measure a receiver.

Examples:
  penstock generate --frames 1000 --filename /data/first.h5
  penstock generate --frame-bytes 20000 --frames 1000000 --json
  penstock generate --shape 512,1024 --dtype uint32 --compression bslz4 --rate 500
  penstock generate --shape 2,512,1024 --frames 100 --drop 7,8 --duplicate 20 --lose-end

It binds --endpoint, waits for its receivers, sends one series, and ends once everything has left.
With --json the first line on standard output is {"data": endpoint, "pid": …} and the last line the
summary: frames sent, rate, CPU time a frame (I/O threads included), and the faults committed.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.streamer.generator import Plan, Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--shape", type=_lengths, default=(512, 1024), metavar="ROWS,COLS",
        help="of a frame; K,ROWS,COLS for K blobs (512,1024)",
    )  # fmt: skip
    size.add_argument(
        "--frame-bytes", type=_positive, metavar="N", help="about so many bytes a frame instead"
    )
    parser.add_argument(
        "--frames", type=_positive, default=100, metavar="N", help="frames to send (%(default)s)"
    )
    parser.add_argument(
        "--dtype", default="uint16", choices=("uint8", "uint16", "uint32", "int32", "float32")
    )
    parser.add_argument("--compression", default="none", choices=("none", "bslz4"))
    parser.add_argument(
        "--rate", type=float, default=0.0, metavar="HZ", help="frames a second; 0: as fast as possible"
    )
    parser.add_argument(
        "--filename", default="", metavar="PATH", help="file that the receiver writes; none: live only"
    )
    parser.add_argument(
        "--endpoint", default="tcp://127.0.0.1:9999", metavar="URL", help="to bind (%(default)s)"
    )
    parser.add_argument(
        "--wait-peers", type=int, default=1, metavar="N", help="receivers to wait for (%(default)s)"
    )
    parser.add_argument(
        "--wait", type=float, default=60.0, metavar="S", help="seconds to wait for them (%(default)g)"
    )
    parser.add_argument(
        "--linger",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds to wait for what is queued (%(default)g)",
    )
    parser.add_argument("--io-threads", type=_positive, default=1, metavar="N")
    parser.add_argument(
        "--hwm", type=_positive, metavar="N", help="messages queued for a receiver (by frame size)"
    )
    parser.add_argument("--json", action="store_true", help="summary as one line of JSON")
    faults = parser.add_argument_group("faults, by frame number")
    faults.add_argument("--drop", type=_numbers, default=frozenset(), metavar="N,…", help="lost on the way")
    faults.add_argument("--duplicate", type=_numbers, default=frozenset(), metavar="N,…", help="sent twice")
    faults.add_argument("--corrupt", type=_numbers, default=frozenset(), metavar="N,…", help="blob cut short")
    faults.add_argument("--die-at", type=int, metavar="N", help="kill the generator at this frame")
    faults.add_argument("--lose-end", action="store_true", help="send no end message")


def run(args: argparse.Namespace) -> int:
    """Send one series; 0 when every frame was sent."""
    import msgspec

    from penstock.cli.main import UserError
    from penstock.streamer.generator import generate
    from penstock.streamer.sender import PushSocket, default_hwm

    plan = _plan(args)
    told: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: told.append(number))
    signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
    frame_bytes = math.prod(plan.shape) * _item_bytes(plan.dtype)
    try:
        push = PushSocket(
            args.endpoint,
            hwm=args.hwm or default_hwm(frame_bytes),
            io_threads=args.io_threads,
            linger=args.linger,
        )
    except OSError as error:
        raise UserError(f"{error.strerror}; choose another --endpoint") from error
    try:
        if args.json:
            print(msgspec.json.encode({"data": push.endpoint, "pid": os.getpid()}).decode(), flush=True)
        _await_peers(push.endpoint, push.wait_peers, args, told)
        with _progress(plan.frames) as progress:
            report = generate(plan, push, stopping=lambda: bool(told), progress=progress)
        print(
            f"{report.sent} of {report.planned} frames sent; waiting for the last to leave", file=sys.stderr
        )
    finally:
        push.close(2.0 if told else None)
    print(msgspec.json.encode(report).decode() if args.json else _sentence(report))
    return 0 if report.sent == report.planned else 1


def _plan(args: argparse.Namespace) -> Plan:
    from penstock.cli.main import UserError
    from penstock.stins.blobs import blob_layout
    from penstock.stins.errors import BlobError
    from penstock.streamer.generator import Plan

    shape = args.shape
    if args.frame_bytes:
        shape = _shape_of(args.frame_bytes // _item_bytes(args.dtype))
    try:
        blob_layout(shape, args.dtype)
    except BlobError as error:
        raise UserError(str(error)) from error
    if not 0 <= args.rate < math.inf:
        raise UserError(f"--rate {args.rate}: frames a second, or 0 for as fast as possible")
    return Plan(
        frames=args.frames,
        shape=shape,
        dtype=args.dtype,
        compression=args.compression,
        filename=args.filename,
        rate=args.rate,
        drop=args.drop,
        duplicate=args.duplicate,
        corrupt=args.corrupt,
        die_at=args.die_at,
        lose_end=args.lose_end,
    )


def _await_peers(
    endpoint: str, wait_peers: Callable[[int, float], bool], args: argparse.Namespace, told: list[int]
) -> None:
    import time

    from penstock.cli.main import UserError

    print(f"streaming from {endpoint}; waiting for {args.wait_peers} receiver(s)", file=sys.stderr)
    deadline = time.monotonic() + args.wait
    while not wait_peers(args.wait_peers, 0.1):
        if told:
            raise KeyboardInterrupt
        if time.monotonic() > deadline:
            raise UserError(
                f"fewer than {args.wait_peers} receiver(s) connected to {endpoint} in {args.wait:g} s; "
                "start one whose source has this endpoint, or give a longer --wait"
            )


@contextmanager
def _progress(frames: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, else nothing."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda sent: None
        return
    columns = (
        TextColumn("sending"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("frames"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("sending", total=frames)
        yield lambda sent: bar.update(task, completed=sent)


def _sentence(report: Report) -> str:
    return (
        f"{report.sent} of {report.planned} frames handed over in {report.seconds:.3f} s: "
        f"{report.rate:,.0f} frames/s, "
        f"{report.megabytes_per_second:,.0f} MB/s, {report.cpu_microseconds_per_frame:.1f} µs CPU a frame"
    )


def _item_bytes(dtype: str) -> int:
    from penstock.stins.blobs import ITEM_BYTES

    return ITEM_BYTES[dtype]


def _shape_of(pixels: int) -> tuple[int, int]:
    """A frame of about so many pixels, twice as wide as high."""
    rows = max(1, math.isqrt(pixels // 2))
    return rows, max(1, pixels // rows)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is below 1")
    return value


def _lengths(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}"; write ROWS,COLS such as 512,1024') from None


def _numbers(text: str) -> frozenset[int]:
    try:
        return frozenset(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}"; write frame numbers such as 7,8') from None
