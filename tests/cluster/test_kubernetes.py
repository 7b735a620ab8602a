"""The two calls to Kubernetes, and the sentence for each way in which they fail."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import urllib3

from penstock.cluster.config import KubernetesConfig
from penstock.cluster.kubernetes import Deployments, KubernetesRefused, Scale
from penstock.hosts.child import free_port
from tests.cluster.kubernetes_stub import BEFORE, BEHIND, Kubernetes

NAME = "eiger-receiver"


def refused(config: KubernetesConfig, name: str = NAME, count: int | None = None) -> KubernetesRefused:
    made = Deployments(config, timeout=0.3)
    with pytest.raises(KubernetesRefused) as found:
        made.scale(name) if count is None else made.set(name, count)
    made.close()
    return found.value


def test_a_deployment_is_scaled_and_no_replicas_are_not_written(kubernetes: Kubernetes) -> None:
    made = Deployments(kubernetes.config)
    assert made.scale(NAME) == Scale(1, 1)
    assert made.set(NAME, 0) == Scale(0, 1)
    assert kubernetes.scale(NAME)["spec"] == {}
    while (found := made.scale(NAME)).running:
        pass
    assert found == Scale(0, 0)
    assert made.set(NAME, 3).wanted == 3
    assert kubernetes.patches == [(NAME, 0), (NAME, 3)]
    made.close()


def test_the_token_is_read_for_each_call_since_it_is_replaced(kubernetes: Kubernetes) -> None:
    made = Deployments(kubernetes.config)
    made.scale(NAME)
    kubernetes.rotate()
    assert made.scale(NAME) == Scale(1, 1)
    made.close()


def test_a_deployment_that_the_role_does_not_name_is_refused_with_the_remedy(kubernetes: Kubernetes) -> None:
    error = refused(kubernetes.config, "other", 3)
    assert error.kind == "forbidden"
    assert str(error) == (
        "Kubernetes was asked to scale Deployment other to 3 in namespace beamline: deployments.apps "
        '"other" is forbidden: User "system:serviceaccount:beamline:eiger-control" cannot patch resource '
        '"deployments/scale" in API group "apps" in the namespace "beamline" (403); the Role does not name '
        "Deployment other: add it to the resourceNames of deployments/scale, with the verbs get and patch"
    )


def test_each_other_failure_has_its_sentence(kubernetes: Kubernetes, tmp_path: Path) -> None:
    def with_(**keys: str) -> KubernetesConfig:
        return msgspec.structs.replace(kubernetes.config, **keys)

    kubernetes.named.add("gone")
    error = refused(kubernetes.config, "gone")
    assert error.kind == "no_such_deployment"
    assert 'deployments.apps "gone" not found (404); there is no Deployment gone' in str(error)
    error = refused(with_(token=str(tmp_path / "none")))
    assert error.kind == "no_token" and "No such file or directory); has the pod a ServiceAccount" in str(
        error
    )
    port = free_port()
    error = refused(with_(url=f"https://127.0.0.1:{port}"))
    assert error.kind == "kubernetes_away"
    assert f"https://127.0.0.1:{port} does not answer (nobody listens there); is the API server up" in str(
        error
    )
    assert "is not one of" in str(refused(with_(ca="/etc/ssl/certs/ca-certificates.crt")))
    assert "cannot be read (No such file or directory)" in str(refused(with_(ca=str(tmp_path / "none"))))
    kubernetes.token = "another"
    error = refused(kubernetes.config)
    assert error.kind == "unauthorized" and "Unauthorized (401); is " in str(error)
    kubernetes.answers.clear()
    assert "does not answer within 0.3 s" in str(refused(kubernetes.config))


def test_somebody_else_is_not_taken_for_kubernetes(kubernetes: Kubernetes) -> None:
    kubernetes.scale = lambda name: {"kind": "Deployment"}  # type: ignore[method-assign]
    error = refused(kubernetes.config)
    assert error.kind == "no_kubernetes" and "is kubernetes.url right?" in str(error)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Content-Type": "application/merge-patch+json"}, 403),
        ({"Content-Type": "application/merge-patch+json", "Authorization": "Bearer second"}, 401),
        ({"Content-Type": "application/json", "Authorization": "Bearer first"}, 415),
        ({"Authorization": "Bearer first"}, 415),
        ({"Content-Type": "application/merge-patch+json", "Authorization": "Bearer first"}, 200),
    ],
)
def test_the_stub_takes_a_patch_only_as_kubernetes_does(
    headers: dict[str, str], code: int, kubernetes: Kubernetes
) -> None:
    pool = urllib3.PoolManager(ca_certs=kubernetes.config.ca)
    url = f"{kubernetes.config.url}{BEFORE}{NAME}{BEHIND}"
    answer = pool.request("PATCH", url, body=b'{"spec": {"replicas": 2}}', headers=headers)
    assert answer.status == code and answer.json()["kind"] == ("Scale" if code == 200 else "Status")
    assert kubernetes.patches == ([(NAME, 2)] if code == 200 else [])
    pool.clear()
