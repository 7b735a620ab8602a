"""Status and measures as Prometheus text; created for each scrape, so that nothing can drift apart.

docs/reference/http.md has the table of metrics; a test compares the two.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from penstock.receiver.models import Status
from penstock.receiver.process.stage_times import BOUNDS, Histogram, Measures
from penstock.receiver.process.states import State

CONTENT_TYPE = CONTENT_TYPE_LATEST
PREFIX = "penstock_receiver_"
_BOUND_NAMES = (*(f"{bound:g}" for bound in BOUNDS), "+Inf")


class Scrape(Collector):
    """All metrics of one receiver at one moment.

    Args:
        name: name of the receiver, a label of every metric.
        status: newest status of the receiver.
        measures: measures of the data process.
        healthy: whether the data process lives and answers.
        processes: process ids by name, for the memory that they hold.
        budget: bytes that the data process may take.
    """

    def __init__(
        self, name: str, status: Status, measures: Measures, *, healthy: bool,
        processes: Mapping[str, int], budget: float,
    ) -> None:  # fmt: skip
        self._name = name
        self._status = status
        self._measures = measures
        self._healthy = healthy
        self._processes = processes
        self._budget = budget

    def collect(self) -> Iterable[Metric]:
        """Yield every metric, also those without a value: graphs shall not depend on past events."""
        yield from self._series()
        yield from self._rates_and_losses()
        yield from self._consumers()
        yield from self._times()
        yield from self._process()

    def text(self) -> str:
        """Return the metrics in Prometheus' text format."""
        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry).decode()

    # -- families ------------------------------------------------------------------------------

    def _series(self) -> Iterable[Metric]:
        status = self._status
        states: dict[str, float] = {state.value: status.state == state for state in State}
        yield self._gauge("state", "1 for the state of the receiver", "state", states)
        yield self._gauge("healthy", "1 while the data process lives and answers", value=self._healthy)
        counts: dict[str, float] = {
            name: count for name, count in asdict(status.counts).items() if count is not None
        }
        yield self._gauge("series_frames", "Frames of the running or last series, by count", "count", counts)
        connected: dict[str, float] = {item.endpoint: item.connections for item in status.connections}
        yield self._gauge("connections", "Sockets connected now", "endpoint", connected)

    def _rates_and_losses(self) -> Iterable[Metric]:
        status, measures = self._status, self._measures
        yield self._gauge(
            "frames_per_second", "Frames per second, over the last one", value=status.frame_rate
        )
        yield self._gauge("bytes_per_second", "Bytes per second, over the last one", value=status.byte_rate)
        yield self._counter("frames", "Sound frames received", value=measures.frames)
        yield self._counter("bytes", "Bytes of the blobs of sound frames", value=measures.nbytes)
        yield self._counter(
            "lost_frames", "Frames of ended series that are not where they belong", "kind", measures.lost
        )
        yield self._counter("bad_messages", "Messages and blobs that were refused", "kind", status.errors)
        yield self._counter("drained_messages", "Messages that belonged to no series", value=status.drained)
        yield self._gauge("queue_bytes", "Bytes that wait in the data process", "queue", measures.queues)
        limit = status.queue_limit_bytes
        yield self._gauge(
            "queue_fill_ratio", "Fill of the fullest queue of the data process, 0 to 1",
            value=status.queue_bytes / limit if limit else 0.0,
        )  # fmt: skip
        yield self._gauge("free_bytes", "Free space on the disk of the data root", value=status.free_bytes)

    def _consumers(self) -> Iterable[Metric]:
        consumers = {item.name: item for item in self._status.consumers}

        def each(key: str) -> dict[str, float]:
            return {name: getattr(item, key) for name, item in consumers.items()}

        yield self._counter(
            "consumer_messages", "Messages sent to a forwarded consumer", "consumer", each("sent")
        )
        yield self._counter(
            "consumer_lost_frames", "Frames dropped because it was too slow or not connected", "consumer",
            each("dropped"),
        )  # fmt: skip
        yield self._counter(
            "consumer_skipped_frames", "Frames left out as configured", "consumer", each("skipped")
        )
        yield self._gauge("consumer_queue_bytes", "Bytes that wait for it", "consumer", each("waiting_bytes"))
        yield self._gauge(
            "consumer_connections", "Consumers connected to its port", "consumer", each("connected")
        )

    def _times(self) -> Iterable[Metric]:
        measures = self._measures
        yield self._histogram(
            "stage_seconds", "Time per frame in each stage, sampled", "stage", measures.stages
        )
        yield self._histogram(
            "frame_latency_seconds",
            "From the sender's time stamp to the file, sampled",
            value=measures.latency,
        )
        yield self._counter(
            "timestamps_ahead", "Sampled frames with a time stamp in the future: the clocks disagree",
            value=measures.stamps_ahead,
        )  # fmt: skip
        yield self._histogram("idle_seconds", "From a series' last frame to its end", value=measures.idle)

    def _process(self) -> Iterable[Metric]:
        status = self._status
        yield self._gauge(
            "stalled_seconds", "Time for which the data process has not answered", value=status.stalled
        )
        yield self._counter("cpu_seconds", "Processor time of the data process", value=status.cpu_seconds)
        memory = {name: resident_bytes(pid) for name, pid in self._processes.items()}
        known = {name: value for name, value in memory.items() if not math.isnan(value)}
        bound = status.series.memory_bytes if status.series is not None else None
        yield self._gauge("memory_bound_bytes", "Most that the data process may hold", value=bound)
        yield self._gauge("memory_budget_bytes", "Memory that it may hold, as configured", value=self._budget)
        yield self._gauge(
            "resident_memory_bytes", "Memory of a process, shared memory included", "process", known
        )

    # -- one family ----------------------------------------------------------------------------

    def _gauge(
        self, metric: str, text: str, label: str = "", values: Mapping[str, float] | None = None,
        value: float | None = None,
    ) -> Metric:  # fmt: skip
        family = GaugeMetricFamily(PREFIX + metric, text, labels=_labels(label))
        for labels, number in self._samples(values, value):
            family.add_metric(labels, number)
        return family

    def _counter(
        self, metric: str, text: str, label: str = "", values: Mapping[str, float] | None = None,
        value: float | None = None,
    ) -> Metric:  # fmt: skip
        family = CounterMetricFamily(PREFIX + metric, text, labels=_labels(label))
        for labels, number in self._samples(values, value):
            family.add_metric(labels, number)
        return family

    def _samples(
        self, values: Mapping[str, float] | None, value: float | None
    ) -> Iterable[tuple[list[str], float]]:
        if value is not None:
            yield [self._name], float(value)
        for label, number in (values or {}).items():
            yield [self._name, label], float(number)

    def _histogram(
        self, metric: str, text: str, label: str = "", values: Mapping[str, Histogram] | None = None,
        value: Histogram | None = None,
    ) -> Metric:  # fmt: skip
        family = HistogramMetricFamily(PREFIX + metric, text, labels=_labels(label))
        if value is not None:
            family.add_metric([self._name], *_buckets(value))
        for of, histogram in (values or {}).items():
            family.add_metric([self._name, of], *_buckets(histogram))
        return family


def resident_bytes(pid: int) -> float:
    """Return the resident memory of a process, including shared memory; NaN if the process has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return math.nan
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


def _labels(label: str) -> list[str]:
    return ["receiver", label] if label else ["receiver"]


def _buckets(histogram: Histogram) -> tuple[list[tuple[str, float]], float]:
    """Return cumulative buckets, as Prometheus defines them, and the sum."""
    return list(zip(_BOUND_NAMES, accumulate(histogram.counts), strict=True)), histogram.sum
