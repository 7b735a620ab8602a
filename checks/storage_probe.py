"""What a file system really does: each answer is tried out, none is derived from the file system's name.

Everything happens in one new folder, which is always removed at the end.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from penstock.checks.contender import lock, race
from penstock.checks.write_rates import BLOCK, Finding, one_file, several_files
from penstock.stins.errors import UserError
from penstock.streamer.slices import slices

MEGABYTE = 10**6
PAGE = 4096
ALLOCATED = 16 * 2**20
HOLE = 64 * 2**20
LITTLE = 64 * MEGABYTE
"""Bytes that a receiver keeps free, unless configured otherwise (min_free_mb)."""
SYNCS = 7
RACED_FILES = 400
REPLACED = 400
PATIENCE = 30.0
"""Seconds for the other process; reached only when the file system hangs."""
SHARE = 10
"""Divisor of the free space: at most the quotient is written."""


class ProbeError(UserError):
    """The folder cannot be probed; the sentence says why."""


def probe(
    folder: Path, write_mb: int = 256, progress: Callable[[int, int], None] = lambda done, total: None
) -> Generator[Finding, None, None]:
    """Try everything out, one after the other.

    Args:
        folder: exists; nothing is left in it.
        write_mb: megabytes to write for each rate, at least a block; never more than a tenth of what is free.
        progress: called with the number of measurements done, and of all, where this takes seconds.

    Raises:
        ProbeError: it is not a folder, or nothing can be created in it.
    """
    try:
        place = tempfile.TemporaryDirectory(prefix=".penstock-check-storage-", dir=folder)
    except FileNotFoundError as error:
        raise ProbeError(
            f"nothing can be created in {folder}: there is no such folder; create it first"
        ) from error
    except OSError as error:
        raise ProbeError(f"nothing can be created in {folder}: {error.strerror}") from error
    with place as name:
        here = Path(name)
        yield Finding("file system", _type(folder), "note", "for information only")
        yield _space(here)
        for trial in TRIALS:
            yield _tried(trial, here)
        free = os.statvfs(here)
        most = min(max(write_mb * MEGABYTE, BLOCK), free.f_bavail * free.f_frsize // SHARE)
        yield one_file(here, most)
        yield several_files(here, most, progress)


def _tried(trial: Callable[[Path], Finding], here: Path) -> Finding:
    """Return a trial's finding; a failure of the trial is one, too."""
    try:
        return trial(here)
    except OSError as error:
        name = (trial.__doc__ or trial.__name__).partition(":")[0]
        return Finding(name, "fails", "bad", f"it ends with: {error.strerror or error}")


# -- locks -------------------------------------------------------------------------------------


def _locks(here: Path) -> Finding:
    """locks: whether another process sees them."""
    answers = {}
    for kind in ("flock", "fcntl", "OFD"):
        path = here / f"lock-{kind}"
        path.touch()
        descriptor = os.open(path, os.O_RDWR)
        try:
            lock(kind, descriptor)
            answers[kind] = _contender("lock", path, kind)
        except OSError as error:
            answers[kind] = error.strerror or str(error)
        finally:
            os.close(descriptor)
    working = [kind for kind, answer in answers.items() if answer == "refused"]
    value = ", ".join(
        f"{kind} {'works' if answer == 'refused' else 'does nothing' if answer == 'taken' else answer}"
        for kind, answer in answers.items()
    )
    meaning = "HDF5 locks: best off, the receiver and the readers use none"
    if len(working) < len(answers):
        meaning += "; other programs need HDF5_USE_FILE_LOCKING=FALSE here"
    return Finding("locks", value, "good" if len(working) == len(answers) else "note", meaning)


# -- space -------------------------------------------------------------------------------------


def _space(here: Path) -> Finding:
    found = os.statvfs(here)
    free, total = found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
    return Finding(
        "free space", f"{free / 1e9:.3g} of {total / 1e9:.3g} GB", "good" if free > LITTLE else "bad",
        f"{free / BLOCK:,.0f} frames of 2 MB" if free > LITTLE else "series are refused: free some space",
    )  # fmt: skip


def _fallocate(here: Path) -> Finding:
    """fallocate: whether space is really set aside."""
    with (here / "fallocate").open("wb") as file:
        # Not os.posix_fallocate: the C library writes zeros where the file system cannot do it.
        call = ctypes.CDLL(None, use_errno=True).fallocate
        call.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
        if call(file.fileno(), 0, 0, ALLOCATED):
            number = ctypes.get_errno()
            if number not in (errno.EOPNOTSUPP, errno.ENOSYS):
                raise OSError(number, os.strerror(number))
            return Finding(
                "fallocate", "not supported", "note",
                "no space is set aside ahead of the frames: a full disk is noticed while writing",
            )  # fmt: skip
        blocks = os.fstat(file.fileno()).st_blocks * 512
    if blocks >= ALLOCATED:
        return Finding("fallocate", "allocates", "good", "space is set aside ahead of the frames")
    return Finding(
        "fallocate", f"allocates {blocks} of {ALLOCATED} bytes", "note",
        "it reports success and sets nothing aside: a full disk is noticed while writing",
    )  # fmt: skip


def _sparse(here: Path) -> Finding:
    """sparse files: whether a hole costs nothing."""
    with (here / "sparse").open("wb") as file:
        file.seek(HOLE)
        file.write(b"x" * PAGE)
        file.flush()
        os.fsync(file.fileno())
        blocks = os.fstat(file.fileno()).st_blocks * 512
    if blocks < HOLE // 2:
        return Finding("sparse files", "yes", "good", "frames that never come take no space")
    return Finding("sparse files", "no", "note", "frames that never come take their space all the same")


# -- durability --------------------------------------------------------------------------------


def _sync(here: Path) -> Finding:
    """sync: how long it takes until 2 MB and their name survive a loss of power."""
    took = []
    folder = os.open(here, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for number in range(SYNCS):
            with (here / f"sync-{number}").open("wb") as file:
                file.write(os.urandom(BLOCK))
                file.flush()
                began = time.perf_counter()
                os.fdatasync(file.fileno())
                os.fsync(folder)
                took.append(1e3 * (time.perf_counter() - began))
    finally:
        os.close(folder)
    middle, worst = statistics.median(took), max(took)
    return Finding(
        "fdatasync + folder", f"{middle:.1f} ms for 2 MB (worst of {SYNCS}: {worst:.1f} ms)",
        "good" if middle < 1000 else "note",
        f"durability synced costs {middle:.0f} ms per file, and the writing of what is not on the disk yet",
    )  # fmt: skip


def _write_behind(here: Path) -> Finding:
    """sync_file_range: whether writing can be started without waiting for it."""
    call = ctypes.CDLL(None, use_errno=True).sync_file_range
    call.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_long, ctypes.c_uint]
    with (here / "behind").open("wb") as file:
        file.write(os.urandom(BLOCK))
        file.flush()
        began = time.perf_counter()
        failed = call(file.fileno(), 0, BLOCK, 2)  # SYNC_FILE_RANGE_WRITE
        took = 1e3 * (time.perf_counter() - began)
        if failed:
            number = ctypes.get_errno()
            return Finding(
                "sync_file_range", os.strerror(number), "note", "write-behind is left to the kernel"
            )
    return Finding("sync_file_range", f"{took:.1f} ms for 2 MB", "good", "write-behind can be started early")


# -- names -------------------------------------------------------------------------------------


def _exclusive(here: Path) -> Finding:
    """O_EXCL: whether of two processes only one creates a file."""
    (here / "raced").mkdir()
    with _contending("create", here / "raced", str(RACED_FILES)) as finish:
        ours = race(here / "raced", RACED_FILES)
        theirs = int(finish())
    if ours + theirs == RACED_FILES:
        return Finding(
            "O_EXCL",
            f"{RACED_FILES} files raced for: {ours} and {theirs}",
            "good",
            "no file is overwritten by accident",
        )
    return Finding(
        "O_EXCL", f"{ours} + {theirs} winners of {RACED_FILES} files", "bad",
        "two receivers may write into one file: give each its own folder",
    )  # fmt: skip


def _rename(here: Path) -> Finding:
    """rename: whether a reader always finds the old or the new file."""
    path = here / "renamed"
    path.write_bytes(bytes(PAGE))
    reads = torn = 0
    with _contending("replace", path, str(REPLACED)) as finish, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(finish)
        while not answer.done() or not reads:
            content = _content(path)
            reads += 1
            torn += len(content) != PAGE or content.count(content[:1]) != PAGE
        answer.result()
    if not torn:
        return Finding("rename", f"atomic in {reads} reads", "good", "replaced files are whole at any moment")
    return Finding(
        "rename", f"{torn} of {reads} reads found no whole file", "bad",
        "readers may see half a replaced file",
    )  # fmt: skip


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _links(here: Path) -> Finding:
    """hard links: and files without a name."""
    source = here / "linked"
    source.touch()
    found = []
    try:
        os.link(source, here / "link")
        found.append("hard links")
    except OSError as error:
        found.append(f"no hard links ({error.strerror})")
    try:
        descriptor = os.open(here, os.O_TMPFILE | os.O_RDWR)
        try:
            # Only linkat(2) follows the link, and os.link calls that one only with a descriptor.
            os.link(f"/proc/self/fd/{descriptor}", here / "named", src_dir_fd=descriptor)
            found.append("O_TMPFILE")
        finally:
            os.close(descriptor)
    except OSError as error:
        found.append(f"no O_TMPFILE ({error.strerror})")
    return Finding("links", ", ".join(found), "note", "the receiver needs neither")


def _names(here: Path) -> Finding:
    """file names: the longest one."""
    fits, fails = 1, 4097
    while fails - fits > 1:
        length = (fits + fails) // 2
        try:
            (here / ("n" * length)).touch()
        except OSError as error:
            if error.errno not in (errno.ENAMETOOLONG, errno.EINVAL):
                raise
            fails = length
        else:
            fits = length
    return Finding(
        "file names", f"up to {fits} bytes", "good" if fits >= 255 else "note",
        "a longer DestinationFilename is refused before a series",
    )  # fmt: skip


# -- writing -----------------------------------------------------------------------------------


def _direct(here: Path) -> Finding:
    """O_DIRECT: writing without the page cache."""
    path = here / "direct"
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_DIRECT)
    except OSError as error:
        return Finding("O_DIRECT", error.strerror or "no", "note", "the receiver does not need it")
    try:
        with mmap.mmap(-1, BLOCK) as block:
            block[:] = os.urandom(BLOCK)
            wrote = os.write(descriptor, block)
            same = path.read_bytes() == block[:wrote]
    finally:
        os.close(descriptor)
    if wrote == BLOCK and same:
        return Finding("O_DIRECT", "works", "good", "the receiver does not need it")
    return Finding("O_DIRECT", "what is read back differs", "bad", "do not use this file system")


TRIALS = (
    _locks, _exclusive, _rename, _fallocate, _sparse, _sync, _write_behind, _direct, _links, _names,
)  # fmt: skip


# -- the other process -------------------------------------------------------------------------


@contextmanager
def _contending(task: str, path: Path, argument: str) -> Iterator[Callable[[], str]]:
    """Start a second process on its task; yield a callable that waits for its answer."""
    program = "penstock.checks.contender"
    argv: Sequence[str] = [sys.executable, "-m", program, task, str(path), argument]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        if process.stdout.readline() != "ready\n":
            raise OSError(errno.ECHILD, "the second process did not start")
        process.stdin.write("go\n")
        process.stdin.flush()

        def finish() -> str:
            out = None
            for seconds in slices(PATIENCE):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    out, _ = process.communicate(timeout=seconds)
                    break
            if out is None:
                raise OSError(errno.ETIMEDOUT, f"no answer within {PATIENCE:g} s: it hangs")
            if process.returncode:
                raise OSError(errno.EIO, "the second process failed")
            return out.strip()

        yield finish
    finally:
        process.kill()
        with contextlib.suppress(ValueError):  # communicate has closed them
            process.communicate()


def _contender(task: str, path: Path, argument: str) -> str:
    with _contending(task, path, argument) as finish:
        return finish()


def _type(folder: Path) -> str:
    """Return type and mount point of the file system, from /proc/self/mountinfo (proc(5))."""
    device = os.stat(folder).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    found, path = {}, folder.resolve()
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mount, _, rest = line.partition(" - ")
        fields = mount.split()
        # A bind mount shows the same device elsewhere.
        if fields[2] == wanted and path.is_relative_to(fields[4]):
            found[fields[4]] = rest.split()[0]
    place = max(found, key=len, default=None)
    return "unknown" if place is None else f"{found[place]} at {place}"
