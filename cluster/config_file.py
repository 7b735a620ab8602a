"""The file of a control: typed, unknown keys refused, every error at once; and what a pod has by itself."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.cluster.config import ControlConfig, KubernetesConfig
from penstock.service.config_file import ConfigFileError, FileKind, twice

MANY = 100
"""Pipelines whose settings have a sentence of their own."""
_DEPLOYMENT = "the name of a Deployment, such as eiger-receiver"
_OF_A_PIPELINE = {
    "name": "1 to 64 letters, digits, _ and -",
    "deployment": 'the name of its Deployment, such as eiger-spots, or "" if it runs in the receiver\'s pod',
    "url": "the address of a pipeline, such as http://eiger-spots:5100",
    "workers": "lines of KEY: VALUE, such as deployment: eiger-spots-workers and count: 4",
    "workers.deployment": "the name of a Deployment, such as eiger-spots-workers",
}
TEXTS = {
    "receiver": "lines of KEY: VALUE, such as deployment: eiger-receiver and url: http://eiger-receiver:5000",
    "receiver.deployment": _DEPLOYMENT,
    "receiver.url": "the address of a receiver, such as http://eiger-receiver:5000",
    "idle": 'a time such as 2h, 30m or 90s, or "" for never',
    "kubernetes.url": "the address of the API server, such as https://10.0.0.1:6443",
    **{f"pipelines[{each}].{key}": text for each in range(MANY) for key, text in _OF_A_PIPELINE.items()},
}
"""What each of the settings may be that are plain text."""
HOST, PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


def completed(config: ControlConfig) -> ControlConfig:
    """Return the same with what a pod has by itself; see `in_this_pod`."""
    return msgspec.structs.replace(config, kubernetes=in_this_pod(config.kubernetes))


def in_this_pod(config: KubernetesConfig, variables: Mapping[str, str] = os.environ) -> KubernetesConfig:
    """Return the same with what a pod has by itself: address of the API server and namespace.

    Raises:
        ConfigFileError: this is no pod, and the file does not say it either.
    """
    url, namespace, found = config.url, config.namespace, []
    if not url:
        host, port = variables.get(HOST, ""), variables.get(PORT, "443")
        url = f"https://{f'[{host}]' if ':' in host else host}:{port}"
        if not host:
            found.append(
                f"there is no variable {HOST}, as in a pod; give kubernetes.url, such as "
                "https://10.0.0.1:6443"
            )
    if not namespace:
        path = Path(config.token).with_name("namespace")
        try:
            namespace = path.read_text().strip()
        except OSError as error:
            found.append(f"{path}: {error.strerror}; give kubernetes.namespace")
    if found:
        raise ConfigFileError(*found)
    return msgspec.structs.replace(config, url=url.rstrip("/"), namespace=namespace)


def _contradictions(config: ControlConfig, _: Mapping[Any, Any]) -> Iterator[str]:
    """Yield what is wrong beside the single values."""
    names = [each.name for each in config.pipelines]
    if name := twice(names):
        yield f"two pipelines have the name {name}: give one of them another name"
    if "receiver" in names:
        yield "a pipeline has the name receiver, which is that of another part: give it another name"
    deployments = [config.receiver.deployment]
    for each in config.pipelines:
        deployments += [each.deployment] if each.deployment else []
        deployments += [each.workers.deployment] if each.workers else []
    if name := twice(deployments):
        yield f"two parts have the Deployment {name}: each part has one of its own"
    if why := CONTROL.wrong_http(config.http):
        yield why


CONTROL = FileKind(
    model=ControlConfig, service="control", example="control.yaml", line="idle: 2h", http="0.0.0.0:5300",
    program="penstock pipeline-control", texts=TEXTS, contradictions=_contradictions,
    needed={
        "receiver": {"deployment": "x", "url": "http://x"},
        "receiver.deployment": "x",
        "receiver.url": "http://x",
    },
)  # fmt: skip
"""The file of a control."""
