"""compose.yaml as podman-compose starts it: a series of the simulated EIGER is stored and processed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import h5py
import pytest

from penstock.hosts.child import free_port
from penstock.processing.client import PipelineClient, PipelineUnavailable
from penstock.receiver.client import NoAnswer, ReceiverClient
from tests.container.containers import until, wait
from tests.container.store import ROOT, Store

FOLDER = ROOT / "resources" / "container"
PAGE = ROOT / "docs" / "how-to" / "build-an-image.md"
FRAMES = 100
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


class Project:
    """The file's services, with free ports on this machine.

    Args:
        store: has the image `penstock`.
        folder: for a copy of the files.
    """

    def __init__(self, store: Store, folder: Path) -> None:
        self._store, self._folder = store, folder
        self.name = f"penstock-{free_port()}"
        self.ports: dict[int, int] = {port: free_port() for port in (5000, 5100, 8081)}
        shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
        file = folder / "compose.yaml"
        text = file.read_text()
        for inside, outside in self.ports.items():
            text = text.replace(f"127.0.0.1:{inside}:{inside}", f"127.0.0.1:{outside}:{inside}")
        file.write_text(text)
        # podman-compose has no option for the options that podman has before its command.
        self._podman = folder / "podman"
        self._podman.write_text(f'#!/bin/sh\nexec podman {" ".join(store.options)} "$@"\n')
        self._podman.chmod(0o755)

    def compose(self, *arguments: str, check: bool = True) -> None:
        """Run podman-compose to its end."""
        done = subprocess.run(
            ["podman-compose", "--podman-path", str(self._podman), "-p", self.name, *arguments],
            capture_output=True, text=True, cwd=self._folder, env=self._store.environment,
        )  # fmt: skip
        assert not check or done.returncode == 0, f"{done.stdout[-4000:]}{done.stderr[-4000:]}"

    def data(self) -> Path:
        """Return where the volume at /data lies."""
        done = self._store.run(
            "podman", "volume", "inspect", "--format", "{{.Mountpoint}}", f"{self.name}_data"
        )
        return Path(done.stdout.strip())

    def take(self) -> None:
        """Take the series of the page, by its commands."""
        commands = PAGE.read_text().partition("## Compose")[2].partition("```sh\n")[2].partition("```")[0]
        commands = commands.replace("127.0.0.1:8081", f"127.0.0.1:{self.ports[8081]}")
        done = subprocess.run(["sh", "-ec", commands], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def project(store: Store, image: str, tmp_path: Path) -> Iterator[Project]:
    """The services, started."""
    if shutil.which("podman-compose") is None:
        pytest.skip("compose.yaml is started by podman-compose, which is missing")
    made = Project(store, tmp_path / "compose")
    network = f"{made.name}_default"
    store.run("podman", "network", "create", network)
    try:
        (found,) = json.loads(store.run("podman", "network", "inspect", network).stdout)
        if not found["dns_enabled"]:
            pytest.skip("podman's networks know no names: install the plugin dnsname, or aardvark-dns")
        store.run("podman", "tag", image, "localhost/penstock:latest")
        made.compose("up", "-d")
        yield made
    finally:
        made.compose("down", "--volumes", check=False)
        store.run("podman", "network", "rm", "--force", network)


def test_a_series_ends_in_a_file_and_both_workers_have_done_frames(project: Project) -> None:
    receiver = ReceiverClient(f"http://127.0.0.1:{project.ports[5000]}", timeout=5.0)
    results = PipelineClient(f"http://127.0.0.1:{project.ports[5100]}", timeout=5.0)

    def answer() -> bool:
        try:
            return bool(receiver.status() and results.status())
        except (NoAnswer, PipelineUnavailable):
            return False

    wait(answer)
    until(results, lambda status: len(status.workers) == 2)
    until(receiver, lambda status: status.consumers[0].connected and status.connections[0].connections)
    project.take()
    taken = until(receiver, lambda status: status.series is not None and not status.series.active)
    assert taken.counts.stored == FRAMES, taken
    done = until(results, lambda status: status.series is not None and not status.series.active)
    assert done.series.id == taken.series.id and done.series.counts.done == FRAMES
    assert sum(worker.frames for worker in done.workers) == FRAMES
    assert all(worker.frames for worker in done.workers), done.workers
    assert len({worker.host for worker in done.workers}) == 2
    with h5py.File(project.data() / Path(taken.series.filename).name) as file:
        assert len(file["entry/data/data"]) == FRAMES
