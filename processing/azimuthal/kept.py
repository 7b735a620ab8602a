"""Matrices that are kept in a folder: made once per host, and mapped by every worker that needs them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import msgspec
import numpy as np

from penstock.processing import kept_folder
from penstock.processing.azimuthal import matrix as file_of
from penstock.processing.azimuthal.build import NO_ROOM, REFUSED, paths
from penstock.processing.azimuthal.matrix import DamagedFileError, Matrix
from penstock.processing.azimuthal.plan import Images, Plan, key

LIMIT_VARIABLE, LIMIT_GB = "PENSTOCK_CACHE_GB", 4.0
"""The matrices that were not used for the longest time go when all together have more than this."""
ENDING, MAKING = ".matrix", ".making-"
OTHERWISE = (tempfile.gettempdir(), "/dev/shm")
"""Folders in which a matrix that cannot be kept is made; it is removed at once, and whoever has mapped it
keeps it."""
LEFT_SECONDS = 3600.0
"""What a process that lives has here is no older."""


class NoMatrixError(Exception):
    """A matrix cannot be made; the sentence says why."""


def get(plan: Plan, images: Images, say: Callable[[str], None] = lambda _why: None) -> tuple[Matrix, str]:
    """Return the matrix of a plan, and its geometry as the text of a .poni file.

    If nobody has made it yet, it is made by a process of its own; whoever wants the same one waits for that.

    Args:
        plan: what is integrated.
        images: of the plan's shape.
        say: is told in a sentence if the matrix cannot be kept, and is made for this process alone.

    Raises:
        NoMatrixError: it cannot be made.
    """
    try:
        name = key(plan, images)
    except PackageNotFoundError as error:
        raise NoMatrixError(
            f"azimuthal integration needs {error.name}, which is not here: install Penstock with its extra "
            f"`processing`: {sys.executable} -m pip install '/path/to/penstock[processing]', with the path "
            "of the clone"
        ) from error
    try:
        return _get(kept_folder.folder("azimuthal"), name, plan, images)
    except kept_folder.NoFolderError as error:
        why = str(error)
    except OSError as error:
        other = f"{kept_folder.VARIABLE} names another folder"
        why = f"the matrix of azimuthal integration cannot be kept: {error}; {other}"
    say(f"{why}. Until then every worker makes it for itself, anew for each series")
    for place in OTHERWISE:
        try:
            with tempfile.TemporaryDirectory(dir=place, prefix=f"penstock{MAKING}") as made:
                return _get(Path(made), name, plan, images)
        except OSError as error:
            why += f"; nor can it be made in {place}: {error}"
    raise NoMatrixError(why)


def _get(folder: Path, name: str, plan: Plan, images: Images) -> tuple[Matrix, str]:
    """Return the matrix that a folder has, or will have.

    Raises:
        OSError: it cannot be written.
    """
    path = folder / f"{name}{ENDING}"
    if (found := _read(path)) is not None:
        return found
    with _alone(folder / f".{name}.lock") as lock:
        if (found := _read(path)) is None:
            _make(plan, images, path, lock)
            found = file_of.read(path)
            _forget_old(folder, path)
        return found


def _read(path: Path) -> tuple[Matrix, str] | None:
    try:
        found = file_of.read(path)
    except FileNotFoundError:
        return None
    except DamagedFileError:
        path.unlink(missing_ok=True)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # it is the last one to go
    return found


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[int]:
    """Hold a lock file, which is removed at the end; yield its descriptor."""
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _has_name(descriptor, path):
                try:
                    yield descriptor
                finally:
                    path.unlink(missing_ok=True)
                return
        finally:
            os.close(descriptor)


def _has_name(descriptor: int, path: Path) -> bool:
    """Return whether a file still has this name: whoever had its lock may have removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _make(plan: Plan, images: Images, path: Path, lock: int) -> None:
    """Let a process make a matrix. It has the lock, too: if this one is killed, others wait for it."""
    work = Path(tempfile.mkdtemp(prefix=MAKING, dir=path.parent))
    try:
        (work / "plan.json").write_bytes(msgspec.json.encode(plan))
        for file, image in zip(paths(work), images, strict=True):
            if image is not None:
                np.save(file, image)
        command = [sys.executable, "-P", "-m", "penstock.processing.azimuthal.build", str(work), str(path)]
        made = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, pass_fds=(lock,)
        )
        said = made.stderr.strip().splitlines()
        if made.returncode == REFUSED and said:
            raise NoMatrixError(said[-1])
        if made.returncode == NO_ROOM and said:
            raise OSError(said[-1])
        if made.returncode:
            why = f": {said[-1]:.300}" if said else ""
            raise NoMatrixError(f"the process that makes the matrix has ended with {made.returncode}{why}")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _forget_old(folder: Path, kept: Path) -> None:
    """Remove the matrices that were not used for the longest time, if all together are too large; and what
    killed processes have left.

    Whoever has mapped one keeps it.
    """
    for left in [*folder.glob(f"{MAKING}*"), *folder.glob(".*.lock")]:
        with contextlib.suppress(FileNotFoundError):
            if left.stat().st_mtime > time.time() - LEFT_SECONDS:
                continue
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink()
    try:
        most = float(os.environ.get(LIMIT_VARIABLE, "")) * 1e9
    except ValueError:
        most = LIMIT_GB * 1e9
    found = []
    for path in folder.glob(f"*{ENDING}"):
        with contextlib.suppress(FileNotFoundError):
            status = path.stat()
            found.append((status.st_mtime_ns, status.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= most:
            break
        if path != kept:
            path.unlink(missing_ok=True)
            total -= size
