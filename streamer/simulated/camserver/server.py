"""A simulated camserver with its network: connections, control, its window, trigger input; its power."""

from __future__ import annotations

import itertools
import logging
import os
import shutil
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from types import TracebackType

import msgspec

from penstock.stins.addresses import host_port
from penstock.streamer.simulated.camserver.box import Box
from penstock.streamer.simulated.camserver.faults import Faults
from penstock.streamer.simulated.camserver.images import MODELS, Images
from penstock.streamer.simulated.camserver.language import Commands
from penstock.streamer.simulated.camserver.settings import Settings
from penstock.streamer.simulated.triggers import Edge, TriggerInput

log = logging.getLogger(__name__)


class Connection:
    """One client, or a terminal at camserver's window."""

    def __init__(self, connected: socket.socket, pid: int) -> None:
        self._socket, self._sending = connected, Lock()
        self.pid = pid
        """Process id: camserver forks for each client ([cs] `main`)."""
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data: bytes) -> None:
        """Send an answer, unless the client has gone."""
        with self._sending, suppress(OSError):
            self._socket.sendall(data)

    def serve(self, execute: Callable[[str], None]) -> None:
        """Execute the client's commands, one after the other, until it has gone."""
        commands = Commands()
        with suppress(OSError):
            while data := self._socket.recv(65536):
                for line in commands.feed(data):
                    execute(line)
        self._socket.close()

    def close(self) -> None:
        """Break the connection."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


class Nobody:
    """Who does not read answers."""

    pid = 0

    def send(self, data: bytes) -> None:
        """Drop an answer."""


def shut(listening: socket.socket) -> None:
    """Stop listening, also where a thread waits in `accept`."""
    with suppress(OSError):
        listening.shutdown(socket.SHUT_RDWR)
    listening.close()


BACK_LOG = 5


class SimulatedCamserver:
    """camserver and its detector, reachable from construction to `close`."""

    def __init__(
        self, folder: Path, tcp: tuple[str, int] = ("127.0.0.1", 0), *, model: str = "PILATUS3 300K",
        sensor: tuple[int, int] | None = None, pattern: str = "gradient", capacity: int = 0,
        trigger_port: int = 0, window_port: int = 0, trimmed: bool = True,
    ) -> None:  # fmt: skip
        """Bind all ports.

        Args:
            folder: where images are written until ImgPath says something else; made if it is missing, and
                then removed at the end.
            tcp: host and port; port 0 for any free one.
            model: key of `images.MODELS`.
            sensor: (rows, cols); `None` for those of the model.
            pattern: key of `images.PATTERNS`.
            capacity: bytes of the RAM disk; 0: those of the file system.
            trigger_port: UDP port of the trigger input.
            window_port: TCP port of camserver's own window.
            trimmed: whether a threshold is set from the start.

        Raises:
            OSError: a port is in use, or the folder cannot be made.
        """
        self._made = None if folder.exists() else folder
        folder.mkdir(parents=True, exist_ok=True)
        self._tcp, self._lock = tcp, Lock()
        self._images = Images(pattern, sensor or MODELS[model], capacity)
        self.box = Box(Settings(folder, model, trimmed=trimmed), self._images)
        self._pids = itertools.count(os.getpid() + 1)
        self._listening: socket.socket | None = None
        self._clients: list[Connection] = []
        self._windows: list[Connection] = []
        self._triggers = TriggerInput(tcp[0], trigger_port)
        self.trigger_address: str = host_port(*self._triggers.address)
        self._triggers.arm(self._edges)
        self._window = socket.create_server((tcp[0], window_port), backlog=BACK_LOG)
        self.window_port: int = self._window.getsockname()[1]
        self._listen()
        Thread(target=self._accept, args=(self._window, self._open_window), daemon=True).start()

    @property
    def faults(self) -> Faults:
        """The present faults on request; its fields may be set."""
        return self.box.faults

    @faults.setter
    def faults(self, faults: Faults) -> None:
        self.box.faults = faults

    def power(self, on: bool) -> None:
        """Switch the control unit off (connections break, settings and exposure are lost), or on."""
        with self._lock:
            if on and self._listening is None:
                self._listen()
            elif not on and self._listening is not None:
                listening, self._listening = self._listening, None
                shut(listening)
                for client in list(self._clients):
                    client.close()
                self.box.power_off()

    def type_at_window(self, line: str) -> None:
        """Execute a command as if typed at camserver's window, which has control at all times ([um]
        6.2.2)."""
        self.box.command(line, Nobody(), control=True)

    def close(self) -> None:
        """Close everything."""
        self.power(False)
        shut(self._window)
        for window in list(self._windows):
            window.close()
        self._triggers.close()
        self._images.forget()
        if self._made is not None:
            shutil.rmtree(self._made, ignore_errors=True)

    def __enter__(self) -> SimulatedCamserver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _listen(self) -> None:
        self._listening = socket.create_server(self._tcp, backlog=BACK_LOG)
        self._tcp = (self._tcp[0], self._listening.getsockname()[1])
        self.port: int = self._tcp[1]
        Thread(target=self._accept, args=(self._listening, self._open), daemon=True).start()

    def _accept(self, listening: socket.socket, opened: Callable[[Connection], None]) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            client = Connection(connection, next(self._pids))
            Thread(target=opened, args=(client,), daemon=True).start()

    def _open(self, client: Connection) -> None:
        """Serve a client: the first one has control, until it closes its connection."""
        self._clients.append(client)
        control = self.box.take_control(client)
        log.info("connection %d, %s", client.pid, "full control" if control else "read only")
        client.serve(lambda line: self.box.command(line, client, control=control))
        self._clients.remove(client)
        self.box.give_control(client)

    def _open_window(self, window: Connection) -> None:
        self._windows.append(window)
        window.serve(lambda line: self._typed(line, window))
        self._windows.remove(window)

    def _typed(self, line: str, window: Connection) -> None:
        """Execute a command of camserver, or of the simulator itself."""
        word, _, argument = line.partition(" ")
        try:
            match word.lower():
                case "faults":
                    self.faults = msgspec.json.decode(argument or "{}", type=Faults)
                    said = msgspec.json.encode(self.faults).decode()
                case "power":
                    self.power({"on": True, "off": False}[argument])
                    said = f"power {argument}"
                case "edge":
                    taken = self.box.edge(Edge(0, time.monotonic(), float(argument or 0.0)))
                    said = "taken" if taken else "not taken"
                case _:
                    self.box.command(line, window, control=True)
                    return
        except (KeyError, ValueError, msgspec.ValidationError) as error:
            said = f"*** {word}: {error}"
        window.send(f"{said}\n".encode())

    def _edges(self) -> None:
        while self._triggers.pending:
            self.box.edge(self._triggers.take())
