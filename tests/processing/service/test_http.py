"""What a pipeline answers over HTTP, asked of real processes; the distributor is a stand-in."""

from __future__ import annotations

import io
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import urllib3

from penstock.processing.client import PipelineClient, PipelineRefused, PipelineUnavailable, what_answers
from penstock.processing.models import Counts, Parameters, Series, Status, Worker
from penstock.processing.results.layout import DONE
from penstock.processing.results.rows import Beyond
from penstock.processing.service import http
from penstock.processing.service.metrics import METRICS, PREFIX
from penstock.processing.service.result_values import ResultValues, plain
from penstock.service.assets import SHARED
from tests.processing.results.made import BRIGHT, created, finish
from tests.processing.service.pipeline_process import PipelineProcess
from tests.processing.service.stand_in_distributor import FAILED, FRAMES


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PipelineProcess]:
    running = PipelineProcess(tmp_path_factory.mktemp("http"), workers=1)
    running.ready(1)
    yield running
    running.close()


def ask(pipeline: PipelineProcess, path: str) -> urllib3.BaseHTTPResponse:
    return urllib3.request("GET", f"{pipeline.client.url}/{path}", timeout=20, retries=False)


def post(pipeline: PipelineProcess, path: str, body: Any) -> urllib3.BaseHTTPResponse:
    return urllib3.request("POST", f"{pipeline.client.url}/{path}", json=body, timeout=20, retries=False)


@contextmanager
def served(status: dict[str, Any]) -> Iterator[str]:
    """The address of a server that has this status, and nothing else."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(status).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_results_are_listed_with_their_kind_type_and_shape(pipeline: PipelineProcess) -> None:
    found = {each.name: (each.kind, each.dtype, each.shape) for each in pipeline.client.results()}
    assert found == {
        "curve": ("value", "float64", [512]), "bright": ("value", "int64", []),
        "spots": ("events", "float32", [2]), "mean": ("accumulated", "float64", [4, 5]),
    }  # fmt: skip


def test_a_range_of_frames_is_answered_with_the_state_of_each(pipeline: PipelineProcess) -> None:
    found = pipeline.client.values("bright", "5:9")
    assert (found.first, found.series) == (5, "s1")
    assert found.values == [50, 60, None, 80]
    assert found.states == ["done", "done", "failed", "done"]


@pytest.mark.parametrize(
    ("frames", "first", "length"),
    [(None, 0, FRAMES), (":", 0, FRAMES), ("-3:", FRAMES - 3, 3), ("90:1000", 90, 10), ("8:5", 8, 0),
     (":4", 0, 4), ("200:", FRAMES, 0)],
)  # fmt: skip
def test_ranges_are_those_of_python(
    pipeline: PipelineProcess, frames: str | None, first: int, length: int
) -> None:
    found = pipeline.client.values("bright", frames)
    assert (found.first, len(found.values), len(found.states)) == (first, length, length)


def test_arrays_come_as_lists_and_as_npy(pipeline: PipelineProcess) -> None:
    assert pipeline.client.values("curve", "2:4").values == [[2.0] * 512, [3.0] * 512]
    found = pipeline.client.array("curve", "5:9")
    assert (found.shape, found.dtype) == ((4, 512), np.float64)
    assert found[0, 0] == 5 and np.isnan(found[FAILED - 5]).all()


def test_numbers_that_json_has_not_are_none_also_when_there_is_only_one() -> None:
    assert type(plain(np.float64(2.5))) is float
    assert plain(np.float32("nan")) is None and plain(np.array([1.0, np.inf])) == [1.0, None]
    assert plain(np.complex64(1 + 2j)) == [1.0, 2.0]


def test_every_so_many_frames_can_be_had(pipeline: PipelineProcess) -> None:
    found = pipeline.client.values("bright", "3:12:2")
    assert (found.first, found.step, found.values) == (3, 2, [30, 50, None, 90, 110])
    assert found.states[2] == "failed"
    assert pipeline.client.array("curve", "::50")[:, 0].tolist() == [0, 50]


def test_rows_come_with_the_state_of_each_frame_and_whether_it_has_a_value(pipeline: PipelineProcess) -> None:
    rows = pipeline.client.rows("bright", "5:10:2")
    assert (rows.series, rows.first, rows.step) == ("s1", 5, 2)
    assert (rows.states.tolist(), rows.has.tolist()) == ([1, 2, 1], [True, False, True])
    assert (rows.values.tolist(), rows.counts) == ([50, 0, 90], None), "0 where there is none: has tells"
    events = pipeline.client.rows("spots", "3:6")
    assert events.counts is not None and events.counts.tolist() == [1, 0, 2]
    assert (events.has.tolist(), events.values.shape) == ([True, False, True], (3, 2))


def test_rows_without_their_values_say_what_there_is(pipeline: PipelineProcess) -> None:
    events, curve = (pipeline.client.rows(name, "3:6", values=False) for name in ("spots", "curve"))
    assert events.counts is not None and events.counts.tolist() == [1, 0, 2]
    assert (events.values.shape, curve.values.shape, curve.has.all()) == ((0, 2), (0, 512), True)


def test_the_states_of_frames_come_as_numbers(pipeline: PipelineProcess) -> None:
    states = pipeline.client.states()
    assert (states.series, states.first, len(states.codes)) == ("s1", 0, FRAMES)
    assert np.flatnonzero(states.codes != DONE).tolist() == [FAILED]
    states = pipeline.client.states("-2:200")
    assert (states.first, states.codes.tolist()) == (FRAMES - 2, [DONE, DONE])


def test_an_address_tells_what_answers_there(pipeline: PipelineProcess) -> None:
    assert what_answers(pipeline.client.url, timeout=10.0) == "pipeline"
    with (
        served({"state": "idle"}) as url,
        pytest.raises(PipelineUnavailable, match="neither a receiver's nor"),
    ):
        what_answers(url, timeout=10.0)
    with served({"detector": "sim-1", "connections": []}) as url:
        assert what_answers(url, timeout=10.0) == "receiver"


def test_events_come_as_a_list_for_each_frame(pipeline: PipelineProcess) -> None:
    assert pipeline.client.values("spots", "3:6").values == [[[0, 1]], None, [[2, 3], [4, 5]]]
    assert pipeline.client.array("spots", "3:6").tolist() == [[0, 1], [2, 3], [4, 5]]


def test_the_latest_value_says_its_frame_and_an_accumulated_one_how_many_are_in_it(
    pipeline: PipelineProcess,
) -> None:
    latest = pipeline.client.latest("bright")
    assert (latest.frame, latest.value, latest.n) == (FRAMES - 1, 10 * (FRAMES - 1), None)
    mean = pipeline.client.latest("mean")
    assert (mean.frame, mean.n, mean.value) == (None, FRAMES - 1, [[2.5] * 5] * 4)
    assert pipeline.client.latest_array("mean").shape == (4, 5)
    assert pipeline.client.latest_array("curve").tolist() == [float(FRAMES - 1)] * 512
    assert pipeline.client.latest("spots").value == [[2, 3], [4, 5]]
    newest, mean_array = pipeline.client.newest("curve"), pipeline.client.newest("mean")
    assert (newest.series, newest.frame, newest.n, newest.value[0]) == ("s1", FRAMES - 1, None, FRAMES - 1)
    assert (mean_array.frame, mean_array.n, mean_array.value.shape) == (None, FRAMES - 1, (4, 5))


@pytest.mark.parametrize(
    ("path", "status", "kind", "words"),
    [
        ("results/dark", 404, "no_such_result", "there is no result dark (yet); there is "),
        ("results/dark/latest", 404, "no_such_result", "there is no result dark (yet)"),
        ("results/mean", 422, "accumulated", "ask for /results/mean/latest"),
        ("results/bright?frames=1-3", 422, "bad_request", "frames"),
        ("results/bright?frames=1:3:0", 422, "bad_request", "frames"),
        ("results/mean?format=npz", 422, "accumulated", "ask for /results/mean/latest"),
        ("results/bright?format=csv", 422, "bad_request", "format"),
        ("result", 404, "no_such_path", "/docs has what there is"),
        ("status?wait=100", 422, "bad_request", "wait"),
    ],
)
def test_what_cannot_be_answered_is_a_kind_and_a_sentence(
    pipeline: PipelineProcess, path: str, status: int, kind: str, words: str
) -> None:
    answer = ask(pipeline, path)
    found = answer.json()
    assert (answer.status, found["kind"]) == (status, kind), found
    assert words in found["message"]


def test_new_parameters_are_answered_with_version_first_frame_and_who_has_them(
    pipeline: PipelineProcess,
) -> None:
    before = pipeline.client.parameters()
    names = [each.name for each in pipeline.client.status().workers]
    changed = pipeline.client.change({"threshold": 800})
    assert (changed.version, changed.from_frame) == (before.version + 1, 42)
    assert (changed.acknowledged, changed.refused) == (names, {})
    assert pipeline.client.parameters().values["threshold"] == 800


def test_parameters_that_a_worker_refuses_are_a_refusal_that_says_who_and_why(
    pipeline: PipelineProcess,
) -> None:
    before = pipeline.client.parameters()
    (worker,) = pipeline.client.status().workers
    answer = post(pipeline, "parameters", {"threshold": "x"})
    found = answer.json()
    assert (answer.status, found["kind"]) == (409, "refused_parameters")
    assert f"version {before.version} stays in use. {worker.name}: parameter threshold" in found["message"]
    assert found["changed"]["refused"] == {
        worker.name: "parameter threshold of Spots is 'x'; it has to be int"
    }
    with pytest.raises(PipelineRefused, match="parameter threshold of Spots"):
        pipeline.client.change({"threshold": "x"})
    assert pipeline.client.parameters() == before


def test_parameters_that_fit_no_message_are_refused(pipeline: PipelineProcess) -> None:
    answer = post(pipeline, "parameters", {"table": [0.5] * 10_000})
    assert (answer.status, answer.json()["kind"]) == (409, "bad_parameters")
    assert "put large ones into a file" in answer.json()["message"]


def test_a_body_that_is_no_object_is_refused(pipeline: PipelineProcess) -> None:
    assert post(pipeline, "parameters", [1]).status == 422


def test_a_question_for_news_waits_for_it(pipeline: PipelineProcess) -> None:
    status = pipeline.client.status()
    assert pipeline.client.status(seen=status.version, wait=0.2).version == status.version
    pipeline.client.change({"threshold": 900})
    assert pipeline.client.status(seen=status.version, wait=20).version > status.version


def test_every_metric_is_there_with_the_name_of_the_pipeline(pipeline: PipelineProcess) -> None:
    text = ask(pipeline, "metrics").data.decode()
    for row in METRICS:
        assert f"# TYPE {PREFIX}{row.name}" in text
    assert f'{PREFIX}series_frames{{pipeline="spots",state="done"}} {FRAMES - 1}.0' in text
    assert f'{PREFIX}series_frames{{pipeline="spots",state="failed"}} 1.0' in text
    assert f'{PREFIX}workers{{pipeline="spots",state="ready"}} 1.0' in text
    assert re.search(rf'{PREFIX}resident_memory_bytes{{pipeline="spots",process="distributor"}} \d', text)


def test_health_and_configuration(pipeline: PipelineProcess) -> None:
    assert ask(pipeline, "health").json() == {"alive": True, "ready": True, "message": ""}
    assert ask(pipeline, "health/ready").status == 200
    assert ask(pipeline, "config").json()["workers"] == 1


def test_all_that_the_page_needs_comes_from_the_pipeline(pipeline: PipelineProcess) -> None:
    answer = ask(pipeline, "")
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    page = answer.data.decode()
    for asset in re.findall(r'(?:src|href)="(assets/[^"]+)"', page):
        assert ask(pipeline, asset).status == 200, asset
    for link in re.findall(r'<a href="([^"]+)"', page):
        assert ask(pipeline, link).status == 200, link


def test_the_script_and_the_page_know_the_same_elements_and_the_status() -> None:
    folder = files("penstock.processing.service")
    script, plot = (folder.joinpath(name).read_text() for name in ("pipeline.js", "plot.js"))
    page = http.ASSETS["/"].read().decode()
    shared = SHARED["/assets/shown.js"].read().decode()
    wanted = set(re.findall(r'element\("([\w-]+)"\)', script + shared))
    assert wanted == set(re.findall(r'id="([\w-]+)"', page))
    known = {
        name for kind in (Status, Series, Counts, Worker, Parameters) for name in kind.__dataclass_fields__
    }
    used = set(re.findall(r"\b(?:status|series|parameters)\??\.([a-z]\w*)", script))
    assert len(used) > 5
    assert used <= known
    for text in (script, plot, page):
        assert not re.search(
            r"innerHTML|outerHTML|document\.write|eval\(|https?:(?!//www\.w3\.org/2000/svg)", text
        )


def test_every_state_of_a_frame_has_its_part_of_the_bar_and_a_colour() -> None:
    script = http.ASSETS["/assets/pipeline.js"].read().decode()
    styles = b"".join(http.ASSETS[f"/assets/{name}.css"].read() for name in ("page", "pipeline")).decode()
    for name in Counts.__dataclass_fields__:
        assert f'"{name}"' in script
        assert name == "frames" or f"--{name}: #" in styles


def test_without_results_the_answer_says_so(tmp_path: Path) -> None:
    running = PipelineProcess(tmp_path, workers=1, results_root="")
    try:
        with pytest.raises(PipelineRefused, match="series s1 has no result file") as raised:
            running.client.results()
        assert raised.value.kind == "no_results"
    finally:
        running.close()
    with pytest.raises(PipelineUnavailable, match="is `penstock process` running"):
        running.client.status()


@pytest.fixture(scope="module")
def very_many(tmp_path_factory: pytest.TempPathFactory) -> Series:
    """A series of 2**48 planned frames, of which three came."""
    folder = tmp_path_factory.mktemp("many")
    results, came = created(folder, 2**48), np.array([0, 1, 3])
    results.rows(BRIGHT, came, came)
    results.status(came, DONE)
    results.status(np.array([2]), 5)
    finish(results, 3, counts={"planned": 2**48, "absent": 2**48 - 3}, beyond=Beyond(4, 2**48, 5))
    return Series(
        id="s1", active=False, planned=2**48, rows=4, counts=Counts(frames=2**48, done=3, absent=2**48 - 3),
        result_file=str(folder / "x.spots.h5"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("frames", "first", "states"),
    [
        (None, 0, "done done absent done"), (":", 0, "done done absent done"),
        ("-2:", 2, "absent done"), (":-1", 0, "done done absent"), ("-9:2", 0, "done done"),
        ("2:6", 2, "absent done absent absent"), (f"{2**48 - 2}:{2**50}", 2**48 - 2, "absent absent"),
        ("0:9:3", 0, "done done absent"), (f"{2**49}:", 2**48, ""),
    ],
)  # fmt: skip
def test_of_very_many_planned_frames_ranges_are_those_of_the_frames_that_came(
    very_many: Series, frames: str | None, first: int, states: str
) -> None:
    values = ResultValues(very_many).values("bright", frames)
    assert (values.first, " ".join(values.states)) == (first, states)
    found = np.load(io.BytesIO(ResultValues(very_many).states(frames or ":")))
    assert (int(found["first"]), len(found["states"]), int(found["beyond"])) == (first, len(values.states), 5)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.float64(2.5), 2.5), (np.float32(np.nan), None), (np.int64(3), 3), (np.bool_(True), True),
        (np.array([1.0, np.inf]), [1.0, None]), (np.array(1.5), 1.5), (np.complex128(1 + 2j), [1.0, 2.0]),
        (np.zeros((0, 2)), []),
    ],
)  # fmt: skip
def test_a_value_is_shown_as_json_has_it(value: Any, shown: Any) -> None:
    assert plain(value) == shown


def test_an_npy_is_a_file_that_numpy_reads(pipeline: PipelineProcess) -> None:
    answer = ask(pipeline, "results/bright?frames=:3&format=npy")
    assert answer.headers["Content-Type"] == "application/x-npy"
    assert np.load(io.BytesIO(answer.data)).tolist() == [0, 10, 20]
    assert PipelineClient(pipeline.client.url + "/").url == pipeline.client.url
