"""Workers and classes that fail or take too long, and who may take part."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.processing.wire import keys
from tests.processing.distributor.pipelines import NUMBER, Pipeline, column, pipeline, results, statuses
from tests.processing.distributor.small_series import send
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer


def test_after_too_many_failures_in_a_row_the_pipeline_is_in_error_until_reset(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    class Mine(Processor):
        broken: bool = True
        def process(self, frame):
            if self.broken:
                raise ValueError("no beam")
    """
    with pipeline(source, receiver, workers=1, errors=10) as made:
        name = send(sender, receiver.root / "a.h5", range(200), frames=200)
        made.wait(lambda status: status.state == "error")
        sender.end(reason="complete", triggered=200, sent=200)
        series = made.over(name)
        assert "no beam" in made.status.error
        assert series.counts.failed >= 10 and series.counts.failed + series.counts.dropped == 200
        assert series.counts.dropped > 0
        with results(series) as file:
            assert int((statuses(file) == 4).sum()) == series.counts.dropped
        made.change(broken=False)
        made.until(made.say("reset"))
        name = send(sender, receiver.root / "b.h5", range(20), frames=20)
        sender.end(reason="complete", triggered=20, sent=20)
        assert made.over(name).counts.done == 20 and made.status.state == "idle"


def test_a_start_that_raises_in_one_worker_costs_no_frame(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path
) -> None:
    source = f"""
    class Mine(Processor):
        def start(self, series):
            open({str(tmp_path / "one")!r}, "x")  # there is one seat, and two want it
        def process(self, frame):
            return {{"number": frame.index}}
    """
    (tmp_path / "one").touch()
    with pipeline(source, receiver, workers=2, errors=0) as made:
        made.wait(lambda status: [each.state for each in status.workers] == ["ready", "ready"])
        (tmp_path / "one").unlink()
        name = send(sender, receiver.root / "a.h5", range(200), frames=200)
        sender.end(reason="complete", triggered=200, sent=200)
        series = made.over(name)
        assert (series.counts.done, series.counts.failed, series.reason) == (200, 0, "")
        assert any("FileExistsError" in worker.last_error for worker in made.status.workers)


def test_a_class_that_cannot_be_loaded_is_said_and_a_start_that_raises_fails_the_frames(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with pipeline("import nothing_like_this\nclass Mine(Processor):\n    pass\n", receiver) as made:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "penstock.processing.worker.worker", made.status.address]
        )
        made.workers.append(process)
        made.wait(lambda status: "nothing_like_this" in status.waits_for)
        assert [worker.state for worker in made.status.workers] == ["refused"]
    source = """
    class Mine(Processor):
        def start(self, series):
            raise RuntimeError("no table")
        def process(self, frame):
            return None
    """
    (receiver.root / "b.mine.h5").write_bytes(b"mine")
    with pipeline(source, receiver, workers=1, errors=0, overwrite=True) as made:
        name = send(sender, receiver.root / "a.h5", range(20), frames=20)
        sender.end(reason="complete", triggered=20, sent=20)
        series = made.over(name)
        assert series.counts.failed == 20 and "no table" in made.status.workers[0].last_error
        assert series.result_file == str(receiver.root / "a.mine.h5")
        name = send(sender, receiver.root / "b.h5", range(5), frames=5)
        sender.end(reason="complete", triggered=5, sent=5)
        series = made.over(name)
        assert "no table" in series.reason and "b.mine.h5 is as it was before" in series.reason
        assert series.result_file is None and (receiver.root / "b.mine.h5").read_bytes() == b"mine"


@pytest.mark.slow
def test_source_text_goes_to_other_machines_only_with_a_key(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    keys.make(key)
    command = [sys.executable, "-P", "-m", "penstock.processing.worker.worker"]
    with pipeline(NUMBER, receiver, listen="tcp://0.0.0.0:*") as made:
        address = made.status.listen.replace("0.0.0.0", "127.0.0.1")
        said = subprocess.run([*command, address], capture_output=True, text=True, timeout=60)
        assert said.returncode == 1 and "give pipeline and worker a key" in said.stderr
    with pipeline(NUMBER, receiver, listen="tcp://0.0.0.0:*", key=str(key)) as made:
        address = made.status.listen.replace("0.0.0.0", "127.0.0.1")
        without = subprocess.Popen([*command, address])
        made.workers.append(without)
        made.wait(lambda status: status.refused_connections > 0)
        without.kill()
        made.work(1, address, "far", str(key))
        name = send(sender, receiver.root / "a.h5", range(20), frames=20)
        sender.end(reason="complete", triggered=20, sent=20)
        assert made.over(name).counts.done == 20
        assert [worker.name for worker in made.status.workers] == ["far"]


@pytest.mark.slow
def test_a_worker_that_takes_too_long_is_given_up(receiver: ReceiverProcess, sender: Streamer) -> None:
    source = """
    import os, threading
    class Mine(Processor):
        def process(self, frame):
            if frame.index == 5 and not os.path.exists(os.environ["HANGS"]):
                open(os.environ["HANGS"], "w").close()
                threading.Event().wait()
            return {"number": int(frame.pixels.flat[0])}
    """
    os.environ["HANGS"] = str(receiver.root / "hangs.txt")
    try:
        with pipeline(source, receiver, workers=2, frame_seconds=0.5) as made:
            name = send(sender, receiver.root / "a.h5", range(20), frames=20)
            sender.end(reason="complete", triggered=20, sent=20)
            series = made.over(name)
            assert series.counts.done == 20 and made.status.deaths == 1
    finally:
        del os.environ["HANGS"]


@pytest.mark.slow
def test_one_worker_gets_the_frames_in_their_order_if_it_counts(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    class Mine(Processor):
        ordered = True
        def start(self, series):
            self.before = -1
        def process(self, frame):
            result = {"before": self.before}
            self.before = frame.index
            return result
    """
    with pipeline(source, receiver, workers=3) as made:
        name = send(sender, receiver.root / "a.h5", range(200), frames=200)
        sender.end(reason="complete", triggered=200, sent=200)
        series = made.over(name)
        with results(series) as file:
            assert column(file, "before").tolist() == list(range(-1, 199))
        assert sorted(worker.frames for worker in made.status.workers) == [0, 0, 200]


@pytest.mark.slow
def test_a_second_pipeline_on_one_entry_is_refused_with_the_first_ones_process(
    receiver: ReceiverProcess,
) -> None:
    with pipeline(NUMBER, receiver) as made:
        second = Pipeline(NUMBER, receiver, consumer="live")
        try:
            second.wait(lambda status: status.state == "error")
            assert f"held by process {made.distributor.pid} on" in second.status.error
        finally:
            second.close()
