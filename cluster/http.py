"""The HTTP API of a control: parse, call, encode. The logic is in `control`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import FastAPI
from pydantic import Field

from penstock.cluster import metrics
from penstock.cluster.config import MOST_WORKERS
from penstock.cluster.control import Control
from penstock.cluster.kubernetes import KubernetesRefused
from penstock.cluster.models import Status
from penstock.service import assets, web
from penstock.service.models import Refused
from penstock.service.prometheus import Moment
from penstock.service.versions import Versions

ASSETS = assets.of("penstock.cluster", "control", "control.js", "control.css")
"""What a browser loads, by path."""
DESCRIPTION = f"The HTTP interface of the control of a detector's programs on Kubernetes. {web.REFUSALS}"
TAGS = [
    {"name": "status", "description": "State of the detector's programs"},
    {"name": "parts", "description": "Start, stop, restart and scale them"},
]
WHY = {
    404: "There is no such part",
    409: "Not possible for this part",
    502: "Kubernetes does not answer, or refuses; the sentence says what it said",
}
LONGEST = 200
"""Characters of a part's name."""
Name = Annotated[str, Field(min_length=1, max_length=LONGEST)]


@dataclass(frozen=True)
class PartRequest:
    """The part that a request is about."""

    part: Name
    """Such as "receiver", "spots" or "spots/workers"."""


@dataclass(frozen=True)
class ScaleRequest:
    """How many pods a part shall have."""

    part: Name
    count: Annotated[int, Field(ge=0, le=MOST_WORKERS)]


def create_app(control: Control) -> tuple[FastAPI, Callable[[], None]]:
    """Return the API of one control, and what lets those answer who wait for news.

    Args:
        control: it is running.
    """
    versions = Versions[Status](lambda: control.status)

    app = web.make("control", DESCRIPTION, TAGS, partial(asyncio.to_thread, control.close))
    web.furnish(app, ASSETS, (KubernetesRefused, Refused))
    orders = web.described(WHY, (404, 409, 413, 422, 502))

    web.add_status(app, "control", Status, versions.look, versions.after)

    @app.post("/start", tags=["parts"], responses=orders)
    async def begin(request: PartRequest) -> Status:
        """Start a part that is off, with the number of pods that it had before."""
        await asyncio.to_thread(control.begin, request.part)
        return versions.look()

    @app.post("/stop", tags=["parts"], responses=orders)
    async def stop(request: PartRequest) -> Status:
        """Stop a part. A pipeline's workers stay; a series of a receiver goes on with its next start."""
        await asyncio.to_thread(control.stop, request.part)
        return versions.look()

    @app.post("/restart", tags=["parts"], responses=orders)
    async def restart(request: PartRequest) -> Status:
        """Stop a part, and start it once its pods have ended. The answer comes as soon as it is being
        stopped; the part's sentence says for what the restart waits."""
        await asyncio.to_thread(control.restart, request.part)
        return versions.look()

    @app.post("/scale", tags=["parts"], responses=orders)
    async def scale(request: ScaleRequest) -> Status:
        """Let workers be so many; 0 stops a part."""
        await asyncio.to_thread(control.scale, request.part, request.count)
        return versions.look()

    @app.post("/wake", tags=["parts"])
    async def wake() -> Status:
        """Let workers come back that were taken away while no series ran; answers at once."""
        control.wake()
        return versions.look()

    def scrape() -> str:
        healthy, processes = control.health.alive, {"control": os.getpid()}
        return metrics.text(control.config.name, Moment(versions.look(), healthy, processes))

    web.add_facts(
        app, lambda: control.config, scrape, lambda: control.health, counts="counts and memory",
        alive="Return liveness: 503 with a sentence if one of its threads has ended. Restart it then.",
        ready="Return readiness: 503 also while Kubernetes does not answer, or refuses.",
    )  # fmt: skip
    return app, versions.end
