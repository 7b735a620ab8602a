"""Child processes: started, awaited until they are ready, and ended reliably.

Used for the streamer of a device, by the commands that start several processes, and by tests.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Generic, TypeVar

import msgspec

from penstock.stins.errors import UserError

T = TypeVar("T")

log = logging.getLogger(__name__)

PYTHON = (sys.executable, "-P")
"""This interpreter; files in the current folder cannot shadow a module."""
PENSTOCK = (*PYTHON, "-c", "import sys; from penstock.cli.main import main; sys.exit(main())")
"""The command `penstock` of this environment, whatever the PATH."""
PORTS = range(10_000, 32_768)
"""Ports that `free_port` chooses among."""
_KEPT = 200
_kept: deque[int] = deque()
"""The last ports that were returned: who was given one may not use it yet."""


def ready_line(kind: type[T]) -> Callable[[str], T | None]:
    """Return the `ready` of a `Child` that writes a line of JSON when it is ready; log lines are skipped."""

    def read(line: str) -> T | None:
        try:
            return msgspec.json.decode(line, type=kind)
        except msgspec.DecodeError:
            return None

    return read


class ProcessFailed(UserError):
    """A child ended, or was not ready in time; the sentence quotes its last lines."""


class Child(Generic[T]):
    """One child process, which is ready once this object exists.

    Both of its outputs are read all the time, so that it can never block on a full pipe; the last lines are
    kept for error messages.

    Args:
        name: name of the child, for messages.
        argv: command line.
        ready: called with each line of both outputs; its first result that is not `None` becomes `answer`.
        deadline: seconds within which the child must be ready.
        lifeline: keep its standard input open as long as this process lives; otherwise it has none.
        environment: variables added to the environment of this process.
        relay: called with each line, for a log.

    Raises:
        ProcessFailed: the child cannot be started, has ended, or was not ready in time.
    """

    def __init__(
        self, name: str, argv: Sequence[str], ready: Callable[[str], T | None], *,
        deadline: float = 15.0, lifeline: bool = False, environment: Mapping[str, str] | None = None,
        relay: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.tail: deque[str] = deque(maxlen=40)
        self._ready = ready
        self._relay = relay
        self._answered = threading.Event()
        self._readers: list[threading.Thread] = []
        try:
            with _signals_delayed():
                # A session of its own: Ctrl-C in the terminal reaches only the parent, which then ends its
                # children in the right order.
                self._process = subprocess.Popen(
                    argv, stdin=subprocess.PIPE if lifeline else subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, env={**os.environ, **(environment or {})},
                    start_new_session=True,
                )  # fmt: skip
            self._readers = [self._reader(self._process.stdout), self._reader(self._process.stderr)]
            self.answer = self._wait_ready(deadline)
        except OSError as error:
            raise ProcessFailed(f"{name} cannot be started: {argv[0]}: {error.strerror}") from error
        except BaseException:  # a signal while the child starts
            if hasattr(self, "_process"):
                self.stop()
            raise

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def exit_status(self) -> int | None:
        """Return the exit status (negative: the signal), `None` while the child runs."""
        return self._process.poll()

    def wait(self, timeout: float | None = None) -> int | None:
        """Return the exit status once the child has ended, `None` if it runs after `timeout` seconds."""
        try:
            # With a time-out, it looks again and again: a signal that comes as it begins to wait is handled.
            return self._process.wait(threading.TIMEOUT_MAX if timeout is None else timeout)
        except subprocess.TimeoutExpired:
            return None

    def ended(self) -> str | None:
        """Return a sentence about how the child ended, `None` while it runs."""
        status = self.exit_status()
        if status is None:
            return None
        if status < 0:
            return f"{self.name} was killed by signal {-status}"  # it could write nothing about it
        return f"{self.name} ended with status {status}{self._last_lines()}"

    def kill(self) -> None:
        """Send SIGKILL, for tests of faults."""
        self._process.kill()

    def stop(self, patience: float = 5.0) -> None:
        """End the child: close its input, SIGTERM, and SIGKILL after `patience` seconds. Idempotent."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        if self._process.poll() is None:
            self._process.terminate()
            if self.wait(patience) is None:
                log.warning("%s did not end within %g s and was killed", self.name, patience)
                self._process.kill()
                self._process.wait()
        for reader in self._readers:
            # A grandchild may hold the pipe open; as daemons, the readers do not keep this process alive.
            reader.join(timeout=1.0)

    def __enter__(self) -> Child[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _wait_ready(self, deadline: float) -> T:
        limit = time.monotonic() + deadline
        while not self._answered.wait(0.05):
            if self._process.poll() is not None:
                for reader in self._readers:
                    reader.join(timeout=1.0)
                if self._answered.is_set():
                    break
                sentence = self.ended()
                raise ProcessFailed(f"{sentence}, before it was ready")
            if time.monotonic() > limit:
                self.stop(patience=1.0)
                raise ProcessFailed(
                    f"{self.name} was not ready within {deadline:g} s and was ended{self._last_lines()}"
                )
        return self._first_answer

    def _reader(self, output: IO[bytes] | None) -> threading.Thread:
        reader = threading.Thread(
            target=self._read, args=(output,), name=f"{self.name} output", daemon=True
        )  # fmt: skip
        reader.start()
        return reader

    def _read(self, output: IO[bytes]) -> None:
        with output:
            for raw in output:
                line = raw.decode(errors="replace").rstrip("\n")
                self.tail.append(line)
                if self._relay is not None:
                    self._relay(line)
                if not self._answered.is_set():
                    answer = self._ready(line)
                    if answer is not None:
                        self._first_answer = answer
                        self._answered.set()

    def _last_lines(self) -> str:
        words = [line.strip() for line in self.tail if line.strip()][-3:]
        return f" (its last lines: {' / '.join(words)})" if words else ""


@contextlib.contextmanager
def _signals_delayed() -> Iterator[None]:
    """Delay signals whose handlers raise: an exception inside `Popen` would lose the process being started.

    They are not blocked, since the child would inherit that.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    waiting = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in waiting:
        signal.signal(number, lambda number, frame: received.append(number))
    try:
        yield
    finally:
        for number, handler in waiting.items():
            signal.signal(number, handler)
    for each in received:
        signal.raise_signal(each)


def free_port(number: int = 1) -> int:
    """Return a TCP port on the loopback interface that nobody listens on now, or was given before; the first
    of `number` of them that follow each other.

    For a port that two processes must know before either has it; if one process can report its port, let the
    system choose instead. The port lies below those that the system assigns by itself (32768 and above,
    ip(7)): otherwise another program could be given it before it is used. Other processes of the same user
    are not given it either while this one runs: it locks one byte per port in a file (fcntl(2)).
    """
    there = PORTS[: len(PORTS) - number + 1]
    for first in random.SystemRandom().sample(there, min(1_000, len(there))):
        ports = range(first, first + number)
        if any(port in _kept or is_taken("127.0.0.1", port) for port in ports):
            continue
        if _lock(ports):
            _kept.extend(ports)
            while len(_kept) > max(_KEPT, number):
                fcntl.lockf(_locks(), fcntl.LOCK_UN, 1, _kept.popleft())
            return first
    raise ProcessFailed(f"of the ports {PORTS[0]} to {PORTS[-1]} none is free")


@functools.cache
def _locks() -> int:
    path = Path(tempfile.gettempdir()) / f"penstock-ports-{os.getuid()}"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _lock(ports: range) -> bool:
    """Keep other processes from these ports; False if one of them has been given to another process."""
    try:
        fcntl.lockf(_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, len(ports), ports.start)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        return False
    return True


def is_taken(host: str, port: int) -> bool:
    """Return whether a process listens on a TCP port; other faults of the address are ignored."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        return error.errno == errno.EADDRINUSE
    except OverflowError:
        return False
    return False


def next_free_port(host: str, port: int) -> int:
    """Return the first port above `port` that nobody listens on now; 0, for any port, if there is none."""
    return next((number for number in range(port + 1, 2**16) if not is_taken(host, number)), 0)


def children(pid: int) -> list[int]:
    """Return the ids of the child processes of a process, of all its threads."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has just ended
            found += [int(child) for child in (task / "children").read_text().split()]
    return found
