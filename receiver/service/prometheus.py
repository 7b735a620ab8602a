"""Metrics as Prometheus text, from a table; made for each scrape, so that nothing can drift apart."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = CONTENT_TYPE_LATEST
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
    """Of a metric with a label: values by label; else the value, or `None` where there is none. A value of a
    histogram is a pair: its buckets as Prometheus defines them, and the sum."""


@dataclass(frozen=True, eq=False)
class Scrape(Collector):
    """All metrics of one service at one moment."""

    prefix: str
    """Of every metric's name."""
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


def resident_bytes(pid: int) -> float:
    """Return the resident memory of a process, including shared memory; NaN if the process has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return math.nan
    return float(pages * os.sysconf("SC_PAGE_SIZE"))
