"""What a running receiver is told over HTTP: checks of a series, commands, and requests that it refuses."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import urllib3

from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import SeriesCheck
from tests import hostile
from tests.receiver.disks import more_than_free
from tests.receiver.http.shared_pair import Pair
from tests.receiver.processes import DEADLINE, ReceiverProcess

# -- status ----------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("key", ["filename", "endpoint"])
def test_half_a_character_in_a_question_is_refused_with_a_sentence(key: str, alone: ReceiverProcess) -> None:
    body = json.dumps({"filename": "", key: "/\udc80"}).encode()
    answer = urllib3.request(
        "POST", f"{alone.client.url}/series/check", body=body, timeout=DEADLINE,
        headers={"Content-Type": "application/json"},
    )  # fmt: skip
    assert answer.status in (409, 422)
    assert "udc80" in json.loads(answer.data)["message"]


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
    pair.streamer.start(f"{pair.receiver.root}/a.h5", **more_than_free(pair.receiver.root))
    pair.streamer.end()
    pair.receiver.wait(lambda status: status.state == "error")
    error = refused(pair, filename="")
    assert error.kind == "in_error"
    assert "free some space" in str(error)
    assert "reset it first" in str(error)
    pair.client.reset()
    pair.client.check(SeriesCheck(filename=""))


def test_a_receiver_that_is_connected_to_nobody_refuses_with_both_addresses(alone: ReceiverProcess) -> None:
    with pytest.raises(ReceiverRefused, match=r"tcp://127\.0\.0\.1:1.*tcp://elsewhere:9999") as caught:
        alone.client.check(SeriesCheck(filename="", endpoint="tcp://elsewhere:9999"))
    assert caught.value.kind == "not_connected"
    alone.client.check(SeriesCheck(filename=""))


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
