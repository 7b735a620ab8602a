"""The writer's side of memory that is shared with a distributor: a file, reserved when the receiver starts.

`stins/shared.py` says what is where; `processing/wire/shared_frames.py` reads it. The receiver alone takes
slots, and takes all of them back; whoever holds the memory frees them one by one.
"""

from __future__ import annotations

import errno
import fcntl
import grp
import logging
import mmap
import os
import pwd
import re
import struct
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from penstock.receiver.config import ForwardConfig
from penstock.stins import shared
from penstock.stins.errors import UserError
from penstock.stins.messages import Buffer
from penstock.stins.shared import FREE, NOBODY, PAGE, TAKEN, Holder, Layout

log = logging.getLogger(__name__)

AHEAD = 64
"""Most free slots that are looked up at once."""
STRETCH = 512
"""Slots among which the first free ones are looked for; if there are too few, further on among more."""
MANY, FULL_SECONDS = 2**14, 0.001
"""Number of slots and seconds: if more slots than this are all taken, they are not looked through again for
every frame, but after this time."""
UNLOCKED = 2**18
"""Blobs of so many bytes and more are copied with the interpreter's lock released."""
_WHOLE = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
"""`struct flock` of the first byte (fcntl(2)), for a lock that ends with this process."""


_NO_CHARACTER = re.compile(r"[^\w.]")
"""What is replaced in names; the hyphen separates them."""


class CannotShare(UserError):
    """Memory cannot be shared with a consumer; the sentence names folder, size and remedy."""


class SharedSlots:
    """The memory of one consumer.

    The receiver holds a lock on its first byte (F_OFD_SETLK), so that another one of the same name can tell
    that it is in use; the distributor holds an `flock`, which is independent of it.

    Args:
        config: entry of the consumer.
        receiver: name of the receiver.
        populate: whether to let the kernel provide all pages now: the first touch of a page costs eight times
            as much as a copy into it.

    Raises:
        CannotShare: the folder has no room or cannot be written, or the group cannot be given.
    """

    def __init__(self, config: ForwardConfig, receiver: str, *, populate: bool = True) -> None:
        self.nbytes = -(-int(config.queue_mb * 1e6) // PAGE) * PAGE
        """Bytes of the file."""
        self.nonce = os.urandom(shared.NONCE)
        """Changes whenever all slots are taken back."""
        self.path = Path(config.shared_folder, f"{_prefix(config, receiver)}{self.nonce.hex()[:8]}")
        self.layout = Layout.within(self.nbytes, PAGE)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            self._file = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise _cannot(config, error.strerror or "") from error
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _WHOLE)
            os.posix_fallocate(self._file, 0, self.nbytes)
            _give(self._file, config)
            pages = mmap.MAP_SHARED | (mmap.MAP_POPULATE if populate else 0)
            self._memory = mmap.mmap(self._file, self.nbytes, pages)
        except OSError as error:
            self._remove()
            raise _too_small(config, self.nbytes, error) from error
        except CannotShare:
            self._remove()
            raise
        self._pixels = np.frombuffer(self._memory, np.uint8)
        self._page = memoryview(self._memory)[:PAGE]
        self._write_nonce()
        self._states = self._pixels[PAGE : PAGE + self.layout.slots]
        self._free: list[int] = []  # free slots that were looked up, the lowest last
        self._holder: tuple[bytes, Holder] | None = None  # as last read, with its token
        self._full_until = 0.0  # when all slots are looked through again

    def lay_out(self, frame_bytes: int) -> None:
        """Divide the memory into slots for frames of this size, header included, if all slots are free.

        There is at least one slot; a frame that does not fit into it has to go another way.
        """
        wanted = Layout.within(self.nbytes, min(frame_bytes, self.nbytes - 3 * PAGE))
        if wanted == self.layout or self.taken:
            return
        self.layout = wanted
        self._states = self._pixels[PAGE : PAGE + wanted.slots]
        self._states[:] = FREE
        self._free.clear()

    @property
    def taken(self) -> int:
        """Number of slots that are not free."""
        return int(np.count_nonzero(self._states))

    def find(self) -> bool:
        """Look up the lowest free slots; return whether there are any."""
        states, free, begin, length = self._states, self._free, 0, STRETCH
        free.clear()
        if len(states) > MANY and time.monotonic() < self._full_until:
            return False
        while begin < len(states) and len(free) < AHEAD:
            found = np.flatnonzero(states[begin : begin + length] == FREE)[: AHEAD - len(free)]
            free += (found + begin).tolist()
            begin, length = begin + length, 4 * length
        free.reverse()
        if not free:
            self._full_until = time.monotonic() + FULL_SECONDS
        return bool(free)

    def put(self, header: bytes, blobs: Sequence[Buffer]) -> int | None:
        """Copy a frame, which has to fit, into a free slot; return its number, or `None` if all are taken."""
        slot = self.take()
        if slot is not None:
            self.copy(slot, header, blobs)
        return slot

    def take(self) -> int | None:
        """Take a free slot; return its number, or `None` if all are taken."""
        if not self._free and not self.find():
            return None
        slot = self._free.pop()
        self._states[slot] = TAKEN
        return slot

    def copy(self, slot: int, header: bytes, blobs: Sequence[Buffer]) -> None:
        """Copy a frame, which has to fit, into a slot that is taken for it; any thread may do it."""
        at = self.layout.first + slot * self.layout.slot_bytes
        memory, end = self._memory, at + len(header)
        memory[at:end] = header
        for blob in blobs:
            at, end = end, end + len(blob)
            if end - at < UNLOCKED:
                memory[at:end] = blob
            else:
                np.copyto(self._pixels[at:end], np.frombuffer(blob, np.uint8))

    def take_back(self) -> None:
        """Make all slots free: nobody frees them any more. The new nonce says so to whoever still reads."""
        self.nonce = os.urandom(shared.NONCE)
        self._write_nonce()
        self._states[:] = FREE
        self._free.clear()

    @property
    def token(self) -> bytes:
        """Token of the holder; `NOBODY` without one."""
        return shared.token_in(self._page)

    @property
    def holder(self) -> Holder | None:
        """Who holds the memory, or was killed while holding it."""
        token = self.token
        if token == NOBODY:
            return None
        if self._holder is None or self._holder[0] != token:
            found = shared.holder_in(self._page)
            self._holder = None if found is None else (token, found)
            return found
        return self._holder[1]

    @property
    def is_locked(self) -> bool:
        """True if somebody holds the memory now, as far as the kernel tells: it leaves out processes of other
        containers."""
        if self._file < 0:
            return False
        about = os.fstat(self._file)
        file = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}:{about.st_ino}"
        try:
            locks = Path("/proc/locks").read_text()
        except OSError:
            return False
        return any("FLOCK" in (words := line.split()) and file in words for line in locks.splitlines())

    def close(self) -> None:
        """Remove the file; whoever has opened it keeps the memory, this process until it forgets this."""
        self._remove()

    def _write_nonce(self) -> None:
        head = shared.head(self.nonce)
        self._memory[: len(head)] = head

    def _remove(self) -> None:
        self.path.unlink(missing_ok=True)
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def remove_stale(config: ForwardConfig, receiver: str) -> None:
    """Remove the memory that receivers of this name have left for this consumer when they were killed."""
    for path in Path(config.shared_folder).glob(f"{_prefix(config, receiver)}*"):
        try:
            file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        except OSError as error:
            log.warning("consumer %s: %s stays: %s", config.name, path, error.strerror)
            continue
        try:
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, _WHOLE)
            path.unlink(missing_ok=True)
            log.warning("consumer %s: %s of a receiver that was killed is removed", config.name, path)
        except BlockingIOError:
            pass  # a receiver of this name runs, with another configuration
        except OSError as error:
            log.warning("consumer %s: %s stays: %s", config.name, path, error.strerror)
        finally:
            os.close(file)


def _prefix(config: ForwardConfig, receiver: str) -> str:
    """Return the beginning of the memory's name, of characters that every folder takes."""
    parts = ("penstock", receiver, config.name)
    return "".join(f"{_NO_CHARACTER.sub('_', part)[:64]}-" for part in parts)


def _give(file: int, config: ForwardConfig) -> None:
    """Let the group have the memory, if one is named.

    Raises:
        CannotShare: there is no such group, or the receiver's user is not in it.
    """
    if not config.shared_group:
        return
    try:
        os.fchown(file, -1, grp.getgrnam(config.shared_group).gr_gid)
    except (KeyError, PermissionError) as error:
        user, group = _user(), config.shared_group
        why = (
            "there is no such group; create it, or name another"
            if isinstance(error, KeyError)
            else f"the receiver's user {user} is not a member; add it (usermod -aG {group} {user})"
        )
        raise CannotShare(
            f"consumer {config.name}: the memory cannot be given to shared_group {group}: {why}"
        ) from error
    os.fchmod(file, 0o660)


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _cannot(config: ForwardConfig, why: str) -> CannotShare:
    return CannotShare(
        f"consumer {config.name}: no memory can be shared in {config.shared_folder}: {why}; set its "
        "shared_folder to a folder on a RAM disk that the receiver's user may write"
    )


def _too_small(config: ForwardConfig, wanted: int, error: OSError) -> CannotShare:
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return _cannot(config, error.strerror or "")
    try:
        space = os.statvfs(config.shared_folder)
    except OSError as gone:
        return _cannot(config, gone.strerror or "")
    free = space.f_bavail * space.f_frsize / 1e6
    return CannotShare(
        f"consumer {config.name}: {config.shared_folder} has {free:,.0f} MB free, and the memory to be "
        f"shared takes {wanted / 1e6:,.0f} MB (queue_mb): lower queue_mb, or make the folder larger "
        "(mount -o remount,size=…; in a container --shm-size, or an emptyDir of medium Memory), or set "
        "shared_folder"
    )
