"""The configuration of a control, typed; `config_file.py` reads it from YAML."""

from __future__ import annotations

from typing import Annotated

import msgspec

NAME = r"^[A-Za-z0-9_-]{1,64}$"
URL = r"^https?://[^/\s]+/?$"
DEPLOYMENT = r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"
DURATION = r"^([0-9]{1,6}[smh])?$"
MOST_WORKERS = 10_000
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Folder in which a pod has what belongs to its ServiceAccount."""


class ReceiverPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The receiver."""

    deployment: Annotated[str, msgspec.Meta(pattern=DEPLOYMENT)]
    """Name of its Deployment."""
    url: Annotated[str, msgspec.Meta(pattern=URL)]
    """Address of its HTTP API."""


class WorkersPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The workers of a pipeline."""

    deployment: Annotated[str, msgspec.Meta(pattern=DEPLOYMENT)]
    """Name of their Deployment."""
    count: Annotated[int, msgspec.Meta(ge=0, le=MOST_WORKERS)] = 1
    """How many there are after a start, unless they had another number before."""


class PipelinePart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pipeline."""

    name: Annotated[str, msgspec.Meta(pattern=NAME)]
    """As which it is started and stopped; its workers are NAME/workers."""
    deployment: Annotated[str, msgspec.Meta(pattern=rf"^$|{DEPLOYMENT}")] = ""
    """Name of its Deployment; "": it runs in the receiver's pod."""
    url: Annotated[str, msgspec.Meta(pattern=URL)]
    """Address of its HTTP API."""
    workers: WorkersPart | None = None
    """Its workers in pods of their own; without it there are none."""


class KubernetesConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The API server, and as whom it is asked; by default what every pod has."""

    url: Annotated[str, msgspec.Meta(pattern=rf"^$|{URL}")] = ""
    """Its address; "": that of KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT."""
    token: str = f"{ACCOUNT}/token"
    """File with the bearer token, which is read for each call, since Kubernetes replaces it."""
    ca: str = f"{ACCOUNT}/ca.crt"
    """File with the certificate by which the API server is known."""
    namespace: str = ""
    """Namespace of the Deployments; "": that of the pod."""


class ControlConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The control of one detector's programs."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{0,64}$")] = ""
    """In status and metrics; if not given, the name of this file."""
    http: str = "127.0.0.1:5300"
    """HOST:PORT of the control's HTTP API."""
    receiver: ReceiverPart
    pipelines: tuple[PipelinePart, ...] = ()
    idle: Annotated[str, msgspec.Meta(pattern=DURATION)] = ""
    """Time without a series after which the workers of a pipeline are taken away, such as 2h or 30m; "":
    never."""
    kubernetes: KubernetesConfig = KubernetesConfig()


UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(duration: str) -> float | None:
    """Return a duration such as 2h in seconds; `None` for ""."""
    return int(duration[:-1]) * UNITS[duration[-1]] if duration else None
