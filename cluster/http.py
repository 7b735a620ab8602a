"""The HTTP API of a control: parse, call, encode. The logic is in `control`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from fastapi import FastAPI, Query
from fastapi.responses import PlainTextResponse
from pydantic import Field

from penstock.cluster import metrics
from penstock.cluster.config import MOST_WORKERS
from penstock.cluster.control import Control
from penstock.cluster.kubernetes import KubernetesRefused
from penstock.cluster.models import Status
from penstock.service import web
from penstock.service.assets import SHARED, Asset
from penstock.service.prometheus import CONTENT_TYPE
from penstock.service.refusal import Refused
from penstock.service.versions import Versions
from penstock.service.web import MAX_WAIT, Absent

_OURS = "penstock.cluster"
ASSETS = {
    "/": Asset(_OURS, "page.html", "text/html"),
    "/assets/control.js": Asset(_OURS, "control.js", "text/javascript"),
    "/assets/control.css": Asset(_OURS, "control.css", "text/css"),
    **SHARED,
}
"""What a browser loads, by path."""
DESCRIPTION = """\
The HTTP interface of the control of a detector's programs on Kubernetes. Every refusal is a `Refusal`: a
short stable `kind`, and a sentence that says what to change. Besides those listed with each call: 404
`no_such_path` for any other path, and 405 `no_such_method` for any other method, with the header `Allow`.
"""
TAGS = [
    {"name": "status", "description": "State of the detector's programs"},
    {"name": "parts", "description": "Start, stop, restart and scale them"},
]
WHY = {
    404: "There is no such part",
    409: "Not possible for this part",
    413: "The body is too large",
    422: "The request is not as described here",
    502: "Kubernetes does not answer, or refuses; the sentence says what it said",
}
LONGEST = 200
"""Characters of a part's name."""
Name = Annotated[str, Field(min_length=1, max_length=LONGEST)]


@dataclass(frozen=True)
class PartRequest:
    """Which part it is about."""

    part: Name
    """Such as "receiver", "spots" or "spots/workers"."""


@dataclass(frozen=True)
class ScaleRequest:
    """How many pods a part shall have."""

    part: Name
    count: Annotated[int, Field(ge=0, le=MOST_WORKERS)]


def create_app(control: Control) -> tuple[FastAPI, Any]:
    """Return the API of one control, and what lets those answer who wait for news.

    Args:
        control: it is running.
    """
    versions = Versions[Status](lambda: control.status)

    async def start() -> None:
        pass

    async def close() -> None:
        await asyncio.to_thread(control.close)

    app = web.make("control", DESCRIPTION, TAGS, start, close)
    web.furnish(app, ASSETS, (KubernetesRefused, Refused))
    orders = web.described(WHY, (404, 409, 413, 422, 502))

    @app.get("/status", tags=["status"], responses=web.described(WHY, (422,)))
    async def status(
        seen: int | Absent = None, wait: Annotated[float, Query(ge=0, le=MAX_WAIT)] = 0.0
    ) -> Status:
        """Return the control's status; with `seen`, wait for another version."""
        return versions.look() if seen is None else await versions.after(seen, wait)

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

    @app.get("/config", tags=["status"])
    async def config() -> dict[str, Any]:
        """Return the configuration in use."""
        return dict(msgspec.to_builtins(control.config))

    @app.get("/metrics", tags=["status"], response_class=PlainTextResponse)
    async def prometheus() -> PlainTextResponse:
        """Return counts and memory for Prometheus."""
        scrape = metrics.Scrape(control.config.name, versions.look(), healthy=control.health.alive)
        return PlainTextResponse(scrape.text(), media_type=CONTENT_TYPE)

    web.add_health(
        app,
        lambda: control.health,
        alive="Return liveness: 503 with a sentence if one of its threads has ended. Restart it then.",
        ready="Return readiness: 503 also while Kubernetes does not answer, or refuses.",
    )
    return app, versions.end
