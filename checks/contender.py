"""The second process of the file system's probes: `python -m penstock.checks.contender TASK PATH …`.

It prints "ready", waits for a line on standard input, does its task, and prints the result.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path

FLOCK_LAYOUT = "hhqqi4x"
"""struct flock of 64-bit Linux: type, whence, start, length, pid."""


def lock(kind: str, descriptor: int) -> None:
    """Take an exclusive lock without waiting.

    Raises:
        OSError: somebody has it (EAGAIN, EACCES), or there are no such locks here.
    """
    if kind == "flock":
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    command = fcntl.F_SETLK if kind == "fcntl" else fcntl.F_OFD_SETLK
    fcntl.fcntl(descriptor, command, struct.pack(FLOCK_LAYOUT, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))


def try_lock(path: str, kind: str) -> str:
    """Return "refused" while another process has the lock, as it should be; else "taken", or the error."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        lock(kind, descriptor)
    except OSError as error:
        return "refused" if error.errno in (errno.EAGAIN, errno.EACCES) else os.strerror(error.errno or 0)
    finally:
        os.close(descriptor)
    return "taken"


def create(folder: str, number: str) -> str:
    """Create so many files exclusively, against the other process; return how many were this one's."""
    return str(race(Path(folder), int(number)))


def race(folder: Path, number: int) -> int:
    """Return how many of `number` files, named from 0, could be created exclusively."""
    won = 0
    for name in range(number):
        try:
            os.close(os.open(folder / str(name), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            continue
        won += 1
    return won


def replace(path: str, times: str) -> str:
    """Replace a file again and again by rename; return how often."""
    new = f"{path}.new"
    for turn in range(int(times)):
        Path(new).write_bytes(bytes([turn % 256]) * 4096)
        os.rename(new, path)
    return times


TASKS: dict[str, Callable[[str, str], str]] = {"lock": try_lock, "create": create, "replace": replace}


def main() -> None:
    """Entry point of the process."""
    task, path, argument = sys.argv[1:]
    print("ready", flush=True)
    if sys.stdin.readline():
        print(TASKS[task](path, argument), flush=True)


if __name__ == "__main__":
    main()
