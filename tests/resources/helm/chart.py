"""The Helm chart, its values schema, and the helm that renders it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

from penstock.processing.config import pipeline_file
from penstock.receiver import config as receiver_config
from tests.third_party import program_of

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "resources/helm/penstock"
EXAMPLES = sorted((ROOT / "resources/helm/examples").glob("*.yaml"))
SCHEMA = CHART / "values.schema.json"
OF_THE_CHART = {
    "ReceiverConfig": {"http", "detector"},
    "PipelineFile": {"receiver", "consumer", "workers", "listen", "key", "http"},
}
"""Keys that the chart writes itself, by the class that has them."""
NAME = "^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$"
"""Of a pipeline: a part of names in Kubernetes."""
COUNT = {"type": "integer", "minimum": 0, "maximum": 1024}
RESERVED = ["receiver", "control", "external", "key", "data", "tmp", "shm", "configuration"]
"""Names of other parts of a release, and of volumes in their pods."""
OWN = {
    "name": {
        "type": "string", "pattern": NAME, "not": {"anyOf": [{"enum": RESERVED}, {"pattern": "-workers$"}]},
    },
    "workers": COUNT, "localWorkers": COUNT, "inReceiverPod": {"type": "boolean"},
    "resources": {"type": "object"}, "nodeSelector": {"type": "object"}, "tolerations": {"type": "array"},
    "files": {
        "type": "object", "additionalProperties": {"type": "string"},
        "propertyNames": {"pattern": r"^[A-Za-z0-9_.-]+$", "not": {"const": "pipeline.yaml"}},
    },
}  # fmt: skip
"""Keys of a pipeline that only the chart knows."""


def schema() -> dict[str, Any]:
    """Return the schema of the chart's values: its own part, and what receiver and pipeline have by now."""
    found: dict[str, Any] = json.loads(SCHEMA.read_text())
    parts = receiver_config.schema()["$defs"] | pipeline_file.PIPELINE.schema()["$defs"]
    for name, keys in OF_THE_CHART.items():
        parts[name]["properties"] = {
            key: value for key, value in parts[name]["properties"].items() if key not in keys
        }
    parts["Receiver"], parts["Pipeline"] = parts.pop("ReceiverConfig"), parts.pop("PipelineFile")
    parts["Pipeline"]["properties"] |= OWN
    parts["Pipeline"]["required"] = ["name"]
    parts["Pipeline"]["anyOf"] = [{"required": ["processor"]}, {"required": ["steps"]}]
    del parts["ConfigFile"]
    return found | {"$defs": parts}


def helm(*arguments: str | Path, values: object = None) -> subprocess.CompletedProcess[str]:
    """Run helm, with these values beside those of its arguments."""
    given = [] if values is None else ["--values", "-"]
    return subprocess.run(
        [program_of("kubernetes", "helm"), *arguments, *given], input=json.dumps(values), capture_output=True,
        text=True, timeout=60,
    )  # fmt: skip


def rendered(*arguments: str | Path, name: str = "eiger-1", values: object = None) -> list[Any]:
    """Return the objects of a release, by `helm template`."""
    done = helm("template", name, CHART, *arguments, values=values)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]
