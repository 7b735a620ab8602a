"""Status of a control as Prometheus text.

docs/reference/pipeline-control.md has the table of metrics; a test compares the two.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from penstock.cluster.models import Status
from penstock.service import prometheus
from penstock.service.prometheus import GAUGE, Row, resident_bytes

PREFIX = "penstock_control_"


@dataclass(frozen=True)
class Scrape:
    """All that the metrics of one control are made of, at one moment."""

    name: str
    """Name of the control, a label of every metric."""
    status: Status
    healthy: bool
    """Whether all of its threads live."""

    def text(self) -> str:
        """Return the metrics in Prometheus' text format."""
        return prometheus.Scrape(PREFIX, "control", self.name, METRICS, self).scraped()


def _each(name: str) -> Callable[[Scrape], dict[str, Any]]:
    """Return what takes a value of every part that has one."""

    def values(scrape: Scrape) -> dict[str, Any]:
        found = {part.name: getattr(part, name) for part in scrape.status.parts}
        return {part: value for part, value in found.items() if value is not None}

    return values


METRICS = (
    Row(GAUGE, "up", "1 if all threads of the control live", "", attrgetter("healthy")),
    Row(GAUGE, "kubernetes", "1 if Kubernetes does what it is asked for", "",
        lambda scrape: not scrape.status.problem),
    Row(GAUGE, "wanted_pods", "Pods that Kubernetes is asked for", "part", _each("wanted")),
    Row(GAUGE, "running_pods", "Pods that there are", "part", _each("running")),
    Row(GAUGE, "connected_workers", "Workers that the pipeline has", "part", _each("connected")),
    Row(GAUGE, "away", "1 if the part is wanted and does not answer, or is in error", "part",
        lambda scrape: {part.name: part.state in ("away", "error") for part in scrape.status.parts}),
    Row(GAUGE, "resident_memory_bytes", "Memory of the process", "process",
        lambda scrape: resident_bytes({"control": os.getpid()})),
)  # fmt: skip
