"""The container image: builds, runs as any uid with a read-only root, and ends when it is asked to.

`make test-container` runs it. Store and base image stay in the cache folder; the image is built again when
Containerfile, setup.cfg or constraints.txt differ, so that it may have older code: remove the folder then.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import h5py
import pytest

from penstock.devices._base.processes import free_port
from penstock.processing import kept_folder
from penstock.receiver.client import ReceiverClient
from tests.streams import Streamer

ROOT = Path(__file__).resolve().parents[2]
BASE = "docker.io/library/debian:bookworm-slim"
SOURCES = "resources/container/Containerfile", "setup.cfg", "constraints.txt"
UID = 4711
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


class Store:
    """Images and containers in a folder outside the checkout, where nothing else looks for them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = os.environ | {"CONTAINERS_CONF": str(Path(__file__).with_name("containers.conf"))}

    def command(self, program: str, *arguments: str) -> list[str]:
        """Return the command line of podman or buildah."""
        where = "--root", str(self._folder / "store"), "--runroot", str(self._folder / "run")
        return [program, *where, "--storage-driver", "overlay", *arguments]

    def run(self, program: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        done = subprocess.run(
            self.command(program, *arguments), capture_output=True, text=True, env=self._environment
        )
        assert not check or done.returncode == 0, f"{arguments}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Run a container that stays."""
        return subprocess.Popen(
            self.command("podman", "run", "--rm", *arguments), stdout=subprocess.PIPE, text=True,
            env=self._environment,
        )  # fmt: skip

    def build(self) -> str:
        """Return the name of the image; build it if it is not there."""
        key = hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in SOURCES)).hexdigest()[:12]
        image = f"localhost/penstock:{key}"
        if self.run("podman", "image", "exists", image, check=False).returncode == 0:
            return image
        if self.run("podman", "image", "exists", BASE, check=False).returncode != 0:
            base = self._folder / "base.tar"
            subprocess.run(
                ["mmdebstrap", "--quiet", "--variant=apt", "--include=ca-certificates", "bookworm", base],
                check=True,
            )
            self.run("podman", "import", "--quiet", str(base), BASE)
            base.unlink()
        volumes = [f"--volume={path}:{path}:ro" for path in ("/etc/ssl/certs", "/etc/resolv.conf")]
        self.run(
            "buildah", "bud", "--isolation", "chroot", "--pull-never", "--network", "host", *volumes,
            "--tag", image, "--file", str(ROOT / SOURCES[0]), str(ROOT),
        )  # fmt: skip
        return image


@pytest.fixture(scope="module")
def store() -> Store:
    if not os.environ.get("PENSTOCK_CONTAINER"):
        pytest.skip("it builds an image: run `make test-container`")
    missing = [name for name in ("buildah", "podman", "runc", "mmdebstrap") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"an image is built by root with buildah, podman, runc, mmdebstrap; missing: {missing}")
    return Store(kept_folder.folder("containers"))


@pytest.fixture(scope="module")
def image(store: Store) -> str:
    return store.build()


@contextlib.contextmanager
def receiver(
    store: Store, image: str, folder: Path, endpoint: str
) -> Iterator[tuple[str, ReceiverClient, subprocess.Popen[str]]]:
    """A receiver of the image with a read-only root, no capabilities, and a uid that nobody has."""
    (folder / "data").mkdir(exist_ok=True)
    os.chown(folder / "data", UID, UID)
    entry = {
        "source": {"type": "stins", "endpoints": [endpoint]}, "data_root": "/data",
        "http": f"127.0.0.1:{free_port()}", "on_terminate": "resume", "flush_seconds": 0.05,
    }  # fmt: skip
    config = folder / "receivers.yaml"
    config.write_text(json.dumps({"receivers": {"sim-1": entry}}))
    name = f"penstock-{free_port()}"
    process = store.start(
        "--name", name, "--read-only", "--cap-drop", "all", "--user", f"{UID}:{UID}", "--network", "host",
        "--tmpfs", "/tmp", "--volume", f"{folder / 'data'}:/data",
        "--volume", f"{config}:/receivers.yaml:ro", image,
        "receiver", "sim-1", "--config", "/receivers.yaml", "--json",
    )  # fmt: skip
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        yield name, ReceiverClient(ready["http"], timeout=5.0), process
    finally:
        if process.poll() is None:
            store.run("podman", "kill", name, check=False)
        process.wait(60)


def written(client: ReceiverClient, frames: int) -> None:
    """Wait until so many frames of the series are in its file."""
    status = client.status()
    for _ in range(60):
        if status.counts.stored >= frames:
            return
        status = client.status(seen=status.version, wait=1.0)
    pytest.fail(f"in vain: {status}")


def test_sigterm_in_a_series_loses_no_frame_and_the_next_container_ends_it(
    store: Store, image: str, tmp_path: Path
) -> None:
    streamer = Streamer()
    try:
        with receiver(store, image, tmp_path, streamer.endpoint) as (name, client, process):
            streamer.start("/data/first.h5", frames=100)
            for number in range(50):
                streamer.frame(number)
            written(client, 50)
            store.run("podman", "kill", "--signal", "TERM", name)
            assert process.wait(30) == 0
        for number in range(50, 100):
            streamer.frame(number)
        with receiver(store, image, tmp_path, streamer.endpoint) as (_, client, _):
            streamer.end(sent=100)
            written(client, 100)
            client.stop()
        with h5py.File(tmp_path / "data" / "first.h5") as file:
            assert len(file["entry/data/data"]) == 100
        assert (tmp_path / "data" / "first.h5").stat().st_uid == UID
    finally:
        streamer.close()


def test_the_filters_that_are_kept_are_registered_without_a_word(store: Store, image: str) -> None:
    program = "import hdf5plugin; print(*sorted(hdf5plugin.get_config().registered_filters))"
    done = store.run("podman", "run", "--rm", "--read-only", "--network", "host",
                     "--entrypoint", "/opt/penstock/bin/python", image, "-c", program)  # fmt: skip
    assert done.stdout.split() == ["blosc", "bshuf", "bzip2", "lz4", "zstd"]
    assert "filter" not in done.stderr
