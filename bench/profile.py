"""Where the time goes: sampled over all threads and the kernel (perf), and by Python function (cProfile).

perf samples the running receiver, and the naive writer, from outside and disturbs neither; where it is not
installed, or not allowed, that view is left out. cProfile makes each call more expensive: its shares show
which functions matter, not what they cost.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from penstock.bench.compare import FRAMES, NAIVE_FRAMES, SIZES
from penstock.bench.contenders import NAIVE, PENSTOCK_RECEIVER, Receiver, generator, line_with
from penstock.bench.load import Case, high_water_mark
from penstock.bench.results import Profile
from penstock.hosts.child import PYTHON, Child, ProcessFailed, free_port

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
TOP = 12


def profiles(folder: Path, sizes: Iterable[int] = SIZES) -> list[Profile]:
    """Return profiles of the receiver and of the naive writer, for each frame size.

    Raises:
        ProcessFailed: a contender or a generator did not start, or did not end.
        RuntimeError: a series was not complete, so its figures say nothing.
    """
    found = []
    for size in sizes:
        for contender, frames in ((PENSTOCK_RECEIVER, FRAMES[size] // 2), (NAIVE, NAIVE_FRAMES[size] // 2)):
            case = Case(contender=contender, frame_bytes=size, frames=frames)
            shares = _sampled(case, folder)
            top = _by_function(case, folder)
            found.append(
                Profile(contender=contender, frame_bytes=size, frames=frames, shares=shares, top=top)
            )
    return found


def _sampled(case: Case, folder: Path) -> dict[str, float]:
    """Return shares of the process's processor time, by "thread: kind"; empty without perf."""
    perf = shutil.which("perf")
    if perf is None:
        return {}
    with tempfile.TemporaryDirectory(prefix="penstock-perf-") as scratch:
        data = Path(scratch) / "perf.data"
        if case.contender == PENSTOCK_RECEIVER:
            with Receiver(case, folder) as receiver, _perf(perf, data, receiver.data_pid):
                receiver.take(case)
        else:
            endpoint, file = f"tcp://127.0.0.1:{free_port()}", folder / "loop.h5"
            mark = str(high_water_mark(case.frame_bytes))
            argv = (*PYTHON, "-m", "penstock.bench.naive", endpoint, str(file), mark)
            try:
                with (
                    Child("naive writer", argv, line_with("ready")) as process,
                    _perf(perf, data, process.pid),
                    generator(endpoint, case, file, folder),
                ):
                    process.wait(120.0)
            finally:
                file.unlink(missing_ok=True)
        done = subprocess.run(
            [perf, "script", "-i", str(data), "-F", "comm,tid,ip,sym,dso"],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
    return sort_samples(done.stdout.splitlines())


class _perf:
    """perf, attached to a process for the length of the `with` block; nothing if it is not permitted."""

    def __init__(self, perf: str, data: Path, pid: int) -> None:
        argv = [perf, "record", "-e", "cpu-clock", "-F", "997", "-o", str(data), "-p", str(pid)]
        self._process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._data = data

    def __enter__(self) -> None:
        deadline = time.monotonic() + 5.0
        while not self._data.exists() and self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)

    def __exit__(self, *error: object) -> None:
        self._process.send_signal(2)
        self._process.wait(10.0)


def sort_samples(lines: Iterable[str]) -> dict[str, float]:
    """Return shares by "thread: kind" of the lines of `perf script`."""
    counts: dict[str, int] = defaultdict(int)
    for line in lines:
        found = SAMPLE.match(line)
        if found is None:
            continue
        command, symbol, file = found[1], found[2], found[3]
        thread = "I/O" if command.startswith("ZMQ") else "loop"
        counts[f"{thread}: {_kind(symbol, file)}"] += 1
    total = sum(counts.values())
    return {name: round(count / total, 4) for name, count in sorted(counts.items(), key=lambda row: -row[1])}


def _kind(symbol: str, file: str) -> str:
    if "kernel" in file or file.startswith("["):
        return next((kind for pattern, kind in KERNEL if pattern.search(symbol)), KINDS[4])
    return next((kind for pattern, kind in LIBRARIES if pattern.search(file.lower())), KINDS[9])


def _by_function(case: Case, folder: Path) -> list[tuple[str, float]]:
    """Return shares of the loop's own time, without waiting."""
    endpoint, file = f"tcp://127.0.0.1:{free_port()}", folder / "profiled.h5"
    mark = str(high_water_mark(case.frame_bytes))
    argv = (*PYTHON, "-m", "penstock.bench.profiled", case.contender, endpoint, str(file), mark)
    lines: list[str] = []
    try:
        with (
            Child("profiled " + case.contender, argv, line_with("ready"), relay=lines.append) as process,
            generator(endpoint, case, file, folder),
        ):
            process.wait(180.0)
            process.stop()
    finally:
        file.unlink(missing_ok=True)
    for line in reversed(lines):
        if line.startswith('{"top"'):
            found = [(str(name), float(seconds)) for name, seconds in json.loads(line)["top"]]
            total = sum(seconds for _, seconds in found)
            return [(name, round(seconds / total, 4)) for name, seconds in found[:TOP]]
    raise ProcessFailed(f"{process.ended() or 'the profiled ' + case.contender + ' did not end'}")
