"""The container image: builds, runs as any uid with a read-only root, and ends when it is asked to.

`make test-container` runs it. Base image and layers stay in the cache folder, in `containers`: what has not
changed is not built again. When that has become large, remove it, after `umount FOLDER/store/overlay`.
"""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.hosts.child import free_port
from penstock.processing.client import PipelineClient
from penstock.processing.results.read import Results
from tests import rings
from tests.container.containers import (
    DEADLINE,
    UID,
    Container,
    container,
    data_of,
    ended,
    receiver,
    until,
    wait,
    written,
)
from tests.container.store import BASE, RESTRICTED, Store
from tests.streams import Streamer, pixels

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
MOMENTS = None, 0, 8, 14, 20, 30, 40, 50, 60, 70
"""Megabytes that the program takes when SIGTERM comes: Python starts, imports, the receiver begins, is ready.
`None`: as soon as podman takes the command."""


def test_it_is_not_larger_than_it_has_to_be(store: Store, image: str, integrating: str) -> None:
    base = store.size(BASE)
    assert store.size(image) - base <= 350e6
    assert store.size(integrating) - base <= 850e6


def test_sigterm_in_a_series_loses_no_frame_and_the_next_container_ends_it(
    store: Store, image: str, tmp_path: Path
) -> None:
    streamer = Streamer()
    try:
        with receiver(store, image, tmp_path, streamer.endpoint) as (made, client):
            streamer.start("/data/first.h5", frames=100)
            for number in range(50):
                streamer.frame(number)
            written(client, 50)
            assert made.terminate() == 0
        with receiver(store, image, tmp_path, streamer.endpoint) as (_, client):
            for number in range(50, 100):
                streamer.frame(number)
            streamer.end(reason="complete", triggered=100, sent=100)
            ended(client, streamer.series)
        with h5py.File(tmp_path / "data" / "first.h5") as file:
            assert len(file["entry/data/data"]) == 100
        assert (tmp_path / "data" / "first.h5").stat().st_uid == UID
    finally:
        streamer.close()


@pytest.mark.parametrize("megabytes", MOMENTS)
def test_sigterm_while_it_starts_ends_it(
    store: Store, image: str, tmp_path: Path, megabytes: int | None
) -> None:
    config = tmp_path / "receivers.yaml"
    entry = {"source": {"endpoints": ["tcp://127.0.0.1:1"]}, "data_root": "/data"}
    entry |= {"http": f"127.0.0.1:{free_port()}"}
    config.write_text(json.dumps({"receivers": {"sim-1": entry}}))
    with container(
        store, image, "receiver", "sim-1", "--config", "/receivers.yaml",
        options=("--volume", f"{data_of(tmp_path)}:/data", "--volume", f"{config}:/receivers.yaml:ro"),
    ) as made:  # fmt: skip
        if megabytes is None:
            wait(
                lambda: (
                    store.run("podman", "kill", "--signal", "TERM", made.name, check=False).returncode == 0
                )
            )
        else:
            first = _first_process(store, made)
            wait(lambda: _megabytes(first) >= megabytes)
            os.kill(first, signal.SIGTERM)
        begun = time.monotonic()
        assert made.process.wait(DEADLINE) in (0, 128 + signal.SIGTERM)
        assert time.monotonic() - begun < 10.0


def test_its_exit_status_is_that_of_the_command(store: Store, image: str) -> None:
    for command, status in ((["--version"], 0), (["receiver", "--config", "/none", "x"], 2)):
        done = store.run("podman", "run", "--rm", *RESTRICTED, image, *command, check=False)
        assert done.returncode == status, done.stderr


def test_the_workers_of_another_container_process_a_series(store: Store, image: str, tmp_path: Path) -> None:
    streamer = Streamer()
    live = {"name": "live", "endpoint": f"tcp://127.0.0.1:{free_port()}", "shared": True, "queue_mb": 16}
    data, file = data_of(tmp_path), tmp_path / "pipeline.yaml"
    try:
        with receiver(
            store, image, tmp_path, streamer.endpoint, "--ipc", "shareable", "--shm-size", "128m",
            forward=[live],
        ) as (first, client):  # fmt: skip
            pipeline = {
                "processor": "regions",
                "parameters": {"regions": {"beam": {"x": 1, "y": 1, "width": 3, "height": 2}}},
                "workers": 0, "listen": f"tcp://127.0.0.1:{free_port()}", "receiver": client.url,
                "http": f"127.0.0.1:{free_port()}",
            }  # fmt: skip
            file.write_text(json.dumps(pipeline))
            with (
                container(
                    store, image, "process", "/pipeline.yaml", "--json",
                    options=(
                        "--ipc", f"container:{first.name}", "--volume", f"{data}:/data",
                        "--volume", f"{file}:/pipeline.yaml:ro",
                    ),
                ) as second,
                container(store, image, "worker", pipeline["listen"]) as third,
            ):  # fmt: skip
                results = PipelineClient(second.ready()["http"], timeout=5.0)
                until(results, lambda status: bool(status.workers))
                until(client, lambda status: status.consumers[0].connected > 0)
                streamer.series_of("/data/first.h5", 50)
                status = until(
                    results, lambda status: status.series is not None and status.series.id == streamer.series
                    and not status.series.active,
                )  # fmt: skip
                assert status.series.counts.done == 50, status
                assert [worker.frames for worker in status.workers] == [50]
                assert third.terminate() == 0
                assert second.terminate() == 0
    finally:
        streamer.close()
    sums = Results(data / "first.pipeline.h5").rows("beam_sum", 0, 50).values
    assert sums.tolist() == [pixels(number)[1:3, 1:4].sum() for number in range(50)]


def test_frames_are_integrated(store: Store, integrating: str, tmp_path: Path) -> None:
    """With what is left out of the packages: they need no tests, headers and stubs."""
    shape, data, file = (342, 262), data_of(tmp_path), tmp_path / "azimuthal.yaml"
    streamer = Streamer()
    try:
        with receiver(store, integrating, tmp_path, streamer.endpoint) as (_, client):
            series = streamer.start("/data/ceo2.h5", rings.GEOMETRY, frames=4)
            for number in range(4):
                streamer.frame(number, rings.image(shape))
            streamer.end(reason="complete", triggered=4, sent=4)
            ended(client, series)
    finally:
        streamer.close()
    file.write_text(json.dumps({
        "processor": "azimuthal", "parameters": {"unit": "2th_deg", "points": 1000}, "workers": 1,
        "http": "127.0.0.1:0",
    }))  # fmt: skip
    mounted = "--volume", f"{data}:/data", "--volume", f"{file}:/azimuthal.yaml:ro"
    for command in (["process", "/azimuthal.yaml", "/data/ceo2.h5"], ["integrate", "/data/ceo2.h5"]):
        store.run(
            "podman", "run", "--rm", *RESTRICTED, "--user", f"{UID}:{UID}", *mounted, integrating, *command
        )
    results = Results(data / "ceo2.azimuthal.h5")
    curves, angles = results.rows("I", 0, 4).values, results.axis("radial_axis")
    near = rings.two_theta()[:5]
    for curve in curves:
        assert rings.peaks(angles, curve, near, 0.2) == pytest.approx(near, abs=0.02)
    angles, curve = np.loadtxt(data / "ceo2.xy", unpack=True)
    assert rings.peaks(angles, curve, near, 0.2) == pytest.approx(near, abs=0.02)


def test_the_filters_that_are_kept_are_registered_without_a_word(store: Store, image: str) -> None:
    program = "import hdf5plugin; print(*sorted(hdf5plugin.get_config().registered_filters))"
    done = store.run("podman", "run", "--rm", *RESTRICTED, "--entrypoint", "/opt/penstock/bin/python", image,
                     "-c", program)  # fmt: skip
    assert done.stdout.split() == ["blosc", "bshuf", "bzip2", "lz4", "zstd"]
    assert "filter" not in done.stderr


def _first_process(store: Store, made: Container) -> int:
    """Return the id of a container's first process, on this machine, once it has one."""
    found = 0

    def is_there() -> bool:
        nonlocal found
        done = store.run("podman", "inspect", "--format", "{{.State.Pid}}", made.name, check=False)
        found = int(done.stdout.strip() or 0)
        return found > 0

    wait(is_there)
    return found


def _megabytes(first: int) -> float:
    """Return the memory of the only child of a container's first process; -1 before there is one."""
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    if not children:
        return -1
    return int(Path(f"/proc/{children[0]}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
