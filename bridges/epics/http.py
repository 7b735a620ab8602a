"""The HTTP API of a bridge: its state, for people, programs and Prometheus. It changes nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial

from fastapi import FastAPI

from penstock.bridges.epics import metrics
from penstock.bridges.epics.bridge import Bridge
from penstock.bridges.epics.models import Status
from penstock.service import assets, web
from penstock.service.models import Refused
from penstock.service.prometheus import Moment
from penstock.service.versions import Versions

ASSETS = assets.of("penstock.bridges.epics", "bridge", "bridge.js", "bridge.css", title="bridge to EPICS")
"""What a browser loads, by path."""
DESCRIPTION = f"The HTTP interface of a bridge to EPICS clients. {web.REFUSALS}"
TAGS = [{"name": "status", "description": "State of the bridge"}]


def create_app(bridge: Bridge) -> tuple[FastAPI, Callable[[], None]]:
    """Return the API of one bridge, and what lets those answer who wait for news.

    Args:
        bridge: it is running.
    """
    versions = Versions(lambda: bridge.status)

    app = web.make("bridge to EPICS", DESCRIPTION, TAGS, partial(asyncio.to_thread, bridge.close))
    web.furnish(app, ASSETS, (Refused,))

    web.add_status(app, "bridge", Status, versions.look, versions.after)

    def scrape() -> str:
        healthy, processes = bridge.health.alive, {"bridge": os.getpid()}
        return metrics.text(bridge.config.name, Moment(versions.look(), healthy, processes))

    web.add_facts(
        app, lambda: bridge.config, scrape, lambda: bridge.health, counts="counts and memory",
        alive="Return liveness: 503 with a sentence if one of its threads has ended. Restart it then.",
        ready="Return readiness: 503 also while a receiver or pipeline does not answer.",
    )  # fmt: skip
    return app, versions.end
