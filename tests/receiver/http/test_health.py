"""What machines ask a receiver over HTTP: its configuration, and whether it is alive and ready."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import urllib3

from penstock.receiver.client import ReceiverRefused
from tests.receiver.disks import more_than_free
from tests.receiver.http.shared_pair import Pair
from tests.receiver.processes import DEADLINE, ReceiverProcess


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
    root = pair.receiver.root
    series = pair.streamer.start(f"{root}/a.h5", **more_than_free(root))
    pair.receiver.wait(lambda status: status.state == "error")
    status, found = health(pair.client.url, "/health/ready")
    assert (status, found["alive"], found["ready"]) == (503, True, False)
    assert f"{root} has " in found["message"]
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


def test_a_data_process_that_hangs_is_told_as_error_and_recovers_by_itself(pair: Pair) -> None:
    receiver = pair.receiver
    child = receiver.data_process()
    os.kill(child, signal.SIGSTOP)
    try:
        status = receiver.wait(lambda status: status.state == "error")
        assert "has not answered for" in status.error
        dead, found = health(receiver.client.url)
        assert (dead, "has not answered for" in found["message"]) == (503, True)
    finally:
        os.kill(child, signal.SIGCONT)
    receiver.wait(lambda status: status.state == "idle")


def test_a_data_process_that_hangs_in_a_series_stalls_it_visibly_and_nothing_is_lost(pair: Pair) -> None:
    receiver, streamer = pair.receiver, pair.streamer
    series = pair.running(filename=str(receiver.root / "stalled.h5"), planned=40)
    child = receiver.data_process()
    os.kill(child, signal.SIGSTOP)
    try:
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
    finally:
        os.kill(child, signal.SIGCONT)
    ended = receiver.ended(series)
    assert (ended.counts.stored, ended.stalled) == (40, 0.0)


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
