"""Start, stop, restart and scale; workers without a series; what does not answer stops nobody else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import msgspec
import pytest

from penstock.cluster import control as module
from penstock.cluster.config import ControlConfig
from penstock.cluster.control import Control
from penstock.cluster.models import Part, Status
from penstock.hosts.child import free_port
from penstock.service.models import Refused
from tests.cluster.kubernetes_stub import Kubernetes

DEADLINE = 20.0


def configured(kubernetes: Kubernetes, **keys: Any) -> ControlConfig:
    """A receiver, a pipeline with workers, and one in the receiver's pod; none of them answers."""
    urls = [f"http://127.0.0.1:{free_port()}" for _ in range(3)]
    raw = {
        "name": "eiger",
        "receiver": {"deployment": "eiger-receiver", "url": urls[0]},
        "pipelines": [
            {"name": "spots", "deployment": "eiger-spots", "url": urls[1],
             "workers": {"deployment": "eiger-spots-workers", "count": 3}},
            {"name": "rings", "url": urls[2]},
        ],
        "kubernetes": msgspec.to_builtins(kubernetes.config),
        **keys,
    }  # fmt: skip
    return msgspec.convert(raw, ControlConfig)


class Running:
    """A control in this process."""

    def __init__(self, config: ControlConfig) -> None:
        self.failed = threading.Event()
        self.control = Control(config, self.failed.set)
        self.control.start()

    def wait(self, condition: Callable[[Status], bool]) -> Status:
        """The first status for which a condition holds."""
        due = time.monotonic() + DEADLINE
        while not condition(status := self.control.status):
            assert time.monotonic() < due, f"in vain: {status}"
            self.failed.wait(0.01)
            assert not self.failed.is_set(), self.control.failure
        return status

    def part(self, name: str, condition: Callable[[Part], bool]) -> Part:
        """A part, once a condition holds for it."""
        return _part(self.wait(lambda status: condition(_part(status, name))), name)

    def close(self) -> None:
        self.control.close()


def _part(status: Status, name: str) -> Part:
    found = status.part(name)
    assert found is not None
    return found


@pytest.fixture
def running(kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    _quick(monkeypatch)
    with closing(Running(configured(kubernetes))) as made:
        made.wait(lambda status: all(part.wanted is not None for part in status.parts))
        yield made


def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("QUICK", "PERIOD", "LOOK"):
        monkeypatch.setattr(module, name, 0.03)


def test_every_part_is_a_row_and_what_was_not_seen_to_answer_is_starting(running: Running) -> None:
    status = running.wait(lambda status: all(part.sentence for part in status.parts))
    assert [part.name for part in status.parts] == ["receiver", "spots", "spots/workers", "rings"]
    assert [part.kind for part in status.parts] == ["receiver", "pipeline", "workers", "pipeline"]
    assert [part.deployment for part in status.parts] == [
        "eiger-receiver", "eiger-spots", "eiger-spots-workers", "",
    ]  # fmt: skip
    assert [(part.wanted, part.running) for part in status.parts] == [(1, 1), (1, 1), (2, 2), (1, 1)]
    assert {part.state for part in status.parts} == {"starting"}
    assert status.parts[0].sentence == "its pod is there, and does not answer yet"
    assert status.parts[2].sentence == "the pipeline spots does not answer, to which they connect"
    assert running.control.health.ready


def test_a_pipeline_is_stopped_and_started_without_its_workers(
    kubernetes: Kubernetes, running: Running
) -> None:
    running.control.stop("spots")
    assert running.part("spots", lambda part: part.state == "off").running == 0
    running.control.begin("spots")
    running.part("spots", lambda part: part.running == 1)
    running.control.begin("spots")  # it is there: nothing is asked for
    assert kubernetes.patches == [("eiger-spots", 0), ("eiger-spots", 1)]


def test_workers_are_scaled_and_start_with_the_number_that_they_had(
    kubernetes: Kubernetes, running: Running
) -> None:
    running.control.scale("spots/workers", 5)
    running.part("spots/workers", lambda part: part.running == 5)
    running.control.stop("spots/workers")
    assert running.part("spots/workers", lambda part: part.state == "off").count == 5
    running.control.wake()  # they were not taken away: somebody has stopped them
    running.control.begin("spots/workers")
    running.part("spots/workers", lambda part: part.running == 5)
    kubernetes.set("eiger-spots-workers", 4)  # by kubectl
    running.part("spots/workers", lambda part: part.running == 4 and part.count == 4)
    assert kubernetes.patches == [("eiger-spots-workers", each) for each in (5, 0, 5)]


def test_a_restart_waits_for_the_end_of_the_pod_and_says_so(kubernetes: Kubernetes, running: Running) -> None:
    kubernetes.may_end.clear()
    running.control.restart("receiver")
    part = running.part("receiver", lambda part: part.sentence.startswith("the restart waits"))
    assert part.sentence == "the restart waits until 1 pod of eiger-receiver ended" and part.state == "ending"
    assert kubernetes.patches == [("eiger-receiver", 0)]
    kubernetes.may_end.set()
    running.part("receiver", lambda part: part.wanted == 1 and part.running == 1)
    assert kubernetes.patches == [("eiger-receiver", 0), ("eiger-receiver", 1)]


def test_a_restart_that_is_followed_by_stop_starts_nothing(kubernetes: Kubernetes, running: Running) -> None:
    kubernetes.may_end.clear()
    running.control.restart("spots")
    running.part("spots", lambda part: "waits" in part.sentence)
    running.control.stop("spots")
    kubernetes.may_end.set()
    running.part("spots", lambda part: part.state == "off")
    running.control._parts["spots"].deployment.join()
    assert kubernetes.patches == [("eiger-spots", 0), ("eiger-spots", 0)]


def test_a_control_that_ends_leaves_no_part_stopped_by_a_restart(
    kubernetes: Kubernetes, running: Running
) -> None:
    kubernetes.may_end.clear()
    running.control.restart("receiver")
    running.part("receiver", lambda part: "waits" in part.sentence)
    running.close()
    assert kubernetes.patches == [("eiger-receiver", 0), ("eiger-receiver", 1)]


def test_a_pod_that_does_not_end_is_not_waited_for_without_end(
    kubernetes: Kubernetes, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.cluster.deployment.LONGEST_END", 0.1)
    kubernetes.may_end.clear()
    running.control.restart("receiver")
    running.part("receiver", lambda part: part.wanted == 1)


def test_a_part_that_a_restart_cannot_start_again_is_asked_for_until_it_is(
    kubernetes: Kubernetes, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.cluster.deployment.AGAIN", 0.05)
    kubernetes.may_end.clear()
    running.control.restart("spots")
    kubernetes.refuses = True
    kubernetes.may_end.set()
    running.wait(lambda _: "is not started again yet" in running.control._parts["spots"].deployment.doing)
    kubernetes.refuses = False
    running.part("spots", lambda part: part.running == 1)


@pytest.mark.parametrize(
    ("name", "count", "kind", "words"),
    [
        ("spot", 1, "no_such_part", 'no part "spot"; there is receiver, spots, spots/workers, rings'),
        ("receiver", 2, "one_only", "receiver is one program, and cannot be 2: give 0 or 1"),
        ("rings", 0, "in_the_receivers_pod", "runs in the receiver's pod (eiger-receiver)"),
    ],
)
def test_what_a_part_cannot_is_refused(
    name: str, count: int, kind: str, words: str, kubernetes: Kubernetes, running: Running
) -> None:
    with pytest.raises(Refused) as refused:
        running.control.scale(name, count)
    assert refused.value.kind == kind and words in str(refused.value)
    assert kubernetes.patches == []


def test_a_deployment_outside_the_role_is_said_and_the_others_go_on(
    kubernetes: Kubernetes, running: Running
) -> None:
    kubernetes.named.remove("eiger-spots")
    part = running.part("spots", lambda part: part.state == "unknown")
    assert "the Role does not name Deployment eiger-spots" in part.sentence and part.wanted is None
    with pytest.raises(Refused, match="cannot patch resource"):
        running.control.restart("spots")
    assert not running.control.health.ready and running.control.health.alive
    running.control.restart("receiver")
    running.part("receiver", lambda part: part.wanted == 1 and part.running == 1)


def test_workers_without_a_series_are_taken_away_and_wake_brings_them_back(
    kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    _quick(monkeypatch)
    kubernetes.set("eiger-spots", 0)
    with closing(Running(configured(kubernetes, idle="1s"))) as made:
        part = made.part("spots/workers", lambda part: part.state == "asleep")
        assert part.sentence == (
            "taken away after 1s without a series: the next series, or wake, brings 2 back"
        )
        made.control.wake()
        made.part("spots/workers", lambda part: part.running == 2)
        assert kubernetes.patches == [("eiger-spots-workers", 0), ("eiger-spots-workers", 2)]


def test_a_control_that_starts_anew_takes_workers_that_are_off_for_taken_away(
    kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    _quick(monkeypatch)
    kubernetes.set("eiger-spots-workers", 0)
    with closing(Running(configured(kubernetes, idle="2h"))) as made:
        made.part("spots/workers", lambda part: part.state == "asleep")
        made.control.begin("spots")
        made.part("spots/workers", lambda part: part.running == 3)


def test_workers_of_which_there_were_none_are_scaled_and_not_started(
    kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    _quick(monkeypatch)
    kubernetes.set("eiger-spots-workers", 0)
    workers = {"deployment": "eiger-spots-workers", "count": 0}
    spots = {"name": "spots", "url": "http://127.0.0.1:1", "workers": workers}
    with closing(Running(configured(kubernetes, pipelines=[spots], idle="2h"))) as made:
        made.part("spots/workers", lambda part: part.state == "off")
        with pytest.raises(Refused, match="spots/workers had no workers yet"):
            made.control.begin("spots/workers")
        made.control.scale("spots/workers", 2)
        made.part("spots/workers", lambda part: part.running == 2)


def test_workers_that_kubernetes_does_not_bring_back_are_asked_for_again(
    kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    _quick(monkeypatch)
    monkeypatch.setattr("penstock.cluster.parts.WAKE_AGAIN", 0.05)
    kubernetes.set("eiger-spots-workers", 0)
    with closing(Running(configured(kubernetes, idle="2h"))) as made:
        made.part("spots/workers", lambda part: part.state == "asleep")
        kubernetes.refuses = True
        made.control.wake()
        made.part("spots/workers", lambda part: "(500)" in part.sentence)
        kubernetes.refuses = False
        made.part("spots/workers", lambda part: part.running == 3)
