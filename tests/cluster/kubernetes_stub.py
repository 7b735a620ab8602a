"""The scale subresource of Deployments over HTTPS, as an API server answers; pods follow a moment later.

The answers were recorded from Kubernetes 1.34.4.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
from collections.abc import Callable, Collection, Mapping
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from penstock.cluster.config import KubernetesConfig

FOLLOW = 0.05
"""Seconds after which there are as many pods as wanted."""
ACCOUNT = "system:serviceaccount:beamline:eiger-control"
ANONYMOUS = "system:anonymous"
PATCHES = ("application/merge-patch+json", "application/json-patch+json")
BEFORE, BEHIND = "/apis/apps/v1/namespaces/beamline/deployments/", "/scale"


def made_certificate() -> tuple[str, str]:
    """Files of a new certificate for loopback, and of its key."""
    folder = Path(mkdtemp(prefix="penstock-kubernetes-"))
    paths = str(folder / "ca.crt"), str(folder / "key")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=kubernetes", "-addext", "subjectAltName=IP:127.0.0.1",
         "-out", paths[0], "-keyout", paths[1]],
        check=True, capture_output=True,
    )  # fmt: skip
    return paths


certificate = cache(made_certificate)


class Kubernetes:
    """One API server, namespace and ServiceAccount.

    Args:
        folder: for token, certificate and namespace, as a pod has them.
        deployments: pods that are wanted, and there, by name.
        foreign: further Deployments, which the Role does not name.
        pods: called, in a thread of its own, when a Deployment is to have so many pods.
    """

    def __init__(
        self, folder: Path, deployments: Mapping[str, int], foreign: Collection[str] = (),
        pods: Callable[[str, int], None] = lambda name, count: None,
    ) -> None:  # fmt: skip
        self.wanted, self.running = dict(deployments), dict(deployments)
        self.named = set(deployments)
        """Those that the Role names."""
        self.exists = {*deployments, *foreign}
        self.token = "first"
        self.patches: list[tuple[str, int]] = []
        self.refuses = False
        """Whether no patch succeeds."""
        self.answers = threading.Event()
        """Cleared: it hangs."""
        self.answers.set()
        self.may_end = threading.Event()
        """Cleared: no pod ends."""
        self.may_end.set()
        self._pods = pods
        self._followers: list[threading.Thread] = []
        self._closed = threading.Event()
        (folder / "token").write_text(self.token)
        (folder / "namespace").write_text("beamline\n")
        ca, key = certificate()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(ca, key)
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self.folder = folder
        self.config = KubernetesConfig(
            url=f"https://127.0.0.1:{self._server.server_port}", token=str(folder / "token"), ca=ca,
            namespace="beamline",
        )  # fmt: skip
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def rotate(self) -> None:
        """Replace the token, as Kubernetes does."""
        self.token = "second"
        (self.folder / "token").write_text(self.token)

    def set(self, name: str, count: int) -> None:
        """Scale a Deployment, as kubectl does."""
        self.wanted[name] = count
        self._followers.append(
            thread := threading.Thread(target=self._follow, args=(name, count), daemon=True)
        )
        thread.start()

    def _follow(self, name: str, count: int) -> None:
        self._closed.wait(FOLLOW)
        if count < self.running[name]:
            self.may_end.wait()
        self._pods(name, count)
        self.running[name] = count

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        """What the API server answers."""
        self.answers.wait()
        given = headers.get("Authorization", "")
        if given not in ("", f"Bearer {self.token}"):
            return 401, failure(401, "Unauthorized", "Unauthorized")
        name = path.removeprefix(BEFORE).removesuffix(BEHIND)
        if path != f"{BEFORE}{name}{BEHIND}":
            return 404, failure(404, "NotFound", "the server could not find the requested resource")
        about = {"name": name, "group": "apps", "kind": "deployments"}
        verb, who = method.lower(), ACCOUNT if given else ANONYMOUS
        if not given or name not in self.named or method not in ("GET", "PATCH"):
            return 403, failure(
                403, "Forbidden",
                f'deployments.apps "{name}" is forbidden: User "{who}" cannot {verb} resource '
                '"deployments/scale" in API group "apps" in the namespace "beamline"', about,
            )  # fmt: skip
        if name not in self.exists:
            return 404, failure(404, "NotFound", f'deployments.apps "{name}" not found', about)
        if method == "PATCH":
            if headers.get("Content-Type") not in PATCHES:
                return 415, failure(
                    415, "UnsupportedMediaType", "415: Unsupported Media Type", {}
                )  # fmt: skip
            if self.refuses:
                return 500, failure(500, "InternalError", "etcdserver: request timed out")
            count = json.loads(body)["spec"]["replicas"]
            self.patches.append((name, count))
            self.set(name, count)
        return 200, self.scale(name)

    def scale(self, name: str) -> dict[str, Any]:
        """The object of a Deployment: 0 replicas are absent from its spec."""
        wanted = self.wanted[name]
        return {
            "kind": "Scale", "apiVersion": "autoscaling/v1",
            "metadata": {
                "name": name, "namespace": "beamline", "uid": "4c1f3a52-8d0e-4f55-9a38-1f4f0a1e7b10",
                "resourceVersion": "1347", "creationTimestamp": "2026-11-20T09:13:55Z",
            },
            "spec": {"replicas": wanted} if wanted else {},
            "status": {"replicas": self.running[name], "selector": f"app={name}"},
        }  # fmt: skip

    def close(self) -> None:
        """End it."""
        self._closed.set()
        self.answers.set()
        self.may_end.set()
        for each in self._followers:
            each.join()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def failure(code: int, reason: str, message: str, details: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What the API server answers instead of an object."""
    found = {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": reason, "code": code,
    }  # fmt: skip
    return found if details is None else {**found, "details": details}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever closes its connection causes no traceback."""


def _handler(kubernetes: Kubernetes) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            code, found = kubernetes.answer(self.command, self.path, self.headers, body)
            payload = json.dumps(found).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_PATCH = do_PUT = do_DELETE = _do

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    return Handler
