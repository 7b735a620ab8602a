"""A real Kubernetes of three nodes on this machine, with the image and releases of the chart."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CHART = Path(__file__).resolve().parents[2] / "resources/helm/penstock"
SCRIPTS = Path(__file__).resolve().parent
PENSTOCK = str(Path(sys.executable).with_name("penstock"))
OUTSIDE = "10.78.0.1"
"""Address of this machine, as pods see it."""
NODES = 3
ROLES = {
    "worker": "\0worker\0", "pipeline": "\0process\0", "distributor": "penstock.processing",
    "receiver": "receiver",
}  # fmt: skip
"""What is in the command of a process of each part."""
USER = 4711
REPOSITORY, TAG = "localhost/penstock", "test"


class Failed(RuntimeError):
    """A command of kubectl or helm; the sentence is what it said."""


class Cluster:
    """Nodes, and what runs on them.

    Args:
        folder: made by `up.sh`.
        data: the folder that every node sees, like a parallel file system.
    """

    def __init__(self, folder: Path, data: Path) -> None:
        self._folder, self.data = folder, data

    def outside(self, *command: str, **keys: Any) -> subprocess.Popen[str]:
        """Start a command outside the cluster, in its network."""
        return subprocess.Popen(
            [str(self._folder / "k"), "env", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True, **keys,
        )  # fmt: skip

    def kubectl(self, *arguments: str, given: str | None = None, check: bool = True) -> str:
        """Return what kubectl prints; None is checked if `check` is false."""
        return self._run(str(self._folder / "k"), *arguments, given=given, check=check)

    def helm(self, *arguments: str, values: dict[str, Any]) -> str:
        """Return what helm prints."""
        return self._run(
            str(self._folder / "k"), "helm", *arguments, "--values", "-", given=json.dumps(values)
        )

    def _run(self, *command: str, given: str | None, check: bool = True) -> str:
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=300)
        if check and done.returncode:
            raise Failed(f"{' '.join(command[1:])}: {done.stdout}{done.stderr}")
        return done.stdout

    def get(self, *arguments: str) -> Any:
        """Return objects as kubectl has them."""
        return json.loads(self.kubectl("get", *arguments, "--output=json"))

    def cpu_seconds(self) -> dict[str, float]:
        """Return the processor time of Penstock's processes in all pods so far, by part."""
        prefix = (self._folder / "run/prefix").read_text().strip()
        found: dict[str, float] = defaultdict(float)
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                command = (process / "cmdline").read_bytes().decode()
                if f"/{prefix}n" in (process / "cgroup").read_text() and "penstock" in command:
                    name = next((name for name, word in ROLES.items() if word in command), "control")
                    times = (process / "stat").read_text().rpartition(")")[2].split()[11:13]
                    found[name] += sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
        return found

    def kill_node(self, name: str) -> None:
        """Take a node away at once with all its pods."""
        subprocess.run([str(self._folder / "kill-node"), name], check=True, timeout=60)

    def running(self, namespace: str, component: str) -> list[Any]:
        """Return the pods of a part of a release that are not being deleted."""
        pods = self.get(
            "pods", f"--namespace={namespace}", f"--selector=app.kubernetes.io/component={component}"
        )
        return [pod for pod in pods["items"] if "deletionTimestamp" not in pod["metadata"]]

    def ask(self, namespace: str, service: str, port: int, path: str) -> Any:
        """Return the answer of a program's HTTP API, through that of Kubernetes."""
        url = f"/api/v1/namespaces/{namespace}/services/http:{service}:{port}/proxy/{path}"
        return json.loads(self.kubectl("get", "--raw", url))

    def through_node(self, namespace: str, service: str, port: str, path: str) -> Any:
        """Return the answer of a program's HTTP API, by the port that its Service has on the nodes."""
        ports = self.get(f"service/{service}", f"--namespace={namespace}")["spec"]["ports"]
        number = next(each["nodePort"] for each in ports if each["name"] == port)
        (node,) = {each["status"]["addresses"][0]["address"] for each in self.get("nodes")["items"][:1]}
        url = f"http://{node}:{number}/{path}"
        return json.loads(
            self._run(str(self._folder / "k"), "curl", "--silent", "--max-time", "20", url, given=None)
        )

    def tell(self, namespace: str, component: str, port: int, path: str, given: object) -> Any:
        """Send a command to a program's pod, from outside; return its answer."""
        (pod,) = self.running(namespace, component)
        url = f"http://{pod['status']['podIP']}:{port}/{path}"
        answer = self._run(
            str(self._folder / "k"), "curl", "--silent", "--max-time", "20", "--json", "@-", url,
            given=json.dumps(given),
        )  # fmt: skip
        return json.loads(answer)


class Release:
    """A detector in the cluster: a release in a namespace of its own, and its streamer outside.

    Args:
        cluster: where it runs.
        name: of release, namespace and detector.
        port: of its streamer.
    """

    def __init__(self, cluster: Cluster, name: str, port: int) -> None:
        self.cluster, self.name, self.port = cluster, name, port
        self.folder = cluster.data / name
        self.folder.mkdir(exist_ok=True)
        os.chown(self.folder, USER, USER)
        self.values: dict[str, Any] = {
            "image": {"repository": REPOSITORY, "tag": TAG, "pullPolicy": "Never"},
            "receiver": {"source": {"endpoints": [f"tcp://{OUTSIDE}:{port}"]}, "flush_seconds": 0.2},
            "storage": {"hostPath": {"path": str(self.folder)}},
            "user": USER, "group": USER,
        }  # fmt: skip

    def upgrade(self, *arguments: str, **values: Any) -> None:
        """Install it, or let it have these values from now on.

        Raises:
            Failed: helm or Kubernetes has refused them.
        """
        wanted = self.values | values
        self.cluster.helm(
            "upgrade", "--install", self.name, str(CHART), "--namespace", self.name, "--create-namespace",
            *arguments, values=wanted,
        )  # fmt: skip
        self.values = wanted

    def scale(self, part: str, count: int) -> None:
        """Let a Deployment have so many pods, as somebody does by hand."""
        self.cluster.kubectl(
            "scale", f"--namespace={self.name}", f"deployment/{self.name}-{part}", f"--replicas={count}"
        )

    @contextlib.contextmanager
    def generator(self, file: str, frames: int, rate: float, *, size: int = 100_000) -> Iterator[None]:
        """A series outside the cluster, of frames of so many bytes into a file; at the end all are sent."""
        sender = self.cluster.outside(
            PENSTOCK, "generate", "--endpoint", f"tcp://{OUTSIDE}:{self.port}", "--frames", str(frames),
            "--rate", str(rate), "--filename", f"/data/{file}", "--frame-bytes", str(size), "--json",
            "--wait", "200", "--linger", "200",
        )  # fmt: skip
        try:
            yield
            said = sender.communicate(timeout=120)
            assert sender.returncode == 0, said
        finally:
            sender.kill()
            sender.communicate()

    def receiver(self) -> Any:
        """Return the status of the receiver, or `None` while it does not answer."""
        with contextlib.suppress(Failed):
            return self.cluster.ask(self.name, f"{self.name}-receiver", 5000, "status")
        return None

    def from_outside(self) -> Any:
        """The same by a port of a node, which it gets a moment later."""
        with contextlib.suppress(Failed):
            return self.cluster.through_node(self.name, f"{self.name}-external", "http", "status")
        return None

    def pipeline(self) -> Any:
        """Return the status of the first pipeline, or `None` while it does not answer."""
        with contextlib.suppress(Failed):
            name = self.values["pipelines"][0]["name"]
            return self.cluster.ask(self.name, f"{self.name}-{name}", 5100, "status")
        return None

    def stored(self, file: str, frames: int) -> Any:
        """Wait until so many frames are in this file; return the status."""

        def there(status: Any) -> bool:
            series = status and status["series"]
            return bool(
                series and (series["filename"] or "").endswith(file) and status["counts"]["stored"] >= frames
            )

        return until(self.receiver, there, 120)

    def ended(self, file: str, seconds: float = 120) -> Any:
        """Wait for the end of the series in this file; return the status."""

        def over(status: Any) -> bool:
            series = status and status["series"]
            return bool(series and (series["filename"] or "").endswith(file) and not series["active"])

        return until(self.receiver, over, seconds)

    def processed(self, file: str, seconds: float = 120) -> Any:
        """Wait until the pipeline has the account of this series; return its part of the status."""

        def over(status: Any) -> bool:
            series = status and status["series"]
            return bool(series and (series["file"] or "").endswith(file) and not series["active"])

        return until(self.pipeline, over, seconds)["series"]

    def workers(self, count: int) -> None:
        """Wait until the pipeline has so many workers."""

        def there(status: Any) -> bool:
            return status is not None and count == sum(
                each["state"] in ("ready", "working") for each in status["workers"]
            )

        until(self.pipeline, there, 120)


def until(look: Callable[[], Any], condition: Callable[[Any], bool], seconds: float) -> Any:
    """Return the first of what is seen that is as wanted."""
    due = time.monotonic() + seconds
    while not condition(found := look()):
        assert time.monotonic() < due, f"in vain, for {seconds} s: {found}"
        time.sleep(0.2)
    return found


def missing_programs() -> list[str]:
    """Return the programs that a cluster needs and that are not here."""
    wanted = (
        "containerd", "runc", "iptables", "conntrack", "ip", "openssl", "gcc", "buildah", "podman",
        "mmdebstrap",
    )  # fmt: skip
    return [each for each in wanted if shutil.which(each) is None]


@contextlib.contextmanager
def up(cache: Path, folder: Path, image: Path) -> Iterator[Cluster]:
    """Bring a cluster up with this image, and take it away."""
    data = folder / "data"
    data.mkdir(parents=True)
    data.chmod(0o755)
    place = folder / "cluster"
    try:
        subprocess.run([SCRIPTS / "up.sh", place, cache / "bin", str(NODES), image], check=True, timeout=600)
        yield Cluster(place, data)
    finally:
        subprocess.run([SCRIPTS / "down.sh", place], check=False, timeout=300)
