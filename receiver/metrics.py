"""A status as Prometheus text."""

from __future__ import annotations

from dataclasses import asdict

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, generate_latest

from penstock.receiver.models import Status
from penstock.receiver.states import State

CONTENT_TYPE = CONTENT_TYPE_LATEST


def render(name: str, status: Status) -> str:
    """Prometheus text of one receiver; made anew from the snapshot, so nothing can drift apart."""
    registry = CollectorRegistry()
    labels = {"receiver": name}

    def gauge(metric: str, text: str, value: float, **more: str) -> None:
        full = f"penstock_receiver_{metric}"
        known = gauges.get(full)
        if known is None:
            known = gauges[full] = Gauge(full, text, [*labels, *more], registry=registry)
        known.labels(**labels, **more).set(value)

    gauges: dict[str, Gauge] = {}
    for state in State:
        gauge("state", "1 for the state that the receiver is in", status.state == state, state=state.value)
    for count, value in asdict(status.counts).items():
        if value is not None:
            gauge("series_frames", "frames of the running or last series, by status", value, status=count)
    gauge("frame_rate", "frames a second", status.frame_rate)
    gauge("byte_rate", "bytes a second", status.byte_rate)
    gauge("stalled_seconds", "time for which the data process has not answered", status.stalled)
    for connection in status.connections:
        gauge("connections", "sockets connected", connection.connections, endpoint=connection.endpoint)
    for consumer in status.consumers:
        gauge("consumer_dropped", "frames a consumer did not take", consumer.dropped, consumer=consumer.name)
        gauge("consumer_waiting_bytes", "of its queue", consumer.waiting_bytes, consumer=consumer.name)
        gauge("consumer_sent", "messages sent to a consumer", consumer.sent, consumer=consumer.name)
    errors = Counter(
        "penstock_receiver_bad_messages", "bad messages by kind", [*labels, "kind"], registry=registry
    )
    for kind, number in status.errors.items():
        errors.labels(**labels, kind=kind).inc(number)
    drained = Counter(
        "penstock_receiver_drained_messages",
        "messages that belonged to no series",
        [*labels],
        registry=registry,
    )
    drained.labels(**labels).inc(status.drained)
    cpu = Counter(
        "penstock_receiver_cpu_seconds", "processor time of the data process", [*labels], registry=registry
    )
    cpu.labels(**labels).inc(status.cpu_seconds)
    return generate_latest(registry).decode()
