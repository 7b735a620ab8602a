"""Results of live processing in scans: each point has the result of its own frame, from a real pipeline."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest
import tango

from penstock.beamline.registration import register
from penstock.sardana.door import MacroRun
from penstock.sardana.laboratory.laboratory import GROUP, TIMER, TRIGGERS, Laboratory
from penstock.sardana.reference import parse
from tests.processing.test_process import Running, running

pytestmark = pytest.mark.slow  # it has a pipeline, and needs a Sardana of its own

CLASS = """\
import os
import signal
import time

import numpy as np
from penstock.processing import Processor


class Spots(Processor):
    threshold: int = 2
    fail: int = -1
    kill: int = -1
    gate: str = ""
    without: int = -1

    def process(self, frame):
        if frame.index == self.fail:
            raise ValueError("no")
        if frame.index == self.kill:
            os.kill(os.getpid(), signal.SIGKILL)
        while self.gate and frame.index >= 9 and not os.path.exists(self.gate):
            time.sleep(0.02)
        pixels = frame.pixels.astype(np.int64)
        found = {"edge": pixels[0, :4].sum(), "profile": pixels.sum(axis=1).astype(np.float32)}
        found["bright"] = np.count_nonzero(pixels > self.threshold)
        if frame.index != self.without:
            found["peak"] = float(pixels[5:13, 10:30].max())
        return found
"""
HOW_TO = Path(__file__).resolve().parents[2] / "docs/how-to/a-live-result-in-a-scan.md"
STEPS, FLY, LATE_FLY = "pipesteps", "pipefly", "pipelate"
COUNTERS = {"edgecount": "edge", "peakcount": "peak"}
CURVE = "profile1d"
CHANNELS = (*COUNTERS, CURVE)
USUAL = {"fail": -1, "kill": -1, "gate": "", "without": -1}
RESULT_SECONDS = "60"
"""A frame that is lost has seen three workers, which take seconds to start on a busy machine."""
LATE, LATE_SECONDS = "latecount", "0.5"


@pytest.fixture(scope="module")
def pipeline(laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    receiver: Any = SimpleNamespace(client=laboratory.receiver())
    folder = tmp_path_factory.mktemp("pipeline")
    with running(folder, receiver, CLASS, errors=0) as made:
        made.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
        yield made


@pytest.fixture(scope="module")
def lab(laboratory: Laboratory, pipeline: Running) -> Iterator[Laboratory]:
    """Channels of the pipeline in two groups, one of them for continuous scans."""
    host, _, port = laboratory.tango_host.partition(":")
    register(
        tango.Database(host, int(port)), "PenstockPipeline/lab", "PenstockPipeline", "lab/pipeline/spots",
        {"PipelineUrl": pipeline.client.url},
    )  # fmt: skip
    keys = (
        "DetectorDevice", laboratory.units["sim"].device, "Pipeline", "lab/pipeline/spots",
        "ResultSeconds", RESULT_SECONDS,
    )  # fmt: skip
    laboratory.define("defctrl", "PenstockPipelineCounter", "pipectrl", *keys)
    laboratory.define(
        "defctrl", "PenstockPipelineCurve", "curvectrl", *keys[:3], pipeline.client.url, *keys[4:]
    )
    for axis, (name, result) in enumerate(COUNTERS.items(), 1):
        laboratory.define("defelem", name, "pipectrl", str(axis))
        laboratory.device(name).Result = result
    laboratory.define("defelem", CURVE, "curvectrl", "1")
    laboratory.device(CURVE).Result, laboratory.device(CURVE).Points = "profile", 32
    laboratory.define("defctrl", "PenstockPipelineCounter", "latectrl", *keys[:-1], LATE_SECONDS)
    laboratory.define("defelem", LATE, "latectrl", "1")
    laboratory.device(LATE).Result = "edge"
    laboratory.define("defmeas", STEPS, TIMER, "sim", *CHANNELS)
    laboratory.define("defmeas", FLY, "sim", *CHANNELS)
    laboratory.define("defmeas", LATE_FLY, "sim", LATE)
    for group in (STEPS, FLY, LATE_FLY):
        laboratory.define("set_meas_conf", "ValueRefEnabled", "True", "[", "sim", "]", group)
    for parameter, value in (("Synchronizer", TRIGGERS), ("Synchronization", "Trigger")):
        laboratory.define("set_meas_conf", parameter, value, "[", "sim", *CHANNELS, "]", FLY)
        laboratory.define("set_meas_conf", parameter, value, "[", "sim", LATE, "]", LATE_FLY)
    yield laboratory
    laboratory.define("senv", "ActiveMntGrp", GROUP)


@pytest.fixture(autouse=True)
def _usual(pipeline: Running) -> Iterator[None]:
    yield
    pipeline.client.change(USUAL)


def columns(laboratory: Laboratory) -> dict[str, np.ndarray]:
    """What the last scan recorded, by channel."""
    with h5py.File(laboratory.data / "scan.h5", locking=False) as file:
        entry = max(file, key=lambda name: int(name.removeprefix("entry")))
        return {name: values[()] for name, values in file[f"{entry}/measurement"].items()
                if isinstance(values, h5py.Dataset)}  # fmt: skip


def frame_of(reference: bytes) -> np.ndarray:
    found = parse(reference.decode())
    assert found is not None
    with h5py.File(found.file, locking=False) as file:
        return file[found.dataset][found.index].astype(np.int64)


def check(laboratory: Laboratory, points: int, missing: tuple[int, ...] = (), rows: int = 1) -> None:
    """Each point has the results of its own frame, which NumPy finds in the file; missing ones are NaN."""
    found = columns(laboratory)
    for name in CHANNELS:
        assert len(found[name]) == points, name
    for point in range(points):
        if point in missing:
            assert all(np.isnan(found[name][point]).all() for name in CHANNELS), point
            continue
        frame = frame_of(found["_sim"][point])
        assert found["edgecount"][point] == frame[0, :4].sum() == point % (points // rows), point
        assert found["peakcount"][point] == frame[5:13, 10:30].max(), point
        np.testing.assert_array_equal(found[CURVE][point], frame.sum(axis=1), str(point))


def take(laboratory: Laboratory, group: str, *command: str) -> MacroRun:
    laboratory.define("senv", "ActiveMntGrp", group)
    return laboratory.run(*command)


def warnings(run: MacroRun) -> list[str]:
    """What it says of the pipeline's frames."""
    return [line for line in run.said().splitlines() if "spots: " in line]


def test_a_step_scan_has_the_results_of_each_points_frame(lab: Laboratory) -> None:
    run = take(lab, STEPS, "ascan", "mot01", "0", "1", "9", "0.01")
    assert run.ending == "finish", (run.error, run.said())
    check(lab, 10)
    assert not warnings(run)


@pytest.mark.slow
def test_a_continuous_scan_has_the_results_by_index(lab: Laboratory) -> None:
    run = take(lab, FLY, "ascanct", "mot01", "0", "1", "40", "0.01", "0.002")
    assert run.ending == "finish", (run.error, run.said())
    check(lab, 41)
    assert not warnings(run)


def test_frames_that_failed_or_were_lost_are_nan_with_one_warning(lab: Laboratory, pipeline: Running) -> None:
    pipeline.client.change({"fail": 5, "kill": 7})
    run = take(lab, FLY, "ascanct", "mot01", "0", "1", "10", "0.01", "0.002")
    assert run.ending == "finish", (run.error, run.said())
    check(lab, 11, (5, 7))
    (said,) = warnings(run)
    assert "spots: 2 of 11 frames without a result: 5 failed; 7 lost" in said
    pipeline.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)


@pytest.mark.slow
def test_a_lost_trigger_is_an_absent_frame(lab: Laboratory) -> None:
    lab.device("sim").MissingTriggerTime = 0.3
    lab.device(TRIGGERS).Missed = json.dumps([3, 7])
    try:
        run = take(lab, FLY, "ascanct", "mot01", "0", "1", "10", "0.01", "0.002")
    finally:
        lab.device(TRIGGERS).Missed = "[]"
    assert run.ending == "finish", (run.error, run.said())
    check(lab, 11, (3, 7))
    (said,) = warnings(run)
    assert "spots: 2 of 11 frames without a result: 3, 7 absent" in said


@pytest.mark.slow
def test_a_scan_ends_with_nan_and_the_count_when_results_come_too_late(
    lab: Laboratory, pipeline: Running, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    pipeline.client.change({"gate": str(gate)})
    run = take(lab, LATE_FLY, "ascanct", "mot01", "0", "1", "10", "0.01", "0.002")
    assert run.ending == "finish", (run.error, run.said())
    status = pipeline.client.status()
    assert status.series is not None and status.series.active, "it is not the pipeline's end that is awaited"
    gate.touch()
    pipeline.over(status.series.id)
    found = columns(lab)[LATE]
    (said,) = warnings(run)
    lacking = int(np.isnan(found).sum())
    assert lacking >= 2 and len(found) == 11, "a busy machine may be late with others"
    assert np.isnan(found[9:]).all()
    assert f"spots: {lacking} of 11 frames without a result: " in said
    assert "10 pending 0.5 s after the last frame" in said


@pytest.mark.slow
def test_a_step_scan_goes_on_where_a_frame_has_no_result(lab: Laboratory, pipeline: Running) -> None:
    pipeline.client.change({"fail": 1, "kill": 3, "without": 4})
    run = take(lab, STEPS, "ascan", "mot01", "0", "1", "5", "0.01")
    assert run.ending == "finish", (run.error, run.said())
    found = columns(lab)
    assert np.isnan(found["edgecount"]).tolist() == [False, True, False, True, False, False]
    assert np.isnan(found["peakcount"]).tolist() == [False, True, False, True, True, False]
    states, others = warnings(run)
    assert "spots: 2 of 6 frames without a result: 1 failed; 3 lost" in states
    assert "spots: 1 of 6 frames done without peak (4); results of the series: " in others
    pipeline.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)


@pytest.mark.slow
def test_a_mesh_of_continuous_rows_counts_over_all_of_them(lab: Laboratory, pipeline: Running) -> None:
    pipeline.client.change({"fail": 2})
    command = ("meshct", "mot01", "0", "1", "5", "mot02", "0", "1", "1", "0.01", "False", "0.002")
    run = take(lab, FLY, *command)
    assert run.ending == "finish", (run.error, run.said())
    check(lab, 12, (2, 8), rows=2)
    (said,) = warnings(run)
    assert "spots: 2 of 12 frames without a result: 2, 8 failed" in said


@pytest.mark.slow
def test_a_count_shows_the_result_and_the_length_of_a_curve_need_not_be_known(lab: Laboratory) -> None:
    lab.device(CURVE).Points = 0
    try:
        run = take(lab, STEPS, "ct", "0.01")
        assert run.ending == "finish", (run.error, run.said())
        assert lab.device(CURVE).Shape.tolist() == [32]
        assert len(lab.device(CURVE).Value) == 32
        run = take(lab, STEPS, "ascan", "mot01", "0", "1", "2", "0.01")
        assert run.ending == "finish", (run.error, run.said())
        check(lab, 3)
        lab.device(CURVE).Result = "unheard"
        run = take(lab, STEPS, "ascan", "mot01", "0", "1", "2", "0.01")
        assert run.ending == "exception"
        assert "how many points unheard has is not known" in run.said() + str(run.error)
    finally:
        lab.device(CURVE).Result, lab.device(CURVE).Points = "profile", 32


@pytest.mark.slow
def test_a_result_of_another_kind_ends_the_scan_with_what_to_do(lab: Laboratory) -> None:
    lab.device("peakcount").Result = "profile"
    try:
        run = take(lab, STEPS, "ascan", "mot01", "0", "1", "3", "0.01")
    finally:
        lab.device("peakcount").Result = "peak"
    assert run.ending == "exception"
    assert "profile is no number, it has the shape (32,)" in run.said()


@pytest.mark.slow
def test_a_continuous_scan_says_what_is_wrong_with_a_channel(lab: Laboratory) -> None:
    lab.device(CURVE).Points = 31
    try:
        run = take(lab, FLY, "ascanct", "mot01", "0", "1", "5", "0.01", "0.002")
    finally:
        lab.device(CURVE).Points = 32
    assert run.ending == "finish", (run.error, run.said())
    assert f"{CURVE} is Fault: profile has 32 points, and the scan was begun for 31" in run.said()
    assert columns(lab)["edgecount"].tolist() == list(range(6)), "the others have theirs"


@pytest.mark.slow
def test_the_how_to_works_as_it_is_written(lab: Laboratory, pipeline: Running) -> None:
    """Its commands, and its Python, with the names of this laboratory."""
    page = HOW_TO.read_text()
    for theirs, ours in (
        ("my/eiger/1", lab.units["sim"].device), ("lab/pipeline/spots", "lab/pipeline/spots"),
        ("tg_panda", TRIGGERS), ("eiger", "sim"), ("ct01", TIMER), ('DeviceProxy("', f'DeviceProxy("tango://{lab.tango_host}/'),
        (", 1000\n", ", 32\n"),
    ):  # fmt: skip
        page = page.replace(theirs, ours)
    blocks = re.findall(r"```(\w*)\n(.*?)```", page, re.DOTALL)
    spock = [text for kind, text in blocks if not kind and re.match(r"\s*def", text)]
    (python,) = [text for kind, text in blocks if kind == "python"]
    assert len(spock) == 2
    for number, block in enumerate(spock):
        for line in block.strip().splitlines():
            lab.define(*line.replace("[", "[ ").replace("]", " ]").split())
        if not number:
            exec(compile(textwrap.dedent(python), str(HOW_TO), "exec"), {})
    for group, command in (("spotsgrp", "ascan"), ("spotsfly", "ascanct")):
        run = take(lab, group, command, "mot01", "0", "1", "5", "0.01")
        assert run.ending == "finish", (run.error, run.said())
        found = columns(lab)
        for point in range(6):
            frame = frame_of(found["_sim"][point])
            assert found["bright"][point] == np.count_nonzero(frame > 2)
            np.testing.assert_array_equal(found["profile"][point], frame.sum(axis=1))
