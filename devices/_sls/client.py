"""The client of a detector's modules and of their slsReceivers: slsdet, in child processes.

Each call of this class has a child of its own for as long as it takes (`worker`), so that it may be made
from any thread, and ends after its time-out. slsdet keeps what it knows of modules and receivers in /dev/shm,
under the name in its environment variable SLSDETNAME, and all children of one client share that.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from penstock.streamer.camera.own_stream import BoxLost
from penstock.streamer.camera.unit import CameraError

Step: TypeAlias = tuple[Any, ...]
"""A step of a call, see `worker`."""

AT_ONCE = 10.0
"""Seconds for a call: a module answers in milliseconds, and one that was just switched on in seconds."""
AT_ONCE_CALLS = 4
"""Calls at the same time during a series: of the watcher, of the thread that sees to its end, of a trigger,
and of Stop."""
START = 30.0
"""Seconds until slsdet is imported."""

NO_ANSWER = re.compile(r"(?:connect to (\w+):|decode host:)(\S+) on port (\d+)")
"""Pattern of an error of `ClientSocket.cpp`: the kind of the peer, its host and its port."""
NOT_SET_UP = "Receiver not set up"
BROKEN = ("TCP socket read", "TCP socket sent")
"""Errors of `DataSocket.cpp`: the peer has closed the connection during the call."""


class NotSetUp(CameraError):
    """An slsReceiver that was just started knows nothing of its detector (`ClientInterface.cpp`)."""


class Client:
    """The client of one detector.

    Args:
        name: name under which slsdet keeps what it knows.
        model: name of the class in slsdet, such as "Jungfrau".
        address: what is named in messages, such as "the JUNGFRAU at bchip001".
        modules: host and control port of each module.
    """

    def __init__(self, name: str, model: str, address: str, modules: Sequence[tuple[str, int]] = ()) -> None:
        self._modules = modules
        self._name = name
        self._model = model
        self.address = address
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._closed = False

    def check_sdk(self) -> None:
        """Wait until a child has imported slsdet; uses no network.

        Raises:
            CameraError: slsdet is missing; the sentence has the remedy.
        """
        with self._worker() as worker:
            worker.await_ready()

    def start_workers(self) -> None:
        """Let as many children start as a series has threads, so that Stop waits for none; return at once."""
        with ExitStack() as held:
            for _ in range(AT_ONCE_CALLS):
                held.enter_context(self._worker())

    def do(self, *steps: Step, seconds: float = AT_ONCE) -> list[Any]:
        """Make the steps one after the other; return their values.

        Args:
            steps: steps; an error ends them.
            seconds: time-out for all.

        Raises:
            CameraError: the detector's software refuses; the sentence is its own.
            BoxLost: a module or a receiver does not answer.
        """
        with self._worker() as worker:
            answer = worker.ask(steps, seconds)
        if answer is None:
            raise BoxLost(self._silence(steps, seconds))
        if "error" in answer:
            raise self._error(str(answer["error"]))
        return list(answer["ok"])

    def get(self, *names: str) -> list[Any]:
        """Return properties of the detector: a list if its modules differ.

        Raises:
            CameraError, BoxLost: see `do`.
        """
        return self.do(*(("get", name) for name in names))

    def close(self) -> None:
        """End the children; a call that is running ends with its own time-out."""
        with self._lock:
            self._closed = True
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.end()

    @contextmanager
    def _worker(self) -> Iterator[_Worker]:
        with self._lock:
            if self._closed:
                raise CameraError(f"the connection to {self.address} was closed")
            dead, self._idle = self._idle, [each for each in self._idle if each.is_alive]
            dead = [each for each in dead if each not in self._idle]
            worker = next((each for each in self._idle if each.is_ready), None)
            worker = worker or next(iter(self._idle), None)
            if worker is not None:
                self._idle.remove(worker)
        for each in dead:  # killed from outside
            each.end()
        worker = worker or _Worker(self._name, self._model)
        try:
            yield worker
        finally:
            with self._lock:
                keep = worker.is_alive and not self._closed
                if keep:
                    self._idle.append(worker)
            if not keep:
                worker.end()

    def _silence(self, steps: tuple[Step, ...], seconds: float) -> str:
        """Return who has not answered: whoever is asked for `rx_…` alone is slsReceiver."""
        names = [str(step[1]) for step in steps]
        asked = f"within {seconds:g} s ({', '.join(names)})"
        if all(name.startswith("rx_") for name in names):
            return (
                f"an slsReceiver of {self.address} has not answered {asked}; does it hang, or is its network "
                "interrupted?"
            )
        return f"{self.address} has not answered {asked}; is it switched on, and its network connected?"

    def _error(self, said: str) -> CameraError:
        said = " ".join(said.replace("\0", " ").split())
        if found := NO_ANSWER.search(said):
            kind, host, port = found.groups()
            if kind == "Receiver":
                return BoxLost(f"the slsReceiver at {host}:{port} does not answer; is it running there?")
            # Its second port, one above, takes `status` and `stop` (`Module::setStopPort`).
            control, where = int(port) - 1, f" at its port {port}"
            if (host, control) not in self._modules:
                control, where = int(port), ""
            return BoxLost(
                f"the detector module at {host}:{control} does not answer{where}; is it switched on, and its "
                "network connected?"
            )
        if NOT_SET_UP in said:
            return NotSetUp(f"{self.address} has an slsReceiver that was started again; call Reset")
        if any(words in said for words in BROKEN):
            if said.startswith("Receiver"):
                return BoxLost(f"an slsReceiver of {self.address} has closed the connection; is it running?")
            return BoxLost(f"{self.address} has closed the connection: {said}; was it switched off?")
        return CameraError(f"{self.address} refuses: {said.removeprefix('Detector returned: ')}")


class _Worker:
    """One child process."""

    def __init__(self, name: str, model: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "penstock.devices._sls.worker", model],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            # It computes nothing, and NumPy takes twice as long to start with a thread on every core.
            env={**os.environ, "SLSDETNAME": name, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        self._answers: SimpleQueue[str] = SimpleQueue()
        self._late = False
        self._is_ready = False
        threading.Thread(target=self._read, name="slsdet", daemon=True).start()

    @property
    def is_ready(self) -> bool:
        """True once it has imported slsdet, or failed to."""
        return self._is_ready or not self._answers.empty()

    def await_ready(self) -> None:
        """Wait until it has imported slsdet.

        Raises:
            CameraError: it cannot; the sentence has the remedy.
        """
        if self._is_ready:
            return
        ready = self._next(START)
        self._is_ready = ready is not None and "error" not in ready
        if not self._is_ready:
            self._late = True
            raise CameraError(
                "the process for slsdet has ended at once" if ready is None else str(ready["error"])
            )

    @property
    def is_alive(self) -> bool:
        """False once it has not answered in time: it may hang for minutes."""
        return self._process.poll() is None and not self._late

    def ask(self, steps: tuple[Step, ...], seconds: float) -> dict[str, Any] | None:
        """Return the answer; `None` if there is none in time, or the process has died.

        Raises:
            CameraError: slsdet cannot be imported.
        """
        self.await_ready()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(steps) + "\n")
        except OSError:
            self._late = True
            return None
        answer = self._next(seconds)
        self._late = answer is None
        return answer

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with suppress(OSError):  # what was not written yet is for nobody
            self._process.stdin.close()

    def _next(self, seconds: float) -> dict[str, Any] | None:
        try:
            line = self._answers.get(timeout=seconds)
        except Empty:
            return None
        return dict(json.loads(line)) if line else None

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as answers:
            for line in answers:
                self._answers.put(line)
        self._answers.put("")
