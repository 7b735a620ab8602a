"""The TCP connection to camserver: questions with their answers, and answers that come unasked for.

Only the first connection has control ([um] 6.2.2 p. 19), so that all threads share one. A thread of its own
reads it; commands that wait for an answer go one after the other, and `tell` overtakes them.
"""

from __future__ import annotations

import logging
import queue
import socket
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from threading import Lock, Thread

from penstock.devices._camserver import protocol
from penstock.devices._camserver.protocol import DENIED, UNASKED, UNKNOWN, Answer, Code
from penstock.stins.addresses import host_port
from penstock.streamer.camera.own_stream import BoxLost
from penstock.streamer.camera.settings import Value
from penstock.streamer.camera.unit import CameraError

log = logging.getLogger(__name__)

CONNECT = 2.0
"""Seconds to reach the control unit, which is in the same network."""
ANSWER = 5.0
"""Seconds for an answer that needs no trimming: camserver answers within 1 to 2 ms ([um] p. 19)."""
PROBES = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 4),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 2),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
)
"""Probes of the connection: nothing is asked during a series, and a lost network is found within 10 s."""
CHECK_HOST = (
    "check that the control unit is switched on and on this network, that camserver runs on it, and that the "
    "properties Host and Port are correct (call Init after a change); then call Reset"
)


class NoControl(CameraError):
    """Another client has control of camserver."""


class Unknown(CameraError):
    """This version of camserver lacks the command."""


class Connection:
    """One connection; any thread may use it.

    Args:
        host: of the control unit.
        port: TCP port of camserver.
        on_unasked: called with each answer that comes unasked for; from the thread that reads, so that it
            must return at once and ask nothing.
        on_lost: called with a sentence when the connection is lost, from the same thread.

    Raises:
        BoxLost: nobody answers there.
    """

    def __init__(
        self, host: str, port: int, on_unasked: Callable[[Answer], None], on_lost: Callable[[str], None]
    ) -> None:
        self.address = f"camserver at {host_port(host, port)}"
        """Name and address, for messages."""
        self._on_unasked, self._on_lost = on_unasked, on_lost
        self._answers: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
        self._asking, self._sending = Lock(), Lock()
        self._lost = ""
        self._closing = False
        try:
            self._socket = socket.create_connection((host, port), CONNECT)
        except OSError as error:
            raise BoxLost(f"{self.address} cannot be reached ({_reason(error)}): {CHECK_HOST}") from error
        for probe in PROBES:
            self._socket.setsockopt(*probe)
        self._socket.settimeout(None)
        self._thread = Thread(target=self._read, name="camserver", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Do nothing while the connection stands.

        Raises:
            BoxLost: it is lost.
        """
        if self._lost:
            raise BoxLost(self._lost)

    def ask(
        self, command: str, *arguments: Value, codes: Collection[int] = (Code.SEND,), seconds: float = ANSWER
    ) -> Answer:
        """Send a command; return its answer.

        Args:
            command: name of the command.
            arguments: what follows it.
            codes: codes of its answer; answers with other codes are those of earlier commands.
            seconds: time for the answer.

        Raises:
            CameraError: camserver refuses; the sentence has its words.
            NoControl: another client has control.
            Unknown: this version lacks the command.
            BoxLost: the connection is lost, or there is no answer in time: then it is closed.
        """
        with self._asking:
            self._forget_answers()
            what = protocol.encode(command, *arguments)
            words = what.removesuffix(protocol.COMMAND_END).decode()
            self._send(what)
            answer = self._await(words, {Code.COMMAND, *codes}, seconds)
        if answer.ok:
            return answer
        if DENIED in answer.text:
            raise NoControl(f"{self.address} refuses {words} ({answer.text}): another client has control")
        if answer.text.lower().strip("* ").startswith(UNKNOWN):
            raise Unknown(f"{self.address} does not know {command} ({answer.text})")
        raise CameraError(f"{self.address} refuses {words}: {answer.code} ERR {answer.text}".rstrip())

    def tell(self, command: str) -> None:
        """Send a command whose answers nobody waits for, even while another one waits for its answer.

        Raises:
            BoxLost: the connection is lost.
        """
        self._send(protocol.encode(command))

    def close(self) -> None:
        """Close the connection: control goes to the next client that connects."""
        self._closing = True
        self._lost = self._lost or f"the connection to {self.address} was closed"
        with suppress(OSError):  # it was lost already
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(CONNECT)
        self._socket.close()

    def _forget_answers(self) -> None:
        while not self._answers.empty():
            answer = self._answers.get()
            if answer is not None:
                log.info("%s: an answer to no command: %s", self.address, answer)

    def _send(self, data: bytes) -> None:
        self.check()
        log.debug("%s < %s", self.address, data)
        try:
            with self._sending:
                self._socket.sendall(data)
        except OSError as error:
            self._lose(f"{self.address} broke off ({_reason(error)}); {CHECK_HOST}")
            raise BoxLost(self._lost) from error

    def _await(self, words: str, codes: Collection[int], seconds: float) -> Answer:
        end = time.monotonic() + seconds
        while True:
            try:
                answer = self._answers.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                self._lose(f"{self.address} did not answer {words} within {seconds:g} s; {CHECK_HOST}")
                answer = None
            if answer is None:
                raise BoxLost(self._lost)
            if answer.code in codes:
                return answer
            log.info("%s: skipped %s while waiting for the answer to %s", self.address, answer, words)

    def _lose(self, sentence: str) -> None:
        """Give the connection up: a later answer would be taken for that of another command."""
        first, self._lost = not self._lost, self._lost or sentence
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        if first:
            self._on_lost(self._lost)

    def _read(self) -> None:
        splitter = protocol.Splitter()
        try:
            while data := self._socket.recv(65536):
                log.debug("%s > %s", self.address, data)
                for answer in splitter.feed(data):
                    if answer.code in UNASKED:
                        self._on_unasked(answer)
                    refuses = answer.code == Code.EXPOSURE and not answer.ok  # an exposure that has not begun
                    if refuses or answer.code not in UNASKED:
                        self._answers.put(answer)
            why = "it closed the connection"
        except OSError as error:
            why = _reason(error)
        except ValueError as error:
            why = f"it is no camserver: {error}"
        if not self._closing:
            self._lose(f"{self.address} broke off ({why}); {CHECK_HOST}")
        self._answers.put(None)


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
