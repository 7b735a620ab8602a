"""The worker: a process that runs a scientist's classes on the frames that a distributor gives it.

It may die at any time, and start at any time: it has nothing that the distributor cannot give to another
worker. Without a distributor it waits for one, and for its return; when a pipeline has ended, for the next.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from penstock.processing import wire
from penstock.processing.wire import keys
from penstock.processing.worker.dealer import Change, Dealer
from penstock.processing.worker.session import Session, State

log = logging.getLogger(__name__)

SAY_FIRST, SAY_AGAIN = 5.0, 60.0
"""Seconds after which a worker says that it waits for a distributor, and says it once more."""


WITH_PARENT = "with-parent"
LEAVE = b"leave"
"""What a parent says before it closes a worker's standard input: it lives, and ends what that leaves."""
GONE_SECONDS = 5.0
"""Longest time for which a worker that has left waits to see whether its parent lets it go, or is gone."""
PREPARED = b"\0"
"""What wakes the loop, besides the numbers of signals: new parameters are prepared."""


class Worker:
    """A worker with its connection.

    Args:
        address: endpoint of the distributor.
        name: its name in status and result file; by default the host's with the process number.
        key: key of the pipeline, see `keys.read`.
        wake: descriptor that brings the number of a signal when the worker is to leave.
        waker: the other end of it, to which signals are written.
        has_parent: whether the distributor writes into the same log, and says why this worker refuses.
        once: whether it ends with the pipeline.

    Raises:
        ValueError: the address is no endpoint.
    """

    def __init__(
        self, address: str, name: str, key: bytes | None, wake: int, waker: int, *,
        has_parent: bool = False, once: bool = False,
    ) -> None:  # fmt: skip
        self.name = name or f"{socket.gethostname()}-{os.getpid()}"
        self._dealer = Dealer(address, key, wake)
        self._wake, self._waker = wake, waker
        self._session: Session | None = None
        """`None` while there is no connection."""
        self._former, self._done = "", tuple[int, ...]()
        """Mark by which the distributor knows the last session whose connection was lost, and bunches that it
        has done, whose results may not have arrived."""
        self._say_at = time.monotonic() + SAY_FIRST
        """Monotonic time at which it says that it waits for a distributor."""
        self._has_said_ended = False
        self._has_parent, self._once = has_parent, once
        self._status: int | None = None
        """The exit status, once it is known."""

    def run(self) -> int:
        """Work until the distributor stops it, or the descriptor is readable; return the exit status."""
        try:
            while self._status is None:
                has_messages, has_changed, is_woken = self._dealer.wait(self._seconds_left)
                if has_changed:
                    self._take_changes()
                elif is_woken:
                    self._wake_up()
                elif has_messages and self._session is not None:
                    self._take_message(self._session)
                self._do_what_is_due()
        finally:
            self._dealer.close()
        return self._status

    def _wake_up(self) -> None:
        if os.read(self._wake, 4096).strip(PREPARED):  # the numbers of signals
            if self._session is not None:
                self._session.leave()
            self._status = 0
        elif self._session is not None:
            self._session.take_prepared()

    def _tell_prepared(self) -> None:
        """Wake the loop, from another thread."""
        with contextlib.suppress(OSError):  # it is woken anyhow, or has ended
            os.write(self._waker, PREPARED)

    def _take_changes(self) -> None:
        while self._status is None and (change := self._dealer.change()) is not None:
            if change is Change.CONNECTED:
                self._has_said_ended = False
                self._session = Session(self._send, self._dealer.is_trusted, self._tell_prepared)
                self._send(
                    wire.Hello(
                        name=self.name,
                        host=socket.gethostname(),
                        pid=os.getpid(),
                        penstock=version("penstock"),
                        former=self._former,
                        done=self._done,
                    )
                )
            elif change is Change.ENDED_AT_ONCE:
                if not self._has_said_ended:
                    self._say(
                        "%s ends the connection at once: it needs the key of its pipeline, --key FILE, "
                        "or there is no distributor behind it yet; trying on"
                    )
                self._has_said_ended = True
            elif change is Change.LOST:
                if self._session is not None:
                    self._say("the distributor at %s is gone; waiting for it to come back")
                    self._session.forget()
                    if self._session.mark:
                        self._former, self._done = self._session.mark, tuple(self._session.done)
                self._session, self._say_at = None, time.monotonic() + SAY_AGAIN
            else:
                self._fail(
                    f"{self._dealer.address} does not take this connection: give the key of its pipeline "
                    "with --key FILE, the same file as there; none if the pipeline has none"
                )

    def _take_message(self, session: Session) -> None:
        if (parts := self._dealer.receive()) is None:
            return
        before = session.state
        try:
            session.take(parts)
        except wire.WireError as error:
            self._fail(f"{self._dealer.address} is no distributor of this release of Penstock: {error}")
            return
        if session.state is State.REFUSING is not before and not self._has_parent:
            log.error("worker %s: %s", self.name, session.refusal)
        if session.state is not State.LEFT:
            return
        if session.why:
            self._fail(session.why)
        elif self._once:
            self._status = 0
        else:  # the connection is lost once the distributor has ended
            self._say("the pipeline at %s has ended; waiting for the next one")
            self._former, self._done, self._session = "", (), None
            self._say_at = time.monotonic() + SAY_AGAIN

    def _send(self, message: wire.MessageOfWorker, arrays: Sequence[Any] = ()) -> None:
        self._dealer.send([wire.encode(message), *arrays])

    @property
    def _seconds_left(self) -> float | None:
        due = self._say_at if self._session is None else self._session.due
        return None if due is None else due - time.monotonic()

    def _do_what_is_due(self) -> None:
        if self._session is not None:
            self._session.do_what_is_due()
        elif time.monotonic() >= self._say_at:
            self._say("there is no distributor at %s yet; waiting for it")
            self._say_at = time.monotonic() + SAY_AGAIN

    def _say(self, what: str) -> None:
        log.warning("worker %s: %s", self.name, what % self._dealer.address)

    def _fail(self, why: str) -> None:
        log.error("worker %s: %s", self.name, why)
        self._status = 1


def run(
    address: str, *, name: str = "", key: Path | None = None, has_parent: bool = False, once: bool = False
) -> int:
    """Run a worker until its distributor stops it; SIGTERM and SIGINT let it end its bunch and hand over.

    Args:
        address: endpoint of the distributor, such as "tcp://10.1.2.3:5555".
        name: its name in status and result file; by default the host's with the process number.
        key: file with the key of the pipeline.
        has_parent: whether the distributor writes into the same log.
        once: whether it ends with the pipeline; if not, it waits for the next one.

    Returns:
        The exit status: 0, or 1 if it could not take part; a sentence was logged then.

    Raises:
        BadKey: the file has no key.
        ValueError: the address is no endpoint.
    """
    secret = None if key is None else keys.read(key)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda _number, _frame: None)
            return Worker(
                address, name, secret, ours.fileno(), theirs.fileno(), has_parent=has_parent, once=once
            ).run()
        finally:
            signal.set_wakeup_fd(-1)  # a signal may still come


_is_let_go = threading.Event()
_said: list[bytes] = []
"""What the parent has said as it let this worker go; nothing if it was killed."""


def _leave_with_parent() -> None:
    while said := os.read(sys.stdin.fileno(), 4096):
        _said.append(said)
    _is_let_go.set()
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """`python -m penstock.processing.worker.worker ADDRESS [NAME [KEY [with-parent]]]`, as `penstock process`
    starts its own. With a parent it leaves when standard input ends, which the parent holds open."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    address, name, key, lifeline, *_ = [*sys.argv[1:], "", "", "", ""]
    has_parent = lifeline == WITH_PARENT
    if has_parent:
        threading.Thread(target=_leave_with_parent, daemon=True).start()
    status = run(address, name=name, key=Path(key) if key else None, has_parent=has_parent, once=True)
    # The distributor of a parent that was killed says goodbye, and may be faster than standard input.
    if has_parent and _is_let_go.wait(GONE_SECONDS) and not _said and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)  # with the children of the class, which else the parent ends
    sys.exit(status)


if __name__ == "__main__":
    main()
