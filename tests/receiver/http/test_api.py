"""The HTTP API of a running receiver."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import urllib3
import zmq

from penstock.receiver.client import ReceiverClient, ReceiverRefused
from penstock.receiver.config import ReceiverConfig
from penstock.receiver.http.api import create_app
from penstock.receiver.models import SeriesCheck
from penstock.receiver.process.supervisor import Supervisor
from penstock.resources.version import version
from tests import hostile
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer, pixels

OPENAPI = Path(__file__).resolve().parents[3] / "resources" / "openapi.json"


class Pair:
    """A streamer and the receiver that these tests share; each test leaves it idle."""

    def __init__(self, folder: Path) -> None:
        self.streamer = Streamer()
        self.receiver = ReceiverProcess(folder, self.streamer.endpoint, min_free_mb=1)
        self.receiver.connected()
        self._http = urllib3.PoolManager(retries=False, timeout=DEADLINE)

    @property
    def client(self) -> ReceiverClient:
        return self.receiver.client

    def ask(self, method: str, path: str, body: bytes | None = None) -> urllib3.BaseHTTPResponse:
        """One bare request."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        return self._http.request(method, self.client.url + path, body=body, headers=headers)

    def running(self, frames: int = 1, filename: str = "", planned: int = 9) -> str:
        """Start a series and let some frames come."""
        series = self.streamer.start(filename, frames=planned, trigger_mode="SOFTWARE")
        for number in range(frames):
            self.streamer.frame(number)
        self.receiver.wait(
            lambda status: (
                status.series is not None and status.series.id == series and status.counts.received == frames
            )
        )
        return series

    def end(self) -> None:
        """End it."""
        series = self.streamer.series
        self.streamer.end()
        self.receiver.ended(series)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    made = Pair(tmp_path_factory.mktemp("api"))
    yield made
    made.receiver.close()
    made.streamer.close()


def supervisor(tmp_path: Path) -> Supervisor:
    entry = {"source": {"endpoints": ["tcp://127.0.0.1:1"]}, "data_root": str(tmp_path)}
    return Supervisor("sim-1", msgspec.convert(entry, ReceiverConfig))


def test_the_committed_openapi_document_is_the_one_of_the_code(tmp_path: Path) -> None:
    current = create_app(supervisor(tmp_path)).openapi()
    if os.environ.get("PENSTOCK_REFRESH"):
        OPENAPI.write_text(json.dumps(current, indent=2) + "\n")
    assert json.loads(OPENAPI.read_text()) == json.loads(json.dumps(current)), (
        "make it anew with: PENSTOCK_REFRESH=1 pytest tests/receiver/http/test_api.py, "
        "and look at the difference"
    )


def test_the_document_says_which_answers_a_call_has_and_no_others(tmp_path: Path) -> None:
    document = json.loads(OPENAPI.read_text())
    calls = {
        f"{method} {path}": call
        for path, calls in document["paths"].items()
        for method, call in calls.items()
    }
    assert {call: " ".join(sorted(said["responses"])) for call, said in calls.items()} == {
        "get /status": "200 422",
        "get /received_frames": "200",
        "get /downsample": "200",
        "post /downsample": "200 422",
        "get /series": "200 422",
        "get /series/one": "200 404 409 422",
        "get /series/lost": "200 404 409 422 500 503",
        "get /geometry": "200 404 409 422 500 503",
        "get /mask": "200 404 409 422 500 503",
        "get /scan": "200 404 409 422 500 503",
        "get /folders": "200 409 422",
        "post /series/check": "200 409 413 422",
        "put /expected/{arm}": "200 409 413 422",
        "delete /expected/{arm}": "200 409 422",
        "post /stop": "200 409 413 422",
        "post /reset": "200 409",
        "get /last_frame": "200 304 404 409 422 500",
        "get /frame/{index}": "200 404 409 422 500 503",
        "get /rois": "200",
        "put /rois": "200 400 409 413 422",
        "get /rois/values": "200 409 422",
        "get /config": "200",
        "get /metrics": "200",
        "get /health": "200 503",
        "get /health/ready": "200 503",
    }
    pictures = {"application/octet-stream", "application/x-npy", "image/png", "image/jpeg"}
    assert set(calls["get /frame/{index}"]["responses"]["200"]["content"]) == pictures
    assert set(calls["get /last_frame"]["responses"]["200"]["content"]) == {*pictures, "image/pickle"}
    assert "content" not in calls["get /last_frame"]["responses"]["304"]
    number, _ = document["components"]["schemas"]["SeriesCheck"]["properties"]["frames"]["anyOf"]
    assert number == {"type": "integer", "minimum": 0, "maximum": 2**53}


def test_the_calls_are_grouped() -> None:
    document = json.loads(OPENAPI.read_text())
    groups: dict[str, set[str]] = {tag["name"]: set() for tag in document["tags"]}
    for path, calls in document["paths"].items():
        for method, call in calls.items():
            (tag,) = call["tags"]
            groups[tag].add(f"{method} {path}")
    assert list(groups) == ["status", "series", "frames", "rois", "configuration"]
    assert groups["series"] == {
        "get /series", "get /series/one", "get /series/lost",
        "get /geometry", "get /mask", "get /scan", "get /folders",
        "post /series/check", "post /stop", "post /reset",
        "put /expected/{arm}", "delete /expected/{arm}",
    }  # fmt: skip
    assert all(groups.values())


# -- status ----------------------------------------------------------------------------------------


def test_status_says_what_existing_clients_read(pair: Pair) -> None:
    found = json.loads(pair.ask("GET", "/status").data)
    assert (found["state"], found["error"], found["detector"]) == ("idle", "", "sim-1")


def test_status_says_which_version_takes_the_frames(pair: Pair) -> None:
    assert pair.client.status().penstock == version()


def test_status_says_how_much_space_is_left_and_how_full_its_queue_is(pair: Pair) -> None:
    due = time.monotonic() + DEADLINE
    while (status := pair.client.status()).free_bytes is None:
        assert time.monotonic() < due
    assert status.free_bytes % 2**20 == 0
    assert status.free_bytes == pytest.approx(shutil.disk_usage(pair.receiver.root).free, rel=0.1)
    assert (status.queue_bytes, status.queue_limit_bytes) == (0, 0), "one loop does it all"


def test_a_series_is_known_by_its_id_while_it_runs_and_once_it_has_ended(pair: Pair) -> None:
    series = pair.running(frames=3, planned=9)
    known = pair.client.series(series)
    assert known is not None and known.series.active and known.counts.received == 3
    pair.end()
    for number in range(3):  # others begin and end
        pair.running(planned=number + 1)
        pair.end()
    known = pair.client.series(series)
    assert known is not None and not known.series.active
    assert known in pair.client.history(9)


def test_a_series_that_is_not_known_is_said_to_be_so(pair: Pair) -> None:
    assert pair.client.series("nobody's / ..") is None
    answer = pair.ask("GET", "/series/one?series=nobody")
    assert answer.status == 404 and json.loads(answer.data)["kind"] == "no_such_series"


def test_what_a_consumer_has_got_of_a_series_is_known_at_once(tmp_path: Path) -> None:
    streamer = Streamer()
    receiver = ReceiverProcess(
        tmp_path, streamer.endpoint, forward=[{"name": "c", "endpoint": "tcp://127.0.0.1:*", "queue_mb": 1}]
    )
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    consumer = context.socket(zmq.PULL)
    consumer.set(zmq.RCVTIMEO, int(DEADLINE * 1000))
    try:
        consumer.connect(receiver.connected().consumers[0].endpoint)
        receiver.wait(lambda status: status.consumers[0].connected == 1)
        for number in range(20):
            series = streamer.start(str(receiver.root / f"{number}.h5"), frames=2)
            consumer.recv_multipart()
            begun = receiver.client.series(series)
            assert begun is not None and begun.series.active
            assert begun.series.filename == str(receiver.root / f"{number}.h5")
            for index in range(2):
                streamer.frame(index)
                consumer.recv_multipart()
            streamer.end()
            consumer.recv_multipart()
            ended = receiver.client.series(series)
            assert ended is not None and not ended.series.active and ended.counts.stored == 2
    finally:
        consumer.close(0)
        context.term()
        receiver.close()
        streamer.close()


def test_a_series_that_has_ended_says_when_and_which_frames_are_lost(pair: Pair) -> None:
    before = time.time()
    series = pair.running(frames=3, planned=9)
    running = pair.client.status().series
    assert running is not None
    assert (running.ended, running.lost) == (0.0, [])
    pair.end()
    ended = pair.receiver.ended(series).series
    assert ended is not None
    assert before < ended.started <= ended.ended <= time.time()
    assert ended.lost == [(3, 8, "not_triggered")]


def test_a_long_poll_returns_when_something_changes(pair: Pair) -> None:
    before = pair.client.status()
    answers = []
    asking = threading.Thread(
        target=lambda: answers.append(pair.client.status(seen=before.version, wait=DEADLINE))
    )
    asking.start()
    began = time.monotonic()
    pair.running()
    asking.join(DEADLINE)
    assert time.monotonic() - began < DEADLINE / 2
    assert answers[0].version != before.version
    pair.end()


def test_a_long_poll_returns_the_same_when_nothing_changes(pair: Pair) -> None:
    pair.client.reset()
    due = time.monotonic() + DEADLINE
    before = pair.client.status()
    while pair.client.status(seen=before.version, wait=0.8).version != before.version:
        assert time.monotonic() < due, "a quiet receiver has nothing new to say"
        before = pair.client.status()


def test_a_long_poll_for_an_old_version_returns_at_once(pair: Pair) -> None:
    began = time.monotonic()
    pair.client.status(seen=-1, wait=DEADLINE)
    assert time.monotonic() - began < DEADLINE / 2


def test_a_running_series_is_told_with_its_counts(pair: Pair) -> None:
    series = pair.running(3)
    status = pair.client.status()
    assert (status.state, status.series.id, status.series.active) == ("running", series, True)
    assert (status.counts.planned, status.counts.delivered, status.counts.pending) == (9, 3, 6)
    assert status.latest_frame == 2
    assert json.loads(pair.ask("GET", "/received_frames").data) == {"value": 3}
    pair.end()
    status = pair.client.status()
    assert (status.state, status.series.active, status.counts.not_triggered) == ("idle", False, 6)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/status?seen=soon", None),
        ("GET", "/status?seen=1&wait=-1", None),
        ("GET", "/status?seen=1&wait=1e9", None),
        ("POST", "/downsample?value=0", None),
        ("POST", "/downsample?value=many", None),
        ("POST", "/downsample", None),
        ("GET", "/last_frame?seen=x", None),
        ("GET", "/last_frame?format=pickle", None),
        ("POST", "/series/check", b"{"),
        ("POST", "/series/check", b"[]"),
        ("POST", "/series/check", b'{"filename": 7}'),
        ("POST", "/series/check", b'{"frames": 7}'),
        ("POST", "/series/check", b'{"filename": "", "frames": -1}'),
        ("POST", "/series/check", b'{"filename": "", "frame_bytes": -5}'),
        ("POST", "/series/check", b'{"filename": "", "frames": 1' + b"0" * 400 + b"}"),
        ("POST", "/series/check", b'{"filename": "", "frames": "7"}'),
        ("POST", "/series/check", b'{"filename": "", "frames": true}'),
        ("POST", "/series/check", b'{"filename": "", "frames": 7.5}'),
        ("POST", "/series/check", b'{"filename": "", "overwrite": 1}'),
        ("POST", "/series/check", b'{"filename": "", "overwrite": "yes"}'),
        ("POST", "/series/check", b'{"filename": "", "overwrite": "on"}'),
        ("POST", "/series/check", b'{"filename": "\xff"}'),
        ("POST", "/stop", b'{"reason": ["a"]}'),
        ("PUT", "/expected/0123456789abcdef", b"{}"),
        ("PUT", "/expected/0123456789abcdef", b'{"filename": "", "seconds": -1}'),
        ("PUT", "/expected/0123456789abcdef", b'{"filename": "", "frames_per_trigger": 0}'),
        ("PUT", "/expected/0123456789abcdef", b'{"filename": "", "overwite": true}'),
        ("PUT", "/expected/short", b'{"filename": ""}'),
        ("DELETE", "/expected/short", None),
    ],
)
def test_a_bad_request_is_answered_with_a_kind_and_a_sentence(
    method: str, path: str, body: bytes | None, pair: Pair
) -> None:
    answer = pair.ask(method, path, body)
    assert answer.status == 422
    refusal = json.loads(answer.data)
    assert refusal["kind"] == "bad_request"
    assert len(refusal["message"]) > 10


def test_a_bad_request_is_told_the_value_that_is_wrong(pair: Pair) -> None:
    answer = pair.ask("POST", "/series/check", b'{"filename": "", "overwrite": "yes"}')
    assert json.loads(answer.data)["message"].startswith("body.overwrite is 'yes': ")


def test_a_whole_number_of_frames_may_be_written_with_a_point(pair: Pair) -> None:
    assert pair.ask("POST", "/series/check", b'{"filename": "", "frames": 7.0}').status == 200


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/status", "GET"),
        ("PUT", "/downsample", "GET, POST"),
        ("GET", "/stop", "POST"),
        ("POST", "/frame/7", "GET"),
        ("POST", "/", "GET"),
    ],
)
def test_who_takes_the_wrong_method_is_told_the_right_ones(
    method: str, path: str, allowed: str, pair: Pair
) -> None:
    answer = pair.ask(method, path)
    assert (answer.status, answer.headers["Allow"]) == (405, allowed)


# -- check -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/nothing", 404, "no_such_path"),
        ("DELETE", "/status", 405, "no_such_method"),
        ("POST", "/series/check", 413, "too_large"),
    ],
)
def test_what_the_web_framework_refuses_has_a_kind_and_a_sentence_too(
    method: str, path: str, status: int, kind: str, pair: Pair
) -> None:
    answer = pair.ask(method, path, b" " * 2_000_000 if status == 413 else None)
    assert answer.status == status
    refusal = msgspec.json.decode(answer.data)
    assert refusal["kind"] == kind
    assert path in refusal["message"]


def test_a_reason_of_any_length_ends_the_series_and_nothing_else(pair: Pair) -> None:
    series = pair.running()
    answer = pair.ask("POST", "/stop", json.dumps({"reason": "\0é" * 50_000}).encode())
    assert answer.status == 200
    ended = pair.receiver.ended(series)
    assert ended.state == "idle"
    assert ended.series is not None
    assert "é" in ended.series.reason
    pair.streamer.end()


def test_half_a_character_in_a_reason_is_escaped_and_the_series_ended(pair: Pair) -> None:
    series = pair.running()
    answer = pair.ask("POST", "/stop", b'{"reason": "a\\udc80\\nb"}')
    assert answer.status == 200
    ended = pair.receiver.ended(series)
    assert ended.series is not None
    assert "a\\udc80\\nb" in ended.series.reason
    pair.streamer.end()


@pytest.mark.parametrize("key", ["filename", pytest.param("endpoint", marks=pytest.mark.slow)])
def test_half_a_character_in_a_question_is_refused_with_a_sentence(key: str, tmp_path: Path) -> None:
    receiver = ReceiverProcess(tmp_path, "tcp://127.0.0.1:1")
    try:
        body = json.dumps({"filename": "", key: "/\udc80"}).encode()
        answer = urllib3.request(
            "POST", f"{receiver.client.url}/series/check", body=body, timeout=DEADLINE,
            headers={"Content-Type": "application/json"},
        )  # fmt: skip
        assert answer.status in (409, 422)
        assert "udc80" in json.loads(answer.data)["message"]
    finally:
        receiver.close()


def test_a_series_of_any_name_is_shown(pair: Pair) -> None:
    pair.streamer.start("", frames=1, series="走査 →")
    pair.streamer.frame(0)
    pair.streamer.end()
    pair.receiver.ended("走査 →")
    shown = pair.client.last_frame()
    assert shown is not None
    assert shown.series == "走査 →"


def test_a_series_that_could_be_taken_is_told_its_file_and_the_space(pair: Pair) -> None:
    answer = pair.client.check(
        SeriesCheck(filename=f"{pair.receiver.root}/new/x.h5", frames=3, frame_bytes=48)
    )
    assert answer.filename == f"{pair.receiver.root}/new/x.h5"
    assert answer.free_bytes > 0
    assert answer.connections == 1
    assert answer.creates == f"{pair.receiver.root}/new"
    assert not (pair.receiver.root / "new").exists(), "a check creates nothing"


def test_the_outermost_folder_that_would_be_created_is_told(pair: Pair) -> None:
    (pair.receiver.root / "visitors").mkdir()
    for name, creates in (
        ("visitors/x.h5", ""), ("x.h5", ""),
        ("visitors/2025/raw/x.h5", "visitors/2025"), ("visitor/2025/x.h5", "visitor"),
    ):  # fmt: skip
        answer = pair.client.check(SeriesCheck(filename=f"{pair.receiver.root}/{name}"))
        assert answer.creates == (f"{pair.receiver.root}/{creates}" if creates else "")


def test_a_live_series_needs_no_file(pair: Pair) -> None:
    assert pair.client.check(SeriesCheck(filename="")).filename is None


def refused(pair: Pair, **keys: Any) -> ReceiverRefused:
    with pytest.raises(ReceiverRefused) as caught:
        pair.client.check(SeriesCheck(**keys))
    assert len(str(caught.value)) > 30, "a sentence"
    return caught.value


@pytest.mark.parametrize("bad", hostile.NAMES, ids=lambda item: item.name)
def test_a_hostile_name_is_refused_before_the_series(bad: hostile.BadName, pair: Pair) -> None:
    assert refused(pair, filename=bad.make(pair.receiver.root)).kind == bad.kind
    assert pair.client.status().state == "idle"


def test_an_existing_file_is_refused_before_the_series(pair: Pair) -> None:
    path = pair.receiver.root / "exists.h5"
    path.write_bytes(b"precious")
    assert refused(pair, filename=str(path)).kind == "file_exists"
    pair.client.check(SeriesCheck(filename=str(path), overwrite=True))
    assert path.read_bytes() == b"precious"


def test_a_series_that_does_not_fit_on_the_disk_is_refused_before_it(pair: Pair) -> None:
    name = f"{pair.receiver.root}/huge.h5"
    assert refused(pair, filename=name, frames=2**31, frame_bytes=2**31).kind == "disk_full"


def test_a_busy_receiver_refuses_and_says_with_what(pair: Pair) -> None:
    pair.running()
    error = refused(pair, filename="")
    assert error.kind == "busy"
    assert "stop it" in str(error)
    with pytest.raises(ReceiverRefused) as caught:
        pair.client.reset()
    assert caught.value.kind == "busy"
    pair.end()


def test_a_receiver_in_error_refuses_with_its_cause_and_the_remedy(pair: Pair) -> None:
    pair.streamer.series_of("/outside.h5", 1)
    pair.receiver.wait(lambda status: status.state == "error")
    error = refused(pair, filename="")
    assert error.kind == "in_error"
    assert "outside the data root" in str(error)
    assert "reset it first" in str(error)
    pair.client.reset()
    pair.client.check(SeriesCheck(filename=""))


def test_a_receiver_that_is_connected_to_nobody_refuses_with_both_addresses(tmp_path: Path) -> None:
    receiver = ReceiverProcess(tmp_path, "tcp://127.0.0.1:1")
    try:
        with pytest.raises(ReceiverRefused, match=r"tcp://127\.0\.0\.1:1.*tcp://elsewhere:9999") as caught:
            receiver.client.check(SeriesCheck(filename="", endpoint="tcp://elsewhere:9999"))
        assert caught.value.kind == "not_connected"
        receiver.client.check(SeriesCheck(filename=""))
    finally:
        receiver.close()


# -- commands --------------------------------------------------------------------------------------


def test_stop_ends_the_series_and_its_file_is_closed_when_it_returns(pair: Pair) -> None:
    path = pair.receiver.root / "stopped.h5"
    pair.running(2, str(path))
    pair.client.stop("beam dump\0")
    status = pair.client.status()
    assert (status.state, status.series.active) == ("idle", False)
    assert "beam dump" in status.series.reason
    pair.streamer.end()
    pair.client.stop("nothing runs")
    assert pair.client.status().state == "idle"


def test_what_a_stopped_streamer_still_sends_is_drained_and_does_not_reach_the_next_series(
    pair: Pair,
) -> None:
    pair.running(2)
    pair.client.stop("stop requested")
    drained = pair.client.status().drained
    for number in range(2, 5):
        pair.streamer.frame(number)
    pair.streamer.end()
    pair.receiver.wait(lambda status: status.drained == drained + 4)
    status = pair.receiver.ended(pair.streamer.series_of("", 2))
    assert (status.series.complete, status.counts.stale) == (True, 0)


def test_reset_of_a_sound_receiver_changes_nothing(pair: Pair) -> None:
    pair.client.reset()
    assert pair.client.status().state == "idle"


def test_down_sampling_is_set_for_everybody(pair: Pair) -> None:
    assert json.loads(pair.ask("GET", "/downsample").data) == {"value": 1}
    assert json.loads(pair.ask("POST", "/downsample?value=3").data) == {"value": 3}
    assert pair.client.downsample() == 3
    assert pair.client.set_downsample(1) == 1


# -- the newest frame ------------------------------------------------------------------------------


def test_before_the_first_frame_there_is_none(tmp_path: Path) -> None:
    receiver = ReceiverProcess(tmp_path, "tcp://127.0.0.1:1")
    try:
        answer = urllib3.request("GET", f"{receiver.client.url}/last_frame", timeout=DEADLINE, retries=False)
        assert (answer.status, json.loads(answer.data)["kind"]) == (404, "no_frame")
        assert receiver.client.last_frame() is None
    finally:
        receiver.close()


def test_the_newest_frame_is_raw_pixels_with_what_is_known_of_them(pair: Pair) -> None:
    series = pair.running(3)
    due = time.monotonic() + DEADLINE
    found = None
    while found is None or (found.series, found.frame) != (series, 2):
        assert time.monotonic() < due
        found = pair.client.last_frame()
    np.testing.assert_array_equal(found.array, pixels(2))
    assert pair.client.last_frame(seen=found.version) is None
    assert pair.ask("GET", f"/last_frame?seen={found.version}").status == 304
    pair.client.set_downsample(2)
    smaller = pair.client.last_frame()
    pair.client.set_downsample(1)
    assert smaller is not None
    np.testing.assert_array_equal(smaller.array, pixels(2)[::2, ::2])
    assert smaller.downsample == 2
    answer = pair.ask("GET", "/last_frame?format=npy")
    np.testing.assert_array_equal(np.load(io.BytesIO(answer.data), allow_pickle=False), pixels(2))
    assert json.loads(answer.headers["X-Penstock-Frame"])["shape"] == [4, 6]
    pair.end()


# -- for machines ----------------------------------------------------------------------------------


def test_the_configuration_in_use_is_told(pair: Pair) -> None:
    found = json.loads(pair.ask("GET", "/config").data)
    assert found["sim-1"]["data_root"] == str(pair.receiver.root)
    assert found["sim-1"]["source"]["endpoints"] == [pair.streamer.endpoint]


def health(url: str, path: str = "/health") -> tuple[int, dict[str, Any]]:
    """Status and body of an answer for a supervisor."""
    answer = urllib3.request("GET", url + path, timeout=DEADLINE)
    return answer.status, json.loads(answer.data)


def test_health_is_good_while_the_data_process_answers(pair: Pair) -> None:
    good = 200, {"alive": True, "ready": True, "message": ""}
    assert health(pair.client.url) == health(pair.client.url, "/health/ready") == good


def test_in_error_a_receiver_is_alive_but_not_ready_and_says_why(pair: Pair) -> None:
    series = pair.streamer.start("/elsewhere/a.h5", frames=1)
    pair.receiver.wait(lambda status: status.state == "error")
    status, found = health(pair.client.url, "/health/ready")
    assert (status, found["alive"], found["ready"]) == (503, True, False)
    assert "/elsewhere" in found["message"]
    assert health(pair.client.url)[0] == 200, "a restart cures no Error"
    pair.streamer.end()
    pair.client.reset()
    assert health(pair.client.url, "/health/ready")[0] == 200
    assert series


def test_health_is_bad_when_the_data_process_is_dead_and_good_after_reset(tmp_path: Path) -> None:
    receiver = ReceiverProcess(tmp_path, "tcp://127.0.0.1:1", resume=False)
    try:
        os.kill(receiver.data_process(), 9)
        receiver.wait(lambda status: status.state == "error")
        status, found = health(receiver.client.url)
        assert (status, found["alive"], found["ready"]) == (503, False, False)
        assert "SIGKILL" in found["message"]
        scraped = urllib3.request("GET", f"{receiver.client.url}/metrics", timeout=DEADLINE).data.decode()
        assert 'penstock_receiver_healthy{receiver="sim-1"} 0.0' in scraped
        with pytest.raises(ReceiverRefused) as caught:
            receiver.client.stop("stop requested")
        assert caught.value.kind == "in_error"
        receiver.client.reset()
        assert health(receiver.client.url)[0] == 200
    finally:
        receiver.close()


def test_a_data_process_that_hangs_is_told_as_error_and_recovers_by_itself(tmp_path: Path) -> None:
    receiver = ReceiverProcess(tmp_path, "tcp://127.0.0.1:1")
    try:
        child = receiver.data_process()
        os.kill(child, signal.SIGSTOP)
        due = time.monotonic() + DEADLINE
        status = receiver.client.status()
        while status.state != "error":
            assert time.monotonic() < due
            status = receiver.client.status(seen=status.version, wait=0.5)
        assert "has not answered for" in status.error
        dead, found = health(receiver.client.url)
        assert (dead, "has not answered for" in found["message"]) == (503, True)
        os.kill(child, signal.SIGCONT)
        while receiver.client.status(seen=status.version, wait=0.5).state != "idle":
            assert time.monotonic() < due
    finally:
        receiver.close()


def test_a_data_process_that_hangs_in_a_series_stalls_it_visibly_and_nothing_is_lost(tmp_path: Path) -> None:
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path, streamer.endpoint)
    try:
        receiver.connected()
        file = receiver.root / "a.h5"
        series = streamer.start(str(file), frames=40, trigger_mode="SOFTWARE")
        streamer.frame(0)
        receiver.received(1)
        child = receiver.data_process()
        os.kill(child, signal.SIGSTOP)
        for number in range(1, 40):
            streamer.frame(number)
        streamer.end(reason="complete", triggered=40, sent=40)
        status = receiver.wait(lambda status: status.stalled > 0)
        assert status.state == "running"
        assert status.series is not None
        assert "has not answered for" in status.series.reason
        assert health(receiver.client.url)[0] == 200, (
            "it may: nothing is lost by that, a restart loses frames"
        )
        late, found = health(receiver.client.url, "/health/ready")
        assert (late, "has not answered for" in found["message"]) == (503, True)
        os.kill(child, signal.SIGCONT)
        ended = receiver.ended(series)
        assert (ended.counts.stored, ended.stalled) == (40, 0.0)
    finally:
        receiver.close()
        streamer.close()


def test_an_address_that_is_taken_is_a_sentence(
    pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from penstock.cli.main import main

    config = tmp_path / "x.yaml"
    entry = f"source: {{endpoints: ['tcp://127.0.0.1:1']}}, data_root: {tmp_path}"
    config.write_text(f"receivers: {{sim-1: {{{entry}}}}}")
    taken = pair.client.url.removeprefix("http://")
    assert main(["receiver", "sim-1", "--config", str(config), "--http", taken]) == 2
    assert f"cannot listen on {taken}" in capsys.readouterr().err
    assert main(["receiver", "sim-1", "--config", str(config), "--http", "no-such-host.invalid:5000"]) == 2
    assert "no host of this name is known; give an address of this machine" in capsys.readouterr().err
