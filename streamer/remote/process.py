"""The streamer's process: one detector, one control socket, and one data socket if it sends the frames.

It prints one JSON line on standard output when it is ready, {"control", "data", "pid"}, and logs to standard
error. It ends on SIGTERM, SIGINT, a shutdown request or, with a parent, when its standard input closes; a
running series gets its end message first.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

import msgspec

from penstock.stins.checksums import ALGORITHMS
from penstock.streamer.camera.checks import complete_properties
from penstock.streamer.camera.contract import Camera
from penstock.streamer.camera.driver import Driver, Refused
from penstock.streamer.camera.engine import Engine
from penstock.streamer.camera.loading import CAMERAS, CameraFileError, camera_names, load_camera_file
from penstock.streamer.camera.own_stream import StreamingDetector
from penstock.streamer.camera.push_socket import SMALL_HWM, PushSocket
from penstock.streamer.camera.unit import CameraError, Unit
from penstock.streamer.own_stream.engine import OwnStreamEngine
from penstock.streamer.remote.server import RemoteServer

log = logging.getLogger(__name__)

USAGE = 2
"""Exit status for the caller's errors, as of every other command."""


class ReadyLine(msgspec.Struct, frozen=True):
    """The line printed when the process is ready: its endpoints as bound; data may be the detector's own."""

    control: str
    data: str
    pid: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options, which `penstock streamer` shares."""
    parser.add_argument(
        "camera", metavar="DETECTOR", help="name of a detector such as Simulator, or module:Class"
    )
    parser.add_argument(
        "--properties", metavar="JSON", default="{}", help="the unit: serial number, sensor size, host …"
    )
    parser.add_argument(
        "--data",
        metavar="ENDPOINT",
        default="tcp://127.0.0.1:9999",
        help="endpoint for frames (%(default)s), unless the detector's own box sends them",
    )
    parser.add_argument(
        "--control", metavar="ENDPOINT", default="tcp://127.0.0.1:9998",
        help="endpoint for commands (%(default)s); only for trusted networks",
    )  # fmt: skip
    parser.add_argument(
        "--buffers-mb", type=int, default=256, metavar="N", help="memory of the buffer ring (%(default)s)"
    )
    parser.add_argument(
        "--hwm", type=int, metavar="N", help="messages that ZeroMQ may hold per receiver (by frame size)"
    )
    parser.add_argument(
        "--io-threads", type=int, default=1, metavar="N", help="ZeroMQ I/O threads (%(default)s)"
    )
    parser.add_argument(
        "--checksum",
        choices=tuple(ALGORITHMS),
        help="send a checksum of each blob, which the receiver verifies",
    )
    parser.add_argument("--cpus", type=_cores, metavar="LIST", help="CPU cores to run on, such as 2,3")
    parser.add_argument(
        "--with-parent", action="store_true", help="end when standard input closes, as the child of a device"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `python -m penstock.streamer.remote.process`."""
    parser = argparse.ArgumentParser(prog="python -m penstock.streamer.remote.process", description=__doc__)
    add_arguments(parser)
    return run(parser.parse_args(argv))


def run(args: argparse.Namespace) -> int:
    """Open the camera, bind the sockets, serve until told to end; return the exit status."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    if args.cpus:
        os.sched_setaffinity(0, args.cpus)
    try:
        unit = open_unit(args.camera, args.properties)
    except Refused as error:
        log.error("%s", error)
        return USAGE
    except CameraError as error:
        log.error("%s: %s", args.camera, error)
        return 1
    except Exception as error:  # an SDK may raise anything
        log.info("%s raised when it was opened", args.camera, exc_info=True)
        log.error(
            "%s cannot be opened: %s: %s; the lines above say where", args.camera, type(error).__name__, error
        )
        return 1
    try:
        remote = RemoteServer(args.control)
        push = None
        if isinstance(unit, Camera):
            push = PushSocket(args.data, hwm=args.hwm or SMALL_HWM, io_threads=args.io_threads)
    except OSError as error:
        log.error("%s; choose another address for it: --data or --control", error.strerror)
        unit.close()
        return 1

    def on_signal(number: int, _: FrameType | None) -> None:
        remote.stop()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    deaths: list[bool] = []

    def died() -> None:
        deaths.append(True)
        remote.stop()

    engine: Driver
    if isinstance(unit, Camera) and push is not None:
        engine, data = Engine(
            unit, push, buffer_bytes=args.buffers_mb * 2**20, hwm=args.hwm, checksum=args.checksum,
            changed=remote.changed, died=died,
        ), push.endpoint  # fmt: skip
    elif isinstance(unit, StreamingDetector):
        engine, data = OwnStreamEngine(unit, changed=remote.changed, died=died), unit.stream_endpoint()
    else:
        raise TypeError(f"{type(unit).__name__} is neither a Camera nor a StreamingDetector")
    print(msgspec.json.encode(ReadyLine(remote.endpoint, data, os.getpid())).decode(), flush=True)
    try:
        # Standard input is the lifeline, not PR_SET_PDEATHSIG: that fires when the *thread* that started
        # this process ends, and threads of a Tango server end at any time.
        remote.serve(engine, sys.stdin.fileno() if args.with_parent else None)
    finally:
        engine.close()
        remote.close(engine)
    return 1 if deaths else 0


def _cores(text: str) -> set[int]:
    cores = {int(core) for core in text.split(",")}
    missing = cores - os.sched_getaffinity(0)
    if missing:
        raise argparse.ArgumentTypeError(f"this machine has no core {min(missing)} for this process")
    return cores


def open_unit(name: str, properties: str) -> Unit:
    """Open a unit of a detector.

    Args:
        name: class in the module of `penstock.devices` of the same name in lower case, or module:Class for
            a class elsewhere.
        properties: JSON object.

    Raises:
        Refused: there is no such camera, its file cannot be imported, or it does not have these properties.
        CameraError: the hardware does not answer, or its SDK is missing.
    """
    module, _, kind = name.rpartition(":")
    there_are = "" if module else f"; there are {', '.join(camera_names())}"
    module = module or f"{CAMERAS}.{name.lower()}"
    try:
        found = getattr(load_camera_file(module), kind, None)
    except ModuleNotFoundError:
        raise Refused("unknown_camera", f"there is no camera {name}: no module {module}{there_are}") from None
    except CameraFileError as error:
        raise Refused("camera_file", f"camera {name}: {error}") from error
    if found is None:
        raise Refused("unknown_camera", f"there is no camera {kind} in {module}{there_are}")
    if not (isinstance(found, type) and issubclass(found, Camera | StreamingDetector)):
        raise Refused("unknown_camera", f"{kind} in {module} is neither a Camera nor a StreamingDetector")
    try:
        given = msgspec.json.decode(properties, type=dict[str, bool | int | float | str])
    except msgspec.DecodeError as error:
        raise Refused("bad_request", f"properties of {kind}: not a JSON object of values: {error}") from None
    return found(complete_properties(found, given))


if __name__ == "__main__":
    sys.exit(main())
