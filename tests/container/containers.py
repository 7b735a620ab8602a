"""Containers of the image as tests run them: a read-only root, no capabilities, a uid that nobody has."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.hosts.child import free_port
from penstock.receiver.client import ReceiverClient
from penstock.receiver.models import Status
from tests.container.store import RESTRICTED, Store

UID = 4711
DEADLINE = 60.0
"""Seconds within which anything here has to happen; reached only when something is wrong."""


class Container:
    """A container that runs.

    Args:
        store: has its image.
        image: its image.
        command: subcommand of `penstock`, and its arguments.
        options: further ones of `podman run`.
    """

    def __init__(self, store: Store, image: str, *command: str, options: tuple[str, ...] = ()) -> None:
        self._store = store
        self.name = f"penstock-{free_port()}"
        self.process = store.start(
            "--name", self.name, *RESTRICTED, "--user", f"{UID}:{UID}", *options, image, *command
        )

    def ready(self) -> dict[str, Any]:
        """Return what the line says that it prints once it is ready."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"{self.name} has ended with {self.process.wait(DEADLINE)}"
        return dict(json.loads(line))

    def terminate(self) -> int:
        """Let it end, and return its exit status."""
        self._store.run("podman", "kill", "--signal", "TERM", self.name)
        return self.process.wait(DEADLINE)

    def close(self) -> None:
        """End it, whatever its state."""
        if self.process.poll() is None:
            self._store.run("podman", "kill", self.name, check=False)
        self.process.wait(DEADLINE)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def container(store: Store, image: str, *command: str, options: tuple[str, ...] = ()) -> Iterator[Container]:
    """A container that ends with the block."""
    made = Container(store, image, *command, options=options)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def receiver(
    store: Store, image: str, folder: Path, endpoint: str, *options: str, **keys: Any
) -> Iterator[tuple[Container, ReceiverClient]]:
    """A receiver that is ready; its files are in `folder/data`."""
    data = data_of(folder)
    entry = {
        "source": {"type": "stins", "endpoints": [endpoint]}, "data_root": "/data",
        "http": f"127.0.0.1:{free_port()}", "on_terminate": "resume", "flush_seconds": 0.05, **keys,
    }  # fmt: skip
    config = folder / "receivers.yaml"
    config.write_text(json.dumps({"receivers": {"sim-1": entry}}))
    with container(
        store, image, "receiver", "sim-1", "--config", "/receivers.yaml", "--json",
        options=(*options, "--volume", f"{data}:/data", "--volume", f"{config}:/receivers.yaml:ro"),
    ) as made:  # fmt: skip
        yield made, ReceiverClient(made.ready()["http"], timeout=5.0)


def data_of(folder: Path) -> Path:
    """Return the folder at /data, which belongs to the uid of the containers."""
    data = folder / "data"
    data.mkdir(exist_ok=True)
    os.chown(data, UID, UID)
    return data


def written(client: ReceiverClient, frames: int) -> Status:
    """Wait until so many frames of the series are in its file."""
    return until(client, lambda status: status.counts.stored >= frames)


def ended(client: ReceiverClient, series: str) -> Status:
    """Wait until the file of a series is closed."""
    return until(client, lambda status: status.series is not None and status.series.id == series
                 and not status.series.active)  # fmt: skip


def until(client: Any, condition: Callable[[Any], bool]) -> Any:
    """Return the first status of a receiver or a pipeline for which a condition holds."""
    due, status = time.monotonic() + DEADLINE, client.status()
    while not condition(status):
        if time.monotonic() > due:
            pytest.fail(f"in vain: {status}")
        status = client.status(seen=status.version, wait=1.0)
    return status


def wait(condition: Callable[[], bool]) -> None:
    """Look until a condition holds."""
    due = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < due
        time.sleep(0.005)
