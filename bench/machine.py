"""The machine and its conditions, as they belong beside every figure."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import msgspec

from penstock.hosts.version import version

LIBRARIES = ("pyzmq", "h5py", "numpy", "msgspec", "hdf5plugin")


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Where, and with which software, a measurement was made."""

    date: str
    penstock: str
    processor: str
    cores: int
    memory_gb: float
    virtual: bool
    kernel: str
    huge_pages: str
    """Setting of transparent huge pages."""
    load: float
    """Average over the minute before: what else was running."""
    python: str
    libraries: dict[str, str]
    storage: dict[str, str] = {}
    """Type of file system, "ram" and "disk"."""


def describe(folders: dict[str, Path]) -> Machine:
    """Describe this machine, now; `folders` are those that are written to."""
    import h5py
    import zmq

    found = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", found, re.MULTILINE)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    libraries = {name: metadata.version(name) for name in LIBRARIES}
    return Machine(
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        penstock=version(),
        processor=model[1].strip() if model else platform.processor(),
        cores=len(os.sched_getaffinity(0)),
        memory_gb=round(memory / 1e9, 1),
        virtual="hypervisor" in found,
        kernel=f"{platform.system()} {platform.release()}",
        huge_pages=_chosen(Path("/sys/kernel/mm/transparent_hugepage/enabled")),
        load=round(os.getloadavg()[0], 2),
        python=platform.python_version(),
        libraries={**libraries, "libzmq": zmq.zmq_version(), "HDF5": h5py.version.hdf5_version},
        storage={name: file_system(folder) for name, folder in folders.items()},
    )


def file_system(folder: Path) -> str:
    """Return the type of a folder's file system: that of the longest mount point above it."""
    real, best, kind = Path(os.path.realpath(folder)), Path("/"), "unknown"
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, found, *_ = line.split()
        point = Path(place.replace("\\040", " "))
        if real.is_relative_to(point) and len(point.parts) >= len(best.parts):
            best, kind = point, found
    return kind


def _chosen(setting: Path) -> str:
    """Return the value in brackets of one of sysfs' lists."""
    try:
        return setting.read_text().partition("[")[2].partition("]")[0]
    except OSError:
        return "unknown"
