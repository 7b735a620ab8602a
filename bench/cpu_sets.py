"""Sets of processor cores for sender and receiver, so that neither takes the other's."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from penstock.hosts.child import PYTHON

TOPOLOGY = Path("/sys/devices/system/cpu")
LEAST = 4
"""Cores below which there are no sets."""
PINNED = (
    "import os, sys; os.sched_setaffinity(0, map(int, sys.argv[1].split(','))); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)


def usable() -> list[int]:
    """Return the numbers of the cores that this process may use."""
    return sorted(os.sched_getaffinity(0))


def divide(
    cores: Sequence[int], most_sending: int, topology: Path = TOPOLOGY
) -> tuple[list[int], list[int]] | None:
    """Return the cores of the sender, and those of the receiver; `None` if there are too few for both.

    The sender gets half of them, but no more than it can use; two that are hyper-threads of one core are not
    parted.

    Args:
        cores: numbers of all.
        most_sending: how many a sender can use.
        topology: folder in which the kernel describes them.
    """
    groups: dict[str, list[int]] = {}
    for core in cores:
        groups.setdefault(_siblings(topology, core), []).append(core)
    if len(cores) < LEAST or len(groups) < 2:
        return None
    sending: list[int] = []
    for group in reversed(groups.values()):
        if sending and len(sending) + len(group) > min(len(cores) // 2, max(most_sending, 2)):
            break
        sending += group
    return sorted(sending), [core for core in cores if core not in sending]


def pinned(cores: Iterable[int] | None) -> tuple[str, ...]:
    """Return the beginning of a command line that runs the rest of it, its program by its full path, on these
    cores; nothing for `None`."""
    return () if cores is None else (*PYTHON, "-c", PINNED, ",".join(map(str, cores)))


def _siblings(topology: Path, core: int) -> str:
    """Return which hyper-threads are one core with this one, as the kernel writes it."""
    try:
        return (topology / f"cpu{core}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(core)
