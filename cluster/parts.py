"""The parts of a detector: each Deployment with the program that runs in it, as rows of the status."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.cluster.deployment import Deployment
from penstock.cluster.followed import Followed
from penstock.cluster.idle import Idle
from penstock.cluster.kubernetes import KubernetesRefused, Scale
from penstock.cluster.models import Part, PartKind
from penstock.cluster.states import state_of
from penstock.processing import models as processing
from penstock.processing.client import NoAnswer, PipelineClient
from penstock.receiver import models as receiving
from penstock.receiver.client import ReceiverClient
from penstock.stins.texts import plural

log = logging.getLogger(__name__)

TIMEOUT = 2.0
"""Seconds in which a receiver or pipeline has to answer."""
WAKE_AGAIN = 10.0
"""Seconds after which Kubernetes is asked again to take workers away, or to bring them back."""
Pause = Callable[[], float]


@dataclass(frozen=True)
class Program:
    """What a receiver or pipeline says of itself."""

    state: str
    runs: bool
    """True if a series runs."""
    error: str
    waits_for: str
    workers: int = 0
    """Workers that are connected to a pipeline."""


def receiver(url: str, pause: Pause) -> Followed[Program]:
    """Return what follows a receiver."""
    client = ReceiverClient(url, timeout=TIMEOUT)
    return Followed(lambda: _of_receiver(client.status()), NoAnswer, pause)


def pipeline(url: str, pause: Pause) -> Followed[Program]:
    """Return what follows a pipeline."""
    client = PipelineClient(url, timeout=TIMEOUT)
    return Followed(lambda: _of_pipeline(client.status()), NoAnswer, pause)


def _of_receiver(status: receiving.Status) -> Program:
    return Program(
        status.state, status.series is not None and status.series.active, status.error, status.waits_for
    )


def _of_pipeline(status: processing.Status) -> Program:
    connected = [each for each in status.workers if each.state != "refused"]
    return Program(
        status.state, status.state == "running", status.error, status.waits_for, workers=len(connected)
    )


class ProgramPart:
    """A receiver or a pipeline.

    Args:
        name: of the part.
        kind: what it is.
        url: address of its HTTP API.
        program: follows it.
        deployment: its own, or that of the receiver.
        own: whether it is its own.
    """

    def __init__(
        self, name: str, kind: PartKind, url: str, program: Followed[Program], deployment: Deployment,
        own: bool = True,
    ) -> None:  # fmt: skip
        self.name, self.kind, self.url = name, kind, url
        self.program, self.deployment, self.own = program, deployment, own
        deployment.programs.append(program)
        self._answered = False

    @property
    def row(self) -> Part:
        """The part as it is now."""
        scale, said = self.deployment.scale.answer, self.program.answer
        if scale is not None and not (scale.wanted and scale.running):
            self._answered = False
        elif said is not None:
            self._answered = True
        settles = not self._answered and self.deployment.settles
        failed = said is not None and said.state == "error"
        state = state_of(scale, answers=said is not None, failed=failed, settles=settles)
        return Part(
            name=self.name, kind=self.kind, state=state, url=self.url,
            deployment=self.deployment.name if self.own else "",
            says="" if said is None else said.state, sentence=self._sentence(state, scale, said),
            **_pods(scale),
        )  # fmt: skip

    def _sentence(self, state: str, scale: Scale | None, said: Program | None) -> str:
        if scale is None:
            return self.deployment.scale.problem
        if self.deployment.doing:
            return self.deployment.doing
        if state == "away":
            return self.program.problem
        if state == "starting":
            return (
                "its pod is there, and does not answer yet" if scale.running else "its pod is not there yet"
            )
        if state == "ending":
            return "its pod is ending" if scale.running else "it still answers, although it was stopped"
        return "" if said is None or state == "off" else said.error or said.waits_for


class WorkersPart:
    """The workers of a pipeline.

    Args:
        of: the pipeline.
        receiver: the receiver, whose series need workers, too.
        deployment: theirs.
        idle: the time without a series after which they are taken away, as configured; "": never.
        limit: the same in seconds.
    """

    def __init__(
        self, of: ProgramPart, receiver: ProgramPart, deployment: Deployment, idle: str, limit: float | None
    ) -> None:
        self.name, self.of, self.deployment = f"{of.name}/workers", of, deployment
        self._receiver = receiver
        self._after = idle
        self._idle = Idle(limit, time.monotonic())
        self._lock = threading.Lock()
        self._wake = False
        self._problem = ""
        self._not_before = 0.0

    def set(self, count: int) -> None:
        """Let them be so many.

        Raises:
            KubernetesRefused: Kubernetes does not do it.
        """
        with self._lock:
            self.deployment.set(count)
            self._idle.was_set(time.monotonic())
            self._wake, self._problem = False, ""

    def wake(self) -> None:
        """Bring them back with the next look if they were taken away."""
        self._wake, self._not_before = True, 0.0

    def look(self) -> None:
        """Take them away, or bring them back, if it is time."""
        now, scale = time.monotonic(), self.deployment.scale.answer
        if scale is None or self.deployment.doing:
            return
        if scale.wanted:
            self.deployment.count = scale.wanted  # whoever has set it
        programs = (self._receiver, self.of)
        runs = any(each.program.answer is not None and each.program.answer.runs for each in programs)
        with self._lock:
            step = self._idle.look(
                now, wanted=scale.wanted, count=self.deployment.count, runs=runs, unknown=_unknown(self.of)
            )
            if self._wake:
                step = "wake" if self._idle.asleep else ""
                if not step:
                    self._wake = False
                    self._idle.was_set(now)  # the time begins anew
            if step and now >= self._not_before:
                self._do(now, 0 if step == "sleep" else self.deployment.count)

    def _do(self, now: float, count: int) -> None:
        what = (
            f"brings {plural(count, 'worker')} back"
            if count
            else f"takes workers away: no series for {self._after}"
        )
        log.info("%s: %s", self.name, what)
        try:
            self.deployment.set(count)
        except KubernetesRefused as error:
            self._problem, self._not_before = str(error), now + WAKE_AGAIN
            log.error("%s: %s", self.name, error)
            return
        self._wake, self._problem = False, ""
        self._idle.was_set(now, asleep=not count)

    @property
    def row(self) -> Part:
        """The part as it is now."""
        scale, said = self.deployment.scale.answer, self.of.program.answer
        connected = None if said is None else said.workers
        wanted = 0 if scale is None else scale.wanted
        state = state_of(
            scale, answers=bool(wanted and connected is not None and connected >= wanted),
            asleep=self._idle.asleep, settles=self.deployment.settles,
        )  # fmt: skip
        return Part(
            name=self.name, kind="workers", state=state, url=self.of.url, deployment=self.deployment.name,
            connected=connected, count=self.deployment.count,
            sentence=self._sentence(state, scale, connected), **_pods(scale),
        )  # fmt: skip

    def _sentence(self, state: str, scale: Scale | None, connected: int | None) -> str:
        if scale is None:
            return self.deployment.scale.problem
        if self.deployment.doing or self._problem:
            return self.deployment.doing or self._problem
        if state == "asleep":
            return (
                f"taken away after {self._after} without a series: the next series, or wake, brings "
                f"{self.deployment.count} back"
            )
        if state == "ending":
            return f"{plural(scale.running - scale.wanted, 'worker is', 'workers are')} ending"
        if state in ("starting", "away") and scale.running < scale.wanted:
            return f"{scale.running} of {plural(scale.wanted, 'pod is', 'pods are')} there"
        if state in ("starting", "away"):
            if connected is None:
                return f"the pipeline {self.of.name} does not answer, to which they connect"
            return f"{connected} of {scale.wanted} have connected to the pipeline {self.of.name}"
        return ""


AnyPart = ProgramPart | WorkersPart


def _unknown(part: ProgramPart) -> bool:
    """Return whether nobody says that a pipeline runs no series: it does not answer, and is not off."""
    scale = part.deployment.scale.answer
    return part.program.answer is None and (scale is None or scale.wanted > 0)


def _pods(scale: Scale | None) -> dict[str, Any]:
    return {} if scale is None else {"wanted": scale.wanted, "running": scale.running}
