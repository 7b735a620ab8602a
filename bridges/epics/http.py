"""The HTTP API of a bridge: its state, for people, programs and Prometheus. It changes nothing."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from fastapi import FastAPI, Query
from fastapi.responses import PlainTextResponse

from penstock.bridges.epics import metrics
from penstock.bridges.epics.bridge import Bridge
from penstock.bridges.epics.models import Status
from penstock.service import web
from penstock.service.assets import SHARED, Asset
from penstock.service.prometheus import CONTENT_TYPE
from penstock.service.refusal import Refused
from penstock.service.versions import Versions
from penstock.service.web import MAX_WAIT, Absent

_OURS = "penstock.bridges.epics"
ASSETS = {
    "/": Asset(_OURS, "page.html", "text/html"),
    "/assets/bridge.js": Asset(_OURS, "bridge.js", "text/javascript"),
    "/assets/bridge.css": Asset(_OURS, "bridge.css", "text/css"),
    **SHARED,
}
"""What a browser loads, by path."""
DESCRIPTION = """\
The HTTP interface of a bridge to EPICS clients. Every refusal is a `Refusal`: a short stable `kind`, and a
sentence that says what to change. Besides those listed with each call: 404 `no_such_path` for any other path,
and 405 `no_such_method` for any other method, with the header `Allow`.
"""
TAGS = [{"name": "status", "description": "State of the bridge"}]
WHY = {422: "The request is not as described here"}


def create_app(bridge: Bridge) -> tuple[FastAPI, Any]:
    """Return the API of one bridge, and what lets those answer who wait for news.

    Args:
        bridge: it is running.
    """
    versions = Versions(lambda: bridge.status)

    async def start() -> None:
        pass

    async def close() -> None:
        await asyncio.to_thread(bridge.close)

    app = web.make("bridge to EPICS", DESCRIPTION, TAGS, start, close)
    web.furnish(app, ASSETS, (Refused,))

    @app.get("/status", tags=["status"], responses=web.described(WHY, (422,)))
    async def status(
        seen: int | Absent = None, wait: Annotated[float, Query(ge=0, le=MAX_WAIT)] = 0.0
    ) -> Status:
        """Return the bridge's status; with `seen`, wait for another version."""
        return versions.look() if seen is None else await versions.after(seen, wait)

    @app.get("/config", tags=["status"])
    async def config() -> dict[str, Any]:
        """Return the configuration in use."""
        return dict(msgspec.to_builtins(bridge.config))

    @app.get("/metrics", tags=["status"], response_class=PlainTextResponse)
    async def prometheus() -> PlainTextResponse:
        """Return counts and memory for Prometheus."""
        scrape = metrics.Scrape(bridge.config.name, versions.look(), healthy=bridge.health.alive)
        return PlainTextResponse(scrape.text(), media_type=CONTENT_TYPE)

    web.add_health(
        app,
        lambda: bridge.health,
        alive="Return liveness: 503 with a sentence if one of its threads has ended. Restart it then.",
        ready="Return readiness: 503 also while a receiver or pipeline does not answer.",
    )
    return app, versions.end
