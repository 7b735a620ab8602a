"""Several files beside one: processor time per frame of the data process, and equal content.

Two receivers take the same frames from a real generator, in turn. What several files gain shows only where
there are cores for their threads; what they cost shows everywhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.bench.contenders import SERIES_SECONDS, line_with
from penstock.bench.warm import warm
from penstock.hosts.child import PENSTOCK, Child, free_port
from penstock.receiver.client import ReceiverClient
from penstock.receiver.reading.reader import SeriesFile

GENERATOR_SEED = "1"


@dataclass(frozen=True, kw_only=True)
class Load:
    """What the generator sends, and who takes it."""

    name: str
    frames: int
    frame_bytes: int
    """Size of a plain frame."""
    rate: float
    """Frames per second, about half of what one file takes."""
    bar: float
    """Maximum processor time per frame with two files, as a multiple of that with one."""
    packed: bool = False
    """With bitshuffle/LZ4."""

    @property
    def nbytes(self) -> int:
        """Bytes of all frames, plain."""
        return self.frames * self.frame_bytes


LOADS = (
    Load(name="20 kB, plain", frames=10_000, frame_bytes=20_000, rate=5_000.0, bar=1.3),
    Load(name="200 kB, plain", frames=3_000, frame_bytes=200_000, rate=1_500.0, bar=1.3),
    Load(name="2 MB, plain", frames=400, frame_bytes=2_000_000, rate=400.0, bar=1.15),
    Load(name="20 MB, plain", frames=60, frame_bytes=20_000_000, rate=40.0, bar=1.15),
    Load(name="2 MB, packed", frames=400, frame_bytes=4_000_000, rate=400.0, bar=1.3, packed=True),
)
Cpu = dict[int, list[float]]
"""Microseconds of processor time per frame, in each round, by number of files."""


def ratio(cpu: Cpu) -> float:
    """Return the median, over the rounds, of the processor time with several files relative to one."""
    one, several = (cpu[files] for files in sorted(cpu))
    return statistics.median(more / less for less, more in zip(one, several, strict=True))


@dataclass(kw_only=True)
class Comparison:
    """One load, all rounds."""

    load: Load
    cpu_us: Cpu
    """At the load's rate."""
    flat_out_us: Cpu
    """As fast as possible."""
    equal: bool = True
    """True if the series of the first round held the same bytes, at both paces."""

    @property
    def ratio(self) -> float:
        """The ratio that the bar limits."""
        return ratio(self.cpu_us)

    @property
    def reached(self) -> bool:
        """True if the contents are equal, and two files cheap enough; there is no bar for more."""
        return self.equal and (max(self.cpu_us) > 2 or self.ratio <= self.load.bar)


def compare(
    folder: Path, files: int, rounds: int, progress: Callable[[str], None], loads: tuple[Load, ...] = LOADS
) -> Iterator[Comparison]:
    """Run all loads; files go into `folder` and are removed again.

    Args:
        folder: where the receivers write.
        files: the number that is compared with one.
        rounds: turns of each.
        progress: called with what is being measured.
        loads: what is sent.

    Raises:
        ProcessFailed: a process did not start or did not end.
        RuntimeError: a series was not complete, so its figures say nothing.
    """
    for load in loads:
        found = Comparison(load=load, cpu_us={1: [], files: []}, flat_out_us={1: [], files: []})
        paces = ((load.rate, found.cpu_us), (0.0, found.flat_out_us))
        with ExitStack() as stack:
            takers = {number: stack.enter_context(_receiver(folder, number)) for number in (1, files)}
            for turn in range(rounds + 1):
                for rate, cpu_us in paces:
                    contents = set()
                    for number, take in takers.items():
                        progress(f"{load.name}, round {turn} of {rounds}: files: {number}")
                        file = folder / f"{number}.h5"
                        cpu = take(load, rate, file)
                        if turn:  # the first touch of memory is not counted
                            cpu_us[number].append(cpu)
                        else:
                            contents.add(_content(file))
                        for path in folder.glob("*.h5"):  # at once, so that the next one finds as much memory
                            path.unlink()
                    found.equal &= len(contents) <= 1
        yield found


Take = Callable[[Load, float, Path], float]


@contextmanager
def _receiver(folder: Path, files: int) -> Iterator[Take]:
    """Run a receiver; yield a function that takes a load at a rate into a file, and returns µs of processor
    time per frame."""
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    config = folder / f"files-{files}.yaml"
    source = {"endpoints": [endpoint], "high_water_mark": 8}
    name = f"bench-{endpoint.rpartition(':')[2]}"  # of its own: one of a name runs at a time
    entry = {"detector": "bench", "source": source, "data_root": str(folder), "files": files}
    config.write_text(json.dumps({"receivers": {name: entry}}))  # JSON is YAML too
    argv = (*PENSTOCK, "receiver", name, "--config", str(config), "--http", "127.0.0.1:0", "--json")
    try:
        with Child("receiver", argv, line_with("http")) as process:
            client = ReceiverClient(process.answer["http"], timeout=5.0)
            (data_process,) = _children(int(process.answer["pid"]))

            def take(load: Load, rate: float, file: Path) -> float:
                last = client.status().series
                before = _cpu_seconds(data_process)
                _send(endpoint, load, rate, file)
                deadline = time.monotonic() + SERIES_SECONDS
                status = client.status()
                # The generator may have ended before the receiver begins with what it has sent.
                while status.series is None or status.series.active or (last and status.series.id == last.id):
                    if time.monotonic() > deadline:
                        raise RuntimeError(f"the receiver did not take the series in time: {status.error}")
                    status = client.status(seen=status.version, wait=1.0)
                if not status.series.complete:
                    raise RuntimeError(f"the receiver did not take the whole series: {status.series.reason}")
                return (_cpu_seconds(data_process) - before) / load.frames * 1e6

            yield take
    finally:
        config.unlink(missing_ok=True)


def _send(endpoint: str, load: Load, rate: float, file: Path) -> None:
    argv = (
        *PENSTOCK, "generate", "--json", "--endpoint", endpoint, "--frames", str(load.frames), "--seed",
        GENERATOR_SEED, "--pattern", "spots", "--filename", str(file), "--frame-bytes", str(load.frame_bytes),
        "--rate", str(rate), *(("--compression", "bslz4") if load.packed else ()),
    )  # fmt: skip
    with warm(file.parent, load.nbytes) as free, Child("generator", argv, line_with("data")) as sender:
        free()
        sender.wait(SERIES_SECONDS)


def _content(file: Path) -> str:
    """Return a digest of all blobs as they are stored."""
    digest = hashlib.blake2b()
    with SeriesFile(file) as series:
        for index in range(len(series)):
            for blob in series.blobs(index) or ():
                digest.update(blob)
        return f"{len(series)} {digest.hexdigest()}"


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process and its children, ended threads included (proc(5))."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") + sum(map(_cpu_seconds, _children(pid)))
