"""The forward entry whose frames a bridge takes: is it there, and where is it reached."""

from __future__ import annotations

from urllib.parse import urlsplit

from penstock.bridges.epics.config import EpicsConfig
from penstock.receiver.models import ConsumerStatus, Status
from penstock.stins.addresses import host_port

LINE = 'forward: [{{name: {name}, endpoint: "tcp://127.0.0.1:0", page: "http://{http}/"}}]'


def problem_of(status: Status, config: EpicsConfig, clients: int = 0) -> str:
    """Return why there are no frames of the entry, in a sentence; "" if there are.

    Args:
        status: of the receiver.
        config: of the bridge.
        clients: connections to the entry that this bridge has itself.
    """
    found = _of(status, config)
    if found is None:
        names = ", ".join(each.name for each in status.consumers) or "none"
        line = LINE.format(name=config.consumer, http=config.http)
        return (
            f"the receiver at {config.receiver} has no forward entry {config.consumer} (it has: {names}); "
            f"add to its configuration, and start it again: {line}"
        )
    if found.shared is not None:
        return (
            f"the forward entry {config.consumer} of the receiver at {config.receiver} has shared: true, "
            "which is for pipelines; name one without it"
        )
    if found.connected > clients:
        return (
            f"the forward entry {config.consumer} of the receiver at {config.receiver} has another client, "
            "and two share its frames out: end that one, or give each an entry of its own"
        )
    return ""


def endpoint_of(status: Status, config: EpicsConfig) -> str:
    """Return where the entry is connected to: one that is bound to all addresses is reached as the HTTP API
    is."""
    found = _of(status, config)
    assert found is not None
    host, _, port = found.endpoint.removeprefix("tcp://").rpartition(":")
    if found.endpoint.startswith("tcp://") and host in ("0.0.0.0", "[::]", "*"):
        return f"tcp://{host_port(urlsplit(config.receiver).hostname or '127.0.0.1', int(port))}"
    return found.endpoint


def _of(status: Status, config: EpicsConfig) -> ConsumerStatus | None:
    return next((each for each in status.consumers if each.name == config.consumer), None)
