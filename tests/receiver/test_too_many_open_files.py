"""A process that may open no more files says so, and goes on."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable

import pytest
import urllib3

from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import Status
from tests.receiver.conftest import Shared
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer

PLENTY = 1024
ANNOUNCED = {"frames": 6, "shape": (4, 6), "type": "uint16", "compression": "none"}
"""With it every file of the start is opened before the series runs."""


def leave(pid: int, more: int | None) -> None:
    """Let a process open so many more files; `None` for plenty."""
    limit = PLENTY if more is None else len(os.listdir(f"/proc/{pid}/fd")) + more
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, PLENTY))


def over(series: str) -> Callable[[Status], bool]:
    return lambda status: (
        status.state == "error"
        or (status.series is not None and status.series.id == series and not status.series.active)
    )


@pytest.mark.parametrize(
    ("keys", "announced"),
    [
        ({}, True),
        pytest.param({"frames_per_file": 2}, True, marks=pytest.mark.slow),
        pytest.param({"frames_per_file": 2}, False, marks=pytest.mark.slow),
    ],
    ids=["one file", "segments", "segments in mid-series"],
)
def test_the_data_process_says_so_whichever_file_it_is_and_goes_on(
    keys: dict[str, object], announced: bool, start_receiver: Callable[..., ReceiverProcess],
    streamer: Streamer,
) -> None:  # fmt: skip
    receiver = start_receiver(**keys)
    receiver.connected()
    pid, states = receiver.data_process(), []
    while not states or states[-1] == "error":
        assert len(states) < 20, "it needs no more than a few"
        leave(pid, len(states))
        series = streamer.start(
            str(receiver.root / f"{len(states)}.h5"), **(ANNOUNCED if announced else {"frames": 6})
        )
        for number in range(6):
            streamer.frame(number)
        streamer.end(triggered=6, sent=6)
        status = receiver.wait(over(series))
        leave(pid, None)
        states.append(status.state)
        if status.state == "error":
            assert "Too many open files" in status.error
            assert "This process may not open more files: raise its limit" in status.error
            assert "then reset the receiver" in status.error
            receiver.client.reset()
        else:
            assert (status.counts.stored, status.series.complete) == (6, True)
        sound = receiver.ended(streamer.series_of(str(receiver.root / f"ok{len(states)}.h5"), 2))
        assert (sound.state, sound.counts.stored) == ("idle", 2)
        assert receiver.data_process() == pid
    assert len(states) > 3, "several files were opened"


@pytest.mark.slow
def test_the_http_process_answers_with_a_sentence_and_new_connections_wait(shared: Shared) -> None:
    receiver, streamer = shared
    receiver.ended(streamer.series_of(str(receiver.root / "x.h5"), 2))
    pid, url = receiver.process.pid, receiver.client.url
    logged = len(receiver.log.read_text())
    with urllib3.PoolManager(timeout=DEADLINE, retries=False) as known, urllib3.PoolManager() as late:
        assert known.request("GET", f"{url}/health").status == 200
        leave(pid, 0)
        try:
            answer = known.request("GET", f"{url}/")
            assert (answer.status, answer.json()["kind"]) == (503, "too_many_files")
            assert "raise its limit" in answer.json()["message"] and answer.headers["Retry-After"] == "5"
            with pytest.raises(urllib3.exceptions.TimeoutError):
                late.request("GET", f"{url}/health", timeout=1.0, retries=False)
            assert known.request("GET", f"{url}/health").status == 200, "it answers all the while"
        finally:
            leave(pid, None)
        assert late.request("GET", f"{url}/health", timeout=DEADLINE).status == 200
    said = receiver.log.read_text()[logged:]
    assert said.count("new connections wait: Too many open files") == 1
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_data_process_that_cannot_be_started_again_is_an_error_until_reset(
    start_receiver: Callable[..., ReceiverProcess],
) -> None:
    receiver = start_receiver()
    receiver.client.status()
    leave(receiver.process.pid, 0)
    os.kill(receiver.data_process(), signal.SIGKILL)
    # Over the connection that the client holds: a new one would wait.
    status = receiver.wait(lambda status: status.state == "error")
    assert "could not be started: Too many open files. This process may not open more" in status.error
    with pytest.raises(ReceiverRefused, match="Too many open files"):
        receiver.client.reset()
    leave(receiver.process.pid, None)
    receiver.client.reset()
    assert receiver.client.status().state == "idle"
