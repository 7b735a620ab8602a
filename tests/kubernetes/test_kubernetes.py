"""Detectors on a real Kubernetes: upgrades, lost nodes, workers that come and go, and whose frames are where.

`make test-cluster` runs it, as root. It prints the figures that it measures. What it needs is built once,
outside the checkout: 14 minutes of processor time for Kubernetes itself, two for the image.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import h5py
import pytest

from penstock.processing import kept_folder
from tests.container.store import Store
from tests.kubernetes import cluster as clusters
from tests.kubernetes.cluster import CHART, REPOSITORY, TAG, Cluster, Failed, Release, until
from tests.third_party import program_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

REGIONS = {"regions": {"beam": {"x": 20, "y": 10, "width": 16, "height": 16}}}
SPOTS: dict[str, Any] = {"name": "sums", "processor": "regions", "parameters": REGIONS, "workers": 2}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if not os.environ.get("PENSTOCK_CLUSTER"):
        pytest.skip("it builds Kubernetes and brings it up: run `make test-cluster`")
    if os.geteuid() != 0 or (missing := clusters.missing_programs()):
        pytest.skip(f"a cluster is made by root; missing: {missing if os.geteuid() == 0 else 'root'}")
    cache = kept_folder.folder("cluster")
    if not (cache / "bin/coredns").exists() and shutil.which("go") is None:
        pytest.skip("Kubernetes is compiled once, by Go 1.24 or newer, which is not here: https://go.dev/dl")
    programs = program_of("kubernetes", "helm").parent
    subprocess.run([clusters.SCRIPTS / "tools.sh", cache, programs], check=True)
    store = Store(kept_folder.folder("containers"))
    archive = store.archive(store.build("receiver"), f"{REPOSITORY}:{TAG}")
    with clusters.up(cache, tmp_path_factory.mktemp("kubernetes"), archive) as found:
        yield found


@pytest.fixture(scope="module")
def release(cluster: Cluster) -> Release:
    """A detector with a pipeline of two workers, which stays for all tests."""
    return Release(cluster, "eiger-1", 9001)


def figure(name: str, value: object) -> None:
    """Print what was measured, with the load of the machine."""
    print(f"\n    {name}: {value} (load {os.getloadavg()[0]:.1f})")


def test_from_install_to_the_first_frame(release: Release) -> None:
    with release.generator("first.h5", 100, 20):
        began = time.monotonic()
        release.upgrade(pipelines=[SPOTS])
        release.stored("first.h5", 1)
        figure("helm install to the first frame that is stored, s", round(time.monotonic() - began, 1))
        status = release.ended("first.h5")
        assert (status["counts"]["stored"], status["counts"]["missing"]) == (100, 0)
    assert release.processed("first.h5")["counts"]["done"] == 100
    assert (release.folder / "first.h5").stat().st_uid == clusters.USER


def accounted(release: Release, file: str, frames: int, most_missing: int) -> int:
    """Check that every frame is stored or named as missing, and that the pipeline has done all stored."""
    counts = release.ended(file)["counts"]
    assert counts["stored"] + counts["missing"] == counts["planned"] == frames
    assert counts["missing"] <= most_missing
    done = release.processed(file)["counts"]
    # It may have had frames live that died with the receiver before they were flushed.
    assert (done["done"] + done["absent"], done["lost"], done["failed"]) == (frames, 0, 0)
    assert done["done"] >= counts["stored"]
    return int(counts["missing"])


def test_an_upgrade_in_a_series(release: Release) -> None:
    with release.generator("upgrade.h5", 500, 25):
        release.stored("upgrade.h5", 100)
        began = time.monotonic()
        release.upgrade(receiver={**release.values["receiver"], "flush_seconds": 0.3})
        until(
            release.receiver,
            lambda status: bool(status and status["series"] and status["series"]["restarts"] == 1), 60,
        )  # fmt: skip
        figure("helm upgrade to the series that goes on, s", round(time.monotonic() - began, 1))
        missing = accounted(release, "upgrade.h5", 500, 5)
        figure("frames of 500 missing after an upgrade in the series", missing)


def test_a_drained_series_loses_nothing(release: Release) -> None:
    with release.generator("drain.h5", 500, 50):
        release.stored("drain.h5", 50)
        pod = release.cluster.running(release.name, "receiver")[0]["metadata"]["name"]
        release.cluster.kubectl(
            "exec", f"--namespace={release.name}", pod, "--", "penstock", "drain", "http://127.0.0.1:5000",
            "--timeout", "60",
        )  # fmt: skip
        release.upgrade(receiver={**release.values["receiver"], "flush_seconds": 0.2})
    with h5py.File(release.folder / "drain.h5") as file:
        assert len(file["entry/data/data"]) == 500
    with release.generator("after.h5", 50, 50):
        assert accounted(release, "after.h5", 50, 0) == 0


def test_workers_come_and_go_in_a_series(release: Release) -> None:
    def scale(count: int) -> None:
        release.cluster.kubectl(
            "scale",
            f"--namespace={release.name}",
            f"deployment/{release.name}-sums-workers",
            f"--replicas={count}",
        )
        release.workers(count)

    scale(1)
    with release.generator("workers.h5", 1200, 25):
        release.stored("workers.h5", 50)
        for count in (6, 2):
            scale(count)
        assert accounted(release, "workers.h5", 1200, 0) == 0
    scale(3)
    release.upgrade()
    deployment = release.cluster.get(f"deployment/{release.name}-sums-workers", f"--namespace={release.name}")
    assert deployment["spec"]["replicas"] == 3, "an upgrade keeps what somebody has scaled since"


def test_a_frame_costs_the_same_with_eight_workers(release: Release) -> None:
    """A bar of processor time; two cores say nothing about speed."""
    frames, cost = 900, {}
    for count in (1, 8):
        release.scale("sums-workers", count)
        release.workers(count)
        before = release.cluster.cpu_seconds()
        with release.generator(f"cost-{count}.h5", frames, 80, size=1_000_000):
            assert accounted(release, f"cost-{count}.h5", frames, 0) == 0
            after = release.cluster.cpu_seconds()
        parts = {name: round((after[name] - before[name]) / frames * 1000, 2) for name in after}
        figure(f"processor time per frame of 1 MB with {count} workers, ms", parts)
        cost[count] = sum(parts.values())
    figure("efficiency from 1 to 8 workers", round(cost[1] / cost[8], 2))
    assert cost[1] / cost[8] >= 0.9
    release.scale("sums-workers", 2)
    release.workers(2)


def test_two_receivers_by_hand_write_one_file(release: Release) -> None:
    release.scale("receiver", 2)
    until(lambda: release.cluster.running(release.name, "receiver"), lambda pods: len(pods) == 2, 60)
    with release.generator("two.h5", 200, 50):
        assert accounted(release, "two.h5", 200, 0) == 0
    pods = until(
        lambda: release.cluster.running(release.name, "receiver"),
        lambda pods: all(pod["status"]["phase"] == "Running" for pod in pods), 60,
    )  # fmt: skip
    ready = [each["status"]["containerStatuses"][0]["ready"] for each in pods]
    assert sorted(ready) == [False, True]
    waiting = pods[ready.index(False)]["metadata"]["name"]
    said = release.cluster.kubectl("logs", f"--namespace={release.name}", waiting)
    assert "waits for that of process" in said
    assert pods[ready.index(True)]["metadata"]["name"] in said
    release.scale("receiver", 1)
    until(lambda: release.cluster.running(release.name, "receiver"), lambda pods: len(pods) == 1, 60)
    until(release.receiver, lambda status: status is not None and not status["waits_for"], 60)


def test_it_is_reached_from_outside_by_the_ports_of_the_nodes(release: Release) -> None:
    forward = [{"name": "others", "endpoint": "tcp://0.0.0.0:5050"}]
    before = release.values["receiver"]
    release.upgrade(external=True, receiver={**before, "forward": forward})
    until(
        release.receiver,
        lambda status: bool(status and "others" in {each["name"] for each in status["consumers"]}), 90,
    )  # fmt: skip
    status = until(release.from_outside, lambda status: status is not None, 30)
    assert status["detector"] == release.name
    release.upgrade(external=False, receiver=before)
    until(
        release.receiver,
        lambda status: bool(status and "others" not in {each["name"] for each in status["consumers"]}), 90,
    )  # fmt: skip


def test_a_wrong_value_leaves_the_running_receiver_alone(release: Release) -> None:
    (before,) = release.cluster.running(release.name, "receiver")
    with pytest.raises(Failed, match="/receiver/gap/seconds"):
        release.upgrade(receiver={**release.values["receiver"], "gap": {"seconds": "3.0"}})
    (after,) = release.cluster.running(release.name, "receiver")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    release.scale("sums-workers", 3)  # a rollback has another number
    began = time.monotonic()
    with pytest.raises(Failed, match="has been rolled back"):
        # Right by the schema; the receiver itself refuses it.
        release.upgrade(
            "--rollback-on-failure", "--force-conflicts", "--wait", "--timeout", "40s",
            receiver={**release.values["receiver"], "files": 2, "swmr": True},
        )  # fmt: skip
    until(release.receiver, lambda status: status is not None and status["state"] == "idle", 60)
    figure(
        "a value that only the receiver refuses: until the old one is back, s",
        round(time.monotonic() - began),
    )


def test_a_lost_node_of_workers(release: Release) -> None:
    (receiver,) = release.cluster.running(release.name, "receiver")
    (pipeline,) = release.cluster.running(release.name, "sums")
    kept = {each["spec"]["nodeName"] for each in (receiver, pipeline)}
    release.scale("sums-workers", 6)
    release.workers(6)
    nodes = {
        each["spec"]["nodeName"] for each in release.cluster.running(release.name, "sums-workers")
    } - kept
    assert nodes, "all workers are on the nodes of the receiver and the pipeline"
    with release.generator("worker-node.h5", 600, 20):
        release.stored("worker-node.h5", 50)
        release.cluster.kill_node(min(nodes))
        assert accounted(release, "worker-node.h5", 600, 0) == 0


def test_a_lost_node_of_the_receiver(release: Release) -> None:
    with release.generator("receiver-node.h5", 2000, 20):
        release.stored("receiver-node.h5", 100)
        (receiver,) = release.cluster.running(release.name, "receiver")
        began = time.monotonic()
        release.cluster.kill_node(receiver["spec"]["nodeName"])

        def moved() -> Any:
            pods = release.cluster.running(release.name, "receiver")
            there = any(pod["spec"].get("nodeName") != receiver["spec"]["nodeName"] for pod in pods)
            return release.receiver() if there else None

        until(moved, lambda status: bool(status and status["series"] and status["series"]["restarts"]), 120)
        seconds = time.monotonic() - began
        figure("the receiver's node is lost: until the series goes on, s", round(seconds, 1))
        assert seconds <= 60
        missing = accounted(release, "receiver-node.h5", 2000, 200)
        figure("frames of 2000 missing after the loss of the receiver's node", missing)
        (consumer,) = release.receiver()["consumers"]
        assert consumer["sent"] > 0, "the pipeline has frames of the moved receiver live again"


def test_the_control_starts_stops_and_scales_and_nothing_else(release: Release) -> None:
    cluster, name = release.cluster, release.name

    def row(part: str) -> Any:
        try:
            parts = cluster.ask(name, f"{name}-control", 5300, "status")["parts"]
        except Failed:  # it is not there yet
            return {}
        return next(each for each in parts if each["name"] == part)

    def tell(what: str, **given: Any) -> str:
        answer = cluster.tell(name, "control", 5300, what, given)
        return str(answer.get("kind", ""))

    release.upgrade(control={"enabled": True})
    until(lambda: row("receiver"), lambda found: found.get("state") == "running", 90)
    began = time.monotonic()
    assert tell("scale", part="sums/workers", count=3) == ""
    release.workers(3)
    until(
        lambda: row("sums/workers"), lambda found: found["state"] == "running" and found["running"] == 3, 60
    )
    figure("control: two workers become three, s", round(time.monotonic() - began, 1))
    assert tell("stop", part="receiver") == ""
    until(lambda: row("receiver"), lambda found: found["state"] == "off", 60)
    assert cluster.running(name, "receiver") == []
    assert tell("start", part="receiver") == ""
    until(lambda: row("receiver"), lambda found: found["state"] == "running", 60)
    (before,) = cluster.running(name, "receiver")
    assert tell("restart", part="receiver") == ""
    until(
        lambda: cluster.running(name, "receiver"),
        lambda pods: len(pods) == 1 and pods[0]["metadata"]["uid"] != before["metadata"]["uid"], 60,
    )  # fmt: skip
    until(lambda: row("receiver"), lambda found: found["state"] == "running", 60)
    with release.generator("control.h5", 50, 50):
        assert accounted(release, "control.h5", 50, 0) == 0
    assert tell("stop", part="policy-1") == "no_such_part"
    account = f"--as=system:serviceaccount:{name}:{name}-control"
    for deployment, may in ((f"{name}-receiver", "yes"), ("another", "no")):
        answer = cluster.kubectl(
            "auth", "can-i", "patch", f"deployments/{deployment}", "--subresource=scale", account,
            f"--namespace={name}", check=False,
        )  # fmt: skip
        assert answer.strip() == may, deployment


def test_policies_of_the_site(cluster: Cluster) -> None:
    for name in ("not-as-root", "second-network"):
        cluster.kubectl("apply", "-f", str(CHART.parent / f"examples/policies/{name}.yaml"))
    # the API server asks a new policy some seconds later
    until(lambda: _dry_pod(cluster, user=0), lambda said: "of 1000 or above" in said, 60)
    until(lambda: _dry_pod(cluster, user=clusters.USER), lambda said: "detectors/100g" in said, 60)
    release = Release(cluster, "policy-1", 9002)
    try:
        refused = until(
            lambda: _why_no_pod(release, labels={"network": "detector"}), lambda why: "below /gpfs" in why, 60
        )
        assert "storage: a hostPath is a folder below /gpfs" in refused
        cluster.kubectl("delete", "validatingadmissionpolicybinding", "penstock-user")
        until(lambda: cluster.running(release.name, "receiver"), lambda pods: len(pods) == 1, 60)
        (pod,) = cluster.running(release.name, "receiver")
        assert pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] == "detectors/100g"
    finally:
        cluster.kubectl("delete", "namespace", release.name, "--wait=false", check=False)


def _dry_pod(cluster: Cluster, *, user: int) -> str:
    """Let Kubernetes try a detector's pod that is not made; return the pod, or why not."""
    labels = {"app.kubernetes.io/name": "penstock", "network": "detector"}
    pod = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tried", "labels": labels},
        "spec": {
            "securityContext": {"runAsUser": user}, "containers": [{"name": "tried", "image": "none"}],
        },
    }  # fmt: skip
    try:
        return cluster.kubectl(
            "create", "--dry-run=server", "--output=json", "--filename=-", given=json.dumps(pod)
        )
    except Failed as refused:
        return str(refused)


def _why_no_pod(release: Release, **values: Any) -> str:
    """Install a release; return what Kubernetes says of its receiver."""
    release.upgrade(**values)
    (deployment,) = [
        each
        for each in release.cluster.get("deployments", f"--namespace={release.name}")["items"]
        if each["metadata"]["name"].endswith("-receiver")
    ]
    return " ".join(each.get("message", "") for each in deployment["status"].get("conditions", []))


def test_sixty_detectors_are_templated_in_a_minute(cluster: Cluster) -> None:
    began = time.monotonic()
    for number in range(60):
        cluster.helm("template", f"eiger-{number}", str(CHART), values={
            "receiver": {"source": {"endpoints": [f"tcp://10.1.1.{number}:9999"]}},
            "storage": {"persistentVolumeClaim": {"claimName": "data"}}, "pipelines": [SPOTS],
        })  # fmt: skip
    seconds = time.monotonic() - began
    figure("helm template of 60 detectors, s", round(seconds, 1))
    assert seconds <= 60, "a bar, not a test of this machine: say the load with it"
