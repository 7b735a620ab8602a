"""Status of a control as Prometheus text.

docs/reference/pipeline-control.md has the table of metrics; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from penstock.cluster.models import Status
from penstock.service.prometheus import GAUGE, Moment, Row, Scrape, resident_bytes

PREFIX = "penstock_control_"


def _each(name: str) -> Callable[[Moment[Status]], dict[str, Any]]:
    """Return what takes a value of every part that has one."""

    def values(moment: Moment[Status]) -> dict[str, Any]:
        found = {part.name: getattr(part, name) for part in moment.status.parts}
        return {part: value for part, value in found.items() if value is not None}

    return values


METRICS = (
    Row(GAUGE, "up", "1 if all threads of the control live", "", attrgetter("healthy")),
    Row(GAUGE, "kubernetes", "1 if Kubernetes does what it is asked for", "",
        lambda moment: not moment.status.problem),
    Row(GAUGE, "wanted_pods", "Pods that Kubernetes is asked for", "part", _each("wanted")),
    Row(GAUGE, "running_pods", "Pods that there are", "part", _each("running")),
    Row(GAUGE, "connected_workers", "Workers that the pipeline has", "part", _each("connected")),
    Row(GAUGE, "away", "1 if the part is wanted and does not answer, or is in error", "part",
        lambda moment: {part.name: part.state in ("away", "error") for part in moment.status.parts}),
    Row(GAUGE, "resident_memory_bytes", "Memory of the process", "process",
        lambda moment: resident_bytes(moment.processes)),
)  # fmt: skip


def text(name: str, moment: Moment[Status]) -> str:
    """Return the metrics of the control of this name as Prometheus text."""
    return Scrape(PREFIX, "control", name, METRICS, moment).scraped()
