"""The file of a control: what is filled in, and every error at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.cli.main import main
from penstock.cluster.config import KubernetesConfig, seconds
from penstock.cluster.config_file import CONTROL, in_this_pod
from penstock.service.config_file import ConfigFileError
from tests.cluster.kubernetes_stub import Kubernetes

RECEIVER = {"deployment": "eiger-receiver", "url": "http://eiger-receiver:5000"}
SPOTS = {
    "name": "spots", "deployment": "eiger-spots", "url": "http://eiger-spots:5100",
    "workers": {"deployment": "eiger-spots-workers", "count": 4},
}  # fmt: skip


def errors(**keys: Any) -> list[str]:
    with pytest.raises(ConfigFileError) as found:
        CONTROL.parse(keys, "control.yaml")
    return found.value.sentences


def test_a_receiver_is_enough(tmp_path: Path) -> None:
    file = tmp_path / "eiger 1.yaml"
    file.write_text("receiver:\n  deployment: eiger-receiver\n  url: http://eiger-receiver:5000\n")
    config = CONTROL.load(file)
    assert (config.name, config.http, config.idle) == ("eiger_1", "127.0.0.1:5300", "")
    assert config.pipelines == ()


def test_every_error_is_said_and_not_only_the_first() -> None:
    found = errors(
        recever=RECEIVER, http="5300", idle="2 hours",
        pipelines=[{**SPOTS, "deployment": "Eiger", "workers": {"deployment": "w", "count": -1}}],
    )  # fmt: skip
    text = "\n".join(found)
    assert len(found) == 6, found
    assert all(line.startswith("control.yaml: ") for line in found)
    for words in (
        'no setting "recever"; did you mean receiver?', "receiver is missing; give lines of KEY: VALUE",
        'http is "5300"; give HOST:PORT', 'idle is "2 hours"; give a time such as 2h, 30m or 90s',
        'pipelines[0].deployment is "Eiger"; give the name of its Deployment',
        "pipelines[0].workers.count is -1; give a whole number from 0",
    ):  # fmt: skip
        assert words in text, found


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"pipelines": [SPOTS, {**SPOTS, "deployment": "", "workers": None}]}, "have the name spots"),
        ({"pipelines": [{**SPOTS, "name": "receiver"}]}, "a pipeline has the name receiver"),
        ({"pipelines": [{**SPOTS, "deployment": "eiger-receiver"}]}, "two parts have the Deployment eiger-r"),
        ({"http": "127.0.0.1:99999"}, "give HOST:PORT, such as 0.0.0.0:5300"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused(keys: dict[str, Any], words: str) -> None:
    found = errors(**{"receiver": RECEIVER, **keys})
    assert len(found) == 1 and words in found[0], found


def test_times_are_seconds_minutes_or_hours() -> None:
    assert [seconds(each) for each in ("90s", "30m", "2h", "")] == [90.0, 1800.0, 7200.0, None]


def test_a_pod_knows_its_api_server_and_namespace(tmp_path: Path) -> None:
    (tmp_path / "namespace").write_text("beamline\n")
    given = KubernetesConfig(token=str(tmp_path / "token"))
    variables = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}
    found = in_this_pod(given, variables)
    assert (found.url, found.namespace) == ("https://10.0.0.1:6443", "beamline")
    assert in_this_pod(given, {"KUBERNETES_SERVICE_HOST": "fd00::1"}).url == "https://[fd00::1]:443"
    own = KubernetesConfig(url="https://api:6443/", namespace="other")
    assert in_this_pod(own, {}).url == "https://api:6443"
    with pytest.raises(ConfigFileError) as refused:
        in_this_pod(KubernetesConfig(token=str(tmp_path / "none" / "token")), {})
    first, second = refused.value.sentences
    assert "no variable KUBERNETES_SERVICE_HOST" in first and "give kubernetes.namespace" in second


def test_the_command_prints_them_and_check_asks_kubernetes(
    kubernetes: Kubernetes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "control.yaml"
    file.write_text("receiver: {}\nname: a b\n")
    assert main(["pipeline-control", str(file), "--check"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3
    own = msgspec.to_builtins(kubernetes.config)
    file.write_text(json.dumps({"receiver": RECEIVER, "pipelines": [SPOTS], "kubernetes": own}))
    assert main(["pipeline-control", str(file), "--check"]) == 0
    assert "nothing is wrong" in capsys.readouterr().out
    kubernetes.named.remove("eiger-spots-workers")
    assert main(["pipeline-control", str(file), "--check", "--json"]) == 2
    (said,) = json.loads(capsys.readouterr().out)["errors"]
    assert "the Role does not name Deployment eiger-spots-workers" in said


def test_the_schema_has_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline-control", "--schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(json.dumps(CONTROL.schema()))
    shipped = Path(__file__).parents[2] / "resources" / "control.schema.json"
    remedy = "penstock pipeline-control --schema > resources/control.schema.json"
    assert json.loads(shipped.read_text()) == printed, remedy
