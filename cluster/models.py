"""What a control says over HTTP, as plain dataclasses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

StateName = Literal["off", "asleep", "starting", "running", "ending", "away", "error", "unknown"]
PartKind = Literal["receiver", "pipeline", "workers"]


@dataclass(frozen=True, kw_only=True)
class Part:
    """A program of the detector, or the workers of a pipeline."""

    name: str
    """Such as "receiver", the name of a pipeline, or PIPELINE/workers."""
    kind: PartKind
    state: StateName
    deployment: str
    """Empty for a pipeline that runs in the receiver's pod."""
    url: str
    """Address of its HTTP API; of workers that of their pipeline."""
    wanted: int | None = None
    """Pods that Kubernetes is asked for; `None` while it does not say."""
    running: int | None = None
    """Pods that there are, those that are starting included."""
    connected: int | None = None
    """Workers that the pipeline has, 200 at most; `None` while it does not answer."""
    count: int = 1
    """Pods that it has after a start."""
    says: str = ""
    """State that the program gives over HTTP, such as "idle"; "" while it does not answer."""
    sentence: str = ""
    """Why it is not as it should be, or what it waits for; "" if there is nothing to say."""


@dataclass(frozen=True, kw_only=True)
class Status:
    """The complete state of a control, as one snapshot."""

    control: str
    """Its name."""
    namespace: str
    parts: list[Part] = field(default_factory=list)
    idle: str = ""
    """Time without a series after which workers are taken away, as configured; "": never."""
    problem: str = ""
    """Why Kubernetes does not do what it is asked for; a sentence."""
    penstock: str = ""
    """Version of Penstock."""
    version: int = 0
    """Grows with every change: `GET /status?seen=VERSION&wait=SECONDS` returns once it differs."""

    def part(self, name: str) -> Part | None:
        """Return a part by its name; `None` if there is none."""
        return next((each for each in self.parts if each.name == name), None)
