"""The control of one detector: its parts, the threads that follow them, and the commands."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib.metadata import version

from penstock.cluster.config import ControlConfig, PipelinePart, seconds
from penstock.cluster.deployment import Deployment
from penstock.cluster.kubernetes import Deployments
from penstock.cluster.models import Status
from penstock.cluster.parts import AnyPart, ProgramPart, WorkersPart, pipeline, receiver
from penstock.service.models import Health, Refused
from penstock.service.threads import Threads

VERSION = version("penstock")
PERIOD = 2.0
"""Seconds between two questions to Kubernetes, and to a program."""
QUICK = 0.5
"""The same while something starts or ends."""
LOOK = 0.2
"""Seconds between two looks at what has to be done."""
MOVES = ("starting", "ending")
RECEIVER = "receiver"
"""Name of its part."""


class NoSuchPart(Refused):
    """There is no part of this name."""

    http_status = 404


class Control(Threads):
    """One control.

    Args:
        config: its configuration, with the address of the API server and the namespace.
        failed: called, in any thread, when a thread has ended by an error of ours.
    """

    def __init__(self, config: ControlConfig, failed: Callable[[], None]) -> None:
        super().__init__(failed)
        self.config = config
        self._moves = True
        self._kubernetes = Deployments(config.kubernetes)
        url = config.receiver.url
        self._receiver = ProgramPart(
            RECEIVER, "receiver", url, receiver(url, self._pause),
            self._deployment(config.receiver.deployment, RECEIVER),
        )  # fmt: skip
        self._parts: dict[str, AnyPart] = {RECEIVER: self._receiver}
        for each in config.pipelines:
            self._add(each)

    def _add(self, config: PipelinePart) -> None:
        deployment = self._receiver.deployment
        if config.deployment:
            deployment = self._deployment(config.deployment, config.name)
        part = self._parts[config.name] = ProgramPart(
            config.name, "pipeline", config.url, pipeline(config.url, self._pause), deployment,
            own=bool(config.deployment),
        )  # fmt: skip
        if (of := config.workers) is not None:
            name = f"{config.name}/workers"
            theirs = self._deployment(of.deployment, name, of.count)
            idle = self.config.idle
            self._parts[name] = WorkersPart(part, self._receiver, theirs, idle, seconds(idle))

    def _deployment(self, name: str, part: str, count: int = 1) -> Deployment:
        return Deployment(name, part, count, self._kubernetes, self._pause, self._ends)

    def _pause(self) -> float:
        return QUICK if self._moves else PERIOD

    # Life

    def start(self) -> None:
        """Start the threads."""
        work: list[tuple[str, Callable[[threading.Event], None]]] = [("look", self._look)]
        for name, part in self._parts.items():
            if isinstance(part, WorkersPart):
                work.append((f"scale of {name}", part.deployment.scale.run))
                continue
            work.append((f"program of {name}", part.program.run))
            if part.own:
                work.append((f"scale of {name}", part.deployment.scale.run))
        self._start(work)

    def close(self) -> None:
        """End the threads; what a restart has stopped is started at once."""
        self._ends.set()
        self._ask_now()
        for part in self._parts.values():
            part.deployment.join()
        self._join()
        self._kubernetes.close()

    def _look(self, ends: threading.Event) -> None:
        while not ends.wait(LOOK):
            for part in self._workers():
                part.look()
            rows = [part.row for part in self._parts.values()]
            moves = any(row.state in MOVES for row in rows)
            if moves and not self._moves:
                self._ask_now()
            self._moves = moves

    def _ask_now(self) -> None:
        for part in self._parts.values():
            part.deployment.scale.ask_now()
            if isinstance(part, ProgramPart):
                part.program.ask_now()

    def _workers(self) -> list[WorkersPart]:
        return [part for part in self._parts.values() if isinstance(part, WorkersPart)]

    # Commands

    def begin(self, name: str) -> None:
        """Start a part; workers that were taken away because no series ran come back with what they serve.

        Raises:
            Refused: there is no such part, it is none of its own, or Kubernetes refuses.
        """
        part = self._own(name)
        scale, count = part.deployment.scale.answer, part.deployment.count
        if not count:
            raise Refused(
                "no_count", f"{name} had no workers yet, and their count in the file is 0: scale them instead"
            )
        if scale is None or not scale.wanted:
            _set(part, count)
        for workers in self._workers():
            if part in (workers, workers.of, self._receiver):
                workers.wake()

    def stop(self, name: str) -> None:
        """Stop a part.

        Raises:
            Refused: there is no such part, it is none of its own, or Kubernetes refuses.
        """
        _set(self._own(name), 0)

    def restart(self, name: str) -> None:
        """Stop a part, and start it again once its pods have ended; returns when it is being stopped.

        Raises:
            Refused: there is no such part, it is none of its own, or Kubernetes refuses.
        """
        self._own(name).deployment.restart()

    def scale(self, name: str, count: int) -> None:
        """Let a part have so many pods.

        Raises:
            Refused: there is no such part, it cannot be so many, or Kubernetes refuses.
        """
        part = self._own(name)
        if count > 1 and not isinstance(part, WorkersPart):
            workers = ", ".join(each.name for each in self._workers()) or "none are configured"
            raise Refused(
                "one_only",
                f"{name} is one program, and cannot be {count}: give 0 or 1; workers can ({workers})",
            )
        _set(part, count)

    def wake(self) -> None:
        """Let workers come back that were taken away because no series ran."""
        for each in self._workers():
            each.wake()

    def _own(self, name: str) -> AnyPart:
        part = self._parts.get(name)
        if part is None:
            raise NoSuchPart("no_such_part", f'there is no part "{name}"; there is {", ".join(self._parts)}')
        if isinstance(part, ProgramPart) and not part.own:
            raise Refused(
                "in_the_receivers_pod",
                f"{name} runs in the receiver's pod ({part.deployment.name}), and starts and ends with it; "
                f"give the part {RECEIVER}",
            )
        return part

    # What it says

    @property
    def status(self) -> Status:
        """The state of now, without a version."""
        rows = [part.row for part in self._parts.values()]
        return Status(
            control=self.config.name, namespace=self.config.kubernetes.namespace, parts=rows,
            idle=self.config.idle, problem=self._problem(), penstock=VERSION,
        )  # fmt: skip

    @property
    def health(self) -> Health:
        """Liveness and readiness, for whoever restarts controls."""
        problem = self.failure or self._problem()
        return Health(alive=not self.failure, ready=not problem, message=problem)

    def _problem(self) -> str:
        found = (part.deployment.scale for part in self._parts.values())
        return next((each.problem for each in found if each.problem), "")


def _set(part: AnyPart, count: int) -> None:
    if isinstance(part, WorkersPart):
        part.set(count)
    else:
        part.deployment.set(count)
