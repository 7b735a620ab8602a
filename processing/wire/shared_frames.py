"""The reader's side of the memory that a receiver shares: `receiver/forward/shared.py` is its writer.

Workers read frames (`SharedFrames.frame`); the one distributor that holds the memory (`lock`) frees their
slots. The receiver takes all slots back when the distributor's connection ends: then it writes a new nonce,
and what is read after that may belong to other frames (`SharedFrames.is_current`).
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import pwd
import socket
from collections.abc import Iterable, Sequence
from types import TracebackType

import numpy as np

from penstock.stins import shared
from penstock.stins.errors import RemoteError
from penstock.stins.shared import FREE, NOBODY, PAGE, Holder, Layout, Reference


class SharedMemoryError(Exception):
    """The memory cannot be used; the sentence says why, and the remedy."""


class StaleMemory(SharedMemoryError):
    """The receiver has taken the frames back, or was started again; its next start message says more."""


class SharedFrames:
    """The memory as one process reads it.

    Args:
        path: of the memory, from the header of the series.
        nonce: from there, in hexadecimal.

    Raises:
        StaleMemory: the file is gone, or has another nonce.
        SharedMemoryError: it cannot be opened, or is no such memory.
    """

    def __init__(self, path: str, nonce: str) -> None:
        self.path = path
        self.nonce = nonce
        self._nonce = bytes.fromhex(nonce)
        file = _open(path, os.O_RDWR)
        try:
            self._size = os.fstat(file).st_size
            if self._size < PAGE:
                raise SharedMemoryError(
                    f"{path} is no memory shared by a receiver: it has {self._size} bytes"
                )
            self._writable = mmap.mmap(file, self._size)
            self._readable = mmap.mmap(file, self._size, access=mmap.ACCESS_READ)
        finally:
            os.close(file)
        self._memory = memoryview(self._readable)
        self._states = np.frombuffer(self._writable, np.uint8, offset=PAGE)
        try:
            found = shared.nonce_in(self._memory[:PAGE])
        except RemoteError as error:
            raise SharedMemoryError(f"{path}: {error}") from error
        if found != self._nonce:
            raise StaleMemory(
                f"{path}: the receiver has taken the frames of this series back: it has lost the connection "
                "to the distributor"
            )

    @property
    def is_current(self) -> bool:
        """True if slots that were filled under this nonce still hold what they held; ask again after a frame
        was processed: results of another frame's pixels must not count."""
        return shared.has_nonce(self._memory, self._nonce)

    def frame(self, layout: Layout, reference: Reference) -> tuple[memoryview, list[memoryview]]:
        """Return the header of a frame and its blobs, as views of the memory that cannot be written.

        Args:
            layout: of the series, from its header.
            reference: where the frame lies.

        Raises:
            StaleMemory: the receiver has taken the frame back.
            SharedMemoryError: the reference points beyond its slot, or the memory.
        """
        if not self.is_current:
            raise StaleMemory(f"{self.path}: the receiver has taken frame {reference.frame} back")
        if layout.nbytes > self._size:
            raise SharedMemoryError(
                f"{self.path} has {self._size:,} bytes, and its layout takes {layout.nbytes:,}"
            )
        try:
            at = layout.place(reference.slot)
        except IndexError as error:
            raise SharedMemoryError(f"{self.path}, frame {reference.frame}: {error}") from error
        last = at + layout.slot_bytes
        memory, end = self._memory, at + reference.header_bytes
        header, blobs = memory[at:end], []
        for nbytes in reference.blob_bytes:
            at, end = end, end + nbytes
            blobs.append(memory[at:end])
        if end > last:
            raise SharedMemoryError(
                f"{self.path}: frame {reference.frame} is said to be longer than its slot of "
                f"{layout.slot_bytes:,} bytes"
            )
        return header, blobs

    def headers(self, layout: Layout, references: Sequence[Reference]) -> list[memoryview]:
        """Return the headers alone of several frames. Ask `is_current` once they are read.

        Raises:
            SharedMemoryError: a reference points beyond its slot, or the memory.
        """
        memory, first, step, slots = self._memory, layout.first, layout.slot_bytes, layout.slots
        if layout.nbytes > self._size or not all(
            0 <= each.slot < slots and each.header_bytes <= step for each in references
        ):
            raise SharedMemoryError(f"{self.path}: frames are said to lie beyond the memory")
        starts = [(first + each.slot * step, each.header_bytes) for each in references]
        return [memory[at : at + nbytes] for at, nbytes in starts]

    def free(self, slots: Iterable[int]) -> None:
        """Give slots back to the receiver, once nobody reads their frames any more. Only who holds the memory
        may; slots that the receiver has taken back are left alone."""
        if self.is_current:
            self._states[np.fromiter(slots, np.intp)] = FREE

    def close(self) -> None:
        """Unmap the memory; views that somebody keeps stay valid."""
        del self._states
        for each in (self._memory.release, self._readable.close, self._writable.close):
            with contextlib.suppress(BufferError):
                each()


class Hold:
    """The memory, held by this process alone: `lock` returns it, and it is let go of by `close`."""

    def __init__(self, path: str, file: int, page: mmap.mmap) -> None:
        self.path = path
        self._file = file
        self._page = page

    def close(self) -> None:
        """Let go of the memory: the receiver takes all slots back."""
        if self._file >= 0:
            _record(self._page, NOBODY, None)
            self._page.close()
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Hold:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def lock(path: str) -> Hold:
    """Hold the memory, so that slots can be freed; a process that is killed lets go of it.

    Do it before the stream is connected, or at the start message. If a distributor held the memory before,
    the receiver notices that another one has come, ends the series for it and takes all slots back.

    Raises:
        StaleMemory: there is no such file (any more).
        SharedMemoryError: another process holds it, or this one may not open it.
    """
    file = _open(path, os.O_RDWR)
    page = mmap.mmap(file, PAGE)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = shared.holder_in(memoryview(page))
        who = "another process" if holder is None else f"process {holder.pid} on {holder.host}"
        of = f" of {holder.user}" if holder is not None and holder.user else ""
        page.close()
        os.close(file)
        raise SharedMemoryError(
            f"{path} is held by {who}{of}: frames of one entry go to one pipeline. End that one, or give the "
            "receiver another forward entry with shared: true"
        ) from error
    user = _user(os.geteuid())
    _record(page, os.urandom(shared.TOKEN), Holder(pid=os.getpid(), host=socket.gethostname(), user=user))
    return Hold(path, file, page)


def _record(page: mmap.mmap, token: bytes, holder: Holder | None) -> None:
    at, record = shared.held_by(token, holder)
    page[at : at + len(record)] = record


def _open(path: str, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise StaleMemory(
            f"{path} is not there: the receiver has ended, or it is on another machine or in another "
            "container, to which frames go by TCP"
        ) from error
    except PermissionError as error:
        raise SharedMemoryError(_not_allowed(path)) from error
    except OSError as error:
        raise SharedMemoryError(f"{path} cannot be opened: {error.strerror}") from error


def _not_allowed(path: str) -> str:
    mine = _user(os.geteuid())
    try:
        owner = _user(os.stat(path).st_uid)
    except OSError:
        owner = "another user"
    return (
        f"{path} belongs to the receiver's user {owner}, and {mine} may not open it: run this as {owner}, or "
        f"set shared_group, in the receiver's forward entry, to a group that has {mine} and {owner}, and "
        "start the receiver again"
    )


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
