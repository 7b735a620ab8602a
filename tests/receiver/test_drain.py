"""A receiver that is drained ends its series, takes no other one, and loses nothing of the next."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import SeriesCheck
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.receiver.test_deaths import stream, wait_until
from tests.streams import Streamer

Start = Callable[..., ReceiverProcess]


def test_the_running_series_ends_whole_and_the_next_one_waits_at_the_streamer(
    start_receiver: Start, streamer: Streamer, capsys: pytest.CaptureFixture[str]
) -> None:
    first = start_receiver()
    first.connected()
    series = stream(streamer, first.root / "x.h5", 20, planned=40)
    first.received(20)
    url = first.client.url
    assert main(["drain", url, "--timeout", "0.2"]) == 1
    said = capsys.readouterr()
    assert f"sim-1 takes no new series; waiting for {first.root}/x.h5 (frame 20 of 40)" in said.err
    assert f"after 0.2 s sim-1 still takes {first.root}/x.h5 (frame 20 of 40); it takes no other" in said.err
    with pytest.raises(ReceiverRefused, match="takes no new series, since it is about") as found:
        first.client.check(SeriesCheck(filename=str(first.root / "y.h5"), frames=1))
    assert found.value.kind == "ending"
    waits = subprocess.Popen(["penstock", "drain", url], stdout=subprocess.PIPE, text=True)
    for number in range(20, 40):
        streamer.frame(number)
    streamer.end(reason="complete", triggered=40, sent=40)
    assert first.ended(series).counts.stored == 40
    assert waits.communicate(timeout=DEADLINE)[0] == "sim-1 is drained: no series runs, and none is taken\n"
    assert waits.returncode == 0
    status = first.wait(lambda status: status.connections[0].connections == 0)
    assert (status.state, status.ending) == ("idle", "drained")
    assert main(["status", url]) == 0
    assert "it takes no new series (penstock drain)" in capsys.readouterr().out
    assert first.stop() == 0
    second = start_receiver()
    series = streamer.series_of(str(second.root / "y.h5"), 30)
    assert second.ended(series).counts.stored == 30


@pytest.mark.slow
def test_one_that_is_let_go_on_takes_what_has_waited(
    receiver: ReceiverProcess, streamer: Streamer, capsys: pytest.CaptureFixture[str]
) -> None:
    url = receiver.client.url
    assert main(["drain", url]) == 0
    receiver.wait(lambda status: status.connections[0].connections == 0)
    assert main(["drain", url, "--off"]) == 0
    assert capsys.readouterr().out.endswith("sim-1 takes series again\n")
    for name in "ab":
        series = streamer.series_of(str(receiver.root / f"{name}.h5"), 30)
        assert receiver.ended(series).counts.stored == 30
    assert receiver.client.status().ending == ""


@pytest.mark.slow
def test_it_stays_drained_when_its_data_process_dies(receiver: ReceiverProcess, streamer: Streamer) -> None:
    receiver.connected()
    receiver.client.drain()
    receiver.wait(lambda status: status.ending == "drained")
    first = receiver.data_process()
    os.kill(first, signal.SIGKILL)
    children = Path(f"/proc/{receiver.process.pid}/task/{receiver.process.pid}/children")
    wait_until(lambda: children.read_text().split() not in ([], [str(first)]))
    status = receiver.wait(lambda status: len(status.connections) == 1)
    assert (status.state, status.ending, status.connections[0].connections) == ("idle", "drained", 0)
    receiver.client.drain(False)
    receiver.connected()
    series = streamer.series_of(str(receiver.root / "x.h5"), 3)
    assert receiver.ended(series).counts.stored == 3
    assert receiver.log.read_text().count("connected to") == 2


@pytest.mark.slow
def test_one_that_dies_while_it_is_drained_resumes_its_series_and_takes_no_other(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    receiver.connected()
    series = stream(streamer, receiver.root / "x.h5", 20, planned=40)
    receiver.flushed(20)
    receiver.client.drain()
    os.kill(receiver.data_process(), signal.SIGKILL)
    receiver.wait(lambda status: status.series is not None and status.series.restarts == 1)
    receiver.connected()
    for number in range(20, 40):
        streamer.frame(number)
    streamer.end(reason="complete", triggered=40, sent=40)
    assert receiver.ended(series).counts.stored == 40
    status = receiver.wait(lambda status: status.ending == "drained")
    assert status.connections[0].connections == 0


@pytest.mark.slow
def test_a_series_that_is_stopped_is_waited_for_no_more(start_receiver: Start, streamer: Streamer) -> None:
    receiver = start_receiver()
    receiver.connected()
    series = stream(streamer, receiver.root / "x.h5", 1, planned=2)
    receiver.received(1)
    receiver.client.drain()
    status = receiver.client.status(seen=-1, wait=0.5)
    assert (status.state, status.ending) == ("running", "draining")
    receiver.client.stop("enough")
    receiver.ended(series)
    receiver.wait(lambda status: status.ending == "drained")
