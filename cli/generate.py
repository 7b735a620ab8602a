"""Stream frames without Tango, to try out or measure a receiver.

Examples:
  penstock generate --frames 1000 --filename /data/first.h5
  penstock generate --frame-bytes 20000 --frames 1000000 --json
  penstock generate --shape 512,1024 --dtype uint32 --compression bslz4 --rate 500
  penstock generate --pattern powder --compression bslz4 --checksum crc32 --rate 100
  penstock generate --streams 3 --shape 516,1556 --endpoint tcp://127.0.0.1:9010
  penstock generate --shape 4096 --rate 1000                   # spectra
  penstock generate --shape 512,512,3 --dtype uint8 --rate 20  # colours
  penstock generate --shape 2,512,1024 --frames 100 --drop 7,8 --duplicate 20 --lose-end
  penstock generate --filename /data/first.h5 --overwrite --receiver http://127.0.0.1:5000
  penstock generate --frames 1000 --seed 7 --drop 0.01 --reorder 0.05 --checksum crc32 --corrupt 0.002

It binds --endpoint, waits for its receivers, sends one series, and ends once all of it has been sent.
With several streams, each is a module of one detector, with the same frame numbers and a port of its own.
With --json, the first line on standard output is {"data": endpoint, "endpoints": […], "pid": …} and the
last line the summary: frames sent, rate, CPU time per frame (I/O threads included), and for each stream
the log of its faults. A number with a decimal point is a probability: 0.01 of all frames.

Exit status: 0 all frames were sent, 1 not all were, 2 the request is impossible. PUSH sockets get no answer:
only the receiver knows what became of the series. With --receiver it is asked, and 1 also means that it
refused the series, could not write it, or does not have all of it.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli._arguments.numbers import real, whole
from penstock.cli._arguments.targets import LAST_PORT, bound_endpoint, receiver_url
from penstock.cli._output import add_json, emit, progress
from penstock.stins.errors import UserError
from penstock.stins.texts import plural

if TYPE_CHECKING:
    from penstock.streamer.camera.push_socket import PushSocket
    from penstock.streamer.simulated.generator.faults import Faults
    from penstock.streamer.simulated.generator.plan import Plan, Report


HINT_SECONDS = 5.0
"""Seconds without a receiver after which the probable cause is printed."""
FAULTS = {
    "drop": "lost on the way",
    "duplicate": "sent twice",
    "reorder": "overtaken by the next few frames, see --window",
    "delay": "sent later, see --delay-seconds",
    "corrupt": "one bit of the blob is flipped: only --checksum reveals it",
    "truncate": "blob cut short",
    "wrong_type": "the image header names another pixel type",
}
"""What may happen to a frame: the kinds of `streamer.generator_faults`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    from penstock.stins.checksums import ALGORITHMS
    from penstock.streamer.simulated.generator.plan import GENERATED

    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--shape", type=_lengths, default=(512, 1024), metavar="ROWS,COLS",
        help="shape of each stream's frames; K,ROWS,COLS for K blobs, N for spectra, ROWS,COLS,3 for colours "
        "(512,1024)",
    )  # fmt: skip
    size.add_argument(
        "--frame-bytes", type=whole(1), metavar="N", help="approximate bytes per frame, instead of --shape"
    )
    parser.add_argument(
        "--frames", type=whole(1), default=100, metavar="N", help="frames to send (%(default)s)"
    )
    parser.add_argument(
        "--unannounced", action="store_true",
        help="do not say beforehand how many frames will come, as many detectors cannot",
    )  # fmt: skip
    parser.add_argument(
        "--dtype", default="uint16", choices=("uint8", "uint16", "uint32", "int32", "float32"),
        help="pixel type (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--compression", default="none", choices=("none", "bslz4"),
        help="compression of the blobs (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--pattern", default="noise", choices=GENERATED, help="what the frames show (%(default)s)"
    )
    parser.add_argument(
        "--checksum", choices=tuple(ALGORITHMS), help="send a checksum of each blob; the receiver checks it"
    )
    parser.add_argument(
        "--streams", type=whole(1), default=1, metavar="N", help="modules, each on a port of its own (1)"
    )
    parser.add_argument(
        "--rate", type=real(), default=0.0, metavar="HZ", help="frames per second; 0: as fast as possible"
    )
    parser.add_argument(
        "--filename", default="", metavar="PATH",
        help="file that the receiver writes (default: live view only)",
    )  # fmt: skip
    parser.add_argument("--overwrite", action="store_true", help="let the receiver replace that file")
    parser.add_argument(
        "--receiver", metavar="URL|NAME",
        help="ask this receiver, such as http://127.0.0.1:5000, what became of the series",
    )  # fmt: skip
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration file with NAME")
    parser.add_argument(
        "--endpoint", type=bound_endpoint, default="tcp://127.0.0.1:9999", metavar="URL",
        help="address to bind (%(default)s); further streams use the ports after it",
    )  # fmt: skip
    parser.add_argument(
        "--wait-peers", type=whole(0), default=1, metavar="N", help="receivers to wait for (%(default)s)"
    )
    parser.add_argument(
        "--wait", type=real(), default=60.0, metavar="S", help="seconds to wait for them (%(default)g)"
    )
    parser.add_argument(
        "--linger", type=real(), default=60.0, metavar="S",
        help="seconds to wait for what is queued (%(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--io-threads", type=whole(1), default=1, metavar="N", help="ZeroMQ's I/O threads (%(default)s)"
    )
    parser.add_argument(
        "--hwm", type=whole(1), metavar="N", help="messages queued per receiver (default: by frame size)"
    )
    add_json(parser)
    faults = parser.add_argument_group(
        "faults", "by frame numbers (7,8), or by probability (0.01): then with at most one fault per frame"
    )
    for kind, meaning in FAULTS.items():
        faults.add_argument(
            f"--{kind.replace('_', '-')}", type=_frames_or_chance, default=frozenset(), metavar="N,…|P",
            help=meaning,
        )  # fmt: skip
    faults.add_argument(
        "--window", type=whole(1), default=4, metavar="N",
        help="frames that overtake a reordered one (%(default)s)",
    )  # fmt: skip
    faults.add_argument(
        "--delay-seconds", type=real(0, 3600), default=1.0, metavar="S",
        help="length of a delay (%(default)g)",
    )  # fmt: skip
    faults.add_argument("--seed", type=whole(0), default=0, metavar="N", help="seed of the random faults (0)")
    faults.add_argument(
        "--faults-in", type=_numbers, metavar="N,…", help="streams with faults, counted from 0 (all)"
    )
    faults.add_argument(
        "--die-at", type=whole(0), metavar="N",
        help="kill the generator once the frames before N have been sent",
    )  # fmt: skip
    faults.add_argument(
        "--stream-dies-at", type=whole(0), metavar="N",
        help="close the stream's connection before frame N",
    )  # fmt: skip
    faults.add_argument(
        "--lag", type=whole(0), default=0, metavar="N",
        help="frames by which the stream lags behind the others",
    )  # fmt: skip
    faults.add_argument("--lose-start", action="store_true", help="send no start message")
    faults.add_argument("--lose-end", action="store_true", help="send no end message")
    faults.add_argument(
        "--never-end", action="store_true", help="send no end message, and stay connected until interrupted"
    )


def run(args: argparse.Namespace) -> int:
    """Send one series; return 0 if every frame was sent, and its receiver, if asked, has all of them."""
    from penstock.cli._status.verdict import ask
    from penstock.streamer.simulated.generator.generator import DIED, generate

    plan = _plan(args)
    if args.filename and not args.filename.startswith("/"):
        print(f"--filename {args.filename} is no absolute path: a receiver refuses it", file=sys.stderr)
    receiver = None if args.receiver is None else ask(receiver_url(args.receiver, args.config))
    signals: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: signals.append(number))
    signal.signal(signal.SIGTERM, lambda number, frame: signals.append(number))
    pushes: list[PushSocket] = []
    try:
        _bind(plan, args, pushes)
        if args.json:
            endpoints = [push.endpoint for push in pushes]
            emit({"data": endpoints[0], "endpoints": endpoints, "pid": os.getpid()})
        for push in pushes:
            _await_peers(push, args, signals)
        with progress("sending", plan.frames, "frames", stays=True) as sent:
            report = generate(plan, pushes, stopping=lambda: bool(signals), progress=sent)
        print(
            f"{report.sent:,} of {plural(report.planned, 'frame')} sent; waiting until the last have left",
            file=sys.stderr,
        )
    finally:
        for push in pushes:
            if signals:
                push.close(2.0)
            else:
                push.close(stopping=lambda: bool(signals))
    if args.json:
        emit(report)
    else:
        print(_sentence(report, args.filename), flush=True)
    if report.reason == DIED:
        os.kill(os.getpid(), signal.SIGKILL)
    if signal.SIGINT in signals:
        raise KeyboardInterrupt
    wrong = "" if receiver is None else receiver.verdict(report.series, lambda: bool(signals))
    if wrong:
        print(wrong, file=sys.stderr)
    return 0 if report.sent == report.planned and not wrong else 1


def _bind(plan: Plan, args: argparse.Namespace, pushes: list[PushSocket]) -> None:
    """Bind one socket per stream, on consecutive ports."""
    from penstock.stins.blobs import ITEM_BYTES
    from penstock.streamer.camera.push_socket import PushSocket, default_hwm

    hwm = args.hwm or default_hwm(math.prod(plan.shape) * ITEM_BYTES[plan.dtype])
    host, _, port = args.endpoint.rpartition(":")
    if plan.streams > 1 and not port.isdecimal():
        raise UserError(f"--endpoint {args.endpoint} has no port; {plan.streams} streams need one each")
    if port.isdecimal() and int(port) + plan.streams - 1 > LAST_PORT:
        raise UserError(
            f"--endpoint {args.endpoint}: {plan.streams} streams need the ports after it, too, and the "
            f"highest is {LAST_PORT}; choose a lower one"
        )
    for number in range(plan.streams):
        endpoint = f"{host}:{int(port) + number}" if number and int(port) else args.endpoint
        try:
            pushes.append(PushSocket(endpoint, hwm=hwm, io_threads=args.io_threads, linger=args.linger))
        except OSError as error:
            raise UserError(f"{error.strerror}; choose another --endpoint") from error


def _faults(args: argparse.Namespace, stream: int) -> Faults:
    """Return the faults of one stream: those given by frame numbers, and those drawn at random."""
    from penstock.streamer.simulated.generator.faults import Faults, draw

    if args.faults_in is not None and stream not in args.faults_in:
        return Faults()
    given = {kind: getattr(args, kind) for kind in FAULTS}
    chances = {kind: value for kind, value in given.items() if isinstance(value, float)}
    try:
        drawn = draw(args.frames, args.seed, stream, chances)
    except ValueError as error:
        raise UserError(str(error)) from error
    return Faults(
        **{kind: drawn.get(kind, value) for kind, value in given.items()},
        window=args.window, delay_seconds=args.delay_seconds,
        lose_start=args.lose_start, lose_end=args.lose_end, dies_at=args.stream_dies_at, lag=args.lag,
    )  # fmt: skip


def _check_numbers(args: argparse.Namespace) -> None:
    """Refuse faults of frames and streams that do not exist: they would never happen."""

    given = [(kind, getattr(args, kind), args.frames, "frames") for kind in FAULTS]
    given.append(("stream_dies_at", {args.stream_dies_at} - {None}, args.frames, "frames"))
    given.append(("faults_in", args.faults_in or frozenset(), args.streams, "streams"))
    for kind, numbers, count, what in given:
        beyond = [] if isinstance(numbers, float) else sorted(n for n in numbers if not 0 <= n < count)
        if beyond:
            chance = "; a probability has a decimal point, such as 0.01" if kind in FAULTS else ""
            raise UserError(
                f"--{kind.replace('_', '-')} {', '.join(map(str, beyond[:5]))}: there are {count} {what}, "
                f"numbered from 0 to {count - 1}{chance}"
            )
    if args.die_at is not None and args.die_at > args.frames:
        raise UserError(
            f"--die-at {args.die_at}: the series has {plural(args.frames, 'frame')}; give that at most"
        )


def _plan(args: argparse.Namespace) -> Plan:
    from penstock.stins.blobs import ITEM_BYTES, blob_layout, has_colours
    from penstock.stins.errors import BlobError, UserError
    from penstock.streamer.simulated.generator.plan import Plan

    shape = args.shape
    if args.frame_bytes:
        shape = _shape_of(args.frame_bytes // ITEM_BYTES[args.dtype])
    try:
        blob_layout(shape, args.dtype)
    except BlobError as error:
        raise UserError(str(error)) from error
    if args.streams > 1 and (len(shape) == 1 or has_colours(shape, parts=1)):
        raise UserError("modules of one image (--streams) are images: give --shape ROWS,COLS")
    _check_numbers(args)
    return Plan(
        frames=args.frames,
        announced=not args.unannounced,
        shape=shape,
        dtype=args.dtype,
        compression=args.compression,
        filename=args.filename,
        overwrite=args.overwrite,
        rate=args.rate,
        pattern=args.pattern,
        checksum=args.checksum,
        streams=args.streams,
        faults=tuple(_faults(args, stream) for stream in range(args.streams)),
        die_at=args.die_at,
        never_end=args.never_end,
    )


def _await_peers(push: PushSocket, args: argparse.Namespace, signals: list[int]) -> None:
    endpoint, receivers = push.endpoint, plural(args.wait_peers, "receiver")
    print(f"streaming from {endpoint}; waiting for {receivers}", file=sys.stderr)
    began, hinted = time.monotonic(), False
    deadline = began + args.wait
    while not push.wait_peers(args.wait_peers, 0.1):
        if signals:
            raise KeyboardInterrupt
        if not hinted and time.monotonic() - began > HINT_SECONDS:
            hinted = True
            missing = "nobody" if args.wait_peers == 1 else f"fewer than {args.wait_peers}"
            print(
                f"still {missing} after {HINT_SECONDS:g} s; is a receiver running that has {endpoint} among "
                "its source.endpoints?",
                file=sys.stderr,
            )
        if time.monotonic() > deadline:
            raise UserError(
                f"fewer than {receivers} connected to {endpoint} within "
                f"{args.wait:g} s; start one whose source has this endpoint, or give a longer --wait"
            )


def _sentence(report: Report, filename: str) -> str:
    counts = {kind: sum(len(getattr(log, kind)) for log in report.faults) for kind in FAULTS}
    faults = ", ".join(f"{kind.replace('_', ' ')} {count}" for kind, count in counts.items() if count)
    return (
        f"{report.sent:,} of {plural(report.planned, 'frame')} handed over in {report.seconds:.3f} s: "
        f"{report.rate:,.0f} frames/s, "
        f"{report.megabytes_per_second:,.0f} MB/s, {report.cpu_microseconds_per_frame:.1f} µs CPU per frame"
        + (f"; faults as requested: {faults}" if faults else "")
        + (f". `penstock status` says which of them are in {filename}" if filename else "")
    )


def _shape_of(pixels: int) -> tuple[int, int]:
    """Return the shape of a frame of about `pixels` pixels, twice as wide as high."""
    rows = max(1, math.isqrt(pixels // 2))
    return rows, max(1, pixels // rows)


def _lengths(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}"; write ROWS,COLS such as 512,1024') from None


def _frames_or_chance(text: str) -> frozenset[int] | float:
    """Return frame numbers or, for text with a decimal point, a probability."""
    if "." not in text:
        return _numbers(text)
    try:
        chance = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}"; a probability is a number such as 0.01') from None
    if not 0 <= chance <= 1:
        raise argparse.ArgumentTypeError(f"{text}; a probability lies between 0.0 and 1.0")
    return chance


def _numbers(text: str) -> frozenset[int]:
    try:
        return frozenset(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}"; write frame numbers such as 7,8') from None
