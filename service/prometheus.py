"""Metrics as Prometheus text, from a table; made for each scrape, so that nothing can drift apart."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = CONTENT_TYPE_LATEST
S = TypeVar("S")
GAUGE, COUNTER, HISTOGRAM = GaugeMetricFamily, CounterMetricFamily, HistogramMetricFamily


class Row(NamedTuple):
    """A metric."""

    kind: Any
    """`GAUGE`, `COUNTER` or `HISTOGRAM`."""
    name: str
    text: str
    label: str
    """Beside the name of the service; "" for none."""
    value: Callable[[Any], Any]
    """Values by label, of a metric with one; else the value, or `None` where there is none. A value of a
    histogram is a pair: its buckets as Prometheus defines them, and the sum."""


@dataclass(frozen=True)
class Moment(Generic[S]):
    """What the metrics of a service are made of, at one moment."""

    status: S
    healthy: bool
    """True if all of its threads and processes live and answer."""
    processes: Mapping[str, int]
    """Process ids by name, for the memory that they hold."""


@dataclass(frozen=True, eq=False)
class Scrape(Collector):
    """All metrics of one service at one moment."""

    prefix: str
    """Beginning of every metric's name."""
    service: str
    """Name of the label that every metric has, such as "receiver"."""
    name: str
    """Its value."""
    rows: Sequence[Row]
    seen: Any
    """What the rows take their values from."""

    def collect(self) -> Iterable[Metric]:
        """Yield every metric, also those without a value: graphs shall not depend on past events."""
        for row in self.rows:
            labels = [self.service, *filter(None, [row.label])]
            family = row.kind(self.prefix + row.name, row.text, labels=labels)
            value = row.value(self.seen)
            samples = value if row.label else {} if value is None else {"": value}
            for label, each in samples.items():
                values = each if row.kind is HISTOGRAM else (float(each),)
                family.add_metric([self.name, *filter(None, [label])], *values)
            yield family

    def scraped(self) -> str:
        """Return the metrics in Prometheus' text format."""
        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry).decode()


def resident_bytes(processes: Mapping[str, int]) -> dict[str, float]:
    """Return the resident memory of processes by name, shared memory included; without those that are gone.

    Args:
        processes: ids by name.
    """
    found = {}
    for name, pid in processes.items():
        with contextlib.suppress(OSError, IndexError):
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            found[name] = float(pages * os.sysconf("SC_PAGE_SIZE"))
    return found
