"""`make bench-eiger`: an EIGER 1M at 1 kHz into a file, beside a program in C that stores the same bytes.

A simulated control unit in a process of its own sends frames of 1062 x 1028 pixels (uint16, bslz4), as a
real one does. Penstock's receiver and the limit in C (receive, pwrite) take the same series in turn. Then
follow blobs of the same size from a sender that waits for its receiver, as fast as each takes them, and the
highest rate of the simulated control unit. Last, series over Tango, of the Simulator and of the Eiger: how
long they take to begin and to end.

Examples:
  python -m penstock.bench.eiger                       seven turns, on a RAM disk: five minutes
  python -m penstock.bench.eiger --turns 3 --dir /data --json
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import zmq

from penstock.beamline.demonstrated import DemonstrationFailed
from penstock.beamline.stage import eiger
from penstock.bench import dectris, limit
from penstock.bench.contenders import PENSTOCK_RECEIVER, WRITE_LIMIT, Receiver, line_with
from penstock.bench.latency import measure as latency
from penstock.bench.load import Case, high_water_mark
from penstock.bench.warm import warm
from penstock.codecs import bslz4
from penstock.hosts.child import PENSTOCK, Child, ProcessFailed
from penstock.streamer.slices import slices

BAR = 0.9
"""Minimum ratio of the receiver's frame rate to the limit's."""
STREAMS = ("v1", "v2")
SENSOR = (1062, 1028)
HERTZ = 1000.0
FLAT_OUT = 50_000.0
"""Hz: more than anything here can do."""
QUEUED = 1800
"""Frames of a series that the box sends without drops, however fast: it queues 2000 messages."""
FRAMES = {HERTZ: 3000, FLAT_OUT: 6000}
CONTENDERS = (PENSTOCK_RECEIVER, WRITE_LIMIT)
PATIENCE = 60.0


@dataclass(frozen=True, kw_only=True)
class Rate:
    """One stream at one rate: the turns of both contenders."""

    stream: str
    hertz: float
    """Offered rate; `FLAT_OUT`: a sender that waits for its receiver."""
    blob_bytes: int
    frames: int
    rates: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in CONTENDERS})
    """Frames per second of each contender."""
    cpu_us: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in CONTENDERS})
    """Microseconds of processor time per frame, all threads that receive and write."""

    @property
    def ratio(self) -> float:
        """Median over the turns of the receiver's rate to the limit's."""
        ours, theirs = (self.rates[name] for name in CONTENDERS)
        return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))

    @property
    def reached(self) -> bool:
        """True if the bar is reached, which applies to 1 kHz only."""
        return self.hertz != HERTZ or self.ratio >= BAR


class SeriesSource(Protocol):
    """A sender of series."""

    stream: str
    endpoint: str

    def awaiting(self) -> AbstractContextManager[Callable[[], None]]: ...

    def send(self, frames: int, hertz: float, file: Path | None) -> None: ...


class BlobSource:
    """A sender of equal blobs that waits for its receiver; a context manager."""

    def __init__(self, stream: str, nbytes: int) -> None:
        self.stream = stream
        self._columns = nbytes // 400
        noise = np.random.default_rng(1).integers(0, 2**16, (200, self._columns), np.uint16)
        self._blob = bslz4.compress(noise)
        self._context = zmq.Context()
        self._push = self._context.socket(zmq.PUSH)
        self._push.set(zmq.LINGER, 0)
        self._push.set(zmq.SNDHWM, high_water_mark(nbytes))
        self._push.set(zmq.SNDTIMEO, int(PATIENCE * 1000))
        self._push.bind("tcp://127.0.0.1:*")
        self.endpoint: str = self._push.get_string(zmq.LAST_ENDPOINT)

    def __enter__(self) -> BlobSource:
        return self

    def __exit__(self, *_: object) -> None:
        self._context.destroy(0)

    def awaiting(self) -> AbstractContextManager[Callable[[], None]]:
        """Return a context in which the socket waits for its receiver."""
        return contextlib.nullcontext(lambda: None)

    def send(self, frames: int, hertz: float, file: Path | None) -> None:
        """Send one series, as fast as it is taken."""
        make = dectris.STREAMS[f"dectris-{self.stream}"]
        for parts in make(self._blob, 200, self._columns, frames, file or Path("none")):
            self._push.send_multipart(parts, copy=False)


class ControlUnit:
    """A simulated control unit in a process of its own; a context manager. Talks SIMPLON to it."""

    def __init__(self, stream: str, sensor: tuple[int, int] = SENSOR) -> None:
        self.stream = stream
        self._argv = (
            *PENSTOCK, "simplon", "--stream", stream, "--sensor", f"{sensor[0]}x{sensor[1]}",
            "--pattern", "diffraction", "--json",
        )  # fmt: skip
        self._connected = threading.Event()

    def __enter__(self) -> ControlUnit:
        self._child = Child("the control unit", self._argv, line_with("stream"), relay=self._follow)
        self.endpoint: str = self._child.answer["stream"]
        self._command("initialize")
        self._set("stream", mode="enabled", header_detail="basic")
        return self

    def __exit__(self, *_: object) -> None:
        self._child.stop()

    @contextlib.contextmanager
    def awaiting(self) -> Iterator[Callable[[], None]]:
        """Wrap the start of a receiver; yield a function that waits until the box sees its connection."""
        self._connected.clear()

        def wait() -> None:
            if not any(map(self._connected.wait, slices(PATIENCE))):
                raise RuntimeError("the receiver has not connected to the control unit")

        yield wait

    def send(self, frames: int, hertz: float, file: Path | None) -> None:
        """Send one series; return when its frames have left.

        Args:
            frames: of the series.
            hertz: frames per second.
            file: name for the start message.
        """
        self._set("stream", header_appendix=json.dumps({"filename": str(file)}) if file else "")
        self._set("detector", count_time=0.5 / hertz)
        self._set("detector", frame_time=1 / hertz, nimages=frames, ntrigger=1, trigger_mode="ints")
        self._command("arm")
        self._command("trigger")

    def blob_bytes(self) -> int:
        """Return the size of the largest of some frames."""
        with self.awaiting() as connected, zmq.Context() as context, context.socket(zmq.PULL) as pull:
            pull.set(zmq.RCVTIMEO, int(PATIENCE * 1000))
            pull.connect(self.endpoint)
            connected()
            self.send(16, HERTZ, None)
            messages = [pull.recv_multipart() for _ in range(18)]
        return max(max(map(len, parts)) for parts in messages[1:])

    def _set(self, module: str, **keys: object) -> None:
        for name, value in keys.items():
            self._put(f"/{module}/api/1.8.0/config/{name}", value)

    def _command(self, name: str) -> None:
        self._put(f"/detector/api/1.8.0/command/{name}", None)

    def _put(self, path: str, value: object) -> None:
        body = b"" if value is None else json.dumps({"value": value}).encode()
        request = urllib.request.Request(self._child.answer["http"] + path, data=body, method="PUT")
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            answer.read()

    def _follow(self, line: str) -> None:
        if "receiver connected from" in line:
            self._connected.set()


def rates(
    folder: Path, program: Path, turns: int, frames: dict[float, int] = FRAMES,
    sensor: tuple[int, int] = SENSOR, streams: Sequence[str] = STREAMS,
) -> tuple[list[Rate], dict[str, float]]:  # fmt: skip
    """Measure each stream, at 1 kHz and as fast as it is taken; and the simulated control unit's highest
    rate, in Hz.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: a series was not complete, so its figures say nothing.
    """
    found, highest = [], {}
    for stream in streams:
        with ControlUnit(stream, sensor) as box:
            nbytes = box.blob_bytes()
            found.append(_in_turn(box, nbytes, HERTZ, frames[HERTZ], turns, folder, program))
            fast = Rate(
                stream=stream, hertz=FLAT_OUT, blob_bytes=nbytes, frames=min(QUEUED, frames[FLAT_OUT])
            )
            seconds = [_limit(program, box, fast, folder)[0] for _ in range(turns)]
            highest[stream] = fast.frames / statistics.median(seconds)
        with BlobSource(stream, nbytes) as sender:
            found.append(_in_turn(sender, nbytes, FLAT_OUT, frames[FLAT_OUT], turns, folder, program))
    return found, highest


def _in_turn(
    sender: SeriesSource, nbytes: int, hertz: float, frames: int, turns: int, folder: Path, program: Path
) -> Rate:
    rate = Rate(stream=sender.stream, hertz=hertz, blob_bytes=nbytes, frames=frames)
    for _ in range(turns):
        for name in CONTENDERS:
            if name == PENSTOCK_RECEIVER:
                seconds, cpu = _receiver(sender, rate, folder)
            else:
                seconds, cpu = _limit(program, sender, rate, folder)
            rate.rates[name].append(frames / seconds)
            rate.cpu_us[name].append(cpu / frames * 1e6)
    return rate


def _receiver(box: SeriesSource, rate: Rate, folder: Path) -> tuple[float, float]:
    case = Case(contender=PENSTOCK_RECEIVER, frame_bytes=rate.blob_bytes, frames=rate.frames)
    file = folder / "eiger.h5"
    try:
        with (
            box.awaiting() as connected,
            Receiver(case, folder, f"dectris-{box.stream}", box.endpoint) as own,
        ):
            connected()
            with warm(folder, case.nbytes) as free:
                free()
                own.begin()
                box.send(rate.frames, rate.hertz, file)
                seconds, cpu = own.finish()
    finally:
        file.unlink(missing_ok=True)
    return seconds, sum(cpu[name] for name in ("loop", "I/O", "others"))


def _limit(program: Path, box: SeriesSource, rate: Rate, folder: Path) -> tuple[float, float]:
    file = folder / "eiger.raw"
    argv = [
        str(program), box.endpoint, str(rate.frames), str(rate.blob_bytes),
        str(high_water_mark(rate.blob_bytes)), "1", "1", str(file),
    ]  # fmt: skip
    lines: list[dict[str, Any]] = []
    try:
        # It preallocates its file before it connects: the warm memory must be free by then.
        with warm(folder, rate.frames * rate.blob_bytes) as free:
            free()
            with (
                box.awaiting() as connected,
                Child(
                    WRITE_LIMIT, argv, line_with("ready"), relay=lambda line: lines.append(json.loads(line))
                ) as child,
            ):
                connected()
                box.send(rate.frames, rate.hertz, None)
                child.wait(PATIENCE)
                child.stop()
    finally:
        file.unlink(missing_ok=True)
    if not lines or "seconds" not in lines[-1]:
        raise RuntimeError(f"{WRITE_LIMIT} did not take the whole series")
    return lines[-1]["seconds"], lines[-1]["cpu_seconds"]


def latencies(folder: Path, series: int) -> dict[str, dict[str, list[float]]]:
    """Return the seconds from Arm to RUNNING and from the last frame to ON, by detector.

    Raises:
        DemonstrationFailed: a process did not start.
        RuntimeError: a series did not end as it should.
    """
    staged = {"Simulator": None, "Eiger, V1": eiger("v1"), "Eiger, V2": eiger("v2")}
    found = {}
    for name, stage in staged.items():
        taken = latency(folder / name.replace(", ", "-"), "ram", False, series, stage)
        found[name] = {"arm": taken.arm, "end": taken.end}
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; return 0 if the bar is reached."""
    title, _, text = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=title, epilog=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--series", type=int, default=20, help="series over Tango per detector; 0: none")
    parser.add_argument(
        "--dir",
        type=Path,
        default=Path("/dev/shm"),
        help="folder for the files, which are removed (%(default)s)",
    )
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-", dir=args.dir) as made:
        folder = Path(made)
        try:
            program = limit.build(folder)
            if program is None:
                print("bench-eiger: the limit needs a C compiler: apt-get install gcc", file=sys.stderr)
                return 2
            found, highest = rates(folder, program, args.turns)
            times = latencies(folder, args.series) if args.series else {}
        except (ProcessFailed, DemonstrationFailed, RuntimeError, OSError) as error:
            print(f"bench-eiger: {error}", file=sys.stderr)
            return 2
    if args.json:
        ratios = [{**asdict(rate), "ratio": rate.ratio} for rate in found]
        print(json.dumps({"rates": ratios, "highest": highest, "series": times}))
    else:
        _print(found, highest, times)
    return 0 if all(rate.reached for rate in found) else 1


def _print(
    found: Sequence[Rate], highest: dict[str, float], times: dict[str, dict[str, list[float]]]
) -> None:  # fmt: skip
    for rate in found:
        offered = "as fast as it is taken" if rate.hertz == FLAT_OUT else f"{rate.hertz:g} Hz"
        print(f"stream {rate.stream}, {offered}, {rate.frames} frames of {rate.blob_bytes / 1e3:.0f} kB:")
        for name in CONTENDERS:
            print(
                f"  {name:18}  {statistics.median(rate.rates[name]):7,.0f} frames/s  "
                f"{statistics.median(rate.cpu_us[name]):7.0f} µs of processor time per frame"
            )
        kept = (
            f"   (bar {BAR:g}: {'reached' if rate.reached else 'NOT reached'})" if rate.hertz == HERTZ else ""
        )
        print(f"  ratio {rate.ratio:.2f}{kept}")
    for stream, rate_of in highest.items():
        print(f"the simulated control unit sends at most {rate_of:,.0f} frames/s, stream {stream}")
    for name, parts in times.items():
        texts = [
            f"{label} {statistics.median(parts[key]) * 1e3:.0f} ms (at most {max(parts[key]) * 1e3:.0f})"
            for key, label in (("arm", "Arm to RUNNING"), ("end", "last frame to ON")) if parts[key]
        ]  # fmt: skip
        print(f"{name}: {', '.join(texts)}")


if __name__ == "__main__":
    sys.exit(main())
