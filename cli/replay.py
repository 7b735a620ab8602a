"""Stream a recording of a real detector's messages, as the detector did.

It binds a PUSH socket, waits for its receiver, sends every message, and ends once all of them are handed
over. The first message shows whether the stream is DECTRIS V1, V2 or STINS. Recordings rarely carry a usable
file name: --filename puts one where the protocol carries it (V1: header appendix; V2: user data; STINS:
header), "" stands for live view only. Without it, the messages are sent as recorded, and the receiver's
filename_template names the file of a stream that has no name.

A recording is a CBOR sequence, gzipped or not: one array of byte strings per multi-part message. A folder of
.cbor files, one for each message of a DECTRIS stream V2, is one too, whatever the files are called. With
--json, the first line has the bound endpoint, the last one the summary.

Examples:
  penstock replay eiger_v1.cborseq.gz --filename /data/eiger.h5
  penstock replay eiger_v2.cborseq.gz --endpoint tcp://0.0.0.0:31001 --rate 10
  penstock replay r500k_bm_bslz4_16bit/ --endpoint tcp://0.0.0.0:31001 --filename /data/eiger.h5
  penstock replay stins.cborseq --wait-peers 2 --json
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from penstock.cli._arguments.numbers import real, whole
from penstock.cli._arguments.targets import bound_endpoint
from penstock.cli._output import add_json, emit, say
from penstock.stins.texts import plural


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("capture", type=Path, metavar="CAPTURE", help="the recording, file or folder")
    parser.add_argument(
        "--filename", metavar="PATH", help='file that the receiver is to write; "" for live view only'
    )
    parser.add_argument(
        "--endpoint",
        type=bound_endpoint,
        default="tcp://127.0.0.1:9999",
        metavar="ENDPOINT",
        help="address to bind (default: %(default)s)",
    )
    parser.add_argument(
        "--rate",
        type=real(above=True),
        metavar="HZ",
        help="messages per second (default: as fast as the receiver takes them)",
    )
    parser.add_argument(
        "--wait-peers",
        type=whole(0),
        default=1,
        metavar="N",
        help="connections to wait for (default: %(default)s)",
    )
    parser.add_argument(
        "--timeout", type=real(above=True), default=60.0, metavar="S",
        help="longest wait for the connections, and for each message to be taken (default: %(default)g)",
    )  # fmt: skip
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Replay the recording; return the exit status."""
    from penstock.cli._recordings.push_socket import PushError, PushSocket
    from penstock.cli._recordings.recording import RecordingError
    from penstock.cli.main import UserError

    try:
        kind, messages = _messages(args.capture, args.filename)
        with PushSocket(args.endpoint) as socket:
            if args.json:
                emit({"endpoint": socket.endpoint, "protocol": kind, "pid": os.getpid()})
            say(args, f"{kind} stream at {socket.endpoint}, waiting for its receiver")
            socket.wait_for_peers(args.wait_peers, args.timeout)
            summary = _send(socket.send, messages, args.rate, args.timeout)
            socket.drain(args.timeout)
    except (RecordingError, PushError) as error:
        raise UserError(str(error)) from error
    megabytes = summary["bytes"] / 1e6
    say(
        args,
        f"{plural(int(summary['messages']), 'message')}, {megabytes:.1f} MB in {summary['seconds']:.2f} s",
    )
    if args.json:
        emit({"protocol": kind, **summary})
    return 0


def _messages(capture: Path, filename: str | None) -> tuple[str, Iterator[list[bytes]]]:
    """Return the protocol of a recording, and its messages with the file name put in."""
    from penstock.cli._recordings import recording

    recorded = recording.read(capture)
    first = next(recorded)
    kind = recording.protocol(first)
    if kind is None:
        raise recording.RecordingError(
            f"{capture} is a recording, but its first message is none of {', '.join(recording.Protocol)}"
        )

    def messages() -> Iterator[list[bytes]]:
        named = 0
        message: list[bytes] | None = first
        while message is not None:
            sent = message if filename is None else recording.named(message, kind, filename)
            named += sent is not message
            yield sent
            message = next(recorded, None)
        if filename is not None and not named:
            print(
                f"penstock replay: {capture} has no start message, so --filename had no effect",
                file=sys.stderr,
            )

    return str(kind), messages()


def _send(
    send: Callable[[list[bytes], float], None],
    messages: Iterator[list[bytes]],
    rate: float | None,
    timeout: float,
) -> dict[str, int | float]:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from penstock.streamer.slices import sleep_until

    # On stderr, and only on a terminal: the output itself stays plain.
    console = Console(stderr=True)
    count = nbytes = 0
    began = time.monotonic()
    with Progress(
        SpinnerColumn(), TextColumn("{task.completed:.0f} messages"), TimeElapsedColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    ) as progress:  # fmt: skip
        task = progress.add_task("", total=None)
        for message in messages:
            if rate is not None:
                # Against the schedule, not the last message, so that delays do not add up.
                sleep_until(began + count / rate)
            send(message, timeout)
            count += 1
            nbytes += sum(len(part) for part in message)
            progress.update(task, completed=count)
    return {"messages": count, "bytes": nbytes, "seconds": round(time.monotonic() - began, 6)}
