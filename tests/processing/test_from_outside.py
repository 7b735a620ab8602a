"""A pipeline from outside: how a command names it, `penstock stop --pipeline`, Ctrl-C, the list of all."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from penstock.cli._status import fleet
from penstock.cli.main import main
from penstock.gui.model.fleet.pages import read_pipelines
from penstock.hosts.child import free_port
from penstock.processing.client import PipelineRefused
from penstock.processing.results.read import Results
from tests.processing.service.pipeline_process import DEADLINE
from tests.processing.test_process import ENTRY, SPOTS, Running, Start, receiver_and_streamer, running
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

__all__ = ["receiver_and_streamer"]
WHOLE = f"{SPOTS}\n    def finish(self, totals):\n        return {{'twice': 2.0 * totals['mean']}}\n"


def begun(made: Running, streamer: Streamer, path: Path, frames: int | None, sent: int) -> str:
    """Begin a series, and wait until so many frames are done."""
    made.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
    series = streamer.start(str(path), frames=frames)
    for number in range(sent):
        streamer.frame(number)
    made.wait(
        lambda status: (
            status.series is not None and status.series.id == series and status.series.counts.done == sent
        )
    )
    return series


@pytest.mark.slow
@pytest.mark.parametrize("by_value", [False, True], ids=["by reference", "by TCP"])
def test_a_series_that_is_stopped_has_its_results_so_far_and_the_next_one_is_processed(
    start_receiver: Start,
    streamer: Streamer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    by_value: bool,
) -> None:
    plain = {"name": "live", "endpoint": "tcp://127.0.0.1:0"}
    receiver = start_receiver(forward=[plain if by_value else ENTRY])
    receiver.connected()
    with running(tmp_path, receiver, source=WHOLE, consumer="live") as made:
        receiver.wait(lambda status: status.consumers[0].connected > 0)
        series = begun(made, streamer, receiver.root / "a.h5", 40, 10)
        assert main(["stop", "--pipeline", made.client.url, "--reason", "stopped by hand"]) == 0
        said = f"{receiver.root}/a.spots.h5: stopped by hand; 30 frames dropped\n"
        assert capsys.readouterr().out == said
        status = made.client.status()
        assert status.state == "idle" and status.series is not None and status.series.id == series
        assert (status.series.counts.done, status.series.counts.dropped) == (10, 30)
        results = Results(receiver.root / "a.spots.h5")
        account = results.account()
        assert account["state"] == "incomplete" and account["reason"] == "stopped by hand; 30 frames dropped"
        assert results.accumulated("mean")[1] == 10
        assert (results.whole("twice") == 2 * results.accumulated("mean")[0]).all(), "finish has run"

        assert main(["stop", "--pipeline", made.client.url]) == 2
        assert "no series is being processed there" in capsys.readouterr().err
        with pytest.raises(PipelineRefused, match=f"series {series} is not running; no series is"):
            made.client.stop("again", series)

        for number in range(10, 40):
            streamer.frame(number)
        streamer.end()
        assert receiver.ended(series).counts.stored == 40, "the receiver's series is as it was"
        receiver.wait(lambda status: status.consumers[0].waiting_bytes == 0)
        status = made.over(streamer.series_of(str(receiver.root / "b.h5"), 20))
        assert status.series is not None and status.series.counts.done == 20
        assert [(each.id, each.counts.done) for each in status.others] == [(series, 10)]
        assert status.totals == {"done": 30, "failed": 0, "lost": 0, "dropped": 30, "absent": 0}

        earlier, now = made.client.values("first", series=series), made.client.values("first")
        assert (earlier.series, now.series) == (series, status.series.id)
        assert earlier.values == [24 * number for number in range(10)] + [None] * 30
        assert len(now.values) == 20
        assert made.client.latest("mean", series=series).n == 10
        assert {each.name for each in made.client.results(series=series)} > {"twice", "mean", "first"}
        assert made.client.array("first", ":3", series=series).tolist() == [0, 24, 48]
        assert made.client.rows("first", ":3", series=series).series == series
        assert made.client.states(":", series=series).codes.tolist() == [1] * 10 + [4] * 30
        with pytest.raises(PipelineRefused, match="series s-0 is none of the last 100") as refused:
            made.client.latest_array("mean", series="s-0")
        assert refused.value.kind == "no_such_series"
        Path(str(status.others[0].result_file)).unlink()
        with pytest.raises(PipelineRefused, match=r"a\.spots\.h5 does not exist"):
            made.client.results(series=series)


@pytest.mark.slow
def test_a_series_without_a_planned_number_is_stopped_at_what_has_come(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path
) -> None:
    with running(tmp_path, receiver) as made:
        series = begun(made, sender, receiver.root / "a.h5", None, 12)
        status = made.client.stop(series=series)
        assert status.series is not None
        assert (status.series.active, status.series.counts.done, status.series.counts.frames) == (
            False,
            12,
            12,
        )
        assert status.series.reason == "stopped over HTTP"
        sender.end()
        receiver.ended(series)


@pytest.mark.slow  # that a pipeline goes on where it was is also shown by one whose distributor is killed
def test_a_pipeline_that_is_ended_within_a_series_takes_the_rest_from_the_file_when_it_is_started_again(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path
) -> None:
    made = Running(tmp_path, receiver)
    series = begun(made, sender, receiver.root / "a.h5", 40, 10)
    made.process.send_signal(signal.SIGINT)
    assert made.process.wait(DEADLINE) == 0
    assert made.process.stdout is not None
    made.process.stdout.close()
    results = Results(receiver.root / "a.spots.h5")
    assert results.account()["state"] == "in progress" and results.accumulated("mean")[1] == 10
    for number in range(10, 40):
        sender.frame(number)
    sender.end()
    with running(tmp_path, receiver) as made:
        status = made.over(series)
        assert status.series is not None
        assert (status.series.counts.done, status.series.from_file) == (40, 30)
        assert status.totals["done"] == 30, "the others were done before it was started again"
    assert results.account()["state"] == "complete" and results.accumulated("mean")[1] == 40


@pytest.mark.slow
def test_a_pipeline_is_named_by_its_file_and_behind_its_receiver_by_its_name(
    start_receiver: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    http = f"127.0.0.1:{free_port()}"
    receiver = start_receiver(forward=[ENTRY | {"page": f"http://{http}/"}])
    receiver.connected()
    with running(tmp_path, receiver, http=http) as made:
        made.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
        url = receiver.client.url
        for arguments in (
            ["--pipeline", str(tmp_path / "spots.yaml")], ["--pipeline", http], [url, "--pipeline"],
            [url, "--pipeline", "spots"],
        ):  # fmt: skip
            assert main(["status", *arguments, "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["pipeline"] == "spots"
        assert main(["status", url, "--pipeline", "dots"]) == 2
        said = capsys.readouterr().err
        assert f"{url} does not lead to the pipeline dots; behind it there is spots at http://{http}/" in said
        (row,) = read_pipelines([url, f"{url}/"])
        assert (row.name, row.state, row.problem, row.ill) == ("spots", "IDLE", "", False)
        assert (row.workers, row.url, row.receiver_url) == (2, f"http://{http}/", url)
        fleet._print([], [row])
        counts, *_, titles, line = capsys.readouterr().out.splitlines()
        assert counts.endswith("; 1 pipeline") and titles.split()[:3] == ["state", "pipeline", "series"]
        assert line.split() == ["IDLE", "spots", "2", f"http://{http}/"]
        made.process.send_signal(signal.SIGSTOP)
        try:
            (row,) = read_pipelines([url])
        finally:
            made.process.send_signal(signal.SIGCONT)
        assert (row.name, row.state, row.ill) == ("live", "AWAY", True) and "does not answer" in row.problem

        assert main(["stop", url, "--pipeline", "spots"]) == 2
        assert "no series is being processed there" in capsys.readouterr().err
    receiver.wait(lambda status: status.consumers[0].holder is None)
    (row,) = read_pipelines([url, "http://127.0.0.1:1"])
    assert (row.name, row.state, row.problem, row.ill) == ("live", "OFF", "", False), "nobody runs it"


def test_what_leads_to_no_pipeline_is_one_sentence(
    receiver: ReceiverProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", receiver.client.url, "--pipeline"]) == 2
    assert "it knows no pipeline: give its forward entry a page" in capsys.readouterr().err
    (tmp_path / "spots.yaml").write_text("processor: spots.py:Spots\nhttp: 127.0.0.1:0\n")
    assert main(["status", "--pipeline", str(tmp_path / "spots.yaml")]) == 2
    assert "take any free port: give the address that it has printed" in capsys.readouterr().err
    (tmp_path / "beamline.yaml").write_text("receivers: {}")
    assert main(["status", str(tmp_path / "beamline.yaml")]) == 2
    assert "is the configuration of receivers; give the file of a pipeline" in capsys.readouterr().err
