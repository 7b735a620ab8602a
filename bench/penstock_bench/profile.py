"""Where the time goes: sampled over all threads and the kernel (perf), and by Python function (cProfile).

perf samples the running receiver, and the naive writer, from outside and disturbs neither. cProfile makes
each call more expensive: its shares show which functions matter, not what they cost. As a program: a
receiver's loop, or the naive writer, for one series under cProfile:

    python -m penstock_bench.profile penstock|naive ENDPOINT FILE MARK
"""

from __future__ import annotations

import cProfile
import pstats
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from penstock.hosts.child import free_port
from penstock.receiver.config import ReceiverConfig, SourceConfig
from penstock.receiver.live import last_frame
from penstock.receiver.live.last_frame import LastFrame
from penstock.receiver.process.data_process import TICK
from penstock.receiver.process.pipeline import Pipeline
from penstock_bench import programs
from penstock_bench.receivers import DEADLINE, Receiver, remove, sending, sent, told_by
from penstock_bench.results import Frames, Turn, Turns
from penstock_bench.runner import Bench, NotMeasured, python

CONTENDERS = ("penstock", "naive")
KINDS = (
    "kernel: copies", "kernel: memory pages", "kernel: network", "kernel: files", "kernel: the rest",
    "HDF5 and h5py", "ZeroMQ and pyzmq", "Python", "memory of the process (malloc, memcpy)", "other",
)  # fmt: skip
KERNEL = (
    (re.compile(r"copy|memcpy|movs"), KINDS[0]),
    (re.compile(r"fault|clear_|page|folio|alloc|lru|mem_cgroup|charge|zap|pte|tlb|shmem_get"), KINDS[1]),
    (re.compile(r"tcp|skb|sock|net|ip_|loopback|epoll|eventfd|recv|send"), KINDS[2]),
    (re.compile(r"write|read|file|inode|shmem|ext4|xfs|vfs|iov|jbd|xa[sr]?_"), KINDS[3]),
)
LIBRARIES = (
    (re.compile(r"hdf5|h5py|/h5|_hl|defs\."), KINDS[5]),
    (re.compile(r"zmq"), KINDS[6]),
    (re.compile(r"libc[.-]|libm[.-]"), KINDS[8]),
    (re.compile(r"python|lib-dynload|msgspec|_socket|numpy"), KINDS[7]),
)
SAMPLE = re.compile(r"^\s*(.+?)\s+\d+\s+[0-9a-f]+ (.*) \(([^()]*|\[[^]]*\])\)$")
"""A line of `perf script`: command, thread, address, symbol, file."""
TOP, LEAST = 12, 1.0
"""Functions that are shown at most, and % of the time of one that is."""
WAITING = ("poll", "zmq_poll", "recv_multipart")


def sampled(bench: Bench, frames: Frames) -> Turns:
    """Return shares of the processor time of receiver and naive writer, by thread and kind."""
    if (perf := shutil.which("perf")) is None:
        raise NotMeasured("perf is missing; to install it: apt-get install linux-perf")
    return bench.in_turn({name: partial(_sampled, bench.folder, frames, name, perf) for name in CONTENDERS})


def by_function(bench: Bench, frames: Frames) -> Turns:
    """Return shares of the loop's own time, by function."""
    return bench.in_turn({name: partial(_profiled, bench.folder, frames, name) for name in CONTENDERS})


def sort_samples(lines: Iterable[str]) -> Turn:
    """Return shares in %, by "thread: kind", of the lines of `perf script`."""
    counts = Counter[str]()
    for found in filter(None, map(SAMPLE.match, lines)):
        thread = "I/O" if found[1].startswith("ZMQ") else "loop"
        counts[f"{thread}: {_kind(found[2], found[3])}, %"] += 1
    return {name: 100 * count / counts.total() for name, count in counts.most_common()}


def _kind(symbol: str, file: str) -> str:
    if "kernel" in file or file.startswith("["):
        return next((kind for pattern, kind in KERNEL if pattern.search(symbol)), KINDS[4])
    return next((kind for pattern, kind in LIBRARIES if pattern.search(file.lower())), KINDS[9])


def _sampled(folder: Path, frames: Frames, name: str, perf: str) -> Turn:
    data = folder / "perf.data"
    if name == "penstock":
        with ExitStack() as processes:
            receiver = Receiver(folder, frames, processes)
            with _perf(perf, data, receiver.data):
                receiver.take(frames, folder / "penstock.h5")
    else:
        _taken(folder, frames, "programs", name, "frames", partial(_perf, perf, data))
    argv = [perf, "script", "-i", str(data), "-F", "comm,tid,ip,sym,dso"]
    lines = subprocess.run(argv, capture_output=True, text=True, timeout=DEADLINE, check=False).stdout
    if not (shares := sort_samples(lines.splitlines())):
        raise RuntimeError("perf has taken no sample: is it permitted (kernel.perf_event_paranoid)?")
    return shares


def _taken(
    folder: Path, frames: Frames, module: str, name: str, key: str,
    beside: Callable[[int], AbstractContextManager[object]] = nullcontext,
) -> dict[str, Any]:  # fmt: skip
    """Let a program write one series; return what it has told."""
    endpoint, file = f"tcp://127.0.0.1:{free_port()}", folder / "loop.h5"

    def send(pid: int) -> None:
        with beside(pid), sending(endpoint, frames, file) as sender:
            sent(sender)

    try:
        return told_by(name, python(module, name, endpoint, file, frames.mark), key, send)[0]
    finally:
        remove(folder, "*.h5")


@contextmanager
def _perf(perf: str, data: Path, pid: int) -> Iterator[None]:
    """Attach perf to a process for the block."""
    argv = [perf, "record", "-e", "cpu-clock", "-F", "997", "-o", str(data), "-p", str(pid)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 5.0
        while not data.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        yield
        process.send_signal(2)


def _profiled(folder: Path, frames: Frames, name: str) -> Turn:
    found = _taken(folder, frames, "profile", name, "top")["top"]
    total = sum(seconds for _, seconds in found)
    shares = {f"{function}, %": 100 * seconds / total for function, seconds in found[:TOP]}
    return {function: share for function, share in shares.items() if share >= LEAST}


def penstock(endpoint: str, file: str, mark: int, profile: cProfile.Profile) -> None:
    """Run the receiver's own loop in this process, until the first series has ended."""
    source = SourceConfig(endpoints=(endpoint,), high_water_mark=mark)
    config = ReceiverConfig(source=source, data_root=str(Path(file).parent))
    pipeline = Pipeline("profiled", config, LastFrame(last_frame.create()), LastFrame(last_frame.create()))
    programs.say(ready=endpoint)
    with closing(pipeline):
        while (series := pipeline.status(0).series) is None or series.active:
            profile.runcall(pipeline.step, TICK)


def top(profile: cProfile.Profile) -> list[tuple[str, float]]:
    """Return functions by their own time in seconds, the greatest first; waiting is left out."""
    found: list[tuple[str, float]] = []
    for (file, line, name), numbers in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if not any(word in name for word in WAITING):
            found.append((f"{name} ({Path(file).name})" if line else name, numbers[2]))
    return sorted(found, key=lambda row: -row[1])


def main(contender: str, endpoint: str, file: str, mark: str) -> None:
    """Profile one series, and print the functions."""
    profile = cProfile.Profile()
    if contender == "naive":
        profile.runcall(programs.receive, "naive", endpoint, file, mark)
    else:
        penstock(endpoint, file, int(mark), profile)
    programs.say(top=top(profile))


if __name__ == "__main__":
    main(*sys.argv[1:])
