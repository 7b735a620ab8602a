"""What was measured: turns of contenders in groups, the machine beside them, and their file."""

from __future__ import annotations

import os
import platform
import re
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import msgspec
import numpy as np

from penstock.hosts.version import version

LIBRARIES = ("pyzmq", "h5py", "numpy", "msgspec", "hdf5plugin")
Turn = dict[str, float]
"""Figures by name, with their unit; the first one is compared with a rival's."""
Turns = dict[str, list[Turn]]
"""Turns by contender, one entry per round: neighbours were measured one after the other."""


LARGE_FRAME, LARGE_MARK, SMALL_MARK = 2_000_000, 8, 64
"""Messages queued by a receiving socket: ZeroMQ counts messages, memory counts bytes. 64 is the receiver's
default, 8 is what its documentation advises from 2 MB on; every contender gets the same."""


@dataclass(frozen=True, kw_only=True)
class Frames:
    """A series of equal frames."""

    name: str
    shape: tuple[int, int]
    count: int
    rate: float = 0.0
    """Frames per second; 0: as fast as they are taken."""
    dtype: str = "uint16"
    compression: str = "none"
    pattern: str = "noise"

    @property
    def nbytes(self) -> int:
        """Bytes of a frame, plain."""
        return np.dtype(self.dtype).itemsize * self.shape[0] * self.shape[1]

    @property
    def mark(self) -> int:
        """Messages that a receiving socket queues."""
        return LARGE_MARK if self.nbytes >= LARGE_FRAME else SMALL_MARK

    def of(self, count: int, rate: float | None = None) -> Frames:
        """Return another number of the same frames."""
        return replace(self, count=max(1, count), rate=self.rate if rate is None else rate)


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Contenders that took turns with the same load."""

    case: str
    name: str
    """Name of the load."""
    turns: Turns

    def values(self, contender: str, figure: str) -> list[float]:
        """Return a figure of each round; of several, joined by "+", the sum."""
        names = figure.split("+")
        return [
            sum(turn.get(name, 0.0) for name in names)
            for turn in self.turns.get(contender, ())
            if any(name in turn for name in names)
        ]

    def median(self, contender: str, figure: str) -> float:
        """Return the median of the rounds."""
        return statistics.median(self.values(contender, figure))

    def ratios(self, of: str, to: str, figure: str) -> list[float]:
        """Return the ratio of two contenders in each round: what disturbs one round disturbs both."""
        return [a / b for a, b in zip(self.values(of, figure), self.values(to, figure), strict=False) if b]

    @property
    def figures(self) -> list[str]:
        """Names of all figures, in their order."""
        return list(dict.fromkeys(name for turns in self.turns.values() for turn in turns for name in turn))

    @property
    def rounds(self) -> int:
        """Fewest turns of a contender."""
        return min(map(len, self.turns.values()), default=0)


class Results(msgspec.Struct, kw_only=True):
    """Everything measured so far."""

    machine: dict[str, str]
    """Where, and with which software: what the page says of it."""
    groups: list[Group] = []
    notes: list[str] = []
    """Sentences on what the figures do not say."""

    def of(self, case: str) -> list[Group]:
        """Return the groups of a case."""
        return [group for group in self.groups if group.case == case]

    def get(self, case: str, name: str) -> Group | None:
        """Return a group, if it was measured."""
        return next((group for group in self.of(case) if group.name == name), None)

    def put(self, group: Group) -> None:
        """Add a group, in the place of an earlier measurement of the same."""
        if (earlier := self.get(group.case, group.name)) is not None:
            self.groups[self.groups.index(earlier)] = group
        else:
            self.groups.append(group)

    def save(self, file: Path) -> None:
        """Write the file, whole or not at all: it stays readable whenever this process dies."""
        partial = file.with_suffix(".part")
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=0) + b"\n")
        os.replace(partial, file)


def load(file: Path) -> Results:
    """Return what `Results.save` wrote.

    Raises:
        ValueError: it is something else; the sentence names the file.
    """
    try:
        return msgspec.json.decode(file.read_bytes(), type=Results)
    except msgspec.DecodeError as error:
        raise ValueError(f"{file} has no results of this version ({error}); remove it") from error


def mean(values: Iterable[float]) -> tuple[float, float]:
    """Return the mean and its standard error (0 for a single value)."""
    found = list(values)
    error = statistics.stdev(found) / len(found) ** 0.5 if len(found) > 1 else 0.0
    return statistics.fmean(found), error


def median_error(values: list[float]) -> float:
    """Return the standard error of the median, from the spread of the middle half: a busy machine has
    outliers."""
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4)
    return float(1.253 * (high - low) / 1.349 / len(values) ** 0.5)


def add_difference(turns: Turns, rival: str, figure: str, name: str) -> None:
    """Add to each turn how much more of a figure, or of a sum as in `Group.values`, it has than the rival in
    the same round."""
    whole = Group(case="", name="", turns=turns)
    for contender, found in turns.items():
        pairs = zip(found, whole.values(contender, figure), whole.values(rival, figure), strict=True)
        for turn, value, rivals in pairs:
            turn[name] = value - rivals


def describe(folders: Mapping[str, Path]) -> dict[str, str]:
    """Describe this machine, now; `folders` are those that are written to."""
    import h5py
    import zmq

    found = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", found, re.MULTILINE)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    pages = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    huge = re.findall(r"\[(.*)\]|$", pages.read_text() if pages.exists() else "")[0] or "unknown"
    libraries = {name: metadata.version(name) for name in LIBRARIES}
    software = {"Penstock": version(), "Python": platform.python_version(), **libraries}
    software |= {"libzmq": zmq.zmq_version(), "HDF5": h5py.version.hdf5_version}
    kind, cores = "virtual machine" if "hypervisor" in found else "machine", len(os.sched_getaffinity(0))
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": f"{model[1].strip() if model else platform.processor()}, {cores} cores of a {kind}",
        "memory": f"{memory:.1f} GB; transparent huge pages: {huge}",
        "kernel": f"{platform.system()} {platform.release()}",
        "file systems": ", ".join(f"{name}: {file_system(folder)}" for name, folder in folders.items()),
        "network": "the loopback interface",
        "load before": f"{os.getloadavg()[0]:.2f} (average of one minute)",
        "software": ", ".join(f"{name} {number}" for name, number in software.items()),
    }


def file_system(folder: Path) -> str:
    """Return the type of a folder's file system: that of the longest mount point above it."""
    real, best, kind = Path(os.path.realpath(folder)), Path("/"), "unknown"
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, found, *_ = line.split()
        point = Path(place.replace("\\040", " "))
        if real.is_relative_to(point) and len(point.parts) >= len(best.parts):
            best, kind = point, found
    return kind
