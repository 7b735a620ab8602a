"""`penstock sardana-register --pipeline`: the channels of a real pipeline, made, completed and removed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tango

from penstock.beamline.registration import register
from penstock.hosts.child import PENSTOCK, free_port
from penstock.sardana.laboratory import servers
from penstock.sardana.laboratory.laboratory import GROUP, SARDANA, TIMER, Laboratory, Unit
from tests.processing.test_process import Running, running
from tests.sardana.removal import remove_group
from tests.sardana.test_pipeline_scans import CLASS, columns, frame_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]  # eleven processes
DETECTOR, DEVICE = "sim/det/1", "lab/pipeline/spots"
WANTED = ("--pipeline", f"live={DEVICE},{DETECTOR}")
COUNTERS, CURVES = f"counters live of {servers.POOL}", f"curves live of {servers.POOL}"
Register = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """A Sardana of its own: Tango may crash as it deletes a device."""
    live = {"name": "live", "endpoint": "tcp://127.0.0.1:*", "shared": True, "queue_mb": 2}
    unit = Unit("sim", {"SensorWidth": 64, "SensorHeight": 32}, {"forward": [live]})
    with Laboratory(tmp_path_factory.mktemp("laboratory"), [unit]) as laboratory:
        yield laboratory


@pytest.fixture(scope="module")
def pipeline(lab: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    receiver: Any = SimpleNamespace(client=lab.receiver())
    with running(tmp_path_factory.mktemp("pipeline"), receiver, CLASS, errors=0) as made:
        made.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
        register(
            tango.Database(*lab.tango_host.split(":")), "PenstockPipeline/lab", "PenstockPipeline", DEVICE,
            {"PipelineUrl": made.client.url},
        )  # fmt: skip
        yield made


@pytest.fixture
def sardana_register(lab: Laboratory) -> Register:
    def run(*options: str) -> tuple[int, dict[str, Any]]:
        done = subprocess.run(
            [*PENSTOCK, "sardana-register", "--json", *options], capture_output=True, text=True, timeout=120,
            env={**os.environ, "TANGO_HOST": lab.tango_host},
        )  # fmt: skip
        return done.returncode, json.loads(done.stdout)

    return run


def changes(answer: dict[str, Any]) -> dict[str, tuple[str, Any, Any]]:
    """Action, channels before and after, by name of the entry."""
    return {each["name"]: (each["action"], each["before"], each["after"]) for each in answer["changes"]
            if each["what"] == "pipeline"}  # fmt: skip


def count(lab: Laboratory, pipeline: Running) -> None:
    """One frame, and its results."""
    run = lab.run("ct", "0.01")
    assert run.ending == "finish", (run.error, run.said())
    pipeline.over(lab.device(DETECTOR).SeriesId)


def test_channels_of_all_results_are_made_completed_and_removed(
    lab: Laboratory, pipeline: Running, sardana_register: Register
) -> None:
    database = tango.Database(*lab.tango_host.split(":"))

    def there() -> set[str]:
        return set(database.get_device_alias_list("live_*"))

    status, answer = sardana_register(*WANTED)

    waits = {each["name"]: each["waits"] for each in answer["waiting"]}
    assert status == 1 and waits.keys() == {COUNTERS, CURVES}
    assert waits[CURVES] == f"{DEVICE} has no results before its first series: take one"

    pipeline.client.change({"without": 0})
    count(lab, pipeline)
    status, answer = sardana_register(*WANTED)  # a dry run

    made = {
        COUNTERS: ("add", None, ["live_bright", "live_edge"]), CURVES: ("add", None, ["live_profile"])
    }  # fmt: skip
    assert status == 1 and changes(answer) == made
    assert not answer["written"] and not there()

    status, answer = sardana_register("--write", *WANTED)

    assert status == 0 and answer["written"] and changes(answer) == made
    assert there() == {"live_bright", "live_edge", "live_profile", "live_counters_ctrl", "live_curves_ctrl"}

    pipeline.client.change({"without": -1})
    count(lab, pipeline)
    status, answer = sardana_register("--write", *WANTED)  # it has one result more by now

    before = ["live_bright", "live_edge"]
    assert status == 0 and changes(answer) == {COUNTERS: ("change", before, [*before, "live_peak"])}

    lab.define("defmeas", "livegrp", TIMER, "sim", *before, "live_peak", "live_profile")
    lab.define("set_meas_conf", "ValueRefEnabled", "True", "[", "sim", "]", "livegrp")
    lab.define("senv", "ActiveMntGrp", "livegrp")
    run = lab.run("ascan", "mot01", "0", "1", "2", "0.01")
    lab.define("senv", "ActiveMntGrp", GROUP)
    remove_group(lab, "livegrp")
    assert run.ending == "finish", (run.error, run.said())
    found = columns(lab)
    for point in range(3):
        frame = frame_of(found["_sim"][point])
        assert found["live_bright"][point] == np.count_nonzero(frame > 2)
        assert found["live_peak"][point] == frame[5:13, 10:30].max()
        np.testing.assert_array_equal(found["live_profile"][point], frame.sum(axis=1))

    status, answer = sardana_register(*WANTED)
    assert status == 0 and not answer["changes"], "once more, there is nothing to do"
    status, answer = sardana_register("--remove", "--pipeline", "live")
    assert changes(answer) == {
        COUNTERS: ("remove", [*before, "live_peak"], None), CURVES: ("remove", ["live_profile"], None)
    }  # fmt: skip

    for _ in range(5):
        status, _ = sardana_register("--remove", "--pipeline", "live", "--write")
        if lab.process(SARDANA).exit_status() is None:
            break
        lab.restart(SARDANA)  # Tango has crashed as it deleted a device

    assert status == 0 and not there()
    lab.restart(SARDANA)  # it may crash a moment later, too


def test_what_cannot_be_is_refused_in_words_or_waits(
    lab: Laboratory, pipeline: Running, sardana_register: Register
) -> None:
    count(lab, pipeline)
    for option, why in (
        (f"live={DEVICE}", "write NAME=PIPELINE,DEVICE"),
        (f"live={DETECTOR},{DETECTOR}", "has no device property PipelineUrl"),
        (f"live={DEVICE},{DEVICE}", "is not a Penstock detector"),
        (f"a-b={DEVICE},{DETECTOR}", "is not a valid channel name"),
    ):
        status, answer = sardana_register("--pipeline", option)
        assert status == 2 and why in answer["error"], option

    status, answer = sardana_register("--pipeline", f"live=http://127.0.0.1:{free_port()},{DETECTOR}")

    waiting = [each for each in answer["waiting"] if each["name"] in (COUNTERS, CURVES)]
    assert len(waiting) == 2 and all("does not answer" in each["waits"] for each in waiting)
