"""The file of a control: typed, unknown keys refused, every error at once; and what a pod has by itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.cluster.config import ControlConfig, KubernetesConfig
from penstock.service import every_error, setting_errors, yaml_text

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
WORDS = setting_errors.Words(
    schema="`penstock pipeline-control --schema`",
    texts={
        "name": "at most 64 letters, digits, _ and -",
        "http": "HOST:PORT, such as 0.0.0.0:5300",
        "receiver": "lines of KEY: VALUE, such as deployment: eiger-receiver and url: http://eiger-receiver:5000",
        "receiver.deployment": _DEPLOYMENT,
        "receiver.url": "the address of a receiver, such as http://eiger-receiver:5000",
        "idle": 'a time such as 2h, 30m or 90s, or "" for never',
        "kubernetes.url": "the address of the API server, such as https://10.0.0.1:6443",
        **{f"pipelines[{each}].{key}": text for each in range(MANY) for key, text in _OF_A_PIPELINE.items()},
    },
)
MOST = 65535
"""The highest port."""
HOST, PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"
_PLACEHOLDERS = {
    "receiver": {"deployment": "x", "url": "http://x"},
    "receiver.deployment": "x",
    "receiver.url": "http://x",
}
"""Values with which the search for errors goes on where a required key is missing or wrong."""


class ControlFileError(Exception):
    """The file of a control cannot be used; `sentences` name the file, the key and the remedy."""

    def __init__(self, sentences: list[str]) -> None:
        super().__init__("\n".join(sentences))
        self.sentences = sentences


def load(path: str | Path) -> ControlConfig:
    """Read the file of a control; its name is filled in.

    Raises:
        ControlFileError: it cannot be read, is not YAML, or has wrong or unknown keys: all of them.
    """
    path = Path(path)
    try:
        raw = yaml_text.read_file(path, "give the file of a control, such as control.yaml")
    except ValueError as error:
        raise ControlFileError([str(error)]) from error
    if not isinstance(raw, dict):
        raise ControlFileError([f"{path}: a control has lines of KEY: VALUE, such as idle: 2h"])
    config = parse(raw, str(path))
    name = config.name or re.sub(r"[^A-Za-z0-9_-]", "_", path.stem)[:64]
    return msgspec.structs.replace(config, name=name)


def parse(raw: dict[Any, Any], origin: str) -> ControlConfig:
    """Check what has already been read; errors name `origin`.

    Raises:
        ControlFileError: wrong or unknown keys.
    """
    found, config = every_error.find(raw, ControlConfig, "", WORDS, _PLACEHOLDERS)
    if config is not None:
        found += _contradictions(config)
    if found:
        raise ControlFileError([f"{origin}: {each}" for each in found])
    assert config is not None
    return config


def in_this_pod(config: KubernetesConfig, variables: Mapping[str, str] = os.environ) -> KubernetesConfig:
    """Return the same with what a pod has by itself: address of the API server and namespace.

    Raises:
        ControlFileError: this is no pod, and the file does not say it either.
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
        raise ControlFileError(found)
    return msgspec.structs.replace(config, url=url.rstrip("/"), namespace=namespace)


def check_http(http: str) -> str:
    """Return what is wrong with the address of the HTTP API, in a sentence; or ""."""
    host, _, port = http.rpartition(":")
    if "://" in http or not host or not re.fullmatch("[0-9]{1,5}", port) or int(port) > MOST:
        return f'http is "{http}"; give HOST:PORT, such as 0.0.0.0:5300'
    return ""


def schema() -> dict[str, Any]:
    """Return the JSON schema of the file, for editors and for the chart."""
    return msgspec.json.schema(ControlConfig)


def _contradictions(config: ControlConfig) -> Iterator[str]:
    """Yield what is wrong beside the single values."""
    names = [each.name for each in config.pipelines]
    if twice := _twice(names):
        yield f"two pipelines have the name {twice}: give one of them another name"
    if "receiver" in names:
        yield "a pipeline has the name receiver, which is that of another part: give it another name"
    deployments = [config.receiver.deployment]
    for each in config.pipelines:
        deployments += [each.deployment] if each.deployment else []
        deployments += [each.workers.deployment] if each.workers else []
    if twice := _twice(deployments):
        yield f"two parts have the Deployment {twice}: each part has one of its own"
    if why := check_http(config.http):
        yield why


def _twice(names: list[str]) -> str:
    return next((each for place, each in enumerate(names) if each in names[:place]), "")
