"""Status and measures as Prometheus text; created for each scrape, so that nothing can drift apart.

docs/reference/http.md has the table of metrics; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import accumulate
from operator import attrgetter
from typing import Any

from penstock.receiver.models import Status
from penstock.receiver.process.stage_times import BOUNDS, Histogram, Measures
from penstock.receiver.process.states import State
from penstock.service import prometheus
from penstock.service.prometheus import COUNTER, GAUGE, HISTOGRAM, Row, resident_bytes

PREFIX = "penstock_receiver_"
_BOUND_NAMES = (*(f"{bound:g}" for bound in BOUNDS), "+Inf")


@dataclass(frozen=True)
class Scrape:
    """All that the metrics of one receiver are made of, at one moment."""

    name: str
    """Name of the receiver, a label of every metric."""
    status: Status
    measures: Measures
    """Measurements of the data process."""
    healthy: bool
    """True if the data process lives and answers."""
    processes: Mapping[str, int]
    """Process ids by name, for the memory that they hold."""
    budget: float
    """Bytes that the data process may take."""

    def text(self) -> str:
        """Return the metrics in Prometheus' text format."""
        return prometheus.Scrape(PREFIX, "receiver", self.name, METRICS, self).scraped()


def _stages(scrape: Scrape) -> dict[str, Any]:
    return {name: _buckets(each) for name, each in scrape.measures.stages.items()}


def _counts(scrape: Scrape) -> dict[str, int]:
    return {name: count for name, count in asdict(scrape.status.counts).items() if count is not None}


def _connections(scrape: Scrape) -> dict[str, int]:
    return {item.endpoint: item.connections for item in scrape.status.connections}


def _fill_ratio(scrape: Scrape) -> float:
    limit = scrape.status.queue_limit_bytes
    return scrape.status.queue_bytes / limit if limit else 0.0


def _of_consumers(key: str) -> Callable[[Scrape], dict[str, int]]:
    return lambda scrape: {item.name: getattr(item, key) for item in scrape.status.consumers}


def _memory_bound(scrape: Scrape) -> int | None:
    return scrape.status.series.memory_bytes if scrape.status.series is not None else None


METRICS = (
    Row(GAUGE, "state", "1 for the state of the receiver", "state",
        lambda scrape: {state.value: scrape.status.state == state for state in State}),
    Row(GAUGE, "healthy", "1 while the data process lives and answers", "", attrgetter("healthy")),
    Row(GAUGE, "series_frames", "Frames of the running or last series, by count", "count", _counts),
    Row(GAUGE, "connections", "Sockets connected now", "endpoint", _connections),
    Row(GAUGE, "frames_per_second", "Frames per second, over the last one",
        "", attrgetter("status.frame_rate")),
    Row(GAUGE, "bytes_per_second", "Bytes per second, over the last one", "", attrgetter("status.byte_rate")),
    Row(COUNTER, "frames", "Sound frames received", "", attrgetter("measures.frames")),
    Row(COUNTER, "bytes", "Bytes of the blobs of sound frames", "", attrgetter("measures.nbytes")),
    Row(COUNTER, "lost_frames", "Frames of ended series that are not where they belong",
        "kind", attrgetter("measures.lost")),
    Row(COUNTER, "bad_messages", "Messages and blobs that were refused", "kind", attrgetter("status.errors")),
    Row(COUNTER, "drained_messages", "Messages that belonged to no series", "", attrgetter("status.drained")),
    Row(GAUGE, "queue_bytes", "Bytes that wait in the data process", "queue", attrgetter("measures.queues")),
    Row(GAUGE, "queue_fill_ratio", "Fill of the fullest queue of the data process, 0 to 1", "", _fill_ratio),
    Row(GAUGE, "free_bytes", "Free space on the disk of the data root", "", attrgetter("status.free_bytes")),
    Row(COUNTER, "consumer_messages", "Messages sent to a forwarded consumer",
        "consumer", _of_consumers("sent")),
    Row(COUNTER, "consumer_lost_frames", "Frames dropped because it was too slow or not connected",
        "consumer", _of_consumers("dropped")),
    Row(COUNTER, "consumer_skipped_frames", "Frames left out as configured",
        "consumer", _of_consumers("skipped")),
    Row(GAUGE, "consumer_queue_bytes", "Bytes that wait for it", "consumer", _of_consumers("waiting_bytes")),
    Row(GAUGE, "consumer_connections", "Consumers connected to its port",
        "consumer", _of_consumers("connected")),
    Row(HISTOGRAM, "stage_seconds", "Time per frame in each stage, sampled",
        "stage", _stages),
    Row(HISTOGRAM, "frame_latency_seconds", "From the sender's time stamp to the file, sampled",
        "", lambda scrape: _buckets(scrape.measures.latency)),
    Row(COUNTER, "timestamps_ahead", "Sampled frames with a time stamp in the future: the clocks disagree",
        "", attrgetter("measures.stamps_ahead")),
    Row(HISTOGRAM, "idle_seconds", "From a series' last frame to its end",
        "", lambda scrape: _buckets(scrape.measures.idle)),
    Row(GAUGE, "stalled_seconds", "Time for which the data process has not answered",
        "", attrgetter("status.stalled")),
    Row(COUNTER, "cpu_seconds", "Processor time of the data process", "", attrgetter("status.cpu_seconds")),
    Row(GAUGE, "memory_bound_bytes", "Most that the data process may hold", "", _memory_bound),
    Row(GAUGE, "memory_budget_bytes", "Memory that it may hold, as configured", "", attrgetter("budget")),
    Row(GAUGE, "resident_memory_bytes", "Memory of a process, shared memory included",
        "process", lambda scrape: resident_bytes(scrape.processes)),
)  # fmt: skip


def _buckets(histogram: Histogram) -> tuple[list[tuple[str, float]], float]:
    """Return cumulative buckets, as Prometheus defines them, and the sum."""
    return list(zip(_BOUND_NAMES, accumulate(histogram.counts), strict=True)), histogram.sum
