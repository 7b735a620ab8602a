"""The scale of Deployments over the HTTP API of Kubernetes: the two calls that the control may make."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

import msgspec
import urllib3

from penstock.cluster.config import KubernetesConfig
from penstock.service.models import Refused

TIMEOUT = 5.0
"""Seconds in which the API server has to answer."""
MERGE_PATCH = "application/merge-patch+json"
KINDS = {401: "unauthorized", 403: "forbidden", 404: "no_such_deployment"}
"""Kinds of the refusals that have a remedy, by HTTP status."""


class KubernetesRefused(Refused):
    """Kubernetes has not done what it was asked for; the sentence says what it said, and what to change."""

    http_status = 502


@dataclass(frozen=True)
class Scale:
    """How many pods a Deployment has."""

    wanted: int
    running: int
    """Pods that there are: those that are starting included, those that are ending not."""


class _Spec(msgspec.Struct):
    replicas: int = 0  # 0 is not written


class _ScaleObject(msgspec.Struct):
    kind: str
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Spec = msgspec.field(default_factory=_Spec)


class _StatusObject(msgspec.Struct):
    """What the API server answers instead."""

    message: str = ""


class Deployments:
    """The Deployments of one namespace.

    Args:
        config: the API server, with address and namespace.
        timeout: seconds for one call.
    """

    def __init__(self, config: KubernetesConfig, timeout: float = TIMEOUT) -> None:
        self._config = config
        self._timeout = timeout
        self._lock = threading.Lock()
        self._http: urllib3.PoolManager | None = None

    def close(self) -> None:
        """Close its connections."""
        with self._lock:
            if self._http is not None:
                self._http.clear()

    def scale(self, name: str) -> Scale:
        """Return the scale of a Deployment.

        Raises:
            KubernetesRefused: the API server does not answer, or refuses.
        """
        return self._call("GET", name, f"for the scale of Deployment {name}")

    def set(self, name: str, count: int) -> Scale:
        """Let a Deployment have so many pods; return its scale.

        Raises:
            KubernetesRefused: the API server does not answer, or refuses.
        """
        return self._call("PATCH", name, f"to scale Deployment {name} to {count}", count)

    def _call(self, method: str, name: str, what: str, count: int | None = None) -> Scale:
        config = self._config
        asked = f"Kubernetes was asked {what} in namespace {config.namespace}"
        try:
            token = Path(config.token).read_text().strip()
        except OSError as error:
            raise KubernetesRefused(
                "no_token",
                f"{asked}: the token {config.token} cannot be read ({error.strerror}); has the pod a "
                "ServiceAccount, and automountServiceAccountToken?",
            ) from error
        headers = {"Accept": "application/json", "Authorization": f"Bearer {token}"}
        body = None
        if count is not None:
            headers["Content-Type"] = MERGE_PATCH
            body = msgspec.json.encode({"spec": {"replicas": count}})
        path = f"/apis/apps/v1/namespaces/{config.namespace}/deployments/{name}/scale"
        try:
            answer = self._pool().request(
                method, config.url + path, body=body, headers=headers,
                timeout=urllib3.Timeout(total=self._timeout),
            )  # fmt: skip
        except (urllib3.exceptions.HTTPError, OSError) as error:
            self._forget()
            raise KubernetesRefused("kubernetes_away", f"{asked}: {self._why(error)}") from error
        if answer.status >= 400:
            raise self._refusal(asked, name, answer)
        try:
            found = msgspec.json.decode(answer.data, type=_ScaleObject)
        except (msgspec.DecodeError, UnicodeDecodeError):
            found = _ScaleObject(kind="")
        if found.kind != "Scale":
            raise KubernetesRefused(
                "no_kubernetes", f"{asked}: {config.url} answers, but no scale; is kubernetes.url right?"
            )
        return Scale(found.spec.replicas, found.status.replicas)

    def _pool(self) -> urllib3.PoolManager:
        with self._lock:
            if self._http is None:
                is_https = self._config.url.startswith("https:")
                known = Path(self._config.ca).read_text(errors="replace") if is_https else None
                self._http = urllib3.PoolManager(retries=False, maxsize=8, ca_cert_data=known)
            return self._http

    def _forget(self) -> None:
        """Read the certificate again for the next call: it may have been replaced."""
        with self._lock:
            self._http = None

    def _why(self, error: Exception) -> str:
        config = self._config
        if isinstance(error, urllib3.exceptions.SSLError):
            return (
                f"the certificate of {config.url} is not one of {config.ca} ({error}); is kubernetes.ca that "
                "of the cluster?"
            )
        if isinstance(error, OSError):
            return f"the certificate {config.ca} cannot be read ({error.strerror}); give kubernetes.ca"
        how = f"within {self._timeout:g} s"
        if isinstance(error, urllib3.exceptions.NameResolutionError):
            how = "(no host of this name is known)"
        elif isinstance(error, urllib3.exceptions.NewConnectionError):
            how = "(nobody listens there)"
        return (
            f"{config.url} does not answer {how}; is the API server up, and may this pod reach it "
            "(NetworkPolicy)?"
        )

    def _refusal(self, asked: str, name: str, answer: urllib3.BaseHTTPResponse) -> KubernetesRefused:
        try:
            said = msgspec.json.decode(answer.data, type=_StatusObject).message
        except (msgspec.DecodeError, UnicodeDecodeError):
            said = ""
        remedy = {
            401: f"is {self._config.token} the token of a ServiceAccount of this cluster?",
            403: f"the Role does not name Deployment {name}: add it to the resourceNames of "
            "deployments/scale, with the verbs get and patch",
            404: f"there is no Deployment {name}: is its name right, and kubernetes.namespace?",
        }.get(answer.status, "the log of the API server may say more")
        kind = KINDS.get(answer.status, "kubernetes_error")
        return KubernetesRefused(kind, f"{asked}: {said or 'refused'} ({answer.status}); {remedy}")
