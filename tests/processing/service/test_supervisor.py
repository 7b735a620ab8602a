"""The processes of a pipeline: started, started again, and ended; real ones, but for the distributor."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from penstock.processing.client import PipelineRefused
from penstock.processing.service.supervisor import SILENT_AFTER
from penstock.processing.worker.thread_counts import VARIABLES
from tests.processing.service.pipeline_process import PipelineProcess, child_of, gone, wait_until


@pytest.fixture
def pipeline(tmp_path: Path) -> Iterator[PipelineProcess]:
    running = PipelineProcess(tmp_path, threads=3)
    yield running
    running.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PipelineProcess]:
    """One whose distributor may be another one than at first, and runs after each test."""
    running = PipelineProcess(tmp_path_factory.mktemp("shared"), threads=3)
    yield running
    running.close()


def distributor_of(pipeline: PipelineProcess) -> int:
    return child_of(pipeline.process.pid, "stand_in_distributor")


def test_workers_that_die_are_started_again_and_all_end_with_the_pipeline(pipeline: PipelineProcess) -> None:
    before = pipeline.ready(2)
    env = Path(f"/proc/{before.workers[0].pid}/environ").read_bytes().split(b"\0")
    assert {f"{name}=3".encode() for name in VARIABLES} <= set(env), "libraries have as many threads as asked"

    os.kill(before.workers[0].pid, signal.SIGKILL)
    pids = {each.pid for each in before.workers}
    after = pipeline.wait(lambda status: len({each.pid for each in status.workers} - pids) == 1)
    assert {each.name for each in after.workers} == {each.name for each in before.workers}
    assert "ended by signal SIGKILL; it is started again" in pipeline.log.read_text()

    distributor = distributor_of(pipeline)
    pipeline.close()
    assert pipeline.process.returncode == 0
    assert gone(distributor) and all(gone(each.pid) for each in after.workers)


def test_a_distributor_that_dies_is_started_again_with_the_parameters_in_use(shared: PipelineProcess) -> None:
    shared.ready(2)
    assert shared.client.change({"threshold": 7}).version == 2
    old = distributor_of(shared)
    os.kill(old, signal.SIGKILL)
    shared.wait(lambda status: not status.workers)
    status = shared.ready(2)
    assert distributor_of(shared) != old
    assert (status.state, status.parameters.values, status.parameters.version) == (
        "idle", {"threshold": 7}, 2
    )  # fmt: skip


@pytest.mark.slow
def test_one_that_dies_without_any_frame_in_between_is_an_error_until_reset(
    pipeline: PipelineProcess,
) -> None:
    pipeline.ready(2)
    for _ in range(2):
        with pytest.raises(PipelineRefused, match="has died meanwhile"):
            pipeline.client.change({"die": signal.SIGKILL})
        status = pipeline.wait(lambda status: bool(status.error) or len(status.workers) == 2)
    assert status.state == "error"
    assert status.error == "the distributor of spots ended by signal SIGKILL; reset starts it again"
    with pytest.raises(PipelineRefused, match="ended by signal SIGKILL"):
        pipeline.client.change({"threshold": 1})
    pipeline.client.reset()
    assert pipeline.ready(2).state == "idle"


def test_without_its_parent_nobody_stays(pipeline: PipelineProcess) -> None:
    left = [distributor_of(pipeline), *(each.pid for each in pipeline.ready(2).workers)]
    pipeline.process.kill()
    pipeline.process.wait()
    wait_until(lambda: all(map(gone, left)), "a process stays although its parent is gone")


@pytest.mark.slow
def test_a_distributor_that_hangs_is_said_to(shared: PipelineProcess) -> None:
    shared.ready(2)
    distributor = distributor_of(shared)
    os.kill(distributor, signal.SIGSTOP)
    try:
        status = shared.wait(lambda status: status.state == "error")
        assert f"the distributor of spots has not answered for {SILENT_AFTER:.0f} s" in status.error
    finally:
        os.kill(distributor, signal.SIGCONT)
    shared.wait(lambda status: status.state == "idle")


@pytest.mark.slow
def test_whoever_waits_for_news_is_answered_when_the_pipeline_ends(pipeline: PipelineProcess) -> None:
    pipeline.ready(2)
    version = pipeline.client.status().version
    waiting = HTTPConnection(pipeline.client.url.removeprefix("http://"), timeout=20)
    with closing(waiting):
        waiting.request("GET", f"/status?seen={version}&wait=25")
        pipeline.client.status()  # it has read the other question before this one
        pipeline.close()
        assert json.loads(waiting.getresponse().read())["pipeline"] == "spots"
    assert "Traceback" not in pipeline.log.read_text()
