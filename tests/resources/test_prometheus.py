"""The alert rules: Prometheus takes them, each comes when it should, and what they ask for a receiver has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML

from penstock.bridges.epics import metrics
from penstock.bridges.epics.models import Status
from penstock.service.prometheus import Moment
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer

ROOT = Path(__file__).parents[2]
RULES = ROOT / "resources" / "prometheus" / "penstock.rules.yml"
(GROUP,) = YAML(typ="safe", pure=True).load(RULES.read_text())["groups"]
ALERTS = {rule["alert"]: rule for rule in GROUP["rules"]}


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[dict[str, str]]]]:
    """Labels of each sample that a running receiver gives, or a bridge, by metric."""
    streamer = Streamer()
    consumer = {"name": "live", "endpoint": "tcp://127.0.0.1:*"}
    receiver = ReceiverProcess(tmp_path_factory.mktemp("rules"), streamer.endpoint, forward=[consumer])
    try:
        receiver.connected()
        answer = urllib3.request("GET", f"{receiver.client.url}/metrics", timeout=DEADLINE)
        found: dict[str, list[dict[str, str]]] = {}
        idle = Status(state="idle", bridge="lab", prefix="L", server="p4p")
        bridge = metrics.text("lab", Moment(idle, healthy=True, processes={"bridge": os.getpid()}))
        for family in text_string_to_metric_families(answer.data.decode() + bridge):
            for sample in family.samples:
                found.setdefault(sample.name, []).append(sample.labels)
        yield found
    finally:
        receiver.close()
        streamer.close()


def promtool(*arguments: str) -> str:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed: it is in Debian's package prometheus")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_prometheus_takes_the_rules() -> None:
    assert f"{len(ALERTS)} rules found" in promtool("check", "rules", str(RULES))


def test_each_alert_comes_when_it_should_and_not_before() -> None:
    assert "SUCCESS" in promtool("test", "rules", str(Path(__file__).with_name("prometheus_rules_test.yml")))


def test_each_alert_has_a_test_that_it_comes_and_one_that_it_does_not() -> None:
    file = Path(__file__).with_name("prometheus_rules_test.yml")
    tests = YAML(typ="safe", pure=True).load(file.read_text())["tests"]
    tried = [each for test in tests for each in test["alert_rule_test"]]
    assert {each["alertname"] for each in tried if each.get("exp_alerts")} == set(ALERTS)
    assert {each["alertname"] for each in tried if not each.get("exp_alerts")} == set(ALERTS)


@pytest.mark.parametrize("name", ALERTS)
def test_what_an_alert_asks_for_a_receiver_or_bridge_has(
    name: str, scraped: dict[str, list[dict[str, str]]]
) -> None:
    expression = ALERTS[name]["expr"]
    asked = re.findall(r"(penstock_(?:receiver|epics)_\w+)(?:\{([^}]*)\})?", expression)
    assert asked or expression == 'up{job="penstock"} == 0'
    for metric, matchers in asked:
        assert metric in scraped, f"{metric}: there is no such metric"
        for label, value in re.findall(r'(\w+)!?="([^"]*)"', matchers):
            assert value in {labels[label] for labels in scraped[metric]}, f"{metric}: no {label} is {value}"


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_what_to_do(name: str, scraped: dict[str, list[dict[str, str]]]) -> None:
    rule: dict[str, Any] = ALERTS[name]
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    notes = rule["annotations"]
    assert set(notes) == {"summary", "description", "runbook"}
    assert (ROOT / notes["runbook"]).is_file()
    asked = re.findall(r"penstock_(?:receiver|epics)_\w+", rule["expr"])
    known = {"instance", *(label for metric in asked for labels in scraped[metric] for label in labels)}
    assert set(re.findall(r"\$labels\.(\w+)", notes["summary"] + notes["description"])) <= known
