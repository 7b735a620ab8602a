"""The Helm chart: what it makes of values, and what it refuses, before anything in a cluster is touched."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from penstock.processing.config import classes, pipeline_file
from penstock.processing.wire import keys
from penstock.receiver import config
from tests.resources.helm import chart
from tests.third_party import program_of

pytestmark = pytest.mark.slow

VERSIONS = ("1.29", "1.36")
VALUES: dict[str, Any] = {
    "receiver": {"source": {"endpoints": ["tcp://10.1.1.7:9999"]}},
    "storage": {"persistentVolumeClaim": {"claimName": "data"}},
}
SPOTS = {"name": "spots", "processor": "peaks", "workers": 2}
POLICIES = sorted((chart.CHART.parent / "examples/policies").glob("*.yaml"))


def forward(name: str, endpoint: str) -> dict[str, Any]:
    return {"forward": [{"name": name, "endpoint": endpoint}]}


def of_kind(objects: list[Any], kind: str) -> dict[str, Any]:
    return {each["metadata"]["name"]: each for each in objects if each["kind"] == kind}


def test_lint_has_no_complaint() -> None:
    done = chart.helm("lint", "--strict", chart.CHART, values=VALUES)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("example", chart.EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_valid_and_its_programs_take_their_files(example: Path, tmp_path: Path) -> None:
    objects = chart.rendered("--values", example, name=example.stem)
    path = tmp_path / "all.yaml"
    path.write_text("---\n".join(json.dumps(each) + "\n" for each in objects))
    for version in VERSIONS:
        valid = [program_of("kubernetes", "kubernetes-validate"), "-k", version, "--strict", "--quiet", path]
        done = subprocess.run(valid, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
    maps = of_kind(objects, "ConfigMap")
    for name, each in maps.items():
        for file, content in each["data"].items():
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / file).write_text(content)
    (entry,) = config.load(tmp_path / f"{example.stem}-receiver/receivers.yaml").receivers.values()
    pipelines = sorted(tmp_path.glob("*/pipeline.yaml"))
    assert {each.name for each in entry.forward} >= {
        path.parent.name.removeprefix(f"{example.stem}-") for path in pipelines
    }
    for path in pipelines:
        assert classes.steps(pipeline_file.load(path))


@pytest.mark.parametrize("version", ["1.34", "1.36"])
def test_the_examples_of_policies_are_valid(version: str) -> None:
    valid = [program_of("kubernetes", "kubernetes-validate"), "-k", version, "--strict", "--quiet", *POLICIES]
    done = subprocess.run(valid, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"storage": {}}, "/storage"),
        ({"storage": {"hostpath": {"path": "/data"}}}, "hostpath"),
        ({"pipelines": [{"name": "spots", "workers": 2}]}, "missing property 'processor'"),
        (
            {"pipelines": [{**SPOTS, "processor": "foo.py:Foo", "files": {"bar.py": ""}}]},
            "spots: processor foo.py:Foo names a file that is not in files",
        ),
        ({"user": 0}, "/user"),
        ({"replicas": 2}, "replicas"),
        ({"receiver": {"gap": {"seconds": "3.0"}}}, "/receiver/gap/seconds"),
        ({"receiver": {"gap": {"seconds": -1}}}, "/receiver/gap/seconds"),
        ({"receiver": {"http": "127.0.0.1:80"}}, "http"),
        ({"receiver": {"on_terminate": "never"}}, "/receiver/on_terminate"),
        ({"receiver": {"source": {"endpoints": "tcp://a:1"}}}, "/receiver/source/endpoints"),
        ({"pipelines": [{"processor": "peaks"}]}, "name"),
        ({"pipelines": [{**SPOTS, "name": "Spots"}]}, "/pipelines/0/name"),
        ({"pipelines": [{**SPOTS, "name": "receiver"}]}, "/pipelines/0/name"),
        ({"pipelines": [{**SPOTS, "name": "a-workers"}]}, "/pipelines/0/name"),
        ({"pipelines": [{**SPOTS, "name": "shm"}]}, "/pipelines/0/name"),
        ({"labels": {"beamline": "Nano MAX"}}, "/labels/beamline"),
        ({"receiver": {"data_root": "/tmp"}}, "/tmp is taken in the pod"),
        ({"receiver": forward("a", "tcp://0.0.0.0:5200")}, "port 5200 is one of the chart's own"),
        ({"pipelines": [{**SPOTS, "workers": -1}]}, "/pipelines/0/workers"),
        ({"pipelines": [{**SPOTS, "listen": "tcp://0.0.0.0:1"}]}, "listen"),
        ({"control": {"enabled": True, "idle": "two hours"}}, "/control/idle"),
        (
            {"receiver": forward("spots", "tcp://0.0.0.0:5"), "pipelines": [SPOTS]},
            "the name spots is that of a pipeline",
        ),
        ({"receiver": forward("a", "tcp://0.0.0.0:*")}, "give tcp://0.0.0.0:* a port"),
        ({"pipelines": [{**SPOTS, "labels": {}}]}, "labels"),
        (
            {"pipelines": [{**SPOTS, "parameters": {"regions": {"beam": {"true": 5}}}}]},
            "pipelines: spots.parameters.regions.beam: a key is true",
        ),
        ({"pipelines": [SPOTS, SPOTS]}, "two pipelines are named spots"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_its_place(wrong: dict[str, Any], said: str) -> None:
    values = VALUES | wrong
    if "receiver" in wrong:
        values["receiver"] = {**VALUES["receiver"], **wrong["receiver"]}
    done = chart.helm("template", "eiger-1", chart.CHART, values=values)
    assert done.returncode != 0
    assert said in done.stderr


def test_without_storage_or_source_nothing_is_made() -> None:
    assert (
        "storage" in chart.helm("template", "x", chart.CHART, values={"receiver": VALUES["receiver"]}).stderr
    )
    assert (
        "missing property 'source'"
        in chart.helm("template", "x", chart.CHART, values={"storage": VALUES["storage"]}).stderr
    )


def test_two_pipelines_in_the_receivers_pod_share_its_memory() -> None:
    both = [{**SPOTS, "name": name, "inReceiverPod": True} for name in "ab"]
    objects = chart.rendered(values=VALUES | {"pipelines": both, "sharedMemoryMb": 400})
    file = of_kind(objects, "ConfigMap")["eiger-1-receiver"]["data"]["receivers.yaml"]
    entries = json.loads(file)["receivers"]["eiger-1"]["forward"]
    assert [each["queue_mb"] for each in entries] == [100, 100]


def test_a_name_that_no_service_can_have_is_refused() -> None:
    for name in ("4m-eiger", "eiger.1"):
        assert (
            "cannot be the name of a release"
            in chart.helm("template", name, chart.CHART, values=VALUES).stderr
        )


def test_names_that_are_too_long_together_are_refused() -> None:
    done = chart.helm(
        "template", "a" * 50, chart.CHART, values=VALUES | {"pipelines": [{**SPOTS, "name": "b" * 13}]}
    )
    assert "longer than the 63 characters of a Service's name" in done.stderr


def test_large_and_small_numbers_reach_the_receiver_as_they_are() -> None:
    keys_ = {"hold_mb": 12345678, "flush_seconds": 0.05, "gap": {"seconds": 3.0}}
    objects = chart.rendered(values=VALUES | {"receiver": {**VALUES["receiver"], **keys_}})
    file = of_kind(objects, "ConfigMap")["eiger-1-receiver"]["data"]["receivers.yaml"]
    entry = json.loads(file)["receivers"]["eiger-1"]
    assert (entry["hold_mb"], entry["flush_seconds"], entry["gap"]) == (12345678, 0.05, {"seconds": 3})
    assert '"hold_mb": 12345678,' in file


def test_the_key_of_the_workers_is_one(tmp_path: Path) -> None:
    (secret,) = of_kind(chart.rendered(values=VALUES | {"pipelines": [SPOTS]}), "Secret").values()
    path = tmp_path / "workers.key"
    path.write_bytes(base64.b64decode(secret["data"]["workers.key"]))
    assert len(keys.read(path)) == keys.LENGTH


def test_only_the_pods_whose_configuration_changes_are_replaced() -> None:
    """A receiver goes on while a pipeline has another parameter, unless both are in one pod."""

    def templates(threshold: int, *, inside: bool) -> dict[str, Any]:
        spots = {**SPOTS, "parameters": {"threshold": threshold}, "inReceiverPod": inside}
        objects = of_kind(chart.rendered(values=VALUES | {"pipelines": [spots]}), "Deployment")
        return {name: each["spec"]["template"] for name, each in objects.items()}

    before, after = templates(5, inside=False), templates(6, inside=False)
    assert {name for name in before if before[name] != after[name]} == {"eiger-1-spots"}
    before, after = templates(5, inside=True), templates(6, inside=True)
    assert {name for name in before if before[name] != after[name]} == {"eiger-1-receiver"}


def test_every_pod_runs_without_rights() -> None:
    example = chart.CHART.parent / "examples/everything.yaml"
    deployments = of_kind(chart.rendered("--values", example), "Deployment")
    assert len(deployments) == 5
    for name, each in deployments.items():
        pod = each["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is (name == "eiger-1-control")
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            }  # fmt: skip
    (role,) = of_kind(chart.rendered("--values", example), "Role").values()
    assert role["rules"] == [
        {
            "apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["get", "patch"],
            "resourceNames": ["eiger-1-receiver", "eiger-1-radial", "eiger-1-radial-workers", "eiger-1-sums"],
        }
    ]  # fmt: skip
