"""The lock that one receiver of a name and data root holds for its whole life; another one waits for it, and
says so.

It is an flock(2) of a file in the data root's `.penstock` and in the state folder. Both processes of a
receiver hold it, so that the next one does not begin before the last one of them has ended, however it ends.
Where the file system keeps locks for all hosts, it keeps receivers on other hosts away, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import quote

import msgspec

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files.recovery.journal import FOLDER, state_folder
from penstock.receiver.files.stores.disk.file_locks import NO_LOCKS
from penstock.service.models import Refused

NOT_OURS = (errno.EACCES, errno.EPERM, errno.EROFS)
"""Errors of a file or folder that this user may not write."""


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds the lock."""

    host: str
    pid: int
    """Process id of its HTTP process."""
    since: float
    """Seconds since 1970 (UTC)."""


class ReceiverLock:
    """The lock of one receiver.

    Args:
        name: of the receiver.
        config: says where its files lie.
    """

    def __init__(self, name: str, config: ReceiverConfig) -> None:
        folders = dict.fromkeys([Path(config.data_root, FOLDER), state_folder(config)])
        self._paths = [folder / f"{quote(name, safe='')}.lock" for folder in folders]
        self._name, self._data_root = name, config.data_root
        self._not_kept_away = (
            f"nothing keeps another receiver with the name {name} and the data root {config.data_root} away, "
            "on this host or another"
        )
        self._held: dict[Path, int] = {}
        self.unguarded = ""
        """Why nothing keeps a second receiver of this name away, in a sentence; "" where the lock does."""
        self.is_unwritable = False
        """True if the reason is that this user may not write there."""

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Descriptors that hold the lock until all copies of them are closed."""
        return tuple(self._held.values())

    def take(self) -> str:
        """Take the lock; return "", or who holds it, in a sentence. May hang on a network file system."""
        for path in self._paths:
            if path in self._held:
                continue
            try:
                if (holder := self._take(path)) is not None:
                    return self._waits(holder, path.parent)
            except OSError as error:
                if error.errno in NOT_OURS:
                    self._say_unwritable(path.parent, guarded=False)
                    continue
                what = "keeps no locks" if error.errno in NO_LOCKS else f"takes no lock ({error.strerror})"
                self.unguarded = f"{path.parent} {what}: {self._not_kept_away}"
        return ""

    def _say_unwritable(self, folder: Path, *, guarded: bool) -> None:
        self.is_unwritable = True
        why = "no file can be written" if guarded else self._not_kept_away
        self.unguarded = (
            f"{folder} cannot be written by user {os.geteuid()}, group {os.getegid()}: {why}. Let it and the "
            "folder above belong to this user, or run the receiver as their owner"
        )

    def _take(self, path: Path) -> Holder | None:
        """Take the lock of a file; return who holds it, if somebody does.

        Raises:
            OSError: it cannot be locked.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            if error.errno not in NOT_OURS or not path.exists():
                raise
            # That of a receiver of another user: it can be waited for all the same.
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self._say_unwritable(path.parent, guarded=True)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            content = msgspec.json.encode(
                Holder(host=socket.gethostname(), pid=os.getpid(), since=time.time())
            )
            with contextlib.suppress(OSError):  # on a full disk: it is locked all the same
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, content, 0)
        except BlockingIOError:
            try:
                return _holder(descriptor)
            finally:
                os.close(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        self._held[path] = descriptor
        return None

    def _waits(self, holder: Holder, folder: Path) -> str:
        who = "another receiver"
        if holder.pid:
            since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder.since))
            who = f"that of process {holder.pid} on {holder.host}, which runs since {since}"
        same = f"data root ({self._data_root})"
        if folder != Path(self._data_root, FOLDER):
            same = f"state folder ({folder})"
        return (
            f"receiver {self._name} waits for {who}: it has the same name and {same}. "
            "Stop that one, or give this entry another name"
        )

    def close(self) -> None:
        """Let it go, as far as this process holds it."""
        while self._held:
            os.close(self._held.popitem()[1])


def _holder(descriptor: int) -> Holder:
    """Return who has written himself into a file that is locked; nobody, if he could not."""
    try:
        return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=Holder)
    except (msgspec.DecodeError, OSError):
        return Holder(host="", pid=0, since=0.0)


log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
"""Time in seconds between two looks whether the other receiver has ended."""


class Waiting:
    """The beginning of a receiver: at once, or when the other one has ended.

    Args:
        lock: that only one of them holds.
        start: starts this receiver.
        failed: told why that failed, if it had to wait.
        news: called when `sentence` has changed.
    """

    def __init__(
        self, lock: ReceiverLock, start: Callable[[], Awaitable[None]], failed: Callable[[str], None],
        news: Callable[[], None],
    ) -> None:  # fmt: skip
        self._lock, self._start, self._failed, self._news = lock, start, failed, news
        self._task: asyncio.Task[None] | None = None
        self._when_over: Callable[[], None] = lambda: None
        self.sentence = ""
        """Sentence that says for whom it waits; "" if it does not."""

    async def begin(self) -> None:
        """Start the receiver, or begin to wait.

        Raises:
            RuntimeError: it could not be started.
        """
        self.sentence = await asyncio.to_thread(self._lock.take)
        if self.sentence:
            log.warning("%s", self.sentence)
            self._task = asyncio.get_running_loop().create_task(self._wait())
            return
        self._warn()
        await self._start()

    def when_over(self, call: Callable[[], None]) -> None:
        """Call when it waits no more, or now."""
        if self.sentence:
            self._when_over = call
        else:
            call()

    def check(self) -> None:
        """Check that it does not wait.

        Raises:
            Refused: it does.
        """
        if self.sentence:
            raise Refused("waiting", self.sentence)

    def cancel(self) -> None:
        """Wait no more, since the service ends."""
        if self._task is not None:
            self._task.cancel()

    async def _wait(self) -> None:
        while sentence := await asyncio.to_thread(self._lock.take):
            if sentence != self.sentence:
                log.warning("%s", sentence)
                self.sentence = sentence
                self._news()
            await asyncio.sleep(LOOK_SECONDS)
        log.info("the other receiver has ended")
        self._warn()
        try:
            await self._start()
        except RuntimeError as error:
            self._failed(str(error))
        self.sentence = ""
        self._news()
        self._when_over()

    def _warn(self) -> None:
        if self._lock.unguarded:
            log.warning("%s", self._lock.unguarded)
