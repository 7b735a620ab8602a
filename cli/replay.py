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
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli._arguments.numbers import real, whole
from penstock.cli._arguments.targets import bound_endpoint
from penstock.cli._output import Answer, add_json, emit, say
from penstock.stins.errors import UserError
from penstock.stins.texts import plural
from penstock.streamer.slices import sleep_until, slices

if TYPE_CHECKING:
    from penstock.cli._recordings.recording import Protocol
    from penstock.streamer.camera.push_socket import PushSocket

HIGH_WATER_MARK = 16
"""Messages in flight; few, since a recorded start message has megabytes."""


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


def run(args: argparse.Namespace) -> Answer:
    """Replay the recording."""
    from penstock.cli._recordings import recording
    from penstock.streamer.camera.push_socket import PushSocket

    recorded = recording.read(args.capture)
    first = next(recorded)
    kind = recording.protocol(first)
    if kind is None:
        raise UserError(
            f"{args.capture} is a recording, but its first message is none of {', '.join(recording.Protocol)}"
        )
    try:
        push = PushSocket(args.endpoint, hwm=HIGH_WATER_MARK)
    except OSError as error:
        raise UserError(f"{error.strerror}; is another streamer there?") from error
    try:
        if args.json:
            emit({"endpoint": push.endpoint, "protocol": kind, "pid": os.getpid()})
        say(args, f"{kind} stream at {push.endpoint}, waiting for its receiver")
        wait_for_peers(push, args.wait_peers, args.timeout)
        summary = _send_all(push, chain([first], recorded), kind, args)
        push.close(args.timeout)
    finally:
        push.close(0.0)
    count, megabytes = plural(summary["messages"], "message"), summary["bytes"] / 1e6
    say(args, f"{count}, {megabytes:.1f} MB in {summary['seconds']:.2f} s")
    return Answer({"protocol": kind, **summary})


def wait_for_peers(push: PushSocket, count: int, timeout: float) -> None:
    """Return once `count` sockets of receivers are connected.

    Raises:
        UserError: they are not within `timeout` seconds.
    """
    if not any(push.wait_peers(count, seconds) for seconds in slices(timeout)):
        raise UserError(
            f"{len(push.peers)} of {plural(count, 'connection')} at {push.endpoint} after {timeout:g} s; "
            "is the receiver running, and is this endpoint in its source.endpoints?"
        )


def send(push: PushSocket, message: Sequence[bytes], timeout: float) -> None:
    """Send one multi-part message.

    Raises:
        UserError: nobody took it for `timeout` seconds.
    """
    for seconds in slices(timeout):
        if push.try_send(message) is not None:
            return
        push.wait_writable(seconds)
    raise UserError(
        f"no receiver at {push.endpoint} has taken a message for {timeout:g} s "
        f"({len(push.peers)} connected); check that it is still running"
    )


def _send_all(
    push: PushSocket, messages: Iterable[list[bytes]], kind: Protocol, args: argparse.Namespace
) -> dict[str, Any]:
    """Send all, with the file name put in; return how many they are."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from penstock.cli._recordings.recording import named

    # On stderr, and only on a terminal: the output itself stays plain.
    console = Console(stderr=True)
    count = nbytes = 0
    has_name = args.filename is None
    began = time.monotonic()
    with Progress(
        SpinnerColumn(), TextColumn("{task.completed:.0f} messages"), TimeElapsedColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    ) as progress:  # fmt: skip
        task = progress.add_task("", total=None)
        for message in messages:
            sent = message if args.filename is None else named(message, kind, args.filename)
            has_name |= sent is not message
            if args.rate is not None:
                # Against the schedule, not the last message, so that delays do not add up.
                sleep_until(began + count / args.rate)
            send(push, sent, args.timeout)
            count += 1
            nbytes += sum(len(part) for part in sent)
            progress.update(task, completed=count)
    if not has_name:
        print(
            f"penstock replay: {args.capture} has no start message, so --filename had no effect",
            file=sys.stderr,
        )
    return {"messages": count, "bytes": nbytes, "seconds": round(time.monotonic() - began, 6)}
