"""The reference has every key, state, kind of refusal and metric."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from penstock.cluster.config import ControlConfig, KubernetesConfig, PipelinePart, ReceiverPart, WorkersPart
from penstock.cluster.config_file import CONTROL
from penstock.cluster.kubernetes import KINDS
from penstock.cluster.metrics import METRICS, PREFIX
from penstock.cluster.models import StateName
from penstock.cluster.states import TABLE
from penstock.service import yaml_text

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs" / "reference" / "pipeline-control.md").read_text()


@pytest.mark.parametrize("kind", [ControlConfig, ReceiverPart, PipelinePart, WorkersPart, KubernetesConfig])
def test_the_reference_has_every_key_of_the_file(kind: type[msgspec.Struct]) -> None:
    for key in kind.__struct_encode_fields__:
        assert f"| `{key}` |" in REFERENCE, key


def test_its_example_is_right() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", REFERENCE, re.DOTALL)
    config = CONTROL.parse(yaml_text.read(text), "the reference")
    assert config.pipelines[0].workers == WorkersPart(deployment="eiger-spots-workers", count=4)


def test_the_reference_has_the_table_of_states() -> None:
    rows = [
        f"| {'some' if wanted else 'none'} | {pods} | `{away}` | `{answers}` |"
        for (wanted, pods), (away, answers) in TABLE.items()
    ]
    assert "\n".join(rows) in REFERENCE
    for state in get_args(StateName):
        assert f"`{state}`" in REFERENCE


def test_the_reference_has_every_kind_of_refusal() -> None:
    kinds = set(KINDS.values())
    for path in (ROOT / "cluster").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(
                    func=ast.Name(id="Refused" | "NoSuchPart" | "KubernetesRefused"),
                    args=[ast.Constant(value=str(kind)), *_],
                ):
                    kinds.add(kind)
    assert kinds >= {"no_such_part", "forbidden", "kubernetes_away"}
    for kind in kinds:
        assert f"`{kind}`" in REFERENCE, kind


def test_the_reference_has_every_metric_and_no_other() -> None:
    named = re.findall(rf"`({PREFIX}\w+)`", REFERENCE)
    assert sorted(named) == sorted(PREFIX + each.name for each in METRICS)
