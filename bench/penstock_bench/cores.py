"""One detector on many cores: one receiver into several files, of several modules, and live only.

Beside it, with the same sockets and as many files, a C program; and the sender's own ceiling, which the same
program shows when it discards what it receives. All take the same series from a sender in C, in turn. All
clocks begin when the sender is about to send the start message, and end with the closed file: what waits in a
queue is not yet done. In a first round, which is not counted, every byte of each stored frame is compared
with what was sent.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from penstock.checks.series_check import ranges
from penstock.hosts.child import PENSTOCK, PYTHON, Child, free_port
from penstock.receiver.files.dealing import Dealing
from penstock.receiver.process.supervisor.supervisor import ALLOCATOR
from penstock.receiver.reading.reader import SeriesFile
from penstock.stins.codec import encode_start
from penstock.stins.messages import EndReason, Header
from penstock.stins.texts import plural
from penstock.streamer.simulated.generator.plan import Module
from penstock_bench.receivers import Receiver, Taken, Told, line_with, per_frame, remove, start, warm
from penstock_bench.results import Frames, Group, Turn, Turns
from penstock_bench.runner import Bench

TOPOLOGY, MEMINFO = Path("/sys/devices/system/cpu"), Path("/proc/meminfo")
LEAST_CORES, MOST_SENDING, MANY = 4, 6, 16
"""Cores below which sender and receiver share them; that a sender can use: a thread for each of four sockets,
one that deals frames, and its process; from which on the figures say something about the bars."""
PINNED = (
    "import os, sys; os.sched_setaffinity(0, map(int, sys.argv[1].split(','))); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)
COLUMNS, TYPE, ITEM_BYTES = 1000, "uint16", 2
FILES, STREAMS, MODULE_BYTES = (1, 2, 4, 6), (1, 2, 4), 2_000_000
HUGE_FRAME, HUGE_MARK = 10_000_000, 2
"""Messages of each of several sockets; the next one has the next frame."""
SERIES_BYTES, FEW_CORES_BYTES = 4e9, 4e8
"""Size of a series, and with fewer cores: a second or two."""
FEWEST, SPARE_BYTES, PROCESS_BYTES, ROUND_SECONDS = 8, 2e9, 2.5e8, 45.0
"""Frames of a series that can be measured; memory for what else is running, and of a process besides its
queues; longest time of a round."""
FILES_GBPS, LIVE_GBPS = {2_000_000: 8.0, 20_000_000: 10.0}, 10.0
BEST_OF = (4, 6)
"""GB/s that the better of so many files has to reach, and from several sockets live only."""
OF_C, OF_STREAMS = 0.85, 0.8
"""Shares that are enough: of the C program's rate, where that is less; of N times the rate of one stream."""
BUSY, NO_FASTER = 0.9, 0.95
"""Share of its time, or of the sender's ceiling, from which on something is the limit; ratio to the C program
from which on that is no faster."""
ODD, MARK_WORDS = np.uint64(0x9E3779B97F4A7C15), 8192
C = "C, "
Words = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How frames of one size are taken."""

    frame_bytes: int
    """Size of a frame of each stream."""
    streams: int = 1
    """Modules of one detector, one stream each."""
    sockets: int = 1
    """Number for each stream."""
    files: int = 0
    """0: live only, and the C program discards the frames."""

    @property
    def name(self) -> str:
        """How people call it."""
        if self.streams > 1:
            return f"{self.streams} modules" + ("" if self.files else ", live")
        if not self.files:
            return f"live, {plural(self.sockets, 'socket')}"
        return "1 stream" if self.sockets == 1 else f"files: {self.files}"

    @property
    def io_threads(self) -> int:
        """One per socket, on both sides."""
        return self.streams * self.sockets

    @property
    def mark(self) -> int:
        """Messages that each socket queues."""
        frames = Frames(name="", shape=(1, self.frame_bytes), dtype="uint8", count=1)
        return HUGE_MARK if self.frame_bytes >= HUGE_FRAME else frames.mark

    @property
    def rows(self) -> int:
        """Rows of a frame of one stream."""
        return self.frame_bytes // (COLUMNS * ITEM_BYTES)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where series are run: the folder, the compiled sender and receiver, and their cores, `None` for any."""

    folder: Path
    send: Path
    limit: Path
    sending: Sequence[int] | None = None
    receiving: Sequence[int] | None = None


def cores(bench: Bench, frames: Frames, series_bytes: float | None = None) -> Turns:
    """Measure frames of one size, of series of so many bytes where there is room for them."""
    numbers = sorted(os.sched_getaffinity(0))
    sets, is_large = divide(numbers), len(numbers) >= MANY
    programs = {"send": bench.compiled("send"), "limit": bench.compiled("limit_files")}
    sending, receiving = sets or (None, None)
    place = Place(folder=bench.folder, sending=sending, receiving=receiving, **programs)
    chosen = setups(frames.nbytes, len(numbers))
    wanted = series_bytes or (SERIES_BYTES if is_large else FEW_CORES_BYTES)
    nbytes = max(0.0, min(wanted, room(bench.folder, chosen)))
    count = int(nbytes // frames.nbytes)
    if count < min(FEWEST, wanted // frames.nbytes):
        raise RuntimeError(
            f"{bench.folder} and the memory have room for {nbytes / 1e9:.1f} GB per series, of which "
            f"{FEWEST} frames need {FEWEST * frames.nbytes / 1e9:.2g}"
        )
    about = f"sender and receiver share {len(numbers)} cores, which are too few for sets of their own"
    if sets:
        about = f"sender on cores {ranges(sets[0])}, receiver and C program on {ranges(sets[1])}"
    bench.notes.append(f"{about}; series of {count:,} frames of {nbytes / 1e9:.2g} GB")
    if not is_large:
        bench.notes.append(f"figures of {len(numbers)} cores say nothing about the bars, for {MANY} and more")
    with ExitStack() as processes:
        takers: dict[str, Callable[[], Turn]] = {}
        for setup in chosen:
            lengths = [max(1, each // setup.streams) for each in (count // 4, *[count] * bench.rounds)]
            takers[C + setup.name] = _limit(setup, place, lengths, processes)
            if setup.files or setup.streams == 1:
                takers[setup.name] = _ours(setup, place, lengths, processes)
        turns = bench.in_turn(takers, warm_up=1, round_seconds=ROUND_SECONDS)
    found = Group(case="", name="", turns=turns)
    for setup in chosen:
        if causes := limits(setup, found, sets, len(numbers)):
            bench.notes.append(f"{setup.name}: the limit was {', '.join(causes)}")
    return turns | (judged(chosen, found) if is_large else {})


def setups(frame_bytes: int, number: int) -> list[Setup]:
    """Return what is measured with frames of one size: as many files, modules and sockets as the cores
    allow."""
    sockets = min(4, max(2, number // 4))
    one = Setup(frame_bytes=frame_bytes, sockets=sockets)
    found = [replace(one, files=files) for files in FILES if files <= max(2, number // 2)]
    if frame_bytes == MODULE_BYTES:
        streams = [each for each in STREAMS if each <= max(2, number // 4)]
        found += [replace(one, streams=each, sockets=1, files=each) for each in streams]
        found += [replace(one, streams=each, sockets=1) for each in streams if each > 1]
    return [*found, replace(one, sockets=1), one]


def room(folder: Path, chosen: Sequence[Setup]) -> float:
    """Return how many bytes a series may have: there is memory for it beside all processes, and half of the
    folder's free space."""
    processes = sum(  # a receiver and a C program
        2 * (PROCESS_BYTES + setup.io_threads * (setup.mark + 2) * setup.frame_bytes) for setup in chosen
    )
    disk = os.statvfs(folder)
    lines = dict(line.split(":") for line in MEMINFO.read_text().splitlines())
    available = float(lines["MemAvailable"].split()[0]) * 1024
    return min((available - SPARE_BYTES - processes) / 1.5, disk.f_bavail * disk.f_frsize / 2)


# -- bars, and what held each setup up ---------------------------------------------------------------------


def ceiling(setup: Setup, found: Group) -> float:
    """Return the sender's rate, in GB/s, into a program that discards what as many sockets receive."""
    return _gbps(found, C + replace(setup, files=0).name)


def judged(chosen: Sequence[Setup], found: Group) -> Turns:
    """Return for each bar what share was reached of what is enough: the required rate, or of the C
    program's; of 4 and 6 files that of the better one."""
    bars: dict[str, tuple[float, list[Setup]]] = {}
    for setup in chosen:
        required = FILES_GBPS.get(setup.frame_bytes)
        if setup.streams > 1 and setup.files:
            bars[setup.name] = (OF_STREAMS * setup.streams * _gbps(found, "1 stream"), [setup])
        elif required and setup.sockets > 1 and not setup.files:
            bars[setup.name] = (LIVE_GBPS, [setup])
        elif required and setup.sockets > 1 and setup.files in BEST_OF:
            bars.setdefault("4 or 6 files", (required, []))[1].append(setup)
    turns: Turns = {}
    for name, (gbps, those) in bars.items():
        reached = max(_gbps(found, each.name) for each in those)
        enough = min(gbps, OF_C * max(_gbps(found, C + each.name) for each in those))
        turns[f"judged: {name}"] = [{"GB/s": reached, "of enough": reached / enough if enough else 0.0}]
    return turns


def limits(
    setup: Setup, found: Group, sets: tuple[Sequence[int], Sequence[int]] | None, number: int
) -> list[str]:
    """Return what held Penstock up, if the figures tell: the cores are used up; the sender sends no faster;
    the loop, ZeroMQ's threads or those that write files are busy; or the C program is no faster."""
    if not found.turns.get(setup.name):
        return []
    busy, sender, loop, io = (
        found.median(setup.name, f"{name}, % of a core") / 100
        for name in ("process", "sender", "loop", "ZeroMQ's threads")
    )
    mine, of_c = _gbps(found, setup.name), _gbps(found, C + setup.name)
    causes = {
        "the cores": busy >= BUSY * len(sets[1]) if sets else busy + sender >= BUSY * number,
        "the sender": mine >= BUSY * ceiling(setup, found) or (sets and sender >= BUSY * len(sets[0])),
        "the loop": loop >= BUSY,
        "ZeroMQ": io / setup.io_threads >= BUSY,
        "the files' threads": setup.files > 1 and busy - loop - io >= BUSY * setup.files,
        "that C is no faster": setup.files > 0 and mine >= NO_FASTER * of_c,
    }
    return [cause for cause, holds in causes.items() if holds]


def _gbps(found: Group, name: str) -> float:
    return found.median(name, "GB/s") if found.turns.get(name) else 0.0


# -- one series --------------------------------------------------------------------------------------------


def _ours(setup: Setup, place: Place, lengths: Sequence[int], processes: ExitStack) -> Callable[[], Turn]:
    """Start a receiver; return what lets it take the next series."""
    endpoints = _endpoints(setup)
    source = {
        "endpoints": endpoints, "sockets": setup.sockets, "io_threads": setup.io_threads,
        "high_water_mark": setup.mark, **({"join": "modules"} if setup.streams > 1 else {}),
    }  # fmt: skip
    frames = Frames(name="", shape=(setup.rows, COLUMNS), count=1)
    entry, command = {"files": max(1, setup.files)}, (*pinned(place.receiving), *PENSTOCK)
    receiver = Receiver(place.folder, frames, processes, source=source, entry=entry, command=command)
    file = place.folder / f"cores-{receiver.data}.h5"

    name = str(file) if setup.files else ""
    return partial(
        _take, setup, place, endpoints, enumerate(lengths), name, receiver.measured,
        lambda count: wrong_in_series(file, setup, count),
    )  # fmt: skip


def _limit(setup: Setup, place: Place, lengths: Sequence[int], processes: ExitStack) -> Callable[[], Turn]:
    """The same of the C program."""
    endpoints, told = _endpoints(setup), Told("ended")
    prefix = place.folder / f"cores-{free_port()}"
    block = Dealing.of(max(1, setup.files), setup.frame_bytes).block
    numbers = setup.frame_bytes, setup.mark, setup.sockets, setup.io_threads, setup.files, block, prefix
    argv = (*pinned(place.receiving), place.limit, ",".join(map(str, lengths)), *numbers, *endpoints)
    # It keeps the memory of frames as the receiver does: the allocator must not be the limit.
    start(processes, "the C program", [*map(str, argv)], environment=ALLOCATOR, relay=told)

    def finish() -> Taken:
        found = told.next("the C program has not taken the whole series")
        return 0.0, found["ended"], {"receiver": found["cpu_seconds"], "loop": found["thread_seconds"]}

    return partial(
        _take, setup, place, endpoints, enumerate(lengths), "", lambda: finish,
        lambda count: wrong_in_raw_files(prefix, setup, count),
    )  # fmt: skip


def _take(
    setup: Setup, place: Place, endpoints: list[str], series: Iterator[tuple[int, int]], name: str,
    begin: Callable[[], Callable[[], Taken]], wrong: Callable[[int], str],
) -> Turn:  # fmt: skip
    """Take the next series; the content of the first one is compared."""
    number, frames = next(series)
    try:
        with warm(place.folder, setup.streams * frames * setup.frame_bytes if setup.files else 0) as free:
            free()
            finish = begin()
            with sender(place, setup, endpoints, frames, name) as sent:
                _, ended, spent = finish()
        if number == 0 and setup.files and (difference := wrong(frames)):
            raise RuntimeError(difference)
    finally:
        remove(place.folder, "*.h5", "*.raw")
    seconds, count = ended - sent["started"], frames * setup.streams
    process, loop = spent["receiver"], spent["loop"]
    busy = {
        "process": process, "loop": loop, "ZeroMQ's threads": spent.get("I/O", 0.0),
        "sender": sent["cpu_seconds"],
    }  # fmt: skip
    return (
        {"GB/s": count * setup.frame_bytes / seconds / 1e9}
        | per_frame({"process": process, "loop": loop}, count)
        | {f"{name}, % of a core": 100 * spent / seconds for name, spent in busy.items()}
    )


def _endpoints(setup: Setup) -> list[str]:
    return [f"tcp://127.0.0.1:{free_port()}" for _ in range(setup.streams)]


@contextlib.contextmanager
def sender(
    place: Place, setup: Setup, endpoints: list[str], frames: int, file: str
) -> Iterator[dict[str, float]]:
    """Send a series; yield what the sender has told, complete when the context ends."""
    numbers = frames, setup.frame_bytes, setup.mark, setup.sockets, setup.io_threads
    argv = [*pinned(place.sending), str(place.send), *map(str, numbers)]
    series, told = uuid.uuid4().hex, dict[str, float]()
    for number, endpoint in enumerate(endpoints):
        argv += (endpoint, *_texts(setup, number, series, frames, file))
    with Child("the sender", argv, line_with("bound")) as child:
        yield told
        child.wait(10.0)
        child.stop()
        for line in child.tail:
            told |= msgspec.json.decode(line)
    if "ended" not in told:
        raise RuntimeError(f"{child.ended()}: it has not sent the whole series")


def _texts(setup: Setup, number: int, series: str, frames: int, file: str) -> tuple[str, ...]:
    """Return what a stream of the sender sends, see `send.c`."""
    shape, place = (setup.rows, COLUMNS), dict[str, Any]()
    if setup.streams > 1:
        whole = (setup.streams * setup.rows, COLUMNS)
        place = msgspec.structs.asdict(Module(x=0, y=number * setup.rows, rotation=0, full_shape=whole))
    header = Header(
        filename=file, msg_number=0, series=series, frames=frames, shape=shape, type=TYPE, compression="none",
        frame_bytes=setup.frame_bytes, streams=setup.streams,
    )  # fmt: skip
    start, metadata = encode_start(header, place)
    image = {"shape": shape, "type": TYPE, "compression": "none", "series": series, **place}
    end = {"series": series, "reason": EndReason.COMPLETE, "triggered": frames, "sent": frames}
    rest = (msgspec.json.encode(keys).decode().removeprefix("{") for keys in (image, end))
    return start.decode(), metadata.decode(), *rest


# -- content -----------------------------------------------------------------------------------------------


def wrong_in_series(file: Path, setup: Setup, frames: int) -> str:
    """Return what is wrong in a receiver's file, in a sentence; "" if nothing is."""
    with SeriesFile(file) as series:
        data = series.group.get("modules", series.data)
        if data is None or len(data) != frames:
            return f"{file.name} has {0 if data is None else len(data)} of {frames} frames"
        stored = (
            (index, stream, pixels.reshape(-1).view("<u8"))
            for index in range(frames)
            for stream, pixels in enumerate(data[index].reshape(setup.streams, -1))
        )
        return _wrong(stored, setup)


def wrong_in_raw_files(prefix: Path, setup: Setup, frames: int) -> str:
    """Return what is wrong in the C program's files, in a sentence; "" if nothing is."""
    dealing, of_stream = Dealing.of(setup.files, setup.frame_bytes), setup.streams > 1
    for part in range(setup.files):
        file = prefix.with_name(f"{prefix.name}_part{part + 1}.raw")
        indices = range(frames) if of_stream else dealing.indices(part, frames).tolist()
        wanted, stream = len(indices) * setup.frame_bytes, part if of_stream else 0
        if file.stat().st_size != wanted:
            return f"{file.name} has {file.stat().st_size} bytes, not {wanted}"
        rows = np.fromfile(file, "<u8").reshape(-1, setup.frame_bytes // 8)
        stored = ((index, stream, row) for index, row in zip(indices, rows, strict=True))
        if wrong := _wrong(stored, setup):
            return wrong
    return ""


def words(setup: Setup, index: int, stream: int) -> Words:
    """Return a frame as the sender makes it, see `send.c`."""
    made = np.arange(setup.frame_bytes // 8, dtype=np.uint64) * ODD
    _mark(made, index, stream)
    return made


def _mark(frame: Words, index: int, stream: int) -> None:
    frame[::MARK_WORDS] = frame[-1] = np.uint64(index + (stream << 40))


def _wrong(stored: Iterator[tuple[int, int, Words]], setup: Setup) -> str:
    wanted = words(setup, 0, 0)
    for index, stream, found in stored:
        _mark(wanted, index, stream)
        if not np.array_equal(found, wanted):
            which = f" of module {stream}" if setup.streams > 1 else ""
            return f"frame {index}{which} is not what was sent"
    return ""


# -- sets of cores -----------------------------------------------------------------------------------------


def divide(numbers: Sequence[int], topology: Path = TOPOLOGY) -> tuple[list[int], list[int]] | None:
    """Return the cores of the sender, and those of the receiver; `None` if there are too few for both.

    The sender gets half of them, but no more than it can use; two that are hyper-threads of one core are not
    parted.
    """
    groups: dict[str, list[int]] = {}
    for core in numbers:
        file = topology / f"cpu{core}" / "topology" / "thread_siblings_list"
        groups.setdefault(file.read_text().strip() if file.exists() else str(core), []).append(core)
    if len(numbers) < LEAST_CORES or len(groups) < 2:
        return None
    sending: list[int] = []
    for group in reversed(groups.values()):
        if sending and len(sending) + len(group) > min(len(numbers) // 2, MOST_SENDING):
            break
        sending += group
    return sorted(sending), [core for core in numbers if core not in sending]


def pinned(numbers: Sequence[int] | None) -> tuple[str, ...]:
    """Return the beginning of a command line that runs the rest of it, its program by its full path, on these
    cores; nothing for `None`."""
    return () if numbers is None else (*PYTHON, "-c", PINNED, ",".join(map(str, numbers)))
