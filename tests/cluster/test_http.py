"""The HTTP interface of a real control, and its client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import urllib3

from penstock.cluster.client import RefusedCall
from tests.cluster.conftest import DEPLOYMENTS
from tests.cluster.control_process import ControlProcess
from tests.cluster.kubernetes_stub import Kubernetes

URL = "http://127.0.0.1:1"
"""Where nobody listens."""


@pytest.fixture(scope="module")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubernetes]:
    with closing(Kubernetes(tmp_path_factory.mktemp("kubernetes"), DEPLOYMENTS)) as made:
        yield made


@pytest.fixture(scope="module")
def control(kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlProcess]:
    made = ControlProcess(
        tmp_path_factory.mktemp("control"), kubernetes, name="eiger",
        receiver={"deployment": "eiger-receiver", "url": URL},
        pipelines=[
            {"name": "spots", "deployment": "eiger-spots", "url": URL,
             "workers": {"deployment": "eiger-spots-workers", "count": 2}},
            {"name": "none", "deployment": "eiger-none", "url": URL},
        ],
    )  # fmt: skip
    yield made
    assert made.close() == 0, made.log.read_text()


def test_the_commands_of_the_client_change_deployments(
    kubernetes: Kubernetes, control: ControlProcess
) -> None:
    client = control.client
    status = client.scale("spots/workers", 4)
    part = status.part("spots/workers")
    assert part is not None and (part.wanted, part.state) == (4, "starting")
    assert client.stop("spots").part("spots").wanted == 0  # type: ignore[union-attr]
    control.part("spots", lambda part: part.state == "off")
    client.start("spots")
    client.restart("receiver")
    assert client.wake().control == "eiger"
    control.part("receiver", lambda part: part.wanted == 1 and part.running == 1)
    assert kubernetes.wanted == {"eiger-receiver": 1, "eiger-spots": 1, "eiger-spots-workers": 4}


def test_what_is_refused_has_a_kind_a_sentence_and_its_http_status(control: ControlProcess) -> None:
    for part, kind in (("spot", "no_such_part"), ("none", "forbidden")):
        with pytest.raises(RefusedCall) as refused:
            control.client.stop(part)
        assert refused.value.kind == kind
    pool = urllib3.PoolManager()
    for path, body, status in (
        ("/stop", {"part": "spot"}, 404),
        ("/stop", {"part": "none"}, 502),
        ("/scale", {"part": "receiver", "count": 2}, 409),
        ("/scale", {"part": "spots/workers", "count": -1}, 422),
    ):
        answer = pool.request("POST", control.url + path, json=body)
        assert answer.status == status and set(answer.json()) == {"kind", "message"}
    pool.clear()


def test_the_status_waits_for_news(control: ControlProcess) -> None:
    seen = control.wait(lambda status: status.problem != "")
    assert control.client.status(seen=seen.version - 1, wait=20.0).version >= seen.version


def test_health_metrics_and_page_are_there(control: ControlProcess) -> None:
    control.wait(lambda status: "eiger-none" in status.problem)
    pool = urllib3.PoolManager()
    assert pool.request("GET", f"{control.url}/health").status == 200
    ready = pool.request("GET", f"{control.url}/health/ready")
    assert ready.status == 503 and "does not name Deployment eiger-none" in ready.json()["message"]
    metrics = pool.request("GET", f"{control.url}/metrics").data.decode()
    assert 'penstock_control_wanted_pods{control="eiger",part="receiver"} 1.0' in metrics
    assert 'penstock_control_kubernetes{control="eiger"} 0.0' in metrics
    for path in ("/", "/assets/control.js", "/assets/control.css", "/docs", "/config"):
        assert pool.request("GET", control.url + path).status == 200
    pool.clear()


@pytest.mark.slow
def test_a_control_whose_address_is_taken_says_so(control: ControlProcess, tmp_path: Path) -> None:
    from penstock.cli.main import main

    file = Path(control.log.with_name("control.yaml"))
    assert main(["pipeline-control", str(file), "--http", control.url.removeprefix("http://")]) == 2
