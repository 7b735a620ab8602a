"""`penstock status`: a running receiver, asked as its user would."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from penstock.cli.main import main
from penstock.cli.status import describe
from penstock.receiver.models import Connection, Series, Status
from penstock.stins.series import SeriesState
from tests.receiver.disks import more_than_free
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer


@pytest.fixture
def streamer() -> Iterator[Streamer]:
    running = Streamer()
    yield running
    running.close()


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReceiverProcess]:
    """One that takes no series: there is no streamer."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        endpoint = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
    running = ReceiverProcess(tmp_path_factory.mktemp("untouched"), endpoint)
    yield running
    running.close()


class Pair(NamedTuple):
    receiver: ReceiverProcess
    streamer: Streamer


@pytest.fixture(scope="module")
def _used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path_factory.mktemp("used"), streamer.endpoint)
    yield Pair(receiver, streamer)
    receiver.close()
    streamer.close()


@pytest.fixture
def used(_used: Pair) -> Pair:
    """One that may have taken other series; it is idle."""
    receiver, streamer = _used
    if streamer.encoder.state is SeriesState.OPEN:
        streamer.end()
        receiver.ended(streamer.series)
    receiver.client.reset()
    return _used


def begin(used: Pair, filename: str, frames: int) -> None:
    """Begin a series: from now on it is the one that `--wait` waits for."""
    receiver, streamer = used
    receiver.connected()
    series = streamer.start(filename, frames=frames)
    receiver.wait(lambda status: status.series is not None and status.series.id == series)


def status(receiver: ReceiverProcess, *options: str) -> int:
    return main(["status", receiver.client.url, *options])


def test_receiver_without_a_streamer_says_where_it_looks_for_one(
    untouched: ReceiverProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    (connection,) = untouched.client.status().connections
    endpoint = connection.endpoint
    assert status(untouched) == 0
    said = capsys.readouterr().out
    assert "sim-1: idle" in said
    assert f"NOT connected to {endpoint}" in said
    assert "no series yet" in said


def test_a_host_that_does_not_answer_is_said() -> None:
    connection = Connection(endpoint="tcp://camera:9999", connections=1, silent_seconds=9)
    said = list(describe(Status(state="idle", connections=[connection])))
    assert (
        "  connected to tcp://camera:9999, whose host has not answered for 9 s: is the network interrupted?"
        in said
    )


@pytest.mark.parametrize(
    ("series", "keys", "says"),
    [
        (None, {}, "NOT connected to tcp://x:1: is that the streamer's address, and is it running?"),
        ({"complete": True}, {}, "not connected to tcp://x:1: the streamer has left after the last series"),
        ({"complete": None, "active": True}, {}, "NOT connected"),
        ({"complete": False, "filename": "/data/a.h5"}, {}, "NOT connected"),
        ({"complete": False, "taken": False}, {}, "NOT connected"),
        ({"complete": True}, {"refused": "its type is unknown"}, "NOT connected"),
        ({"complete": True}, {"state": "error", "error": "the disk is full"}, "NOT connected"),
    ],
)
def test_a_streamer_that_is_away_is_asked_for_unless_its_last_series_was_good(
    series: dict[str, Any] | None, keys: dict[str, Any], says: str
) -> None:
    last = None if series is None else Series(**({"id": "a", "filename": None, "active": False} | series))
    connections = [Connection(endpoint="tcp://x:1", connections=0)]
    made = Status(**({"state": "idle", "connections": connections, "series": last} | keys))
    (line,) = (line for line in describe(made) if "connected to" in line)
    assert line.startswith(f"  {says}")


def test_complete_series_is_said_with_counts_and_file(used: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    receiver, streamer = used
    before = receiver.client.status().errors
    path = receiver.root / "complete.h5"
    begin(used, str(path), 5)
    for number in range(5):
        streamer.frame(number)
    streamer.end(reason="complete", triggered=5, sent=5)
    assert status(receiver, "--wait") == 0
    said = capsys.readouterr().out
    assert f"  connected to {streamer.endpoint}" in said
    assert f"  {path}, complete: all 5 frames are there\n" in said
    assert "5 planned, 5 received, 5 stored\n" in said
    assert ("errors" in said) == bool(before) and receiver.client.status().errors == before
    assert said.splitlines()[-1].startswith("    series "), "the id says least, so it comes last"


def test_series_that_is_not_complete_ends_with_1(used: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    receiver, streamer = used
    begin(used, "", 3)
    streamer.frame(0)
    streamer.send([b"rubbish"])
    streamer.end(reason="complete", triggered=3, sent=3)
    assert status(receiver, "--wait") == 1
    said = capsys.readouterr().out
    assert "NOT complete: 1 of 3 frames: 2 missing" in said
    assert "  no file (live view and consumers only), NOT complete: 1 of 3 frames" in said
    assert "errors since it was started: 1 not_json" in said


def test_a_live_view_that_was_stopped_lacks_nothing(used: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    receiver, streamer = used
    streamer.start("", frames=1_000_000)
    streamer.frame(0)
    streamer.end(reason="stop", triggered=1, sent=1)
    receiver.ended(streamer.series)
    assert status(receiver, "--wait") == 0
    assert "only), ended: " in capsys.readouterr().out


def test_receiver_in_error_says_why_and_what_to_do(used: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    receiver, streamer = used
    streamer.start(str(receiver.root / "b.h5"), **more_than_free(receiver.root))
    streamer.end()
    receiver.wait(lambda status: bool(status.error))
    assert status(receiver, "--wait") == 1
    said = capsys.readouterr().out
    assert "sim-1: error" in said
    assert said.count("free some space") == 1, "the cause is said once"
    assert "  the last series was NOT taken\n" in said
    assert "live view" not in said
    assert f"penstock reset {receiver.client.url}\n" in said


def test_a_series_that_is_not_taken_ends_the_wait_with_its_sentence(
    tmp_path: Path, streamer: Streamer, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, memory_mb=300)
    try:
        streamer.start("", frames=1, frame_bytes=3_000_000)
        assert status(receiver, "--wait", "--timeout", "20") == 1
        said = capsys.readouterr().out
        assert "sim-1: idle" in said
        assert "the last series was NOT taken: a live series: frames of " in said
        assert "its memory_mb allows 300" in said
        streamer.end()
        receiver.ended(streamer.series_of("", 1))
        assert status(receiver) == 0
        assert "NOT taken" not in capsys.readouterr().out
    finally:
        receiver.close()


def test_a_wait_says_for_what_and_ends_at_its_timeout(
    untouched: ReceiverProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(untouched, "--wait", "--timeout", "0.1") == 1
    said = capsys.readouterr()
    assert "no series yet; waiting for the first\n" in said.err
    assert "no series has ended within 0.1 s\n" in said.err
    assert "sim-1: idle" in said.out


def test_series_that_waits_for_a_module_says_for_which(
    tmp_path: Path, streamer: Streamer, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Streamer()
    endpoints = [streamer.endpoint, other.endpoint]
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, {"join": "modules", "endpoints": endpoints})
    try:
        receiver.connected()
        streamer.start("", frames=3)
        receiver.wait(lambda status: bool(status.waits_for))
        assert status(receiver) == 0
    finally:
        receiver.close()
        other.close()
    assert f"waits for {other.endpoint}" in capsys.readouterr().out


def test_json_is_the_whole_status(untouched: ReceiverProcess, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(untouched, "--json") == 0
    assert json.loads(capsys.readouterr().out)["counts"]["received"] == 0


def test_nobody_there_ends_with_2_and_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    assert main(["status", f"http://127.0.0.1:{port}"]) == 2
    assert "nobody listens there" in capsys.readouterr().err


def test_a_host_that_nobody_knows_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "http://no-such-host.invalid:5000"]) == 2
    assert "no host of this name is known" in capsys.readouterr().err


def test_stop_ends_the_series_with_the_reason(used: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    receiver, streamer = used
    path = receiver.root / "a.h5"
    streamer.start(str(path), frames=3)
    streamer.frame(0)
    receiver.received(1)
    assert main(["stop", receiver.client.url, "--reason", "enough seen"]) == 0
    said = capsys.readouterr().out
    assert "enough seen" in said
    assert str(path) in said
    assert main(["stop", receiver.client.url]) == 2
    assert "no series is running there" in capsys.readouterr().err


def test_reset_leaves_error(used: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    receiver, streamer = used
    streamer.start(str(receiver.root / "b.h5"), **more_than_free(receiver.root))
    streamer.end()
    receiver.wait(lambda status: bool(status.error))
    assert main(["reset", receiver.client.url]) == 0
    assert capsys.readouterr().out == "sim-1: idle\n"
