"""Images and containers of a test, made by buildah and podman in a folder of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASE = "docker.io/library/debian:bookworm-slim"
CONTAINERFILE = ROOT / "resources" / "container" / "Containerfile"
RESTRICTED = "--read-only", "--cap-drop", "all", "--tmpfs", "/tmp", "--network", "host"
"""Options of a container that writes only where it is told."""


class Store:
    """Images and containers in a folder outside the checkout, where nothing else looks for them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.environment = os.environ | {"CONTAINERS_CONF": str(Path(__file__).with_name("containers.conf"))}
        self.options = [
            "--root", str(folder / "store"), "--runroot", str(folder / "run"), "--storage-driver", "overlay"
        ]  # fmt: skip

    def run(self, program: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run podman or buildah to its end."""
        done = subprocess.run(
            [program, *self.options, *arguments], capture_output=True, text=True, env=self.environment
        )
        assert not check or done.returncode == 0, f"{arguments}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Run a container that stays."""
        return subprocess.Popen(
            ["podman", *self.options, "run", "--rm", *arguments], stdout=subprocess.PIPE, text=True,
            env=self.environment,
        )  # fmt: skip

    def size(self, image: str) -> int:
        """Return the bytes of an image."""
        return int(self.run("podman", "image", "inspect", "--format", "{{.Size}}", image).stdout)

    def build(self, extras: str) -> str:
        """Return the name of the image with these extras; only what has changed is built again."""
        image = f"localhost/penstock:{extras.replace(',', '-')}"
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
            "buildah", "bud", "--layers", "--isolation", "chroot", "--pull-never", "--network", "host",
            *volumes, "--build-arg", f"EXTRAS={extras}", "--tag", image, "--file", str(CONTAINERFILE),
            str(ROOT),
        )  # fmt: skip
        return image

    def archive(self, image: str, name: str) -> Path:
        """Return a file of an image with this name, as containerd imports it."""
        path = self._folder / "archive.tar"
        path.unlink(missing_ok=True)
        self.run("buildah", "push", "--quiet", image, f"docker-archive:{path}:{name}")
        return path
