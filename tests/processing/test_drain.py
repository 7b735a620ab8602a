"""A pipeline that is drained ends its series and takes no other one, which the next pipeline takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.main import main
from tests.processing.test_process import running
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer


@pytest.mark.slow
def test_the_running_series_is_done_and_the_next_one_comes_from_its_file_once_it_goes_on(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path, receiver, workers=1) as made:
        made.wait(lambda status: [each.state for each in status.workers] == ["ready"])
        url = made.client.url
        first = sender.start(str(receiver.root / "first.h5"), frames=20)
        for number in range(10):
            sender.frame(number)
        made.wait(lambda status: status.series is not None and status.series.counts.done == 10)
        assert main(["drain", "--pipeline", url, "--timeout", "0.1"]) == 1
        said = capsys.readouterr().err
        assert f"takes no new series; waiting for {receiver.root}/first.h5 (10 of 20 frames done)" in said
        for number in range(10, 20):
            sender.frame(number)
        sender.end(reason="complete", triggered=20, sent=20)
        assert made.over(first).series.counts.done == 20
        assert main(["drain", "--pipeline", url]) == 0
        assert capsys.readouterr().out == "spots is drained: no series runs, and none is taken\n"
        second = sender.series_of(str(receiver.root / "second.h5"), 20)
        receiver.ended(second)
        status = made.client.status()
        assert (status.ending, status.series.id) == ("drained", first)
        assert main(["status", "--pipeline", url]) == 0
        assert "it takes no new series (penstock drain)" in capsys.readouterr().out
        assert main(["drain", "--pipeline", url, "--off"]) == 0
        ended = made.over(second).series
        assert (ended.counts.done, ended.from_file) == (20, 20)
